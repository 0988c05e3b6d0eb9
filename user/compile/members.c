// SPDX-License-Identifier: GPL-2.0-only
/*
 * Endpoints → the matchers that list them. Each clause waits under an anchor: one requirement on
 * the namespace and one on the endpoint that it cannot hold without. So an endpoint looks only at
 * the clauses under its own namespace and labels. A negative matcher waits under the labels that
 * it excludes.
 */
#include "compile/budget.h"

/* A label with a value, a label with any value (value NULL), or nothing. Of a namespace also its
 * name (key NULL). Strings are interned: pointers compare. */
struct part {
	const char *key, *value;
};

struct member_anchor {
	struct part ns, endpoint;
};

struct waiting {
	uint32_t next; /* 1 + the next of the same anchor; 0: none */
	uint32_t matcher;
	uint32_t clause;
};

struct members {
	struct compiler *c;
	struct intern anchors;
	numbers_t first; /* by anchor: 1 + index in waiting */
	ARRAY(struct waiting) waiting;
	struct intern ns_keys, endpoint_keys; /* labels that anchors name */
	uint32_t ns; /* the namespace whose parts these are */
	ARRAY(struct part) ns_parts;
};

/* The parts of a namespace and those of an endpoint multiply, and a selector may have 100,000
 * values: a clause that would wait under more pairs of them waits under the endpoint's parts alone.
 */
#define PAIRS_MAX 64
/* A requirement of more values waits under its key: to look at it costs an endpoint with the key a
 * binary search, and each value to wait under 200 bytes. */
#define VALUES_MAX 64

static const struct part no_part;

static void wait_under(struct members *m, struct part ns, struct part endpoint, uint32_t matcher,
		       uint32_t clause)
{
	struct member_anchor anchor = {ns, endpoint};
	bool fresh;
	uint32_t number = intern_add(&m->anchors, &anchor, sizeof(anchor), &fresh);

	if (fresh)
		array_push(&m->first, 0);
	array_push(&m->waiting, ((struct waiting){m->first.at[number], matcher, clause}));
	m->first.at[number] = m->waiting.n;
	if (ns.key)
		intern_add(&m->ns_keys, &ns.key, sizeof(ns.key), NULL);
	if (endpoint.key)
		intern_add(&m->endpoint_keys, &endpoint.key, sizeof(endpoint.key), NULL);
}

/* Chooses the requirement to wait under: one by value rather than one by presence. */
static const struct requirement *choose(const struct selector *selector)
{
	const struct requirement *chosen = NULL;

	for (size_t i = 0; i < selector->n; i++) {
		const struct requirement *requirement = &selector->at[i];

		if (requirement->op == SELECTOR_IN)
			return requirement;
		if (requirement->op == SELECTOR_EXISTS && !chosen)
			chosen = requirement;
	}
	return chosen;
}

/* Returns true if the requirement waits under each of its values. */
static bool is_by_value(const struct requirement *requirement)
{
	return requirement->n_values && requirement->n_values <= VALUES_MAX;
}

static size_t part_count(const struct requirement *requirement)
{
	return requirement && is_by_value(requirement) ? requirement->n_values : 1;
}

static struct part part_at(const struct requirement *requirement, size_t i)
{
	if (!requirement)
		return no_part;
	return (struct part){requirement->key,
			     is_by_value(requirement) ? requirement->values[i] : NULL};
}

static void add_clause(struct members *m, uint32_t matcher, uint32_t number)
{
	const struct clause *clause = &m->c->clauses.at[number];
	const struct requirement *on_ns = clause->ns ? NULL : choose(&clause->namespaces);
	const struct requirement *on_endpoint = choose(&clause->pods);

	if (part_count(on_endpoint) > 1 && part_count(on_ns) > PAIRS_MAX / part_count(on_endpoint))
		on_ns = NULL;
	for (size_t i = 0; i < part_count(on_ns); i++) {
		struct part ns = clause->ns ? (struct part){NULL, clause->ns} : part_at(on_ns, i);

		for (size_t j = 0; j < part_count(on_endpoint); j++)
			wait_under(m, ns, part_at(on_endpoint, j), matcher, number);
	}
}

static void add_exclusions(struct members *m, uint32_t matcher, uint32_t number)
{
	const struct clause *clause = &m->c->clauses.at[number];

	for (size_t i = 0; i < clause->namespaces.n; i++)
		for (size_t j = 0; j < part_count(&clause->namespaces.at[i]); j++)
			wait_under(m, part_at(&clause->namespaces.at[i], j), no_part, matcher,
				   number);
	for (size_t i = 0; i < clause->pods.n; i++)
		for (size_t j = 0; j < part_count(&clause->pods.at[i]); j++)
			wait_under(m, no_part, part_at(&clause->pods.at[i], j), matcher, number);
}

struct members *members_open(struct compiler *c)
{
	struct members *m = grow_zeroed(1, sizeof(*m));

	m->c = c;
	m->ns = UINT32_MAX;
	for (uint32_t i = 0; i < c->matchers.n; i++) {
		const struct matcher *matcher = &c->matchers.at[i];

		for (uint32_t j = 0; j < matcher->n_clauses; j++) {
			uint32_t number = matcher->clauses + j;
			const struct clause *clause = &c->clauses.at[number];

			if (!matcher->negative && clause->kind == CLAUSE_ENDPOINTS)
				add_clause(m, i, number);
			if (!matcher->negative || !clause_is_negative(clause))
				continue;
			/* an endpoint outside the matcher is outside its first broad clause */
			add_exclusions(m, i, number);
			break;
		}
	}
	return m;
}

void members_close(struct members *m)
{
	intern_free(&m->anchors);
	intern_free(&m->ns_keys);
	intern_free(&m->endpoint_keys);
	array_free(&m->first);
	array_free(&m->waiting);
	array_free(&m->ns_parts);
	free(m);
}

static bool clause_matches(const struct clause *clause, const struct namespace *ns,
			   const struct endpoint *endpoint)
{
	if (clause->kind != CLAUSE_ENDPOINTS)
		return false;
	if (clause->ns ? clause->ns != ns->name
		       : !selector_matches(&clause->namespaces, &ns->labels))
		return false;
	return selector_matches(&clause->pods, &endpoint->labels);
}

static bool matcher_matches(const struct compiler *c, uint32_t number, const struct namespace *ns,
			    const struct endpoint *endpoint)
{
	const struct matcher *matcher = &c->matchers.at[number];

	for (uint32_t i = 0; i < matcher->n_clauses; i++)
		if (clause_matches(&c->clauses.at[matcher->clauses + i], ns, endpoint))
			return true;
	return false;
}

static void visit(struct members *m, struct part ns_part, struct part endpoint_part,
		  const struct endpoint *endpoint, numbers_t *listed)
{
	const struct namespace *ns = &m->c->cluster->namespaces[endpoint->ns];
	struct member_anchor anchor = {ns_part, endpoint_part};
	uint32_t number = intern_find(&m->anchors, &anchor, sizeof(anchor));

	if (number == INTERN_NONE)
		return;
	for (uint32_t *next = &m->first.at[number]; *next;) {
		const struct waiting *waiting = &m->waiting.at[*next - 1];
		const struct matcher *matcher = &m->c->matchers.at[waiting->matcher];
		const struct clause *clause = &m->c->clauses.at[waiting->clause];
		bool lists;

		if (!budget_charge(m->c, matcher->owner, BUDGET_STEPS,
				   matcher->negative ? matcher->steps : clause_steps(clause))) {
			/* else it would cost a look for each of the other endpoints */
			*next = waiting->next;
			continue;
		}
		if (matcher->negative)
			lists = !matcher_matches(m->c, waiting->matcher, ns, endpoint);
		else
			lists = clause_matches(clause, ns, endpoint);
		if (lists)
			array_push(listed, waiting->matcher);
		next = &m->waiting.at[*next - 1].next;
	}
}

static void enter_namespace(struct members *m, uint32_t number)
{
	const struct namespace *ns = &m->c->cluster->namespaces[number];

	m->ns = number;
	m->ns_parts.n = 0;
	array_push(&m->ns_parts, no_part);
	array_push(&m->ns_parts, ((struct part){NULL, ns->name}));
	for (size_t i = 0; i < ns->labels.n; i++) {
		const struct label *label = &ns->labels.at[i];

		if (intern_find(&m->ns_keys, &label->key, sizeof(label->key)) == INTERN_NONE)
			continue;
		array_push(&m->ns_parts, ((struct part){label->key, label->value}));
		array_push(&m->ns_parts, ((struct part){label->key, NULL}));
	}
}

void members_list(struct members *m, const struct endpoint *endpoint, numbers_t *listed)
{
	if (m->ns != endpoint->ns)
		enter_namespace(m, endpoint->ns);
	for (size_t i = 0; i < m->ns_parts.n; i++) {
		struct part ns = m->ns_parts.at[i];

		visit(m, ns, no_part, endpoint, listed);
		for (size_t j = 0; j < endpoint->labels.n; j++) {
			const struct label *label = &endpoint->labels.at[j];

			if (intern_find(&m->endpoint_keys, &label->key, sizeof(label->key)) ==
			    INTERN_NONE)
				continue;
			visit(m, ns, (struct part){label->key, label->value}, endpoint, listed);
			visit(m, ns, (struct part){label->key, NULL}, endpoint, listed);
		}
	}
	numbers_sort(listed);
}
