// SPDX-License-Identifier: GPL-2.0-only
/*
 * Domain names → segments. For a destination that it has learned by a name, an endpoint or an
 * address outside, a subject is evaluated as a segment of its own: there the rules that have the
 * name match every peer, and all others are as they are. If a destination has several names, each
 * name counts by itself: names are in Accept rules only, so the flow passes if it does for one of
 * them.
 *
 * Rules with `own` matchers are of NetworkPolicies, which allow only, and isolate. What they allow
 * is allowed without a name, so such a segment needs the common rules alone: many subjects share
 * it. Only what audited policies would deny depends on both; there each whole has its own segment.
 */
#include "compile/budget.h"

struct domain_use {
	const char *name;
	uint32_t rule;
};

typedef ARRAY(struct domain_use) uses_t;

static int compare_uses(const void *a, const void *b)
{
	const struct domain_use *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->rule < y->rule ? -1 : x->rule > y->rule;
}

static void add_uses(const struct compiler *c, uint32_t rule, uses_t *uses)
{
	const struct matcher *matcher = &c->matchers.at[c->rules.at[rule].common - 1];

	for (uint32_t i = 0; i < matcher->n_clauses; i++) {
		const struct clause *clause = &c->clauses.at[matcher->clauses + i];

		if (clause->kind == CLAUSE_DOMAIN)
			array_push(uses, ((struct domain_use){clause->ns, rule}));
	}
}

/* Lists the names of a common part's rules. */
static void find_uses(const struct compiler *c, const struct subject *subject, uses_t *uses)
{
	size_t n;
	const uint32_t *rules = intern_set(&c->sets, subject->rules, &n);

	for (size_t i = 0; i < n; i++)
		if (c->rules.at[rules[i]].by_name)
			add_uses(c, rules[i], uses);
	array_sort(uses, compare_uses);
}

/* Lists the rules of a subject. Those of the @n uses match every peer. */
static void find_rules(const struct compiler *c, const struct subject *subject,
		       const struct domain_use *uses, size_t n, numbers_t *to)
{
	size_t n_rules, next = 0;
	const uint32_t *rules = intern_set(&c->sets, subject->rules, &n_rules);

	for (size_t i = 0; i < n_rules; i++) {
		const bool named = next < n && uses[next].rule == rules[i];

		next += named;
		array_push(to, named ? c->rules.at[rules[i]].by_name - 1 : rules[i]);
	}
	numbers_sort(to);
}

/* Adds the segment of a subject, a common part or a whole, for the @n uses of one name. */
static void add_domain(struct compiler *c, uint32_t number, const struct domain_use *uses, size_t n)
{
	const uint32_t part = c->subjects.at[number].common;
	numbers_t common = {0}, own = {0};
	uint32_t segment;

	find_rules(c, &c->subjects.at[part], uses, n, &common);
	if (part != number)
		find_rules(c, &c->subjects.at[number], uses, 0, &own);
	segment = segments_add_by_name(c, number, &common, &own);
	array_push(&c->domains, ((struct domain){uses->name, number, segment}));
	array_free(&common);
	array_free(&own);
}

static void add_domains(struct compiler *c, uint32_t number)
{
	uses_t uses = {0};

	find_uses(c, &c->subjects.at[c->subjects.at[number].common], &uses);
	for (size_t i = 0, n; i < uses.n && c->segments.n <= SEGMENTS_MAX; i += n) {
		n = 1;
		while (i + n < uses.n && !strcmp(uses.at[i + n].name, uses.at[i].name))
			n++;
		add_domain(c, number, &uses.at[i], n);
	}
	array_free(&uses);
}

static bool has_audited(const struct compiler *c, const struct subject *subject)
{
	size_t n;
	const uint32_t *rules = intern_set(&c->sets, subject->rules, &n);
	bool audited = isolation_audited(subject->isolation);

	for (size_t i = 0; i < n; i++)
		audited |= c->rules.at[rules[i]].policy->audit;
	return audited;
}

/* Returns true if the subject needs segments of its own: a common part, or a whole with rules that
 * decide what audited policies would deny. */
static bool counts(const struct compiler *c, const struct subject *subject)
{
	const struct subject *common = &c->subjects.at[subject->common];
	size_t n;

	if (!common->domains)
		return false;
	intern_set(&c->sets, subject->rules, &n);
	return subject == common || (n && (has_audited(c, common) || has_audited(c, subject)));
}

void domains_build(struct compiler *c)
{
	const uint32_t n = c->subjects.n;

	for (uint32_t i = 0; i < n; i++)
		if (counts(c, &c->subjects.at[i]))
			add_domains(c, i);
}
