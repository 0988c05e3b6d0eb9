/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>

#include "compile/enroll.h"
#include "compile/grow.h"

/* The tables in which a policy with enrolled endpoints differs from the compiled policy. */
struct policy_roster {
	struct policy compiled; /* the policy as it was compiled */
	ARRAY(char) strings;
	ARRAY(uint32_t) endpoint_addresses;
	ARRAY(struct policy_cidr) cidrs;
	ARRAY(struct policy_namespace) namespaces;
	ARRAY(struct policy_endpoint) endpoints;
	ARRAY(struct policy_address) addresses;
};

/* Makes an array with a copy of a table of the policy. */
#define COPY(roster, policy, name)                                               \
	do {                                                                     \
		array_reserve(&(roster)->name, (policy)->n_##name);              \
		if ((policy)->n_##name)                                          \
			memcpy((roster)->name.at, (policy)->name,                \
			       (policy)->n_##name * sizeof(*(roster)->name.at)); \
		(roster)->name.n = (policy)->n_##name;                           \
	} while (0)

#define TAKE(roster, policy, name)                     \
	do {                                           \
		(policy)->name = (roster)->name.at;    \
		(policy)->n_##name = (roster)->name.n; \
	} while (0)

static uint32_t add_string(struct policy_roster *roster, const char *string)
{
	size_t length = string ? strlen(string) + 1 : 0;
	uint32_t at = roster->strings.n;

	if (!length)
		return 0;
	array_reserve(&roster->strings, length);
	memcpy(roster->strings.at + at, string, length);
	roster->strings.n += length;
	return at;
}

static uint32_t namespace_of(struct policy_roster *roster, const char *name)
{
	struct policy_namespace *ns;

	for (size_t i = 0; i < roster->namespaces.n; i++)
		if (!strcmp(roster->strings.at + roster->namespaces.at[i].name, name))
			return i;
	ns = array_add(&roster->namespaces);
	*ns = (struct policy_namespace){.name = add_string(roster, name)};
	return roster->namespaces.n - 1;
}

static struct policy_endpoint *endpoint_of(struct policy_roster *roster, uint32_t ns,
					   const char *name)
{
	struct policy_endpoint *endpoint;

	for (size_t i = 0; i < roster->endpoints.n; i++) {
		endpoint = &roster->endpoints.at[i];
		if (endpoint->ns == ns && !strcmp(roster->strings.at + endpoint->name, name))
			return endpoint;
	}
	endpoint = array_add(&roster->endpoints);
	*endpoint = (struct policy_endpoint){.ns = ns, .name = add_string(roster, name)};
	return endpoint;
}

static void add_one(struct policy_roster *roster, const struct enrolled *came)
{
	struct policy_endpoint *endpoint =
		endpoint_of(roster, namespace_of(roster, came->ns), came->name);

	endpoint->node = add_string(roster, came->node);
	endpoint->interface = add_string(roster, came->interface);
	endpoint->flags = came->flags;
	memcpy(endpoint->mac, came->mac, sizeof(endpoint->mac));
	endpoint->allow_source = (struct policy_range){roster->cidrs.n, came->n_allow_source};
	for (size_t i = 0; i < came->n_allow_source; i++)
		array_push(&roster->cidrs, ((struct policy_cidr){came->allow_source[i].address,
								 came->allow_source[i].length}));
	for (size_t i = 0; i < came->n_addresses; i++)
		array_push(&roster->addresses, ((struct policy_address){
						       .address = came->addresses[i].address,
						       .endpoint = endpoint - roster->endpoints.at,
						       .segment = came->addresses[i].segment,
						       .variation = came->addresses[i].variation,
					       }));
}

/* Namespaces with the index that they had before the sort. */
struct placed_namespace {
	struct policy_namespace ns;
	uint32_t before;
};

static int compare_placed_namespaces(const void *a, const void *b, void *strings)
{
	const struct placed_namespace *x = a, *y = b;

	return strcmp((char *)strings + x->ns.name, (char *)strings + y->ns.name);
}

struct placed_endpoint {
	struct policy_endpoint endpoint;
	uint32_t before;
};

static int compare_placed_endpoints(const void *a, const void *b, void *strings)
{
	const struct placed_endpoint *x = a, *y = b;

	if (x->endpoint.ns != y->endpoint.ns)
		return x->endpoint.ns < y->endpoint.ns ? -1 : 1;
	return strcmp((char *)strings + x->endpoint.name, (char *)strings + y->endpoint.name);
}

static int compare_addresses(const void *a, const void *b)
{
	return memcmp(&((const struct policy_address *)a)->address,
		      &((const struct policy_address *)b)->address, sizeof(struct address));
}

static void sort_namespaces(struct policy_roster *roster)
{
	const size_t n = roster->namespaces.n;
	struct placed_namespace *placed = grow_zeroed(n, sizeof(*placed));
	uint32_t *now = grow_zeroed(n, sizeof(*now));

	for (size_t i = 0; i < n; i++)
		placed[i] = (struct placed_namespace){roster->namespaces.at[i], i};
	qsort_r(placed, n, sizeof(*placed), compare_placed_namespaces, roster->strings.at);
	for (size_t i = 0; i < n; i++) {
		roster->namespaces.at[i] = placed[i].ns;
		now[placed[i].before] = i;
	}
	for (size_t i = 0; i < roster->endpoints.n; i++)
		roster->endpoints.at[i].ns = now[roster->endpoints.at[i].ns];
	free(placed);
	free(now);
}

/* Sorts the endpoints. Drops those that had addresses and have none any more. */
static void sort_endpoints(struct policy_roster *roster)
{
	const size_t n = roster->endpoints.n;
	struct placed_endpoint *placed = grow_zeroed(n, sizeof(*placed));
	uint32_t *now = grow_zeroed(n, sizeof(*now));
	bool *has = grow_zeroed(n, sizeof(*has));
	size_t kept = 0;

	for (size_t i = 0; i < roster->addresses.n; i++)
		has[roster->addresses.at[i].endpoint] = true;
	for (size_t i = 0; i < n; i++)
		if (has[i] || !roster->endpoints.at[i].addresses.n)
			placed[kept++] = (struct placed_endpoint){roster->endpoints.at[i], i};
	qsort_r(placed, kept, sizeof(*placed), compare_placed_endpoints, roster->strings.at);
	for (size_t i = 0; i < kept; i++) {
		roster->endpoints.at[i] = placed[i].endpoint;
		roster->endpoints.at[i].addresses = (struct policy_range){};
		now[placed[i].before] = i;
	}
	roster->endpoints.n = kept;
	for (size_t i = 0; i < roster->addresses.n; i++)
		roster->addresses.at[i].endpoint = now[roster->addresses.at[i].endpoint];
	free(placed);
	free(now);
	free(has);
}

/* Each endpoint's addresses, IPv4 first, behind the entries that `endpoint_addresses` has. */
static void number_addresses(struct policy_roster *roster)
{
	uint32_t at = roster->endpoint_addresses.n;

	array_sort(&roster->addresses, compare_addresses);
	for (size_t i = 0; i < roster->addresses.n; i++)
		roster->endpoints.at[roster->addresses.at[i].endpoint].addresses.n++;
	for (size_t i = 0; i < roster->endpoints.n; i++) {
		roster->endpoints.at[i].addresses.at = at;
		at += roster->endpoints.at[i].addresses.n;
		roster->endpoints.at[i].addresses.n = 0;
	}
	array_reserve(&roster->endpoint_addresses, at - roster->endpoint_addresses.n);
	roster->endpoint_addresses.n = at;
	/* sorted bytes put IPv4 (mapped) before most of IPv6, but not before all of it */
	for (int ipv4 = 1; ipv4 >= 0; ipv4--)
		for (size_t i = 0; i < roster->addresses.n; i++) {
			const struct policy_address *address = &roster->addresses.at[i];
			struct policy_range *range =
				&roster->endpoints.at[address->endpoint].addresses;

			if (address_is_ipv4(&address->address) == ipv4)
				roster->endpoint_addresses.at[range->at + range->n++] = i;
		}
}

void enroll(struct policy *policy, const bool *gone, const struct enrolled *came, size_t n)
{
	struct policy_roster *roster = grow_zeroed(1, sizeof(*roster));

	roster->compiled = *policy;
	COPY(roster, policy, strings);
	COPY(roster, policy, endpoint_addresses);
	COPY(roster, policy, cidrs);
	COPY(roster, policy, namespaces);
	COPY(roster, policy, endpoints);
	for (size_t i = 0; i < policy->n_addresses; i++)
		if (!gone || !gone[i])
			array_push(&roster->addresses, policy->addresses[i]);
	for (size_t i = 0; i < n; i++)
		add_one(roster, &came[i]);
	sort_namespaces(roster);
	sort_endpoints(roster);
	number_addresses(roster);
	TAKE(roster, policy, strings);
	TAKE(roster, policy, endpoint_addresses);
	TAKE(roster, policy, cidrs);
	TAKE(roster, policy, namespaces);
	TAKE(roster, policy, endpoints);
	TAKE(roster, policy, addresses);
	policy->roster = roster;
}

const struct policy *enroll_compiled(const struct policy *policy)
{
	return policy_plain(policy->roster ? &policy->roster->compiled : policy);
}

void enroll_free(struct policy *policy)
{
	struct policy_roster *roster = policy->roster;

	if (!roster)
		return;
	*policy = roster->compiled;
	array_free(&roster->strings);
	array_free(&roster->endpoint_addresses);
	array_free(&roster->cidrs);
	array_free(&roster->namespaces);
	array_free(&roster->endpoints);
	array_free(&roster->addresses);
	free(roster);
}
