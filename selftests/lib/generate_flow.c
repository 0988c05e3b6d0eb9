// SPDX-License-Identifier: GPL-2.0-only
#include "model/cluster_service.h"
#include "selftests/lib/generate.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static void add_address(struct flow_space *space, const struct address *address)
{
	for (size_t i = 0; i < space->n_addresses; i++)
		if (memcmp(&space->addresses[i], address, sizeof(*address)) == 0)
			return;
	space->addresses =
		realloc(space->addresses, (space->n_addresses + 1) * sizeof(*space->addresses));
	if (!space->addresses)
		abort();
	space->addresses[space->n_addresses++] = *address;
}

static void add_port(struct flow_space *space, uint32_t port)
{
	for (size_t i = 0; i < space->n_ports; i++)
		if (space->ports[i] == port)
			return;
	if (port > UINT16_MAX)
		return;
	space->ports = realloc(space->ports, (space->n_ports + 1) * sizeof(*space->ports));
	if (!space->ports)
		abort();
	space->ports[space->n_ports++] = port;
}

static void add_name(struct flow_space *space, const char *name)
{
	space->names = realloc(space->names, (space->n_names + 1) * sizeof(*space->names));
	if (!space->names)
		abort();
	space->names[space->n_names++] = name;
}

/* The address after (@step 1) or before (-1), with wraparound. */
static struct address neighbour(struct address address, int step)
{
	for (int i = 15; i >= 0; i--) {
		address.bytes[i] += step;
		if (address.bytes[i] != (step > 0 ? 0x00 : 0xff))
			break;
	}
	return address;
}

/* Adds both ends of a prefix and the addresses just outside. */
static void add_cidr(struct flow_space *space, const struct cidr *cidr)
{
	struct address first = cidr->address, last = first, outside;

	for (int bit = cidr->length; bit < 128; bit++)
		last.bytes[bit / 8] |= 0x80 >> bit % 8;
	add_address(space, &first);
	add_address(space, &last);
	outside = neighbour(first, -1);
	add_address(space, &outside);
	outside = neighbour(last, 1);
	add_address(space, &outside);
}

static void add_rule(struct flow_space *space, const struct rule *rule)
{
	for (size_t i = 0; i < rule->n_peers; i++) {
		const struct peer *peer = &rule->peers[i];

		for (size_t j = 0; peer->scope == PEER_DOMAINS && j < peer->n_keys; j++)
			add_name(space, peer->keys[j]);
		if (peer->scope != PEER_CIDR)
			continue;
		add_cidr(space, &peer->cidr);
		for (size_t j = 0; j < peer->n_except; j++)
			add_cidr(space, &peer->except[j]);
	}
	for (size_t i = 0; i < rule->n_ports; i++) {
		if (rule->ports[i].kind != PORT_RANGE)
			continue;
		add_port(space, rule->ports[i].first - 1);
		add_port(space, rule->ports[i].first);
		add_port(space, rule->ports[i].last);
		add_port(space, rule->ports[i].last + 1);
	}
}

static void add_service(struct flow_space *space, const struct service *service)
{
	for (size_t i = 0; i < service->n_addresses; i++)
		add_address(space, &service->addresses[i]);
	for (size_t i = 0; i < service->n_external; i++)
		add_address(space, &service->external[i]);
	for (size_t i = 0; i < service->n_ports; i++) {
		add_port(space, service->ports[i].port);
		add_port(space, service->ports[i].node_port);
	}
}

static void add_inside(struct flow_space *space, const struct cluster *cluster)
{
	for (size_t i = 0; i < cluster->n_endpoints; i++)
		for (size_t j = 0; j < cluster->endpoints[i].n_addresses; j++)
			add_address(space, &cluster->endpoints[i].addresses[j]);
	for (size_t i = 0; i < cluster->n_nodes; i++)
		for (size_t j = 0; j < cluster->nodes[i].n_addresses; j++)
			add_address(space, &cluster->nodes[i].addresses[j]);
	for (size_t i = 0; i < cluster->n_services; i++)
		add_service(space, &cluster->services[i]);
	space->n_inside = space->n_addresses;
}

void flow_space_init(struct flow_space *space, const struct cluster *cluster)
{
	static const struct address far_away[] = {
		{{[10] = 0xff, 0xff, 192, 0, 2, 1}},
		{{0x20, 0x01, 0x0d, 0xb8, [15] = 1}},
	};

	*space = (struct flow_space){0};
	add_inside(space, cluster);
	for (size_t i = 0; i < 2; i++)
		add_address(space, &far_away[i]);
	for (size_t i = 0; i < cluster->n_policies; i++)
		for (enum direction d = INGRESS; d <= EGRESS; d++)
			for (size_t j = 0; j < cluster->policies[i].n_rules[d]; j++)
				add_rule(space, &cluster->policies[i].rules[d][j]);
	for (size_t i = 0; i < cluster->n_endpoints; i++)
		for (size_t j = 0; j < cluster->endpoints[i].n_ports; j++)
			add_port(space, cluster->endpoints[i].ports[j].port);
	add_port(space, 0);
	add_port(space, 7);
	add_port(space, 65535);
}

void flow_space_free(struct flow_space *space)
{
	free(space->addresses);
	free(space->ports);
	free(space->names);
}

static bool is_ipv4(const struct address *address)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(address->bytes, mapped, sizeof(mapped)) == 0;
}

static struct address pick_address(const struct flow_space *space, struct random *random)
{
	bool inside = space->n_inside && random_chance(random, 75);

	return space
		->addresses[random_below(random, inside ? space->n_inside : space->n_addresses)];
}

void generate_flow(const struct flow_space *space, struct random *random, struct oracle_flow *flow)
{
	/* Leaves out encapsulating protocols: to the own node, policy does not apply to them. */
	static const uint8_t others[] = {IPPROTO_ICMP, IPPROTO_ICMPV6, IPPROTO_ESP, IPPROTO_PIM,
					 255};
	static const uint8_t with_ports[] = {IPPROTO_TCP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDP,
					     IPPROTO_SCTP};

	flow->source = pick_address(space, random);
	do
		flow->destination = pick_address(space, random);
	while (is_ipv4(&flow->destination) != is_ipv4(&flow->source));
	flow->name = NULL;
	if (space->n_names && random_chance(random, 60))
		flow->name = space->names[random_below(random, space->n_names)];
	if (random_chance(random, 10)) {
		flow->protocol = others[random_below(random, sizeof(others))];
		flow->port = 0;
		return;
	}
	flow->protocol = with_ports[random_below(random, sizeof(with_ports))];
	flow->port = space->ports[random_below(random, space->n_ports)];
}
