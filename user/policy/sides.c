/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sides.h"

/* The prefix of all IPv4 addresses. */
static const struct policy_prefix ipv4 = {.address.bytes = {[10] = 0xff, [11] = 0xff},
					  .length = 96};

void side_add(struct flow_side *side, const struct address *address)
{
	enum family family = address_is_ipv4(address) ? IPV4 : IPV6;

	if (side->has[family])
		return;
	if (!side->has[!family])
		side->first = family;
	side->has[family] = true;
	side->address[family] = *address;
}

struct flow_side side_of_endpoint(const struct policy *policy,
				  const struct policy_endpoint *endpoint, const char *name)
{
	struct flow_side side = {.name = name};

	for (uint32_t i = 0; i < endpoint->addresses.n; i++) {
		uint32_t address = policy->endpoint_addresses[endpoint->addresses.at + i];

		side_add(&side, &policy->addresses[address].address);
	}
	return side;
}

struct flow_side side_of_service(const struct policy *policy, const struct policy_service *service,
				 const char *name)
{
	struct flow_side side = {.name = name, .service = service};

	for (uint32_t i = 0; i < service->ports.n; i++) {
		const struct policy_service_port *port =
			&policy->service_ports[service->ports.at + i];

		for (uint32_t j = 0; j < port->backends.n; j++)
			if (service->flags & POLICY_SERVICE_HEADLESS)
				side_add(&side, &policy->backends[port->backends.at + j].address);
	}
	for (size_t i = 0; i < policy->n_frontends; i++) {
		const struct policy_frontend *frontend = &policy->frontends[i];

		if (frontend_service(policy, frontend) == service &&
		    !(frontend->flags & POLICY_FRONTEND_EXTERNAL))
			side_add(&side, &frontend->address);
	}
	return side;
}

bool flow_between(const struct flow_side *from, const struct flow_side *to, struct flow *flow)
{
	for (int i = 0; i < FAMILIES; i++) {
		enum family family = i ? !from->first : from->first;

		if (!from->has[family] || !to->has[family])
			continue;
		flow->source = from->address[family];
		flow->destination = to->address[family];
		return true;
	}
	return false;
}

/* Increments the address. Returns false after the last address. */
static bool step(struct address *address)
{
	for (size_t i = sizeof(address->bytes); i-- > 0;)
		if (++address->bytes[i])
			return true;
	return false;
}

static bool holds(const struct policy_prefix *prefix, const struct address *address)
{
	struct address base = address_mask(address, prefix->length);

	return !memcmp(&base, &prefix->address, sizeof(base));
}

static bool skip(const struct policy_prefix *prefix, struct address *address)
{
	for (unsigned int bit = prefix->length; bit < 128; bit++)
		address->bytes[bit / 8] |= 0x80 >> bit % 8;
	return step(address);
}

static bool is_taken(const struct policy *policy, const struct address *address)
{
	struct service_frontends found;

	if (service_find(policy, NULL, address, 0, 0, &found) == SERVICE_NO_PORT)
		return true;
	if (policy_address_find(policy, address))
		return true;
	for (size_t i = 0; i < policy->n_node_addresses; i++)
		if (!memcmp(&policy->node_addresses[i], address, sizeof(*address)))
			return true;
	return false;
}

/* Finds the service-cidr that holds the address. Returns false if none does. */
static bool find_service_cidr(const struct policy *policy, const struct address *address,
			      struct policy_prefix *prefix)
{
	for (size_t i = 0; i < policy->n_service_cidrs; i++) {
		*prefix = (struct policy_prefix){.address = policy->service_cidrs[i].address,
						 .length = policy->service_cidrs[i].length};
		if (holds(prefix, address))
			return true;
	}
	return false;
}

/* Finds the first address from @address on that is in the prefix, of the IP version, and of no
 * other end. */
static bool find_free(const struct policy *policy, const struct policy_prefix *prefix,
		      enum family family, struct address *address)
{
	const struct policy_prefix *end = policy->prefixes + policy->n_prefixes;
	const struct policy_prefix *inside = prefix + 1;
	struct policy_prefix services;
	bool more = true;

	while (more && holds(prefix, address)) {
		while (inside < end && !holds(inside, address) &&
		       memcmp(&inside->address, address, sizeof(*address)) < 0)
			inside++;
		if (inside < end && holds(inside, address))
			more = skip(inside, address);
		else if (family == IPV6 && holds(&ipv4, address))
			more = skip(&ipv4, address);
		else if (find_service_cidr(policy, address, &services))
			more = skip(&services, address);
		else if (is_taken(policy, address))
			more = step(address);
		else
			return family == IPV6 || holds(&ipv4, address);
	}
	return false;
}

struct flow_side side_of_prefix(const struct policy *policy, const struct policy_prefix *prefix)
{
	struct flow_side side = {0};

	for (enum family family = IPV4; family < FAMILIES; family++) {
		struct address *address = &side.address[family];

		*address = prefix->address;
		if (family == IPV4 && prefix->length < ipv4.length)
			*address = ipv4.address;
		side.has[family] = find_free(policy, prefix, family, address);
	}
	return side;
}

struct flow_side side_of_node(const struct policy *policy, const struct policy_node *node)
{
	struct flow_side side = {0};

	for (uint32_t i = 0; i < node->addresses.n; i++)
		side_add(&side, &policy->node_addresses[node->addresses.at + i]);
	return side;
}

const char *prefix_name(const struct policy_prefix *prefix, char text[ADDRESS_TEXT])
{
	const struct cidr cidr = {prefix->address, prefix->length};

	return prefix->length ? cidr_print(&cidr, text) : strcpy(text, "world");
}

static int name_end(struct flow_side *side, const char *format, const char *a, const char *b)
{
	char *name;

	if (asprintf(&name, format, a, b) < 0)
		return -ENOMEM;
	side->name = name;
	return 0;
}

static int list(const struct policy *policy, struct flow_sides *sides)
{
	int error = 0;

	for (size_t i = 0; i < policy->n_endpoints && !error; i++) {
		const struct policy_endpoint *endpoint = &policy->endpoints[i];
		struct flow_side *side = &sides->at[sides->n++];

		*side = side_of_endpoint(policy, endpoint, NULL);
		error = name_end(side, "%s/%s",
				 policy_string(policy, policy->namespaces[endpoint->ns].name),
				 policy_string(policy, endpoint->name));
	}
	sides->n_endpoints = sides->n;
	for (size_t i = 0; i < policy->n_nodes && !error; i++) {
		struct flow_side *side = &sides->at[sides->n++];

		*side = side_of_node(policy, &policy->nodes[i]);
		error = name_end(side, "%s %s", "node",
				 policy_string(policy, policy->nodes[i].name));
	}
	for (size_t i = 0; i < policy->n_prefixes && !error; i++) {
		/* Longer prefixes come first, as in a lookup; `world` comes last. */
		const struct policy_prefix *prefix = &policy->prefixes[policy->n_prefixes - 1 - i];
		struct flow_side side = side_of_prefix(policy, prefix);
		char text[ADDRESS_TEXT];

		if (!side.has[IPV4] && !side.has[IPV6])
			continue;
		sides->at[sides->n] = side;
		error = name_end(&sides->at[sides->n++], "%s%s", prefix_name(prefix, text), "");
	}
	return error;
}

int flow_sides_list(const struct policy *policy, struct flow_sides *sides)
{
	size_t n = policy->n_endpoints + policy->n_nodes + policy->n_prefixes;
	int error;

	*sides = (struct flow_sides){.at = calloc(n, sizeof(*sides->at))};
	if (!sides->at)
		return -ENOMEM;
	error = list(policy, sides);
	if (error)
		flow_sides_free(sides);
	return error;
}

void flow_sides_free(struct flow_sides *sides)
{
	for (size_t i = 0; i < sides->n; i++)
		free((char *)sides->at[i].name);
	free(sides->at);
}
