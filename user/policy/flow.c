/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "policy/flow.h"
#include "model/protocol.h"

/* Protocols without ports that have a name. */
static const struct protocol portless[] = {
	{.name = "ICMP", .number = IPPROTO_ICMP},
	{.name = "ICMPv6", .number = IPPROTO_ICMPV6},
};

#define N_PORTLESS (sizeof(portless) / sizeof(*portless))

static const struct protocol *portless_by_name(const char *name)
{
	for (size_t i = 0; i < N_PORTLESS; i++)
		if (!strcasecmp(portless[i].name, name))
			return &portless[i];
	return NULL;
}

static const char *portless_name(uint8_t number)
{
	for (size_t i = 0; i < N_PORTLESS; i++)
		if (portless[i].number == number)
			return portless[i].name;
	return NULL;
}

static int parse_number(const char *text, unsigned long max, unsigned long *number)
{
	size_t digits = strspn(text, "0123456789");

	if (!digits || digits > 5 || text[digits])
		return -EINVAL;
	*number = strtoul(text, NULL, 10);
	return *number > max ? -EINVAL : 0;
}

int port_parse(const char *text, struct flow *flow, char why[FLOW_TEXT])
{
	const char *slash = strchr(text, '/');
	const struct protocol *protocol =
		slash ? protocol_by_name(text, slash - text, true) : portless_by_name(text);
	unsigned long number = 0;

	if (protocol && (!slash || !parse_number(slash + 1, 65535, &number))) {
		flow->protocol = protocol->number;
		flow->port = number;
		return 0;
	}
	if (!slash && !parse_number(text, 255, &number) && !protocol_by_number(number)) {
		flow->protocol = number;
		flow->port = 0;
		return 0;
	}
	if (!slash && !parse_number(text, 65535, &number))
		snprintf(why, FLOW_TEXT,
			 "%s: lacks its protocol, " PROTOCOL_NAMES "; write it as TCP/%s", text,
			 text);
	else
		snprintf(why, FLOW_TEXT,
			 "%.100s: not " PROTOCOL_NAMES
			 " with /PORT, nor ICMP, ICMPv6 or another protocol's number",
			 text);
	return -EINVAL;
}

char *port_print(const struct flow *flow, char text[FLOW_TEXT])
{
	const struct protocol *protocol = protocol_by_number(flow->protocol);
	const char *name = portless_name(flow->protocol);

	if (protocol)
		snprintf(text, FLOW_TEXT, "%s/%u", protocol->name, flow->port);
	else if (name)
		snprintf(text, FLOW_TEXT, "%s", name);
	else
		snprintf(text, FLOW_TEXT, "%u", flow->protocol);
	return text;
}
