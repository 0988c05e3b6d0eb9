// SPDX-License-Identifier: GPL-2.0-only
#include "compile/extend.h"

#include <errno.h>
#include <string.h>

#include "compile/given.h"
#include "compile/lazy_policy.h"
#include "compile/references.h"
#include "compile/tables.h"
#include "maps/blob.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

struct extender {
	const struct extend *job;
	struct cluster cluster;
	bool has_cluster;
	struct compiler c;
	struct tables t;
	struct policy *policy; /* the result */
	numbers_t segments; /* the compiler's number, by index of the policy's segments */
	uint32_t *ids; /* of the compiler's segments, by number */
	struct intern lists; /* port lists that were copied */
	numbers_t list_at; /* where, by number in `lists` */
};

static uint32_t later(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

uint32_t extend_next(const struct policy *policy)
{
	return later(later(policy->next_segment, policy->next_class),
		     later(policy->next_list, policy->next_resolution));
}

bool extend_can(const struct lazy_policy *policy, const struct endpoint *endpoint)
{
	return !endpoint->unknown && !endpoint->as_policy &&
	       lazy_namespace_by_name(policy, endpoint->ns_name);
}

static const char *intern(struct extender *e, const char *string)
{
	return cluster_intern(&e->cluster, string, strlen(string));
}

static uint32_t namespace_index(const struct extender *e, const char *name)
{
	const struct policy_namespace *ns = policy_namespace_by_name(e->job->policy, name);

	return ns - e->job->policy->namespaces;
}

/* Adds an endpoint as the cluster would have it. */
static void add_endpoint(struct extender *e, const struct endpoint *from)
{
	struct endpoint *endpoint = cluster_add_endpoint(&e->cluster);
	struct obstack *memory = &e->cluster.memory;

	*endpoint = *from;
	endpoint->ns = namespace_index(e, from->ns_name);
	endpoint->labels.at =
		obstack_alloc(memory, (from->labels.n + 1) * sizeof(*endpoint->labels.at));
	for (size_t i = 0; i < from->labels.n; i++)
		endpoint->labels.at[i] = (struct label){intern(e, from->labels.at[i].key),
							intern(e, from->labels.at[i].value)};
	labels_sort(&endpoint->labels);
	endpoint->ports = obstack_alloc(memory, (from->n_ports + 1) * sizeof(*endpoint->ports));
	for (size_t i = 0; i < from->n_ports; i++) {
		endpoint->ports[i] = from->ports[i];
		endpoint->ports[i].name = intern(e, from->ports[i].name);
	}
}

static void fill_cluster(struct extender *e)
{
	cluster_init(&e->cluster);
	e->has_cluster = true;
	given_fill(policy_lazy(e->job->policy), &e->cluster);
	for (size_t i = 0; i < e->job->n; i++)
		add_endpoint(e, &e->job->endpoints[i]);
}

/* Returns true if the policy's matchers are those of its rules, in the same order. */
static bool has_matchers(const struct extender *e)
{
	const struct policy *policy = e->job->policy;

	if (e->c.matchers.n != policy->n_matchers)
		return false;
	for (size_t i = 0; i < policy->n_matchers; i++)
		if (memcmp(&e->c.matchers.at[i].key, &policy->matchers[i].key,
			   sizeof(struct policy_key)))
			return false;
	return true;
}

/* Returns the number of a resolution in the form that resolution_next() reads. */
static uint32_t add_resolution(struct extender *e, uint32_t id)
{
	const struct policy *policy = e->job->policy;
	const struct policy_resolution *resolution = policy->resolutions;
	bytes_t bytes = {0};
	uint32_t number;

	while (resolution->id != id)
		resolution++;
	for (uint32_t i = 0; i < resolution->ports.n; i++) {
		const struct policy_named_port *port =
			&policy->named_ports[resolution->ports.at + i];
		const char *name = policy_string(policy, port->name);

		bytes_number(&bytes, strlen(name) + 1);
		bytes_put(&bytes, name, strlen(name) + 1);
		bytes_number(&bytes, (uint32_t)port->protocol << 16 | port->port);
	}
	number = intern_add(&e->c.resolutions, bytes.at, bytes.n, NULL);
	array_free(&bytes);
	return number;
}

static void put_range(const struct policy *policy, struct policy_range range, numbers_t *to)
{
	for (uint32_t i = 0; i < range.n; i++)
		array_push(to, policy->numbers[range.at + i]);
}

/* Gives the compiler a segment that the policy has. Returns true if both agree on it. */
static bool add_segment(struct extender *e, const struct policy_segment *record)
{
	const struct policy *policy = e->job->policy;
	struct compiler *c = &e->c;
	const size_t before = c->segments.n;
	numbers_t listed = {0};
	uint32_t number;

	put_range(policy, record->in, &listed);
	put_range(policy, record->not_in, &listed);
	numbers_sort(&listed);
	number = segments_add(c,
			      intern_add(&c->sets, listed.at, listed.n * sizeof(*listed.at), NULL),
			      record->flags & BH_SEGMENT_EXTERNAL);
	array_free(&listed);
	array_push(&e->segments, number);
	for (uint32_t i = 0; i < record->variations.n; i++) {
		uint32_t id = policy->variations[record->variations.at + i].resolution;

		array_push(&c->segments.at[number].resolutions, add_resolution(e, id));
	}
	return c->segments.n > before &&
	       !memcmp(&c->segments.at[number].key, &record->key, sizeof(record->key));
}

static bool add_segments(struct extender *e)
{
	const struct policy *policy = e->job->policy;

	segments_begin(&e->c);
	for (size_t i = 0; i < policy->n_segments; i++) {
		/* domains_build() adds those by name again */
		if (policy->segments[i].delete_generation ||
		    policy_segment_is_by_domain(&policy->segments[i]))
			array_push(&e->segments, INTERN_NONE);
		else if (!add_segment(e, &policy->segments[i]))
			return false;
	}
	return true;
}

/* Copies all tables of the policy. */
static void copy_policy(struct extender *e)
{
	const struct policy *from = e->job->policy;
	struct policy *to = grow_zeroed(1, sizeof(*to));

	*to = (struct policy){.lineage = from->lineage,
			      .parent = from->parent,
			      .checksum = from->checksum,
			      .generation = from->generation,
			      .uplinks_n = from->uplinks_n,
			      .node = from->node};
	e->policy = e->t.policy = to;
	e->t.c = &e->c;
#define COPY(type, name, moves)                                              \
	to->name = grow_zeroed(from->n_##name, sizeof(type));                \
	if (from->n_##name)                                                  \
		memcpy(to->name, from->name, from->n_##name * sizeof(type)); \
	to->n_##name = e->t.capacity_##name = from->n_##name;
	POLICY_TABLES(COPY)
#undef COPY
}

/* Copies a port list of the compiler's into the policy's intervals. */
static struct bh_ports_ref put_ports(struct extender *e, struct bh_ports_ref ports)
{
	const struct bh_interval *from = e->c.intervals.at + ports.at;
	uint32_t number;
	bool fresh;

	if (!ports.count || ports.count == BH_PORTS_NAMED)
		return ports;
	number = intern_add(&e->lists, from, ports.count * sizeof(*from), &fresh);
	if (fresh) {
		array_push(&e->list_at, e->policy->n_intervals);
		for (uint32_t i = 0; i < ports.count; i++)
			table_push(&e->t, intervals, from[i]);
	}
	return (struct bh_ports_ref){e->list_at.at[number], ports.count};
}

/* Compares the two numbers with which a pair, or a form of a named list, begins. */
static int compare_two(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	if (x[0] != y[0])
		return x[0] < y[0] ? -1 : 1;
	return x[1] < y[1] ? -1 : x[1] > y[1];
}

/* Compares the IDs of two records that begin with a key and an ID. */
static int compare_ids(const void *a, const void *b)
{
	const struct policy_class *x = a, *y = b;

	_Static_assert(offsetof(struct policy_class, id) == offsetof(struct policy_resolution, id),
		       "a key, then an ID");
	return x->id < y->id ? -1 : x->id > y->id;
}

#define POLICY_HAS(e, table, compare, ...)                                                      \
	policy_search(&(__typeof__(*(e)->policy->table)){__VA_ARGS__}, (e)->job->policy->table, \
		      (e)->job->policy->n_##table, sizeof(*(e)->policy->table), compare)

static uint32_t *put_resolutions(struct extender *e)
{
	struct compiler *c = &e->c;
	const size_t n = c->resolutions.entries.n;
	uint32_t *ids = grow_zeroed(n, sizeof(*ids));

	for (uint32_t i = 1; i < n; i++) {
		struct policy_resolution record = {.key = tables_resolution_key(c, i),
						   .ports = {e->policy->n_named_ports, 0}};
		struct policy_named_port port = {0};
		const char *name;
		size_t offset = 0;

		record.id = ids[i] = lineage_resolution(c->lineage, &record.key);
		if (POLICY_HAS(e, resolutions, compare_ids, .id = record.id))
			continue;
		while (resolution_next(c, i, &offset, &name, &port.protocol, &port.port)) {
			port.name = tables_string(&e->t, name);
			table_push(&e->t, named_ports, port);
			record.ports.n++;
		}
		table_push(&e->t, resolutions, record);
	}
	return ids;
}

static uint32_t find_variation(const struct policy *policy, const struct policy_segment *segment,
			       uint32_t resolution)
{
	for (uint32_t i = 0; segment && i < segment->variations.n; i++) {
		const struct policy_variation *known =
			&policy->variations[segment->variations.at + i];

		if (known->resolution == resolution)
			return known->id;
	}
	return 0;
}

static bool has_variation(const struct policy *policy, uint32_t segment, uint32_t id)
{
	const struct policy_segment *record = policy ? policy_segment_by_id(policy, segment) : NULL;

	for (uint32_t i = 0; record && i < record->variations.n; i++)
		if (policy->variations[record->variations.at + i].id == id)
			return true;
	return false;
}

/* Returns a variation's ID that the segment has neither here nor active: the highest, while a
 * compile gives the lowest. 0: there is none. */
static uint32_t free_variation(const struct extender *e, uint32_t segment, uint32_t from,
			       const uint32_t *given, size_t n)
{
	for (uint32_t id = BH_VARIATION_MAX; id >= from; id--) {
		bool taken = has_variation(e->job->policy, segment, id) ||
			     has_variation(e->job->before, segment, id);

		for (size_t i = 0; i < n; i++)
			taken |= given[i] == id;
		if (!taken)
			return id;
	}
	return 0;
}

static int compare_variations(const void *a, const void *b)
{
	const struct policy_variation *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* @old: the base's record of the segment; NULL: there is none. */
static void put_variations(struct extender *e, const struct segment *segment,
			   const uint32_t *resolution_ids, const struct policy_segment *old,
			   struct policy_segment *record)
{
	const size_t n = segment->resolutions.n, at = e->policy->n_variations;
	numbers_t given = {0};

	for (size_t i = 0; i < n; i++) {
		struct policy_variation variation = {
			.resolution = resolution_ids[segment->resolutions.at[i]]};

		variation.id = find_variation(e->c.base, old, variation.resolution);
		if (!variation.id)
			variation.id = free_variation(e, record->id, old ? old->next_variation : 1,
						      given.at, given.n);
		e->c.too_big |= !variation.id;
		array_push(&given, variation.id);
		table_push(&e->t, variations, variation);
	}
	array_free(&given);
	record->variations = (struct policy_range){at, n};
	record->next_variation = n ? BH_VARIATION_MAX + 1 : 1;
	sort_records(e->policy->variations + at, n, sizeof(*e->policy->variations),
		     compare_variations);
}

/* The base may have given variations from the top of the range already. */
static struct policy_segment base_record(const struct extender *e, const struct policy_segment *old)
{
	const struct policy_segment *own = policy_segment_by_id(e->job->policy, old->id);
	struct policy_segment record = *old;

	record.next_variation = own ? own->next_variation : 1;
	return record;
}

static void put_segment(struct extender *e, uint32_t number, const uint32_t *resolution_ids)
{
	const struct segment *segment = &e->c.segments.at[number];
	const struct policy_segment *old;
	const uint32_t id = lineage_segment(e->c.lineage, &segment->key, &old);
	struct policy_segment record, base;

	e->ids[number] = id;
	/* one by name that the policy has */
	if (policy_segment_by_id(e->job->policy, id))
		return;
	record = tables_segment(&e->t, segment, id, e->policy->generation);
	if (old)
		base = base_record(e, old);
	put_variations(e, segment, resolution_ids, old ? &base : NULL, &record);
	for (int i = 0; i < 4; i++)
		record.fallback[i / 2][i % 2] = put_ports(e, record.fallback[i / 2][i % 2]);
	table_push(&e->t, segments, record);
}

/* Gives segments that the policy has their new variations, then adds the new segments. */
static void put_segments(struct extender *e, const uint32_t *resolution_ids)
{
	const size_t n = e->segments.n;

	e->ids = grow_zeroed(e->c.segments.n, sizeof(*e->ids));
	for (size_t i = 0; i < n; i++) {
		const uint32_t number = e->segments.at[i];
		struct policy_segment *record = &e->policy->segments[i];
		const struct policy_segment *old;
		struct policy_segment base;

		if (number == INTERN_NONE)
			continue;
		e->ids[number] = record->id;
		if (e->c.segments.at[number].resolutions.n == record->variations.n)
			continue;
		lineage_segment(e->c.lineage, &record->key, &old);
		base = base_record(e, old);
		put_variations(e, &e->c.segments.at[number], resolution_ids, &base, record);
	}
	/* those of the policy came first */
	for (size_t i = 0, known = 0; i < e->c.segments.n; i++) {
		while (known < n && e->segments.at[known] == INTERN_NONE)
			known++;
		if (known < n && e->segments.at[known] == i)
			known++;
		else
			put_segment(e, i, resolution_ids);
	}
}

static void put_class(struct extender *e, const struct policy_key *key, uint32_t id)
{
	if (id && !POLICY_HAS(e, classes, compare_ids, .id = id))
		table_push(&e->t, classes, ((struct policy_class){*key, id, 0}));
}

static void put_pairs(struct extender *e)
{
	struct compiler *c = &e->c;

	for (size_t i = 0; i < c->peers.n; i++)
		put_class(e, &c->peers.at[i].key, c->peers.at[i].id);
	for (size_t i = 0; i < c->subjects.n; i++)
		put_class(e, &c->subjects.at[i].key, c->subjects.at[i].id);
	for (size_t i = 0; i < c->pairs.n; i++) {
		const struct pair *pair = &c->pairs.at[i];

		if (!POLICY_HAS(e, pairs, compare_two, pair->subject, pair->peer, {0}))
			table_push(&e->t, pairs,
				   ((struct policy_pair){
					   pair->subject, pair->peer,
					   put_ports(e, c->verdicts.at[pair->verdicts].ports)}));
	}
}

static void put_named(struct extender *e, const uint32_t *resolution_ids)
{
	struct compiler *c = &e->c;

	for (uint32_t i = 0; i < c->needs.entries.n; i++) {
		struct need need;
		struct bh_ports_ref ports;
		size_t size;
		uint32_t list, rules, resolution;

		memcpy(&need, intern_bytes(&c->needs, i, &size), sizeof(need));
		list = c->verdicts.at[need.verdicts].ports.at;
		rules = c->verdicts.at[need.verdicts].rules;
		resolution = resolution_ids[need.resolution];
		if (!need.resolution && !POLICY_HAS(e, lists, compare_ids, .id = list))
			table_push(&e->t, lists,
				   ((struct policy_class){ports_list_key(c, rules), list, 0}));
		if (POLICY_HAS(e, named, compare_two, list, resolution, {0}))
			continue;
		ports = put_ports(e, ports_resolve(c, rules, need.resolution));
		table_push(&e->t, named, ((struct policy_named){list, resolution, ports}));
	}
}

/* Returns the index in the policy of a segment of the compiler's. */
static uint32_t segment_index(const struct extender *e, uint32_t number)
{
	return policy_segment_by_id(e->policy, e->ids[number]) - e->policy->segments;
}

/* Adds the domains of new classes of subjects. */
static void put_domains(struct extender *e)
{
	const struct policy *policy = e->job->policy;
	struct intern known = {0};

	for (size_t i = 0; i < policy->n_domains; i++)
		intern_add(&known, &policy->domains[i].class, sizeof(uint32_t), NULL);
	for (size_t i = 0; i < e->c.domains.n; i++) {
		const struct domain *domain = &e->c.domains.at[i];
		struct policy_domain record = {.class = e->c.subjects.at[domain->subject].id};

		if (intern_find(&known, &record.class, sizeof(record.class)) != INTERN_NONE)
			continue;
		record.name = tables_string(&e->t, domain->name);
		record.segment = segment_index(e, domain->segment);
		table_push(&e->t, domains, record);
	}
	intern_free(&known);
	tables_sort_domains(e->policy);
}

static void fill(struct extender *e)
{
	uint32_t *resolution_ids;

	copy_policy(e);
	resolution_ids = put_resolutions(e);
	put_segments(e, resolution_ids);
	put_pairs(e);
	put_named(e, resolution_ids);
	audits_put(&e->t, e->job->policy);
	free(resolution_ids);
	tables_order(&e->t);
	put_domains(e);
	e->policy->n_by_matchers = 0;
	tables_by_matchers(&e->t);
	references_build(e->policy);
	lineage_numbers(e->c.lineage, e->policy);
}

static void begin(struct extender *e)
{
	const struct extend *job = e->job;
	const struct policy *before = job->before;
	const bool goes_on = before && before->checksum == job->policy->checksum;

	obstack_init(&e->c.memory);
	fill_cluster(e);
	e->c.cluster = &e->cluster;
	e->c.base = goes_on ? before : job->policy;
	e->c.lineage = lineage_open(e->c.base);
	if (!goes_on)
		lineage_begin_at(e->c.lineage, later(later(job->next, BH_IDS_LOCAL),
						     before ? extend_next(before) : 0));
	lineage_extends(e->c.lineage, before);
	rules_build(&e->c);
	compiler_name_rules(&e->c);
	regions_build(&e->c);
}

static int extend(void *data)
{
	struct extender *e = data;

	begin(e);
	if (!has_matchers(e) || !add_segments(e))
		return -EILSEQ;
	segments_place(&e->c);
	domains_build(&e->c);
	if (e->c.segments.n > SEGMENTS_MAX)
		return -E2BIG;
	reach_build(&e->c);
	fill(e);
	if (e->policy->next_rule != e->job->policy->next_rule)
		return -EILSEQ;
	return e->c.too_big ? -E2BIG : 0;
}

static void extender_free(struct extender *e)
{
	compiler_free(&e->c);
	intern_free(&e->t.strings);
	intern_free(&e->lists);
	free(e->ids);
	array_free(&e->t.string_at);
	array_free(&e->segments);
	array_free(&e->list_at);
	if (e->has_cluster)
		cluster_free(&e->cluster);
}

int policy_extend(const struct extend *job, struct policy **extended)
{
	struct diag silent = {0};
	struct extender e = {.job = job, .c.diag = &silent};
	int error = memory_guarded(extend, &e);

	extender_free(&e);
	if (error)
		policy_free(e.policy);
	else
		*extended = e.policy;
	return error;
}
