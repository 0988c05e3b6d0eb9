/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/ends.h"

/* The IPv4 addresses among all. */
static const struct policy_prefix ipv4 = {.address.bytes = {[10] = 0xff, [11] = 0xff},
					  .length = 96};

/* The next address; false: there is none. */
static bool step(struct address *address)
{
	for (size_t i = sizeof(address->bytes); i-- > 0;)
		if (++address->bytes[i])
			return true;
	return false;
}

static bool covers(const struct policy_prefix *prefix, const struct address *address)
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

/* The service-cidr around the address; false: none is. */
static bool find_service_cidr(const struct policy *policy, const struct address *address,
			      struct policy_prefix *prefix)
{
	for (size_t i = 0; i < policy->n_service_cidrs; i++) {
		*prefix = (struct policy_prefix){.address = policy->service_cidrs[i].address,
						 .length = policy->service_cidrs[i].length};
		if (covers(prefix, address))
			return true;
	}
	return false;
}

/* The first address from @address on that is in the prefix and of the family, and nobody else's. */
static bool find_free(const struct policy *policy, const struct policy_prefix *prefix,
		      enum family family, struct address *address)
{
	const struct policy_prefix *end = policy->prefixes + policy->n_prefixes;
	const struct policy_prefix *inside = prefix + 1;
	struct policy_prefix services;
	bool more = true;

	while (more && covers(prefix, address)) {
		while (inside < end && !covers(inside, address) &&
		       memcmp(&inside->address, address, sizeof(*address)) < 0)
			inside++;
		if (inside < end && covers(inside, address))
			more = skip(inside, address);
		else if (family == IPV6 && covers(&ipv4, address))
			more = skip(&ipv4, address);
		else if (find_service_cidr(policy, address, &services))
			more = skip(&services, address);
		else if (is_taken(policy, address))
			more = step(address);
		else
			return family == IPV6 || covers(&ipv4, address);
	}
	return false;
}

static struct end end_of_prefix(const struct policy *policy, const struct policy_prefix *prefix)
{
	struct end end = {0};

	for (enum family family = IPV4; family < FAMILIES; family++) {
		struct address *address = &end.address[family];

		*address = prefix->address;
		if (family == IPV4 && prefix->length < ipv4.length)
			*address = ipv4.address;
		end.has[family] = find_free(policy, prefix, family, address);
	}
	return end;
}

static struct end end_of_node(const struct policy *policy, const struct policy_node *node)
{
	struct end end = {0};

	for (uint32_t i = 0; i < node->addresses.n; i++)
		end_add(&end, &policy->node_addresses[node->addresses.at + i]);
	return end;
}

static void print_prefix(const struct policy_prefix *prefix, char text[ADDRESS_TEXT])
{
	const struct cidr cidr = {prefix->address, prefix->length};

	if (prefix->length)
		cidr_print(&cidr, text);
	else
		strcpy(text, "world");
}

static int name_end(struct end *end, const char *format, const char *a, const char *b)
{
	char *name;

	if (asprintf(&name, format, a, b) < 0)
		return -ENOMEM;
	end->name = name;
	return 0;
}

static int list(const struct policy *policy, struct ends *ends)
{
	int error = 0;

	for (size_t i = 0; i < policy->n_endpoints && !error; i++) {
		const struct policy_endpoint *endpoint = &policy->endpoints[i];
		struct end *end = &ends->at[ends->n++];

		*end = end_of_endpoint(policy, endpoint, NULL);
		error = name_end(end, "%s/%s",
				 policy_string(policy, policy->namespaces[endpoint->ns].name),
				 policy_string(policy, endpoint->name));
	}
	ends->n_endpoints = ends->n;
	for (size_t i = 0; i < policy->n_nodes && !error; i++) {
		struct end *end = &ends->at[ends->n++];

		*end = end_of_node(policy, &policy->nodes[i]);
		error = name_end(end, "%s %s", "node",
				 policy_string(policy, policy->nodes[i].name));
	}
	for (size_t i = 0; i < policy->n_prefixes && !error; i++) {
		/* The longer ones first, as they are looked up; `world` comes last. */
		const struct policy_prefix *prefix = &policy->prefixes[policy->n_prefixes - 1 - i];
		struct end end = end_of_prefix(policy, prefix);
		char text[ADDRESS_TEXT];

		if (!end.has[IPV4] && !end.has[IPV6])
			continue;
		print_prefix(prefix, text);
		ends->at[ends->n] = end;
		error = name_end(&ends->at[ends->n++], "%s%s", text, "");
	}
	return error;
}

int ends_list(const struct policy *policy, struct ends *ends)
{
	size_t n = policy->n_endpoints + policy->n_nodes + policy->n_prefixes;
	int error;

	*ends = (struct ends){.at = calloc(n, sizeof(*ends->at))};
	if (!ends->at)
		return -ENOMEM;
	error = list(policy, ends);
	if (error)
		ends_free(ends);
	return error;
}

void ends_free(struct ends *ends)
{
	for (size_t i = 0; i < ends->n; i++)
		free((char *)ends->at[i].name);
	free(ends->at);
}
