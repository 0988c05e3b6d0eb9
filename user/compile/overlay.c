/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>

#include "compile/overlay.h"
#include "compile/grow.h"

/* The tables in which a policy with the endpoints of the overlay differs from the compiled
 * policy. */
struct policy_overlay {
	struct policy compiled; /* the policy as it was compiled */
	ARRAY(char) strings;
	ARRAY(uint32_t) endpoint_addresses;
	ARRAY(struct policy_cidr) cidrs;
	ARRAY(struct policy_namespace) namespaces;
	ARRAY(struct policy_endpoint) endpoints;
	ARRAY(struct policy_address) addresses;
};

/* Makes an array with a copy of a table of the policy. */
#define COPY(overlay, policy, name)                                               \
	do {                                                                      \
		array_reserve(&(overlay)->name, (policy)->n_##name);              \
		if ((policy)->n_##name)                                           \
			memcpy((overlay)->name.at, (policy)->name,                \
			       (policy)->n_##name * sizeof(*(overlay)->name.at)); \
		(overlay)->name.n = (policy)->n_##name;                           \
	} while (0)

#define TAKE(overlay, policy, name)                     \
	do {                                            \
		(policy)->name = (overlay)->name.at;    \
		(policy)->n_##name = (overlay)->name.n; \
	} while (0)

static uint32_t add_string(struct policy_overlay *overlay, const char *string)
{
	size_t length = string ? strlen(string) + 1 : 0;
	uint32_t at = overlay->strings.n;

	if (!length)
		return 0;
	array_reserve(&overlay->strings, length);
	memcpy(overlay->strings.at + at, string, length);
	overlay->strings.n += length;
	return at;
}

static uint32_t namespace_of(struct policy_overlay *overlay, const char *name)
{
	struct policy_namespace *ns;

	for (size_t i = 0; i < overlay->namespaces.n; i++)
		if (!strcmp(overlay->strings.at + overlay->namespaces.at[i].name, name))
			return i;
	ns = array_add(&overlay->namespaces);
	*ns = (struct policy_namespace){.name = add_string(overlay, name)};
	return overlay->namespaces.n - 1;
}

static struct policy_endpoint *endpoint_of(struct policy_overlay *overlay, uint32_t ns,
					   const char *name)
{
	struct policy_endpoint *endpoint;

	for (size_t i = 0; i < overlay->endpoints.n; i++) {
		endpoint = &overlay->endpoints.at[i];
		if (endpoint->ns == ns && !strcmp(overlay->strings.at + endpoint->name, name))
			return endpoint;
	}
	endpoint = array_add(&overlay->endpoints);
	*endpoint = (struct policy_endpoint){.ns = ns, .name = add_string(overlay, name)};
	return endpoint;
}

static void add_one(struct policy_overlay *overlay, const struct overlay_endpoint *came)
{
	struct policy_endpoint *endpoint =
		endpoint_of(overlay, namespace_of(overlay, came->ns), came->name);

	endpoint->node = add_string(overlay, came->node);
	endpoint->interface = add_string(overlay, came->interface);
	endpoint->flags = came->flags;
	memcpy(endpoint->mac, came->mac, sizeof(endpoint->mac));
	endpoint->allow_source = (struct policy_range){overlay->cidrs.n, came->n_allow_source};
	for (size_t i = 0; i < came->n_allow_source; i++)
		array_push(&overlay->cidrs, ((struct policy_cidr){came->allow_source[i].address,
								  came->allow_source[i].length}));
	for (size_t i = 0; i < came->n_addresses; i++)
		array_push(&overlay->addresses,
			   ((struct policy_address){
				   .address = came->addresses[i].address,
				   .endpoint = endpoint - overlay->endpoints.at,
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

static void sort_namespaces(struct policy_overlay *overlay)
{
	const size_t n = overlay->namespaces.n;
	struct placed_namespace *placed = grow_zeroed(n, sizeof(*placed));
	uint32_t *now = grow_zeroed(n, sizeof(*now));

	for (size_t i = 0; i < n; i++)
		placed[i] = (struct placed_namespace){overlay->namespaces.at[i], i};
	qsort_r(placed, n, sizeof(*placed), compare_placed_namespaces, overlay->strings.at);
	for (size_t i = 0; i < n; i++) {
		overlay->namespaces.at[i] = placed[i].ns;
		now[placed[i].before] = i;
	}
	for (size_t i = 0; i < overlay->endpoints.n; i++)
		overlay->endpoints.at[i].ns = now[overlay->endpoints.at[i].ns];
	free(placed);
	free(now);
}

/* Sorts the endpoints. Drops those that had addresses and have none any more. */
static void sort_endpoints(struct policy_overlay *overlay)
{
	const size_t n = overlay->endpoints.n;
	struct placed_endpoint *placed = grow_zeroed(n, sizeof(*placed));
	uint32_t *now = grow_zeroed(n, sizeof(*now));
	bool *has = grow_zeroed(n, sizeof(*has));
	size_t kept = 0;

	for (size_t i = 0; i < overlay->addresses.n; i++)
		has[overlay->addresses.at[i].endpoint] = true;
	for (size_t i = 0; i < n; i++)
		if (has[i] || !overlay->endpoints.at[i].addresses.n)
			placed[kept++] = (struct placed_endpoint){overlay->endpoints.at[i], i};
	qsort_r(placed, kept, sizeof(*placed), compare_placed_endpoints, overlay->strings.at);
	for (size_t i = 0; i < kept; i++) {
		overlay->endpoints.at[i] = placed[i].endpoint;
		overlay->endpoints.at[i].addresses = (struct policy_range){};
		now[placed[i].before] = i;
	}
	overlay->endpoints.n = kept;
	for (size_t i = 0; i < overlay->addresses.n; i++)
		overlay->addresses.at[i].endpoint = now[overlay->addresses.at[i].endpoint];
	free(placed);
	free(now);
	free(has);
}

/* Each endpoint's addresses, IPv4 first, behind the entries that `endpoint_addresses` has. */
static void number_addresses(struct policy_overlay *overlay)
{
	uint32_t at = overlay->endpoint_addresses.n;

	array_sort(&overlay->addresses, compare_addresses);
	for (size_t i = 0; i < overlay->addresses.n; i++)
		overlay->endpoints.at[overlay->addresses.at[i].endpoint].addresses.n++;
	for (size_t i = 0; i < overlay->endpoints.n; i++) {
		overlay->endpoints.at[i].addresses.at = at;
		at += overlay->endpoints.at[i].addresses.n;
		overlay->endpoints.at[i].addresses.n = 0;
	}
	array_reserve(&overlay->endpoint_addresses, at - overlay->endpoint_addresses.n);
	overlay->endpoint_addresses.n = at;
	/* sorted bytes put IPv4 (mapped) before most of IPv6, but not before all of it */
	for (int ipv4 = 1; ipv4 >= 0; ipv4--)
		for (size_t i = 0; i < overlay->addresses.n; i++) {
			const struct policy_address *address = &overlay->addresses.at[i];
			struct policy_range *range =
				&overlay->endpoints.at[address->endpoint].addresses;

			if (address_is_ipv4(&address->address) == ipv4)
				overlay->endpoint_addresses.at[range->at + range->n++] = i;
		}
}

void overlay_endpoints(struct policy *policy, const bool *gone, const struct overlay_endpoint *came,
		       size_t n)
{
	struct policy_overlay *overlay = grow_zeroed(1, sizeof(*overlay));

	overlay->compiled = *policy;
	COPY(overlay, policy, strings);
	COPY(overlay, policy, endpoint_addresses);
	COPY(overlay, policy, cidrs);
	COPY(overlay, policy, namespaces);
	COPY(overlay, policy, endpoints);
	for (size_t i = 0; i < policy->n_addresses; i++)
		if (!gone || !gone[i])
			array_push(&overlay->addresses, policy->addresses[i]);
	for (size_t i = 0; i < n; i++)
		add_one(overlay, &came[i]);
	sort_namespaces(overlay);
	sort_endpoints(overlay);
	number_addresses(overlay);
	TAKE(overlay, policy, strings);
	TAKE(overlay, policy, endpoint_addresses);
	TAKE(overlay, policy, cidrs);
	TAKE(overlay, policy, namespaces);
	TAKE(overlay, policy, endpoints);
	TAKE(overlay, policy, addresses);
	policy->overlay = overlay;
}

const struct policy *overlay_compiled(const struct policy *policy)
{
	return policy_plain(policy->overlay ? &policy->overlay->compiled : policy);
}

void overlay_free(struct policy *policy)
{
	struct policy_overlay *overlay = policy->overlay;

	if (!overlay)
		return;
	*policy = overlay->compiled;
	array_free(&overlay->strings);
	array_free(&overlay->endpoint_addresses);
	array_free(&overlay->cidrs);
	array_free(&overlay->namespaces);
	array_free(&overlay->endpoints);
	array_free(&overlay->addresses);
	free(overlay);
}
