// SPDX-License-Identifier: GPL-2.0-only
#include "compile/update.h"

#include <errno.h>
#include <stdio.h>

#include "compile/extend.h"
#include "model/grow.h"
#include "policy/place.h"
#include "compile/tables.h"
#include "model/search.h"

#define NONE UINT32_MAX
/* An expected pod has to fit into the segments of so many prefixes, */
#define EXPECTED_PREFIXES 16
/* or, if there are more, into those at so many endpoints. */
#define EXPECTED_PLACES 64

/* An endpoint that is added, with its place in the new tables. */
struct newcomer {
	const struct update_endpoint *from;
	uint32_t ns, at; /* indexes */
};

struct updater {
	struct tables t; /* of the updated policy */
	const struct policy *base;
	const bool *deleted; /* by the base's addresses; NULL: none */
	ARRAY(struct newcomer) newcomers; /* in the order of the endpoints */
	ARRAY(struct policy_address) new_addresses; /* in the order of the addresses */
	uint32_t *namespace_at; /* by the base's namespaces, then new ones: index now */
	uint32_t *endpoint_at; /* by the base's endpoints: index now; NONE: deleted */
	uint32_t *address_at; /* by the base's addresses: index now; NONE: deleted */
	bool twice; /* an address has two endpoints */
};

/* Begins a table with no records and with room for @more. */
#define NEW_TABLE(u, table, more)                                                                \
	do {                                                                                     \
		if ((u)->t.policy->table != (u)->base->table)                                    \
			free((u)->t.policy->table);                                              \
		(u)->t.policy->table = NULL;                                                     \
		(u)->t.policy->n_##table = (u)->t.capacity_##table = 0;                          \
		(u)->t.policy->table = grow_capacity(NULL, &(u)->t.capacity_##table, (more) + 1, \
						     sizeof(*(u)->t.policy->table));             \
	} while (0)

/* Begins a table with the base's records, or with those of the extended base. */
#define BEGIN_TABLE(u, table)                                                         \
	do {                                                                          \
		(u)->t.capacity_##table = (u)->t.policy->n_##table;                   \
		if ((u)->t.policy->table && (u)->t.policy->table != (u)->base->table) \
			break;                                                        \
		NEW_TABLE(u, table, (u)->base->n_##table);                            \
		if ((u)->base->n_##table)                                             \
			memcpy((u)->t.policy->table, (u)->base->table,                \
			       (u)->base->n_##table * sizeof(*(u)->base->table));     \
		(u)->t.policy->n_##table = (u)->base->n_##table;                      \
	} while (0)

static void updater_free(struct updater *u)
{
	tables_free(&u->t);
	array_free(&u->newcomers);
	array_free(&u->new_addresses);
	free(u->namespace_at);
	free(u->endpoint_at);
	free(u->address_at);
}

/* Namespaces */

static uint32_t namespace_of(struct updater *u, const char *name)
{
	const struct policy_namespace *known = policy_namespace_by_name(u->base, name);
	const struct policy *policy = u->t.policy;

	if (known)
		return known - u->base->namespaces;
	for (size_t i = u->base->n_namespaces; i < policy->n_namespaces; i++)
		if (!strcmp(policy_string(policy, policy->namespaces[i].name), name))
			return i;
	table_push(&u->t, namespaces,
		   ((struct policy_namespace){.name = tables_string(&u->t, name)}));
	return policy->n_namespaces - 1;
}

/* A namespace with the index that it had before the sort. */
struct placed_namespace {
	struct policy_namespace ns;
	uint32_t before;
};

static int compare_placed_namespaces(const void *a, const void *b, void *strings)
{
	const struct placed_namespace *x = a, *y = b;

	return strcmp((char *)strings + x->ns.name, (char *)strings + y->ns.name);
}

static void sort_namespaces(struct updater *u)
{
	struct policy *policy = u->t.policy;
	const size_t n = policy->n_namespaces;
	struct placed_namespace *placed = grow_zeroed(n, sizeof(*placed));

	u->namespace_at = grow_zeroed(n, sizeof(*u->namespace_at));
	for (size_t i = 0; i < n; i++)
		placed[i] = (struct placed_namespace){policy->namespaces[i], i};
	if (n > u->base->n_namespaces)
		qsort_r(placed, n, sizeof(*placed), compare_placed_namespaces, policy->strings);
	for (size_t i = 0; i < n; i++) {
		policy->namespaces[i] = placed[i].ns;
		u->namespace_at[placed[i].before] = i;
	}
	free(placed);
}

/* Endpoints */

static int compare_newcomers(const void *a, const void *b)
{
	const struct newcomer *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return strcmp(x->from->endpoint->name, y->from->endpoint->name);
}

static int order_endpoint(const struct updater *u, size_t i, const struct newcomer *newcomer)
{
	const struct policy_endpoint *endpoint = &u->base->endpoints[i];
	const uint32_t ns = u->namespace_at[endpoint->ns];

	if (ns != newcomer->ns)
		return ns < newcomer->ns ? -1 : 1;
	return strcmp(policy_string(u->base, endpoint->name), newcomer->from->endpoint->name);
}

/* Returns true if the base's endpoint keeps an address, or never had one. */
static bool stays(const struct updater *u, const struct policy_endpoint *endpoint)
{
	const uint32_t *addresses = u->base->endpoint_addresses + endpoint->addresses.at;
	bool stays = !u->deleted || !endpoint->addresses.n;

	for (uint32_t i = 0; !stays && i < endpoint->addresses.n; i++)
		stays = !u->deleted[addresses[i]];
	return stays;
}

static void keep_endpoints(struct updater *u, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		struct policy_endpoint record = u->base->endpoints[i];

		u->endpoint_at[i] = stays(u, &record) ? u->t.policy->n_endpoints : NONE;
		record.ns = u->namespace_at[record.ns];
		if (u->endpoint_at[i] != NONE)
			table_push(&u->t, endpoints, record);
	}
}

static void put_properties(struct updater *u, const struct endpoint *from,
			   struct policy_endpoint *record)
{
	const struct policy_range allow_source = record->allow_source;

	tables_endpoint(&u->t, from, record);
	if (u->t.begun)
		record->flags |= u->t.policy->namespaces[record->ns].flags & POLICY_AUDIT;
	/* equal endpoints have equal records */
	if (!allow_source.n && !record->allow_source.n)
		record->allow_source = allow_source;
}

static void make_endpoints(struct updater *u)
{
	const struct policy *base = u->base;
	size_t at = 0;

	u->endpoint_at = grow_zeroed(base->n_endpoints, sizeof(*u->endpoint_at));
	NEW_TABLE(u, endpoints, base->n_endpoints + u->newcomers.n);
	array_sort(&u->newcomers, compare_newcomers);
	for (size_t i = 0; i < u->newcomers.n; i++) {
		struct newcomer *newcomer = &u->newcomers.at[i];
		const struct endpoint *endpoint = newcomer->from->endpoint;
		const size_t found =
			SEARCH(base->n_endpoints, k, order_endpoint(u, k, newcomer) < 0);
		const bool known = found < base->n_endpoints && !order_endpoint(u, found, newcomer);
		struct policy_endpoint record = {0};

		keep_endpoints(u, at, found);
		at = found + known;
		newcomer->at = u->t.policy->n_endpoints;
		if (known) {
			record = base->endpoints[found];
			u->endpoint_at[found] = newcomer->at;
		} else {
			record.name = tables_string(&u->t, endpoint->name);
		}
		record.ns = newcomer->ns;
		put_properties(u, endpoint, &record);
		table_push(&u->t, endpoints, record);
	}
	keep_endpoints(u, at, base->n_endpoints);
}

/* Addresses */

static int compare_addresses(const void *a, const void *b)
{
	const struct policy_address *x = a, *y = b;

	return memcmp(&x->address, &y->address, sizeof(x->address));
}

static void put_address(struct updater *u, const struct policy_address *record)
{
	const struct policy *policy = u->t.policy;
	const size_t n = policy->n_addresses;

	u->twice |= n && !compare_addresses(&policy->addresses[n - 1], record);
	table_push(&u->t, addresses, *record);
}

static void keep_address(struct updater *u, size_t i)
{
	struct policy_address record = u->base->addresses[i];

	if (u->deleted && u->deleted[i]) {
		u->address_at[i] = NONE;
		return;
	}
	record.endpoint = u->endpoint_at[record.endpoint];
	u->address_at[i] = u->t.policy->n_addresses;
	put_address(u, &record);
}

static void make_addresses(struct updater *u)
{
	const struct policy *base = u->base;
	size_t at = 0;

	u->address_at = grow_zeroed(base->n_addresses, sizeof(*u->address_at));
	for (size_t i = 0; i < u->newcomers.n; i++) {
		const struct newcomer *newcomer = &u->newcomers.at[i];

		for (size_t k = 0; k < newcomer->from->n_addresses; k++) {
			struct policy_address *record = array_add(&u->new_addresses);

			*record = newcomer->from->addresses[k];
			record->endpoint = newcomer->at;
		}
	}
	array_sort(&u->new_addresses, compare_addresses);
	NEW_TABLE(u, addresses, base->n_addresses + u->new_addresses.n);
	for (size_t i = 0; i < u->new_addresses.n; i++) {
		const struct policy_address *record = &u->new_addresses.at[i];

		while (at < base->n_addresses &&
		       compare_addresses(&base->addresses[at], record) < 0)
			keep_address(u, at++);
		put_address(u, record);
	}
	while (at < base->n_addresses)
		keep_address(u, at++);
}

static void list_kept(struct updater *u, struct policy_range range)
{
	for (uint32_t i = 0; i < range.n; i++) {
		const uint32_t at = u->address_at[u->base->endpoint_addresses[range.at + i]];

		if (at != NONE)
			table_push(&u->t, endpoint_addresses, at);
	}
}

/* Lists a newcomer's addresses in its own order, or, behind addresses that it had, IPv4 first. */
static void list_new(struct updater *u, const struct newcomer *newcomer, uint32_t first)
{
	const struct policy *policy = u->t.policy;
	const bool had = policy->n_endpoint_addresses > first;

	for (size_t i = 0; i < newcomer->from->n_addresses; i++) {
		const struct policy_address *record = &newcomer->from->addresses[i];
		const bool ipv4 = address_is_ipv4(&record->address);
		const uint32_t own = SEARCH(policy->n_addresses, k,
					    compare_addresses(&policy->addresses[k], record) < 0);
		uint32_t *at = add_record(&u->t, endpoint_addresses);

		for (; had && ipv4 && at > policy->endpoint_addresses + first &&
		       !address_is_ipv4(&policy->addresses[at[-1]].address);
		     at--)
			at[0] = at[-1];
		*at = own;
	}
}

static void list_addresses(struct updater *u)
{
	const struct policy *base = u->base;
	struct policy *policy = u->t.policy;
	size_t known = 0, next = 0;

	NEW_TABLE(u, endpoint_addresses, policy->n_addresses);
	for (size_t i = 0; i < policy->n_endpoints; i++) {
		struct policy_range *range = &policy->endpoints[i].addresses;
		const struct policy_range had = *range;

		range->at = policy->n_endpoint_addresses;
		while (known < base->n_endpoints && u->endpoint_at[known] == NONE)
			known++;
		if (known < base->n_endpoints && u->endpoint_at[known] == i) {
			list_kept(u, had);
			known++;
		}
		if (next < u->newcomers.n && u->newcomers.at[next].at == i)
			list_new(u, &u->newcomers.at[next++], range->at);
		range->n = policy->n_endpoint_addresses - range->at;
	}
}

/* Makes the tables of endpoints, without @deleted addresses and with @added endpoints. */
static void update_endpoints(struct updater *u, const bool *deleted,
			     const struct update_endpoint *added, size_t n)
{
	u->deleted = deleted;
	BEGIN_TABLE(u, strings);
	BEGIN_TABLE(u, cidrs);
	BEGIN_TABLE(u, namespaces);
	for (size_t i = 0; i < n; i++)
		array_push(&u->newcomers,
			   ((struct newcomer){.from = &added[i],
					      .ns = namespace_of(u, added[i].endpoint->ns_name)}));
	sort_namespaces(u);
	for (size_t i = 0; i < n; i++)
		u->newcomers.at[i].ns = u->namespace_at[u->newcomers.at[i].ns];
	make_endpoints(u);
	make_addresses(u);
	list_addresses(u);
}

/* The overlay */

struct overlay {
	struct updater u;
	struct policy *policy;
	const bool *deleted;
	const struct update_endpoint *added;
	size_t n;
};

static int overlay(void *data)
{
	struct overlay *o = data;
	struct policy *compiled = grow_zeroed(1, sizeof(*compiled));

	*compiled = *o->policy;
	o->policy->compiled = compiled;
	o->u.t.policy = o->policy;
	o->u.base = compiled;
	update_endpoints(&o->u, o->deleted, o->added, o->n);
	return 0;
}

int overlay_endpoints(struct policy *policy, const bool *deleted,
		      const struct update_endpoint *added, size_t n)
{
	struct overlay o = {.policy = policy, .deleted = deleted, .added = added, .n = n};
	int error = memory_guarded(overlay, &o);

	if (error && o.u.base)
		overlay_free(policy);
	updater_free(&o.u);
	return error;
}

/* Pods that have changed */

/* A pod, with its places in the base's tables. */
struct pod_change {
	const struct update_pod *pod;
	const struct policy_endpoint *endpoint; /* NULL: it was none */
	uint32_t ns; /* index */
	uint32_t expected; /* index of the first record that is not before it */
	bool was_expected; /* that record is the pod's */
};

struct pod_update {
	struct updater u;
	const struct update *from;
	ARRAY(struct pod_change) changes; /* in the order of the expected pods */
	ARRAY(struct update_endpoint) added;
	ARRAY(struct policy_address) places; /* of `added` */
	bool *deleted; /* by the base's addresses */
	bool expects; /* the expected pods have changed */
	bool extended; /* segments were added */
	ARRAY(struct address) changed; /* the addresses of changed pods, sorted */
	ARRAY(struct endpoint) needy, needy_expected; /* pods that fit no segment of the base */
	struct policy *policy; /* the result, extended before it is updated */
};

static bool is_endpoint(const struct pod_change *change)
{
	return change->pod->now && change->pod->now->n_addresses;
}

static bool is_expected(const struct pod_change *change)
{
	return change->pod->now && !change->pod->now->n_addresses;
}

static int order_expected(const struct policy *base, size_t i, const struct update_pod *pod)
{
	const struct policy_expected *expected = &base->expected[i];
	int order = strcmp(policy_string(base, expected->ns), pod->ns);

	return order ? order : strcmp(policy_string(base, expected->name), pod->name);
}

static int compare_changes(const void *a, const void *b)
{
	const struct pod_change *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return strcmp(x->pod->name, y->pod->name);
}

static int compare_addresses_alone(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct address));
}

/* Lists the addresses that changed pods have or had, if a Service may share one. */
static void list_changed(struct pod_update *p)
{
	const struct policy *base = p->u.base;

	if (!base->n_frontends)
		return;
	for (size_t i = 0; i < p->changes.n; i++) {
		const struct endpoint *now = p->changes.at[i].pod->now;

		for (size_t k = 0; now && k < now->n_addresses; k++)
			array_push(&p->changed, now->addresses[k]);
	}
	for (size_t i = 0; i < base->n_addresses; i++)
		if (p->deleted[i])
			array_push(&p->changed, base->addresses[i].address);
	array_sort(&p->changed, compare_addresses_alone);
}

static bool is_changed(const struct pod_update *p, const struct address *address)
{
	return bsearch(address, p->changed.at, p->changed.n, sizeof(*address),
		       compare_addresses_alone);
}

/* Notes which Services share an address with an endpoint now: a tenant's Service may have addresses
 * of others' pods. Comes after the addresses of the endpoints. */
static void share_frontends(struct pod_update *p)
{
	struct policy *policy = p->u.t.policy;

	if (!p->changed.n)
		return;
	BEGIN_TABLE(&p->u, frontends);
	for (size_t i = 0; i < policy->n_frontends; i++) {
		struct policy_frontend *frontend = &policy->frontends[i];

		if (!is_changed(p, &frontend->address))
			continue;
		frontend->flags &= ~POLICY_FRONTEND_SHARED;
		if (policy_address_find(policy, &frontend->address) ||
		    policy_has_node(policy, &frontend->address))
			frontend->flags |= POLICY_FRONTEND_SHARED;
	}
}

static bool is_plain(const struct endpoint *endpoint)
{
	return !endpoint->interface && !endpoint->has_mac && !endpoint->l2 &&
	       !endpoint->n_allow_source && !endpoint->unknown && !endpoint->as_policy;
}

static int add_change(struct pod_update *p, const struct update_pod *pod)
{
	const struct policy *base = p->u.base;
	const struct policy_namespace *ns = policy_namespace_by_name(base, pod->ns);
	struct pod_change *change = array_add(&p->changes);
	struct policy_range had = {0};
	char name[600];

	*change = (struct pod_change){.pod = pod};
	snprintf(name, sizeof(name), "%s/%s", pod->ns, pod->name);
	if (!ns || policy_host_pod_by_name(base, name) || (pod->now && !is_plain(pod->now)))
		return -EOPNOTSUPP;
	change->ns = ns - base->namespaces;
	change->endpoint = policy_endpoint_by_name(base, pod->ns, pod->name);
	change->expected = SEARCH(base->n_expected, i, order_expected(base, i, pod) < 0);
	change->was_expected =
		change->expected < base->n_expected && !order_expected(base, change->expected, pod);
	if (change->endpoint)
		had = change->endpoint->addresses;
	for (uint32_t i = 0; i < had.n; i++)
		p->deleted[base->endpoint_addresses[had.at + i]] = true;
	return 0;
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

static bool is_as_expected(const struct policy *base, const struct pod_change *change)
{
	const struct policy_expected *was = &base->expected[change->expected];
	const struct endpoint *now = change->pod->now;

	return change->was_expected && is_expected(change) &&
	       !strcmp(policy_string(base, was->uid), now->uid ? now->uid : "") &&
	       was->flags == (now->audit ? POLICY_AUDIT : 0) && !was->allow_source.n &&
	       same_labels(base, was->labels, &now->labels) && same_ports(base, was->ports, now);
}

static int place_expected(const struct policy *base, const struct endpoint *endpoint,
			  const struct address *address)
{
	struct placement placement;

	return policy_place(policy_lazy(base), endpoint, address, &placement);
}

/* Returns -ENOENT if the policy lacks a segment for the pod somewhere among the base's endpoints:
 * at so many of them all over the table. */
static int check_among_endpoints(const struct policy *base, const struct policy *policy,
				 const struct endpoint *endpoint)
{
	const size_t n = base->n_addresses < EXPECTED_PLACES ? base->n_addresses : EXPECTED_PLACES;
	int error = 0;

	for (size_t i = 0; !error && i < n; i++)
		error = place_expected(policy, endpoint,
				       &base->addresses[i * base->n_addresses / n].address);
	return error;
}

/* Returns -ENOENT if the policy lacks a segment for the pod wherever its address may be. A tenant
 * may write many CIDRs, or one within another that begins alike: then only addresses like those of
 * endpoints count, and a pod with another one gets its segment when it has the address. */
static int check_expected(const struct pod_update *p, const struct endpoint *endpoint)
{
	const struct policy *policy = p->extended ? p->policy : p->u.base;
	bool all = policy->n_prefixes <= EXPECTED_PREFIXES;
	int error = 0;

	for (size_t i = 0; all && !error && i < policy->n_prefixes; i++) {
		const struct policy_prefix *prefix = &policy->prefixes[i];

		/* an address that stands for the whole prefix: no longer one begins with it */
		if (policy_prefix_find(policy, &prefix->address) !=
		    &policy->segments[prefix->segment])
			all = false;
		else
			error = place_expected(policy, endpoint, &prefix->address);
	}
	return error || all ? error : check_among_endpoints(p->u.base, policy, endpoint);
}

static void keep_expected(struct pod_update *p, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		table_push(&p->u.t, expected, p->u.base->expected[i]);
}

/* Namespaces are sorted by name, so the changes are in the order of the expected pods, too. */
static void make_expected(struct pod_update *p)
{
	size_t at = 0;

	NEW_TABLE(&p->u, expected, p->u.base->n_expected + p->changes.n);
	for (size_t i = 0; i < p->changes.n; i++) {
		const struct pod_change *change = &p->changes.at[i];

		if (is_as_expected(p->u.base, change) ||
		    (!change->was_expected && !is_expected(change)))
			continue;
		p->expects = true;
		keep_expected(p, at, change->expected);
		at = change->expected + change->was_expected;
		if (is_expected(change))
			tables_expected(&p->u.t, change->pod->now);
	}
	keep_expected(p, at, p->u.base->n_expected);
}

/* Endpoints */

/* Returns -ENOENT if the pod fits no segment. */
static int place_pod(struct pod_update *p, const struct endpoint *now)
{
	struct placement placement;
	const struct policy *policy = p->extended ? p->policy : p->u.base;
	int error = 0;

	array_push(&p->added,
		   ((struct update_endpoint){now, p->places.at + p->places.n, now->n_addresses}));
	for (size_t i = 0; !error && i < now->n_addresses; i++) {
		error = policy_place(policy_lazy(policy), now, &now->addresses[i], &placement);
		if (!error)
			array_push(&p->places,
				   ((struct policy_address){.address = now->addresses[i],
							    .segment = placement.segment,
							    .variation = placement.variation}));
	}
	return error;
}

/* Returns how many pods of the namespace were expected, or are and have no segment yet. */
static size_t count_expected(const struct pod_update *p, const char *ns)
{
	const struct policy *base = p->u.base;
	const size_t from = SEARCH(base->n_expected, i,
				   strcmp(policy_string(base, base->expected[i].ns), ns) < 0);
	const size_t to = SEARCH(base->n_expected, i,
				 strcmp(policy_string(base, base->expected[i].ns), ns) <= 0);
	size_t n = to - from;

	for (size_t i = p->needy_expected.n; i && p->needy_expected.at[i - 1].ns_name == ns; i--)
		n++;
	return n;
}

/* Finds the places of pods in the base, and the pods that fit none of its segments, but for
 * expected ones that get no segment in advance. */
static int place_pods(struct pod_update *p)
{
	int error = 0;

	p->added.n = p->places.n = p->needy.n = p->needy_expected.n = 0;
	for (size_t i = 0; !error && i < p->changes.n; i++) {
		const struct pod_change *change = &p->changes.at[i];

		if (is_endpoint(change))
			error = place_pod(p, change->pod->now);
		else if (is_expected(change) && !is_as_expected(p->u.base, change))
			error = check_expected(p, change->pod->now);
		if (error == -ENOENT && is_endpoint(change))
			array_push(&p->needy, *change->pod->now);
		else if (error == -ENOENT && !p->extended &&
			 count_expected(p, change->pod->now->ns_name) < EXPECTED_SEGMENTS)
			array_push(&p->needy_expected, *change->pod->now);
		if (error == -ENOENT)
			error = 0;
	}
	return error;
}

/* Places the pods. Adds the segments that the base lacks. */
static int place_all(struct pod_update *p)
{
	struct extend job = {.policy = p->u.base, .continues = true};
	size_t n = 0;
	int error;

	for (size_t i = 0; i < p->changes.n; i++)
		n += is_endpoint(&p->changes.at[i]) ? p->changes.at[i].pod->now->n_addresses : 0;
	array_reserve(&p->places, n);
	error = place_pods(p);
	job.endpoints = p->needy.at;
	job.n = p->needy.n;
	job.expected = p->needy_expected.at;
	job.n_expected = p->needy_expected.n;
	if (error || (!job.n && !job.n_expected))
		return error;
	error = p->from->extends && !lineage_is_used_up(p->u.base) ? policy_extend(&job, &p->policy)
								   : -EOPNOTSUPP;
	if (error)
		return error;
	p->extended = true;
	error = place_pods(p);
	return p->needy.n ? -EOPNOTSUPP : error;
}

/* The policy */

#define TABLE_COPY(type, name, moves) \
	if (!policy->name)            \
		BEGIN_TABLE(&p->u, name);

static void renew_services(struct pod_update *p)
{
	const struct policy *base = p->u.base;

	if (!p->from->services)
		return;
	BEGIN_TABLE(&p->u, nodes);
	BEGIN_TABLE(&p->u, node_addresses);
	NEW_TABLE(&p->u, services, base->n_services);
	NEW_TABLE(&p->u, service_ports, base->n_service_ports);
	NEW_TABLE(&p->u, frontends, base->n_frontends);
	NEW_TABLE(&p->u, backends, base->n_backends);
	services_renew(&p->u.t, base, p->from->services);
}

/* Returns true if both policies have the same records. A table without records may have no memory.
 */
#define SAME_TABLE(a, b, table)              \
	((a)->n_##table == (b)->n_##table && \
	 (!(a)->n_##table ||                 \
	  !memcmp((a)->table, (b)->table, (a)->n_##table * sizeof(*(a)->table))))

static bool is_same(const struct pod_update *p)
{
	const struct policy *base = p->u.base, *policy = p->policy;

	return !p->extended && !p->expects && SAME_TABLE(policy, base, endpoints) &&
	       SAME_TABLE(policy, base, addresses) && SAME_TABLE(policy, base, services) &&
	       SAME_TABLE(policy, base, service_ports) && SAME_TABLE(policy, base, frontends) &&
	       SAME_TABLE(policy, base, backends);
}

static void make_policy(struct pod_update *p)
{
	const struct policy *base = p->u.base;
	struct policy *policy = p->policy;

	if (!policy)
		p->policy = policy = grow_zeroed(1, sizeof(*policy));
	if (!p->extended)
		*policy = (struct policy){POLICY_FACTS(base)};
	p->u.t.policy = policy;
	update_endpoints(&p->u, p->deleted, p->added.at, p->added.n);
	BEGIN_TABLE(&p->u, texts);
	BEGIN_TABLE(&p->u, named_ports);
	make_expected(p);
	renew_services(p);
	POLICY_TABLES(TABLE_COPY)
	share_frontends(p);
	if (!p->extended && !is_same(p)) {
		policy->parent = base->checksum;
		policy->generation++;
	}
}

static int make(void *data)
{
	struct pod_update *p = data;
	const struct policy *base = p->u.base;
	int error = 0;

	p->deleted = grow_zeroed(base->n_addresses, sizeof(*p->deleted));
	for (size_t i = 0; !error && i < p->from->n_pods; i++)
		error = add_change(p, &p->from->pods[i]);
	if (error)
		return error;
	list_changed(p);
	array_sort(&p->changes, compare_changes);
	error = place_all(p);
	if (!error)
		make_policy(p);
	return p->u.twice ? -EOPNOTSUPP : error;
}

int policy_update(const struct policy *base, const struct update *update, struct policy **policy)
{
	struct pod_update p = {.u = {.t.begun = base, .base = base}, .from = update};
	int error = memory_guarded(make, &p);

	if (error)
		policy_free(p.policy);
	else
		*policy = p.policy;
	updater_free(&p.u);
	array_free(&p.changes);
	array_free(&p.changed);
	array_free(&p.added);
	array_free(&p.places);
	array_free(&p.needy);
	array_free(&p.needy_expected);
	free(p.deleted);
	return error && error != -ENOMEM ? -EOPNOTSUPP : error;
}
