// SPDX-License-Identifier: GPL-2.0-only
/* The compiler's results → the tables of struct policy, each in the order that policy.h gives. */
#include "compile/budget.h"
#include "policy/references.h"
#include "compile/tables.h"

void tables_pair(struct compiler *c, uint32_t subject, uint32_t peer, uint32_t verdicts)
{
	array_push(&c->pairs, ((struct pair){subject, peer, verdicts}));
}

void tables_need(struct compiler *c, uint32_t verdicts, uint32_t resolution_set)
{
	struct need need = {verdicts, 0};
	const uint32_t *resolutions, *rules;
	size_t n, n_rules;

	if (c->verdicts.at[verdicts].ports.count != BH_PORTS_NAMED)
		return;
	intern_add(&c->needs, &need, sizeof(need), NULL);
	resolutions = intern_set(&c->sets, resolution_set, &n);
	rules = ports_rules(c, verdicts, &n_rules);
	if (!budget_charge_namespace(c, rules, n_rules, BUDGET_STEPS, n))
		return;
	for (size_t i = 0; i < n; i++) {
		need.resolution = resolutions[i];
		intern_add(&c->needs, &need, sizeof(need), NULL);
	}
}

static void put_matchers(struct tables *t)
{
	struct compiler *c = t->c;

	for (size_t i = 0; i < c->matchers.n; i++) {
		const struct matcher *matcher = &c->matchers.at[i];

		table_push(t, matchers,
			   ((struct policy_matcher){
				   .key = matcher->key,
				   .clauses = {t->policy->n_clauses, matcher->n_clauses},
				   .flags = matcher->negative ? MATCHER_NEGATIVE : 0}));
		for (uint32_t j = 0; j < matcher->n_clauses; j++) {
			const struct clause *clause = &c->clauses.at[matcher->clauses + j];
			struct policy_clause record = {
				.kind = clause->kind,
				.ns = tables_string(t, clause->ns),
				.namespaces = tables_selector(t, &clause->namespaces),
				.pods = tables_selector(t, &clause->pods),
				.address = clause->cidr.address,
				.length = clause->cidr.length,
				.except = tables_cidrs(t, clause->except, clause->n_except)};

			table_push(t, clauses, record);
		}
	}
}

static int compare_rules(const void *a, const void *b)
{
	const struct policy_rule *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static void put_rules(struct tables *t)
{
	struct compiler *c = t->c;
	bytes_t name = {0};

	for (size_t i = 0; i < c->rules.n; i++) {
		const struct plain_rule *rule = &c->rules.at[i];

		/* A policy's rule is several plain rules if its relations were resolved. */
		if (i && plain_rules_are_one(rule, rule - 1))
			continue;
		name.n = 0;
		policy_name_put(&name, rule->policy);
		table_push(t, rules,
			   ((struct policy_rule){.id = rule->id,
						 .policy = tables_string(t, (const char *)name.at),
						 .name = tables_string(t, rule->rule->name),
						 .index = rule->rule->index,
						 .direction = rule->direction,
						 .tier = rule->policy->tier,
						 .action = rule->action,
						 .kind = rule->policy->kind,
						 .flags = rule->policy->audit ? POLICY_AUDIT : 0}));
	}
	table_sort(t, rules, compare_rules);
	array_free(&name);
}

struct bound {
	const char *ns;
	uint32_t number;
};

static int compare_bound(const void *a, const void *b)
{
	const struct bound *x = a, *y = b;
	int order = strcmp(x->ns, y->ns);

	return order ? order : x->number < y->number ? -1 : x->number > y->number;
}

static void put_by_namespace(struct tables *t)
{
	struct policy *policy = t->policy;
	struct bound *bound = grow_zeroed(policy->n_matchers, sizeof(*bound));

	for (uint32_t i = 0; i < policy->n_matchers; i++)
		bound[i] = (struct bound){matcher_namespace(policy, &policy->matchers[i]), i};
	sort_records(bound, policy->n_matchers, sizeof(*bound), compare_bound);
	for (uint32_t i = 0; i < policy->n_matchers; i++)
		table_push(t, by_namespace, bound[i].number);
	free(bound);
}

/* A unit without a policy is a namespace's isolation; its matcher has the namespace's name. */
static void put_isolation(struct tables *t, const struct unit *unit, bytes_t *name)
{
	const struct compiler *c = t->c;
	const struct matcher *matcher = &c->matchers.at[unit->matcher];
	const char *ns = c->clauses.at[matcher->clauses].ns;

	name->n = 0;
	if (unit->policy) {
		policy_name_put(name, unit->policy);
	} else {
		bytes_put(name, "namespace ", strlen("namespace "));
		bytes_put(name, ns, strlen(ns) + 1);
	}
	table_push(t, isolations,
		   ((struct policy_isolation){
			   .policy = tables_string(t, (const char *)name->at),
			   .matcher = unit->matcher,
			   .directions = (uint32_t)unit->isolates[INGRESS] << INGRESS |
					 (uint32_t)unit->isolates[EGRESS] << EGRESS,
			   .flags = unit->policy && unit->policy->audit ? POLICY_AUDIT : 0,
		   }));
}

static int compare_isolations(const void *a, const void *b, void *strings)
{
	const struct policy_isolation *x = a, *y = b;
	int order = strcmp((const char *)strings + x->policy, (const char *)strings + y->policy);

	return order ? order : x->matcher < y->matcher ? -1 : x->matcher > y->matcher;
}

static void put_isolations(struct tables *t)
{
	bytes_t name = {0};

	for (size_t i = 0; i < t->c->units.n; i++) {
		const struct unit *unit = &t->c->units.at[i];

		if (unit->isolates[INGRESS] || unit->isolates[EGRESS])
			put_isolation(t, unit, &name);
	}
	if (t->policy->n_isolations)
		qsort_r(t->policy->isolations, t->policy->n_isolations,
			sizeof(*t->policy->isolations), compare_isolations, t->policy->strings);
	array_free(&name);
}

void tables_extend(struct tables *t)
{
	uint32_t *resolution_ids;

	segments_find_ids(t);
	resolution_ids = resolutions_put(t);
	segments_put(t, resolution_ids);
	reach_put(t, resolution_ids);
	by_matchers_put(t);
	references_build(t->policy);
	lineage_numbers(t->c->lineage, t->policy);
	free(resolution_ids);
}

/* Begins a policy with what does not depend on its generation. */
static void begin(struct tables *t)
{
	t->policy = grow_zeroed(1, sizeof(*t->policy));
	settings_put(t);
	namespaces_put(t);
	put_matchers(t);
	put_rules(t);
	given_put(t);
	put_isolations(t);
	host_pods_put(t);
	for (size_t i = 0; i < t->c->cluster->n_expected; i++)
		tables_expected(t, &t->c->cluster->expected[i]);
	references_build(t->policy);
}

static void finish(struct tables *t, uint32_t generation)
{
	uint32_t *resolution_ids, *index = grow_zeroed(t->c->addresses.n, sizeof(*index));

	t->policy->generation = generation;
	resolution_ids = resolutions_put(t);
	segments_put(t, resolution_ids);
	addresses_put(t, resolution_ids, index);
	endpoints_put(t, index);
	prefixes_put(t);
	reach_put(t, resolution_ids);
	by_matchers_put(t);
	put_by_namespace(t);
	services_put(t);
	references_build(t->policy);
	lineage_numbers(t->c->lineage, t->policy);
	free(resolution_ids);
	free(index);
}

#define TABLE_BEGINS(type, name, moves)                                            \
	if (a->n_##name > b->n_##name ||                                           \
	    (a->n_##name && memcmp(a->name, b->name, a->n_##name * sizeof(type)))) \
		return false;

/* Returns true if each table of @b begins with that of @a. */
static bool begins_with(const struct policy *b, const struct policy *a)
{
	POLICY_TABLES(TABLE_BEGINS)
	return true;
}

#define TABLE_EQUAL(type, name, moves)                                             \
	if (a->n_##name != b->n_##name ||                                          \
	    (a->n_##name && memcmp(a->name, b->name, a->n_##name * sizeof(type)))) \
		return false;

static bool policies_equal(const struct policy *a, const struct policy *b)
{
	POLICY_TABLES(TABLE_EQUAL)
	return a->node == b->node && a->uplinks_n == b->uplinks_n &&
	       a->next_segment == b->next_segment && a->next_class == b->next_class &&
	       a->next_rule == b->next_rule && a->next_resolution == b->next_resolution &&
	       a->next_list == b->next_list;
}

#define TABLE_PUT(type, name, moves)            \
	bytes_number(&bytes, policy->n_##name); \
	bytes_put(&bytes, policy->name, policy->n_##name * sizeof(type));

/* Returns the lineage of a policy without a base. Equal inputs begin the same lineage. */
static uint64_t lineage_of(const struct policy *policy)
{
	bytes_t bytes = {0};
	struct policy_key key;

	POLICY_TABLES(TABLE_PUT)
	key = bytes_key(&bytes);
	array_free(&bytes);
	return key.word[0];
}

#define TABLE_EMPTY(type, name, moves) t->capacity_##name = 0;

/* Empties the tables for another fill(). The caller keeps their content. */
static void empty(struct tables *t)
{
	intern_free(&t->strings);
	t->string_at.n = 0;
	POLICY_TABLES(TABLE_EMPTY)
}

void tables_free(struct tables *t)
{
	intern_free(&t->strings);
	intern_free(&t->lists);
	intern_free(&t->known);
	array_free(&t->known_at);
	array_free(&t->string_at);
	array_free(&t->list_at);
	free(t->segment_index);
	free(t->segment_id);
	free(t->old);
}

struct policy *tables_build(struct compiler *c)
{
	struct tables t = {.c = c};
	const struct policy *base = c->base;
	struct policy *policy;
	bool is_base = false;

	segments_find_ids(&t);
	begin(&t);
	/* If nothing has changed, the policy is the base, whose generation its segments name. */
	if (base && begins_with(base, t.policy)) {
		finish(&t, base->generation);
		is_base = policies_equal(t.policy, base);
		if (!is_base) {
			policy_free(t.policy);
			empty(&t);
			begin(&t);
		}
	}
	if (!is_base)
		finish(&t, base ? base->generation + 1 : c->first);
	policy = t.policy;
	if (!base) {
		policy->lineage = lineage_of(policy);
	} else if (is_base) {
		policy->lineage = base->lineage;
		policy->parent = base->parent;
		policy->checksum = base->checksum;
	} else {
		policy->lineage = base->lineage;
		policy->parent = base->checksum;
	}
	tables_free(&t);
	return policy;
}
