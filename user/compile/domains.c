// SPDX-License-Identifier: GPL-2.0-only
/*
 * Domain names → segments. To a subject, an address that it has learned by a name is listed by the
 * matchers of the address' region and by those matchers of the subject's rules that have the name.
 * If an address has several names, each name counts by itself: names are in Accept rules only, so
 * the flow passes if it does for one of them.
 *
 * The result depends on the region and on the subject's common rules alone, so the entry in the
 * maps never changes while a policy of these rules is active.
 */
#include "compile/budget.h"

struct domain_use {
	const char *name;
	uint32_t matcher;
};

typedef ARRAY(struct domain_use) uses_t;

static int compare_uses(const void *a, const void *b)
{
	const struct domain_use *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->matcher < y->matcher ? -1 : x->matcher > y->matcher;
}

static void add_uses(const struct compiler *c, uint32_t number, uses_t *uses)
{
	const struct matcher *matcher = &c->matchers.at[number];

	for (uint32_t i = 0; matcher->domains && i < matcher->n_clauses; i++) {
		const struct clause *clause = &c->clauses.at[matcher->clauses + i];

		if (clause->kind == CLAUSE_DOMAIN)
			array_push(uses, ((struct domain_use){clause->ns, number}));
	}
}

/* Lists the names of the subject's rules. */
static void find_uses(const struct compiler *c, const struct subject *subject, uses_t *uses)
{
	size_t n;
	const uint32_t *rules = intern_set(&c->sets, subject->rules, &n);

	for (size_t i = 0; i < n; i++)
		if (c->rules.at[rules[i]].common)
			add_uses(c, c->rules.at[rules[i]].common - 1, uses);
	array_sort(uses, compare_uses);
}

/* Lists one region of each segment. */
static void find_regions(struct compiler *c, numbers_t *regions)
{
	bool *seen = grow_zeroed(c->segments.n, sizeof(*seen));

	for (uint32_t i = 0; i < c->regions.n; i++) {
		if (!seen[c->regions.at[i].segment])
			array_push(regions, i);
		seen[c->regions.at[i].segment] = true;
	}
	free(seen);
}

/* Adds the segment of a region's addresses that the @n uses of one name list, too. */
static void add_domain(struct compiler *c, uint32_t subject, const struct domain_use *uses,
		       size_t n, const struct region *region)
{
	const uint32_t from = region->segment;
	numbers_t listed = {0};
	size_t n_region;
	const uint32_t *by_cidr = intern_set(&c->sets, region->listed, &n_region);
	uint32_t segment;

	for (size_t i = 0; i < n_region; i++)
		array_push(&listed, by_cidr[i]);
	for (size_t i = 0; i < n; i++)
		array_push(&listed, uses[i].matcher);
	numbers_sort(&listed);
	segment = segments_add(
		c, intern_add(&c->sets, listed.at, listed.n * sizeof(*listed.at), NULL), true);
	array_free(&listed);
	if (segment != from)
		array_push(&c->domains, ((struct domain){uses->name, subject, from, segment}));
}

static void add_subject(struct compiler *c, uint32_t subject, const numbers_t *regions)
{
	uses_t uses = {0};

	find_uses(c, &c->subjects.at[subject], &uses);
	for (size_t i = 0, n; i < uses.n; i += n) {
		n = 1;
		while (i + n < uses.n && !strcmp(uses.at[i + n].name, uses.at[i].name))
			n++;
		for (size_t k = 0; k < regions->n && c->segments.n <= SEGMENTS_MAX; k++)
			add_domain(c, subject, &uses.at[i], n, &c->regions.at[regions->at[k]]);
	}
	array_free(&uses);
}

void domains_build(struct compiler *c)
{
	numbers_t regions = {0};

	for (uint32_t i = 0; i < c->subjects.n; i++) {
		if (!c->subjects.at[i].domains || c->subjects.at[i].common != i)
			continue;
		if (!regions.n)
			find_regions(c, &regions);
		add_subject(c, i, &regions);
	}
	array_free(&regions);
}
