// SPDX-License-Identifier: GPL-2.0-only
/*
 * CIDRs → regions. CIDRs and their exceptions nest like brackets. One pass in the order of
 * addresses, with the clauses of the enclosing region, finds the clauses that hold in each
 * region.
 */
#include "compile/budget.h"

struct edge {
	struct cidr cidr;
	uint32_t clause;
	bool except;
};

typedef ARRAY(struct edge) edges_t;

static int compare_cidrs(const struct cidr *x, const struct cidr *y)
{
	int order = memcmp(&x->address, &y->address, sizeof(x->address));

	return order ? order : x->length < y->length ? -1 : x->length > y->length;
}

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	int order = compare_cidrs(&x->cidr, &y->cidr);

	if (order)
		return order;
	return x->clause < y->clause ? -1 : x->clause > y->clause;
}

/* Returns true if the bits of one prefix begin with the other's. As in the maps' trie, ::/0
 * contains IPv4 too. */
static bool is_inside(const struct address *address, const struct cidr *cidr)
{
	unsigned int whole = cidr->length / 8, rest = cidr->length % 8;

	if (memcmp(cidr->address.bytes, address->bytes, whole))
		return false;
	return !rest || (cidr->address.bytes[whole] ^ address->bytes[whole]) >> (8 - rest) == 0;
}

static void collect_edges(const struct compiler *c, edges_t *edges)
{
	static const struct cidr ipv4 = {{{[10] = 0xff, [11] = 0xff}}, 96};

	for (uint32_t i = 0; i < c->clauses.n; i++) {
		const struct clause *clause = &c->clauses.at[i];

		if (clause->kind != CLAUSE_ADDRESSES)
			continue;
		array_push(edges, ((struct edge){clause->cidr, i, false}));
		/* an IPv6 CIDR matches no IPv4 address, mapped or not */
		if (clause->cidr.length < ipv4.length && is_inside(&ipv4.address, &clause->cidr))
			array_push(edges, ((struct edge){ipv4, i, true}));
		for (size_t j = 0; j < clause->n_except; j++)
			array_push(edges, ((struct edge){clause->except[j], i, true}));
	}
	array_sort(edges, compare_edges);
}

/* Finds the clauses that hold in a region: those of its parent without the exceptions that begin
 * here, and those that begin here. */
static void region_clauses(const numbers_t *parent, const struct edge *edges, size_t n,
			   numbers_t *clauses)
{
	size_t next = 0;

	for (size_t i = 0; i < parent->n; i++) {
		while (next < n && edges[next].clause < parent->at[i])
			next++;
		if (next < n && edges[next].clause == parent->at[i] && edges[next].except)
			continue;
		array_push(clauses, parent->at[i]);
	}
	for (size_t i = 0; i < n; i++)
		if (!edges[i].except)
			array_push(clauses, edges[i].clause);
	numbers_sort(clauses);
}

static uint32_t list_matchers(struct compiler *c, const numbers_t *clauses,
			      const uint32_t *matcher_of)
{
	numbers_t listed = {0};
	uint32_t set;

	for (size_t i = 0; i < clauses->n; i++)
		array_push(&listed, matcher_of[clauses->at[i]]);
	numbers_sort(&listed);
	set = intern_add(&c->sets, listed.at, listed.n * sizeof(*listed.at), NULL);
	array_free(&listed);
	return set;
}

static uint32_t *map_clauses(const struct compiler *c)
{
	uint32_t *matcher_of = grow_zeroed(c->clauses.n, sizeof(*matcher_of));

	for (uint32_t i = 0; i < c->matchers.n; i++)
		for (uint32_t j = 0; j < c->matchers.at[i].n_clauses; j++)
			matcher_of[c->matchers.at[i].clauses + j] = i;
	return matcher_of;
}

/* Drops edges of policies that are over a budget. Returns false if no edge is left. */
static bool keep_edges(const struct compiler *c, struct edge *edges, size_t *n,
		       const uint32_t *matcher_of)
{
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++)
		if (edges[i].clause == UINT32_MAX ||
		    budget_is_kept(c, c->matchers.at[matcher_of[edges[i].clause]].owner))
			edges[kept++] = edges[i];
	*n = kept;
	return kept;
}

/* Charges a region. Returns the set of matchers that it begins with; INTERN_NONE: nobody is
 * charged.
 */
static uint32_t charge_region(struct compiler *c, const numbers_t *clauses,
			      const uint32_t *matcher_of, const struct edge *edges, size_t n)
{
	numbers_t begun = {0};
	uint32_t set;

	if (!c->budgets)
		return INTERN_NONE;
	for (size_t i = 0; i < n; i++)
		if (edges[i].clause != UINT32_MAX)
			array_push(&begun, edges[i].clause);
	budget_charge_region(c, clauses, matcher_of, begun.at, begun.n);
	for (size_t i = 0; i < begun.n; i++)
		begun.at[i] = matcher_of[begun.at[i]];
	numbers_sort(&begun);
	set = intern_add(&c->sets, begun.at, begun.n * sizeof(*begun.at), NULL);
	array_free(&begun);
	return set;
}

void regions_build(struct compiler *c)
{
	ARRAY(numbers_t) held = {0}; /* by region; empty where the sweep has left it */
	uint32_t *matcher_of = map_clauses(c);
	edges_t edges = {0};
	uint32_t parent = 0;

	/* ::/0 is a region also if no CIDR names it */
	array_push(&edges, ((struct edge){.clause = UINT32_MAX, .except = true}));
	collect_edges(c, &edges);
	for (size_t i = 0, n, all; i < edges.n; i += all) {
		struct region region = {.cidr = edges.at[i].cidr};
		numbers_t clauses = {0}, none = {0};

		for (all = 1; i + all < edges.n; all++)
			if (compare_cidrs(&edges.at[i].cidr, &edges.at[i + all].cidr))
				break;
		n = all;
		if (!keep_edges(c, &edges.at[i], &n, matcher_of))
			continue;
		while (i && (c->regions.at[parent].cidr.length >= region.cidr.length ||
			     !is_inside(&region.cidr.address, &c->regions.at[parent].cidr))) {
			array_free(&held.at[parent]);
			held.at[parent] = (numbers_t){0};
			parent = c->regions.at[parent].parent;
		}
		region.parent = parent;
		region_clauses(i ? &held.at[parent] : &none, &edges.at[i], n, &clauses);
		region.edges = charge_region(c, &clauses, matcher_of, &edges.at[i], n);
		region.listed = list_matchers(c, &clauses, matcher_of);
		parent = c->regions.n;
		array_push(&c->regions, region);
		array_push(&held, clauses);
	}
	for (size_t i = 0; i < held.n; i++)
		array_free(&held.at[i]);
	array_free(&held);
	array_free(&edges);
	free(matcher_of);
}

uint32_t regions_find(const struct compiler *c, const struct address *address)
{
	struct cidr wanted = {*address, 128};
	size_t low = 0, high = c->regions.n;
	uint32_t region;

	/* finds the last region that does not begin behind the address; the address is in it or
	 * in one around it */
	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (compare_cidrs(&c->regions.at[middle].cidr, &wanted) <= 0)
			low = middle;
		else
			high = middle;
	}
	for (region = low; !is_inside(address, &c->regions.at[region].cidr);)
		region = c->regions.at[region].parent;
	return region;
}
