// SPDX-License-Identifier: GPL-2.0-only
/*
 * Domain names → segments. An address that an endpoint has learned by a name is listed by the
 * matchers of its region and by those that have the name. Where an address has several names, each
 * name counts by itself: names are in Accept rules only, so the flow passes if it does for one of
 * them.
 */
#include "compile/budget.h"

struct use {
	const char *name; /* interned by the cluster, or by given.c */
	uint32_t matcher;
};

typedef ARRAY(struct use) uses_t;

static int compare_uses(const void *a, const void *b)
{
	const struct use *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->matcher < y->matcher ? -1 : x->matcher > y->matcher;
}

static void find_uses(const struct compiler *c, uses_t *uses)
{
	for (uint32_t i = 0; i < c->matchers.n; i++) {
		const struct matcher *matcher = &c->matchers.at[i];

		for (uint32_t j = 0; matcher->domains && j < matcher->n_clauses; j++) {
			const struct clause *clause = &c->clauses.at[matcher->clauses + j];

			if (clause->kind == CLAUSE_DOMAIN)
				array_push(uses, ((struct use){clause->ns, i}));
		}
	}
	array_sort(uses, compare_uses);
}

/* Lists one region of each segment. */
static void find_regions(const struct compiler *c, numbers_t *regions)
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
static void add_domain(struct compiler *c, const struct use *uses, size_t n,
		       const struct region *region)
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
		array_push(&c->domains, ((struct domain){uses->name, from, segment}));
}

void domains_build(struct compiler *c)
{
	uses_t uses = {0};
	numbers_t regions = {0};

	find_uses(c, &uses);
	if (uses.n)
		find_regions(c, &regions);
	for (size_t i = 0, n; i < uses.n; i += n) {
		n = 1;
		while (i + n < uses.n && !strcmp(uses.at[i + n].name, uses.at[i].name))
			n++;
		for (size_t k = 0; k < regions.n && c->segments.n <= SEGMENTS_MAX; k++)
			add_domain(c, &uses.at[i], n, &c->regions.at[regions.at[k]]);
	}
	array_free(&uses);
	array_free(&regions);
}
