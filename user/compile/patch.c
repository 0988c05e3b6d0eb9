// SPDX-License-Identifier: GPL-2.0-only
#include "compile/patch.h"

#include <errno.h>
#include <stdio.h>

#include "compile/grow.h"
#include "compile/place.h"
#include "model/search.h"

#define NONE UINT32_MAX
#define EXPECTED_PREFIXES 16 /* an expected pod has to fit into the segments of all prefixes */

/* A pod that has changed, with its places in the base's tables. */
struct patch_change {
	const struct patch_pod *pod;
	uint32_t ns; /* index */
	uint32_t endpoint, expected; /* index of the first record that is not before it */
	bool was_endpoint, was_expected; /* that record is the pod's */
};

struct patch {
	const struct policy *base;
	const struct patch_pod *pods;
	size_t n;
	struct policy *policy; /* NULL: none is made yet */
	ARRAY(struct patch_change) changes; /* in the order of the endpoints */
	ARRAY(struct policy_address) coming; /* in the order of the addresses */
	ARRAY(char) strings;
	ARRAY(uint32_t) texts;
	ARRAY(struct policy_named_port) named_ports;
	ARRAY(struct policy_endpoint) endpoints;
	ARRAY(struct policy_address) addresses;
	ARRAY(uint32_t) endpoint_addresses;
	ARRAY(struct policy_expected) expected;
	uint32_t *endpoint_at; /* by the base's endpoints: index now; NONE: gone or changed */
	uint32_t *address_at; /* by the base's addresses: index now; NONE: gone */
	bool expects; /* the expected pods have changed */
};

static void patch_end(struct patch *patch)
{
	policy_free(patch->policy);
	array_free(&patch->changes);
	array_free(&patch->coming);
	array_free(&patch->strings);
	array_free(&patch->texts);
	array_free(&patch->named_ports);
	array_free(&patch->endpoints);
	array_free(&patch->addresses);
	array_free(&patch->endpoint_addresses);
	array_free(&patch->expected);
	free(patch->endpoint_at);
	free(patch->address_at);
}

static bool is_endpoint(const struct patch_change *change)
{
	return change->pod->now && change->pod->now->n_addresses;
}

static bool is_expected(const struct patch_change *change)
{
	return change->pod->now && !change->pod->now->n_addresses;
}

/* Search for the pods that have changed */

static int order_endpoint(const struct policy *base, size_t i, uint32_t ns, const char *name)
{
	const struct policy_endpoint *endpoint = &base->endpoints[i];

	if (endpoint->ns != ns)
		return endpoint->ns < ns ? -1 : 1;
	return strcmp(policy_string(base, endpoint->name), name);
}

static int order_expected(const struct policy *base, size_t i, const struct patch_pod *pod)
{
	const struct policy_expected *expected = &base->expected[i];
	int order = strcmp(policy_string(base, expected->ns), pod->ns);

	return order ? order : strcmp(policy_string(base, expected->name), pod->name);
}

static int compare_changes(const void *a, const void *b)
{
	const struct patch_change *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return strcmp(x->pod->name, y->pod->name);
}

/* Returns true if one of the endpoint's addresses is a Service's or a backend: that Service
 * changes. */
static bool serves(const struct policy *base, const struct address *address)
{
	for (size_t i = 0; i < base->n_backends; i++)
		if (!memcmp(&base->backends[i].address, address, sizeof(*address)))
			return true;
	for (size_t i = 0; i < base->n_frontends; i++)
		if (!memcmp(&base->frontends[i].address, address, sizeof(*address)))
			return true;
	return false;
}

static bool changes_service(const struct policy *base, const struct patch_change *change)
{
	const struct policy_range none = {0};
	const struct policy_range had =
		change->was_endpoint ? base->endpoints[change->endpoint].addresses : none;

	if (!base->n_backends && !base->n_frontends)
		return false;
	for (uint32_t i = 0; i < had.n; i++)
		if (serves(base, &base->addresses[base->endpoint_addresses[had.at + i]].address))
			return true;
	for (size_t i = 0; change->pod->now && i < change->pod->now->n_addresses; i++)
		if (serves(base, &change->pod->now->addresses[i]))
			return true;
	return false;
}

static bool is_plain(const struct endpoint *endpoint)
{
	return !endpoint->interface && !endpoint->has_mac && !endpoint->l2 &&
	       !endpoint->n_allow_source && !endpoint->unknown && !endpoint->as_policy;
}

static int add_change(struct patch *patch, const struct patch_pod *pod)
{
	const struct policy *base = patch->base;
	const struct policy_namespace *ns = policy_namespace_by_name(base, pod->ns);
	struct patch_change *change = array_add(&patch->changes);
	char name[600];

	*change = (struct patch_change){.pod = pod};
	snprintf(name, sizeof(name), "%s/%s", pod->ns, pod->name);
	if (!ns || policy_host_pod_by_name(base, name) || (pod->now && !is_plain(pod->now)))
		return -EOPNOTSUPP;
	change->ns = ns - base->namespaces;
	change->endpoint =
		SEARCH(base->n_endpoints, i, order_endpoint(base, i, change->ns, pod->name) < 0);
	change->was_endpoint = change->endpoint < base->n_endpoints &&
			       !order_endpoint(base, change->endpoint, change->ns, pod->name);
	change->expected = SEARCH(base->n_expected, i, order_expected(base, i, pod) < 0);
	change->was_expected =
		change->expected < base->n_expected && !order_expected(base, change->expected, pod);
	return changes_service(base, change) ? -EOPNOTSUPP : 0;
}

/* Strings and labels */

/* Returns the string's offset; adds the string if it is new. */
static uint32_t string_of(struct patch *patch, const char *string)
{
	const size_t n = string ? strlen(string) : 0;
	char *with_ends = grow_zeroed(n + 2, 1);
	const char *found;
	uint32_t at = 0;

	if (n) {
		memcpy(with_ends + 1, string, n);
		found = memmem(patch->strings.at, patch->strings.n, with_ends, n + 2);
		at = found ? (uint32_t)(found + 1 - patch->strings.at) : patch->strings.n;
	}
	if (at == patch->strings.n) {
		array_reserve(&patch->strings, n + 1);
		memcpy(patch->strings.at + at, string, n + 1);
		patch->strings.n += n + 1;
	}
	free(with_ends);
	return at;
}

static struct policy_range put_labels(struct patch *patch, const struct labels *labels)
{
	const struct policy_range range = {labels->n ? patch->texts.n : 0, 2 * labels->n};

	for (size_t i = 0; i < labels->n; i++) {
		array_push(&patch->texts, string_of(patch, labels->at[i].key));
		array_push(&patch->texts, string_of(patch, labels->at[i].value));
	}
	return range;
}

static struct policy_range put_ports(struct patch *patch, const struct endpoint *endpoint)
{
	const struct policy_range range = {endpoint->n_ports ? patch->named_ports.n : 0,
					   endpoint->n_ports};

	for (size_t i = 0; i < endpoint->n_ports; i++)
		array_push(&patch->named_ports,
			   ((struct policy_named_port){
				   .name = string_of(patch, endpoint->ports[i].name),
				   .port = endpoint->ports[i].port,
				   .protocol = endpoint->ports[i].protocol}));
	return range;
}

/* Expected pods */

static bool same_labels(const struct policy *base, struct policy_range range,
			const struct labels *labels)
{
	bool same = range.n == 2 * labels->n;

	for (size_t i = 0; same && i < labels->n; i++) {
		const uint32_t *texts = &base->texts[range.at + 2 * i];

		same = !strcmp(policy_string(base, texts[0]), labels->at[i].key) &&
		       !strcmp(policy_string(base, texts[1]), labels->at[i].value);
	}
	return same;
}

static bool same_ports(const struct policy *base, struct policy_range range,
		       const struct endpoint *endpoint)
{
	bool same = range.n == endpoint->n_ports;

	for (size_t i = 0; same && i < endpoint->n_ports; i++) {
		const struct policy_named_port *port = &base->named_ports[range.at + i];

		same = port->port == endpoint->ports[i].port &&
		       port->protocol == endpoint->ports[i].protocol &&
		       !strcmp(policy_string(base, port->name), endpoint->ports[i].name);
	}
	return same;
}

static bool is_as_expected(const struct policy *base, const struct patch_change *change)
{
	const struct policy_expected *was = &base->expected[change->expected];
	const struct endpoint *now = change->pod->now;

	return change->was_expected && is_expected(change) &&
	       !strcmp(policy_string(base, was->uid), now->uid ? now->uid : "") &&
	       was->flags == (now->audit ? POLICY_AUDIT : 0) && !was->allow_source.n &&
	       same_labels(base, was->labels, &now->labels) && same_ports(base, was->ports, now);
}

/* Returns true if the policy has a segment for the pod wherever its address may be. */
static int check_expected(const struct policy *base, const struct endpoint *endpoint)
{
	struct placement placement;
	int error = base->n_prefixes <= EXPECTED_PREFIXES ? 0 : -EOPNOTSUPP;

	for (size_t i = 0; !error && i < base->n_prefixes; i++) {
		const struct policy_prefix *prefix = &base->prefixes[i];

		/* an address that stands for the whole prefix: no longer one begins with it */
		if (policy_prefix_find(base, &prefix->address) != &base->segments[prefix->segment])
			return -EOPNOTSUPP;
		error = policy_place(policy_lazy(base), endpoint, &prefix->address, &placement);
	}
	return error == -ENOENT ? -EOPNOTSUPP : error;
}

static void put_expected(struct patch *patch, const struct patch_change *change)
{
	const struct endpoint *now = change->pod->now;

	array_push(&patch->expected,
		   ((struct policy_expected){.ns = string_of(patch, change->pod->ns),
					     .name = string_of(patch, change->pod->name),
					     .uid = string_of(patch, now->uid),
					     .flags = now->audit ? POLICY_AUDIT : 0,
					     .labels = put_labels(patch, &now->labels),
					     .ports = put_ports(patch, now)}));
}

static void keep_expected(struct patch *patch, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		array_push(&patch->expected, patch->base->expected[i]);
}

/* Namespaces are sorted by name, so the changes are in the order of the expected pods, too. */
static int make_expected(struct patch *patch)
{
	size_t at = 0;

	for (size_t i = 0; i < patch->changes.n; i++) {
		const struct patch_change *change = &patch->changes.at[i];
		int error;

		if (is_as_expected(patch->base, change) ||
		    (!change->was_expected && !is_expected(change)))
			continue;
		patch->expects = true;
		keep_expected(patch, at, change->expected);
		at = change->expected + change->was_expected;
		if (!is_expected(change))
			continue;
		error = check_expected(patch->base, change->pod->now);
		if (error)
			return error;
		put_expected(patch, change);
	}
	keep_expected(patch, at, patch->base->n_expected);
	return 0;
}

/* Endpoints */

static int place_addresses(struct patch *patch, const struct patch_change *change, uint32_t index)
{
	const struct endpoint *now = change->pod->now;
	struct placement placement;

	for (size_t i = 0; i < now->n_addresses; i++) {
		int error =
			policy_place(policy_lazy(patch->base), now, &now->addresses[i], &placement);

		if (error)
			return error == -ENOENT ? -EOPNOTSUPP : error;
		array_push(&patch->coming,
			   ((struct policy_address){.address = now->addresses[i],
						    .endpoint = index,
						    .segment = placement.segment,
						    .variation = placement.variation}));
	}
	return 0;
}

static void put_endpoint(struct patch *patch, const struct patch_change *change)
{
	const struct endpoint *now = change->pod->now;
	struct policy_endpoint record = {.ns = change->ns,
					 .name = string_of(patch, now->name),
					 .node = string_of(patch, now->node),
					 .flags = patch->base->namespaces[change->ns].flags &
						  POLICY_AUDIT};

	if (now->audit)
		record.flags |= POLICY_AUDIT;
	policy_uid_hash(now->uid, record.uid);
	array_push(&patch->endpoints, record);
}

static void keep_endpoints(struct patch *patch, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		patch->endpoint_at[i] = patch->endpoints.n;
		array_push(&patch->endpoints, patch->base->endpoints[i]);
	}
}

static int make_endpoints(struct patch *patch)
{
	const struct policy *base = patch->base;
	size_t at = 0;

	patch->endpoint_at = grow_zeroed(base->n_endpoints, sizeof(*patch->endpoint_at));
	array_reserve(&patch->endpoints, base->n_endpoints + patch->changes.n);
	for (size_t i = 0; i < patch->changes.n; i++) {
		const struct patch_change *change = &patch->changes.at[i];
		int error = 0;

		keep_endpoints(patch, at, change->endpoint);
		at = change->endpoint + change->was_endpoint;
		if (change->was_endpoint)
			patch->endpoint_at[change->endpoint] = NONE;
		if (is_endpoint(change))
			error = place_addresses(patch, change, patch->endpoints.n);
		if (error)
			return error;
		if (is_endpoint(change))
			put_endpoint(patch, change);
	}
	keep_endpoints(patch, at, base->n_endpoints);
	return 0;
}

/* Addresses */

static int compare_coming(const void *a, const void *b)
{
	const struct policy_address *x = a, *y = b;

	return memcmp(&x->address, &y->address, sizeof(x->address));
}

/* Appends an address. Returns -EOPNOTSUPP if two pods have it. */
static int put_address(struct patch *patch, const struct policy_address *record)
{
	const size_t n = patch->addresses.n;

	if (n &&
	    !memcmp(&patch->addresses.at[n - 1].address, &record->address, sizeof(record->address)))
		return -EOPNOTSUPP;
	array_push(&patch->addresses, *record);
	return 0;
}

static int keep_address(struct patch *patch, size_t i)
{
	struct policy_address record = patch->base->addresses[i];

	patch->address_at[i] = NONE;
	record.endpoint = patch->endpoint_at[record.endpoint];
	if (record.endpoint == NONE)
		return 0;
	patch->address_at[i] = patch->addresses.n;
	return put_address(patch, &record);
}

static int make_addresses(struct patch *patch)
{
	const struct policy *base = patch->base;
	size_t next = 0;
	int error = 0;

	patch->address_at = grow_zeroed(base->n_addresses, sizeof(*patch->address_at));
	array_reserve(&patch->addresses, base->n_addresses + patch->coming.n);
	array_sort(&patch->coming, compare_coming);
	for (size_t i = 0; !error && i <= base->n_addresses; i++) {
		while (!error && next < patch->coming.n &&
		       (i == base->n_addresses ||
			memcmp(&patch->coming.at[next].address, &base->addresses[i].address,
			       sizeof(struct address)) <= 0))
			error = put_address(patch, &patch->coming.at[next++]);
		if (!error && i < base->n_addresses)
			error = keep_address(patch, i);
	}
	return error;
}

/* A segment whose last address goes, goes as well: only a compile takes segments away. */
static int check_segments(const struct patch *patch)
{
	const struct policy *base = patch->base;
	bool *used = grow_zeroed(base->n_segments, sizeof(*used));
	int error = 0;

	for (size_t i = 0; i < patch->addresses.n; i++)
		used[patch->addresses.at[i].segment] = true;
	for (size_t i = 0; !error && i < base->n_addresses; i++)
		if (patch->address_at[i] == NONE && !used[base->addresses[i].segment])
			error = -EOPNOTSUPP;
	free(used);
	return error;
}

static uint32_t address_index(const struct patch *patch, const struct address *address)
{
	const size_t n = patch->addresses.n;

	return SEARCH(n, i, memcmp(&patch->addresses.at[i].address, address, sizeof(*address)) < 0);
}

/* Lists each endpoint's addresses, as a compile orders them. */
static void list_addresses(struct patch *patch)
{
	const struct policy *base = patch->base;
	size_t next = 0, changed = 0;

	array_reserve(&patch->endpoint_addresses, patch->addresses.n);
	for (size_t i = 0; i < patch->endpoints.n; i++) {
		struct policy_range *range = &patch->endpoints.at[i].addresses;
		const struct policy_range had = *range;

		*range = (struct policy_range){patch->endpoint_addresses.n, 0};
		while (next < base->n_endpoints && patch->endpoint_at[next] == NONE)
			next++;
		if (next < base->n_endpoints && patch->endpoint_at[next] == i) {
			for (uint32_t k = 0; k < had.n; k++)
				array_push(&patch->endpoint_addresses,
					   patch->address_at[base->endpoint_addresses[had.at + k]]);
			next++;
		} else {
			const struct endpoint *now;

			while (!is_endpoint(&patch->changes.at[changed]))
				changed++;
			now = patch->changes.at[changed++].pod->now;
			for (size_t k = 0; k < now->n_addresses; k++)
				array_push(&patch->endpoint_addresses,
					   address_index(patch, &now->addresses[k]));
		}
		range->n = patch->endpoint_addresses.n - range->at;
	}
}

/* The policy */

static void *copy_of(const void *table, size_t n, size_t size)
{
	void *copy = grow_zeroed(n, size);

	if (n)
		memcpy(copy, table, n * size);
	return copy;
}

#define COPY_TABLE(type, name, moves)                                                            \
	policy->name = copy_of(patch->base->name, patch->base->n_##name, sizeof(*policy->name)); \
	policy->n_##name = patch->base->n_##name;

#define TAKE_TABLE(table)                           \
	do {                                        \
		free(policy->table);                \
		policy->table = patch->table.at;    \
		policy->n_##table = patch->table.n; \
		patch->table.at = NULL;             \
	} while (0)

static void make_policy(struct patch *patch, bool same)
{
	const struct policy *base = patch->base;
	struct policy *policy = grow_zeroed(1, sizeof(*policy));

	patch->policy = policy;
	*policy = (struct policy){POLICY_FACTS(base)};
	policy->parent = same ? base->parent : base->checksum;
	policy->generation = base->generation + !same;
	POLICY_TABLES(COPY_TABLE)
	TAKE_TABLE(strings);
	TAKE_TABLE(texts);
	TAKE_TABLE(named_ports);
	TAKE_TABLE(endpoints);
	TAKE_TABLE(addresses);
	TAKE_TABLE(endpoint_addresses);
	TAKE_TABLE(expected);
}

static bool is_same(const struct patch *patch)
{
	const struct policy *base = patch->base;

	return !patch->expects && patch->endpoints.n == base->n_endpoints &&
	       patch->addresses.n == base->n_addresses &&
	       !memcmp(patch->endpoints.at, base->endpoints,
		       base->n_endpoints * sizeof(*base->endpoints)) &&
	       !memcmp(patch->addresses.at, base->addresses,
		       base->n_addresses * sizeof(*base->addresses));
}

#define BEGIN_TABLE(table)                                              \
	do {                                                            \
		array_reserve(&patch->table, base->n_##table + 1);      \
		if (base->n_##table)                                    \
			memcpy(patch->table.at, base->table,            \
			       base->n_##table * sizeof(*base->table)); \
		patch->table.n = base->n_##table;                       \
	} while (0)

static int make(void *data)
{
	struct patch *patch = data;
	const struct policy *base = patch->base;
	int error = 0;

	for (size_t i = 0; i < base->n_segments; i++)
		if (base->segments[i].delete_generation)
			return -EOPNOTSUPP; /* only a compile takes segments away */
	for (size_t i = 0; !error && i < patch->n; i++)
		error = add_change(patch, &patch->pods[i]);
	if (error)
		return error;
	array_sort(&patch->changes, compare_changes);
	BEGIN_TABLE(strings);
	BEGIN_TABLE(texts);
	BEGIN_TABLE(named_ports);
	error = make_expected(patch);
	if (!error)
		error = make_endpoints(patch);
	if (!error)
		error = make_addresses(patch);
	if (!error)
		error = check_segments(patch);
	if (error)
		return error;
	list_addresses(patch);
	make_policy(patch, is_same(patch));
	return 0;
}

int policy_patch(const struct policy *base, const struct patch_pod *pods, size_t n,
		 struct policy **policy)
{
	struct patch patch = {.base = base, .pods = pods, .n = n};
	int error = memory_guarded(make, &patch);

	if (!error) {
		*policy = patch.policy;
		patch.policy = NULL;
	}
	patch_end(&patch);
	return error;
}
