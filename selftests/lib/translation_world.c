// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/translation.h"

#include <arpa/inet.h>
#include <string.h>

const char *const translation_actors[ACTORS + 1] = {
	"a", "b", "c", "d", "e", "node", "host-1", "host-2", "far", "worse", "nobody"};

const uint8_t service_backends[SERVICES][BACKENDS] = {
	{POD_A, POD_B, NOBODY, NOBODY},	  {POD_C, FAR, NOBODY, NOBODY},
	{HOST_1, HOST_2, NOBODY, NOBODY}, {BRIDGED_D, WORSE, NOBODY, NOBODY},
	{POD_A, FAR, HOST_2, BRIDGED_E},  {POD_B, NOBODY, NOBODY, NOBODY},
};

static const char *const addresses[ACTORS][2] = {
	[POD_A] = {"10.244.0.1", "fd44::1"},	[POD_B] = {"10.244.0.2", "fd44::2"},
	[POD_C] = {"10.244.0.3", "fd44::3"},	[BRIDGED_D] = {"10.50.0.1", "fd50::1"},
	[BRIDGED_E] = {"10.50.0.2", "fd50::2"}, [NODE] = {"192.168.7.1", "fd07::1"},
	[HOST_1] = {"172.17.0.9", "fd17::9"},	[HOST_2] = {"172.17.1.9", "fd17:1::9"},
	[FAR] = {"10.244.1.1", "fd44:1::1"},	[WORSE] = {"10.244.1.2", "fd44:1::2"},
};

const char *actor_address(unsigned int actor, uint8_t version)
{
	return addresses[actor][version == 6];
}

const char *service_address(unsigned int service, uint8_t version, char text[32])
{
	snprintf(text, 32, version == 4 ? "10.96.0.%u" : "fd96::%u", service + 1);
	return text;
}

static struct place place_at(const char *text, uint8_t version, uint16_t port)
{
	struct place place = {.port = port};

	inet_pton(version == 4 ? AF_INET : AF_INET6, text, place.address);
	return place;
}

struct place place_of(unsigned int actor, uint8_t version, uint16_t port)
{
	return place_at(actor_address(actor, version), version, port);
}

uint16_t port_of_caller(const struct step *step)
{
	return step->from_port ? step->from_port : PORT_CALLER + step->port;
}

struct place place_called(const struct step *step)
{
	char text[32];

	switch ((enum target)step->target) {
	case DIRECT:
		return place_of(step->to, step->version, step->other_port ? PORT_OTHER : PORT_OPEN);
	case CLUSTER:
		return place_at(service_address(step->to, step->version, text), step->version,
				PORT_CALLED);
	case MASKED:
		return place_of(NODE, step->version, PORT_MASKED + step->to);
	default:
		return place_of(NODE, step->version, PORT_KEPT + step->to);
	}
}

unsigned int place_owner(const struct place *place, uint8_t version)
{
	for (unsigned int actor = 0; actor < ACTORS; actor++) {
		struct place has = place_of(actor, version, 0);

		if (!memcmp(has.address, place->address, sizeof(has.address)))
			return actor;
	}
	return NOBODY;
}
