// SPDX-License-Identifier: GPL-2.0-only
#include "compile/extend.h"

#include <errno.h>
#include <string.h>

#include "compile/budget.h"
#include "policy/given.h"
#include "policy/lazy_policy.h"
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

/* Makes an endpoint as the cluster would have it. */
static void fill_endpoint(struct extender *e, const struct endpoint *from,
			  struct endpoint *endpoint)
{
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
		fill_endpoint(e, &e->job->endpoints[i], cluster_add_endpoint(&e->cluster));
	for (size_t i = 0; i < e->job->n_expected; i++)
		fill_endpoint(e, &e->job->expected[i], cluster_add_expected(&e->cluster));
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
			continue;
		if (!add_segment(e, &policy->segments[i]))
			return false;
	}
	return true;
}

/* Copies all tables of the policy. */
static void copy_policy(struct extender *e)
{
	const struct policy *from = e->job->policy;
	struct policy *to = grow_zeroed(1, sizeof(*to));

	*to = (struct policy){POLICY_FACTS(from)};
	if (e->job->continues) {
		to->parent = from->checksum;
		to->generation++;
	} else {
		to->checksum = from->checksum;
	}
	e->policy = to;
	e->t = (struct tables){.c = &e->c,
			       .policy = to,
			       .begun = from,
			       .before = e->job->before,
			       .local = !e->job->continues};
#define COPY(type, name, moves)                                              \
	to->name = grow_zeroed(from->n_##name, sizeof(type));                \
	if (from->n_##name)                                                  \
		memcpy(to->name, from->name, from->n_##name * sizeof(type)); \
	to->n_##name = e->t.capacity_##name = from->n_##name;
	POLICY_TABLES(COPY)
#undef COPY
}

static void begin(struct extender *e)
{
	const struct extend *job = e->job;
	const struct policy *before = job->before;
	const bool goes_on = before && before->checksum == job->policy->checksum;

	obstack_init(&e->c.memory);
	fill_cluster(e);
	e->c.cluster = &e->cluster;
	if (job->continues)
		budgets_open(&e->c);
	e->c.base = goes_on ? before : job->policy;
	e->c.lineage = lineage_open(e->c.base);
	if (!goes_on && !job->continues)
		lineage_begin_at(e->c.lineage, later(later(job->next, BH_IDS_LOCAL),
						     before ? extend_next(before) : 0));
	if (!job->continues)
		lineage_extends(e->c.lineage, before);
	rules_build(&e->c);
	compiler_name_rules(&e->c);
	regions_build(&e->c);
}

/* Returns true if the policy's rules are those that its policies compile to. */
static bool has_rules(const struct extender *e)
{
	struct policy numbers;

	lineage_numbers(e->c.lineage, &numbers);
	return numbers.next_rule == e->job->policy->next_rule;
}

/* Returns true if a segment has more variations than a namespace may have: only a compile of all
 * endpoints can tell whose they are. */
static bool has_many_variations(const struct extender *e)
{
	for (size_t i = 0; i < e->c.segments.n; i++)
		if (e->c.segments.at[i].resolutions.n > budget_limits[BUDGET_VARIATIONS].ns)
			return true;
	return false;
}

static int extend(void *data)
{
	struct extender *e = data;

	begin(e);
	if (!has_rules(e) || !has_matchers(e) || !add_segments(e))
		return -EILSEQ;
	segments_place(&e->c);
	domains_build(&e->c);
	if (e->c.segments.n > SEGMENTS_MAX || (e->job->continues && has_many_variations(e)))
		return -E2BIG;
	reach_build(&e->c);
	if (budget_any_over(&e->c))
		return -E2BIG;
	copy_policy(e);
	tables_extend(&e->t);
	return e->c.too_big ? -E2BIG : 0;
}

static void extender_free(struct extender *e)
{
	compiler_free(&e->c);
	budgets_close(e->c.budgets);
	tables_free(&e->t);
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
