// SPDX-License-Identifier: GPL-2.0-only
#include "compile/budget_accounts.h"

#include <inttypes.h>

/* What the rules of a list cost. */
struct cost {
	uint64_t each; /* each rule */
	/* NULL: see `each`; else each rule costs the intervals that so many ports may begin */
	const uint32_t *spans;
	uint64_t most; /* a policy, or the namespace, pays no more */
};

bool budget_charge(struct compiler *c, const struct policy_object *policy, enum budget budget,
		   uint64_t n)
{
	struct budgets *b = c->budgets;
	const uint32_t number = account_of_policy(c, policy);

	if (!b || number == BUDGET_NOBODY)
		return true;
	return accounts_spend_policy(b, number, budget, n) &&
	       accounts_spend_namespace(b, b->ns_of[number], budget, n);
}

void budget_strangers(struct compiler *c, const uint32_t *ns, size_t n)
{
	if (!c->budgets)
		return;
	c->budgets->strangers.now = ns;
	c->budgets->strangers.n_now = n;
}

bool budget_is_kept(const struct compiler *c, const struct policy_object *policy)
{
	const struct budgets *b = c->budgets;
	const uint32_t number = account_of_policy(c, policy);
	uint32_t ns;

	if (!b || number == BUDGET_NOBODY)
		return true;
	ns = b->ns_of[number];
	return !b->stopped &&
	       (ns == BUDGET_NOBODY || !(b->objects[number].over || b->namespaces[ns].over));
}

bool budget_any_over(const struct compiler *c)
{
	return c->budgets && c->budgets->any_over;
}

void budget_sizes_known(struct compiler *c)
{
	if (!c->budgets)
		return;
	c->budgets->sized = true;
	accounts_fit(c->budgets, BUDGET_BYTES);
	accounts_fit(c->budgets, BUDGET_STEPS);
}

/* Returns the namespace that pays for a list of rules: the only one that has NetworkPolicies in it.
 */
static uint32_t payer_of(const struct compiler *c, const uint32_t *rules, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t ns = c->budgets->ns_of[account_of_policy(c, c->rules.at[rules[i]].policy)];

		if (ns != BUDGET_NOBODY)
			return ns;
	}
	return BUDGET_NOBODY;
}

bool budget_charge_namespace(struct compiler *c, const uint32_t *rules, size_t n,
			     enum budget budget, uint64_t units)
{
	return !c->budgets ||
	       accounts_spend_namespace(c->budgets, payer_of(c, rules, n), budget, units);
}

/* Charges a list of rules: each policy with the sum of what its rules cost, and the namespace with
 * the sum of those that are within their budgets; neither with more than @cost->most. */
static bool charge_list(struct compiler *c, const uint32_t *rules, size_t n, enum budget budget,
			const struct cost *cost)
{
	uint64_t all = 0, sum;
	bool kept = true;

	if (!c->budgets)
		return true;
	for (size_t i = 0; i < n;) {
		const struct policy_object *policy = c->rules.at[rules[i]].policy;

		for (sum = 0; i < n && c->rules.at[rules[i]].policy == policy; i++)
			sum += cost->spans ? 2 * (uint64_t)cost->spans[i] + 1 : cost->each;
		if (accounts_spend_policy(c->budgets, account_of_policy(c, policy), budget,
					  sum < cost->most ? sum : cost->most))
			all += sum;
		else
			kept = false;
	}
	return budget_charge_namespace(c, rules, n, budget, all < cost->most ? all : cost->most) &&
	       kept;
}

bool budget_charge_rules(struct compiler *c, const uint32_t *rules, size_t n, enum budget budget,
			 uint64_t each)
{
	return charge_list(c, rules, n, budget, &(struct cost){.each = each, .most = UINT64_MAX});
}

bool budget_charge_once(struct compiler *c, const uint32_t *rules, size_t n, enum budget budget)
{
	return charge_list(c, rules, n, budget, &(struct cost){.each = 1, .most = 1});
}

bool budget_charge_spans(struct compiler *c, const uint32_t *rules, const uint32_t *spans, size_t n,
			 enum budget budget, uint64_t most)
{
	return charge_list(c, rules, n, budget, &(struct cost){.spans = spans, .most = most});
}

void budget_charge_matchers(struct compiler *c, const uint32_t *matchers, size_t n,
			    enum budget budget, uint64_t each)
{
	for (size_t i = 0, end; c->budgets && i < n; i = end) {
		const struct policy_object *policy = c->matchers.at[matchers[i]].owner;

		for (end = i + 1; end < n && c->matchers.at[matchers[end]].owner == policy;)
			end++;
		budget_charge(c, policy, budget, (end - i) * each);
	}
}

/* Regions */

static uint32_t owner_of(const struct compiler *c, uint32_t matcher)
{
	return account_of_policy(c, c->matchers.at[matcher].owner);
}

static uint32_t owner_ns_of(const struct compiler *c, uint32_t matcher)
{
	const uint32_t policy = owner_of(c, matcher);

	return policy == BUDGET_NOBODY ? BUDGET_NOBODY : c->budgets->ns_of[policy];
}

static bool has_matcher(const struct compiler *c, const uint32_t *rules, size_t n, uint32_t matcher)
{
	for (size_t i = 0; i < n; i++)
		if (c->rules.at[rules[i]].common == matcher + 1)
			return true;
	return false;
}

/* Returns the first namespace that has one of the edges; BUDGET_NOBODY: none has. */
static uint32_t ns_of_edges(const struct compiler *c, uint32_t edges)
{
	size_t n;
	const uint32_t *at = intern_set(&c->sets, edges, &n);
	uint32_t ns = BUDGET_NOBODY;

	for (size_t i = 0; i < n && ns == BUDGET_NOBODY; i++)
		ns = owner_ns_of(c, at[i]);
	return ns;
}

static bool has_edge(const struct compiler *c, const uint32_t *rules, size_t n, uint32_t edges)
{
	size_t n_edges;
	const uint32_t *at = intern_set(&c->sets, edges, &n_edges);

	for (size_t i = 0; i < n_edges; i++)
		if (has_matcher(c, rules, n, at[i]))
			return true;
	return false;
}

bool budget_charge_pair(struct compiler *c, const uint32_t *rules, size_t n, uint32_t edges)
{
	uint32_t payer;

	if (!c->budgets || edges == INTERN_NONE || has_edge(c, rules, n, edges))
		return budget_charge_once(c, rules, n, BUDGET_PAIRS);
	payer = ns_of_edges(c, edges);
	if (payer == BUDGET_NOBODY || payer == payer_of(c, rules, n))
		return budget_charge_once(c, rules, n, BUDGET_PAIRS);
	return accounts_spend_namespace(c->budgets, payer, BUDGET_PAIRS, 1);
}

bool budget_keeps_edges(const struct compiler *c, uint32_t edges)
{
	const uint32_t ns =
		c->budgets && edges != INTERN_NONE ? ns_of_edges(c, edges) : BUDGET_NOBODY;

	return ns == BUDGET_NOBODY || !c->budgets->namespaces[ns].over;
}

/* Returns true if no region before has the same matchers of the account. */
static bool is_new_set(struct compiler *c, uint32_t account, const uint32_t *clauses, size_t n,
		       const uint32_t *matcher_of)
{
	numbers_t set = {0};
	bool fresh;

	array_push(&set, account);
	for (size_t i = 0; i < n; i++)
		if (!i || matcher_of[clauses[i]] != set.at[set.n - 1])
			array_push(&set, matcher_of[clauses[i]]);
	intern_add(&c->budgets->regions, set.at, set.n * sizeof(*set.at), &fresh);
	array_free(&set);
	return fresh;
}

/* Marks what the region's edges belong to, and charges the prefix. */
static void mark_owner(struct budgets *b, uint32_t policy)
{
	const uint32_t ns = policy == BUDGET_NOBODY ? BUDGET_NOBODY : b->ns_of[policy];
	uint32_t *of_policy, *of_ns;

	if (ns == BUDGET_NOBODY)
		return;
	of_policy = &b->marks[policy];
	of_ns = &b->marks[b->given->n_policies + ns];
	if (*of_policy != b->n_regions)
		accounts_spend_policy(b, policy, BUDGET_PREFIXES, 1);
	if (*of_ns != b->n_regions)
		accounts_spend_namespace(b, ns, BUDGET_PREFIXES, 1);
	*of_policy = *of_ns = b->n_regions;
}

/* Charges each account whose clauses hold in the region. Those of one policy stand next to each
 * other, and those of one namespace: clauses are numbered in the order of the policies. */
static void charge_clauses(struct compiler *c, const numbers_t *clauses, const uint32_t *matcher_of,
			   bool is_ns)
{
	uint32_t (*account_of)(const struct compiler *, uint32_t) = is_ns ? owner_ns_of : owner_of;
	bool (*spend_it)(struct budgets *, uint32_t, enum budget, uint64_t) =
		is_ns ? accounts_spend_namespace : accounts_spend_policy;
	struct budgets *b = c->budgets;
	const uint32_t first = is_ns ? b->given->n_policies : 0;

	for (size_t i = 0, end; i < clauses->n; i = end) {
		const uint32_t account = account_of(c, matcher_of[clauses->at[i]]);

		for (end = i + 1;
		     end < clauses->n && account_of(c, matcher_of[clauses->at[end]]) == account;)
			end++;
		if (account == BUDGET_NOBODY)
			continue;
		spend_it(b, account, BUDGET_STEPS, end - i);
		if (b->marks[first + account] == b->n_regions &&
		    is_new_set(c, first + account, clauses->at + i, end - i, matcher_of))
			spend_it(b, account, BUDGET_SEGMENTS, 1);
	}
}

void budget_charge_region(struct compiler *c, const numbers_t *clauses, const uint32_t *matcher_of,
			  const uint32_t *edges, size_t n)
{
	struct budgets *b = c->budgets;

	if (!b)
		return;
	b->n_regions++;
	for (size_t i = 0; i < n; i++)
		mark_owner(b, owner_of(c, matcher_of[edges[i]]));
	charge_clauses(c, clauses, matcher_of, false);
	charge_clauses(c, clauses, matcher_of, true);
}

bool budget_fewer_segments(struct compiler *c)
{
	struct budgets *b = c->budgets;
	size_t left = c->segments.n;
	struct account *most;

	while (left > SEGMENTS_MAX && (most = accounts_most(b, BUDGET_PREFIXES))) {
		account_put_over(
			b, most, BUDGET_PREFIXES,
			"the cluster needs %zu segments, the limit is %u, and its namespace has "
			"more CIDRs than others, %" PRIu64,
			c->segments.n, SEGMENTS_MAX, most->spent[BUDGET_PREFIXES]);
		left -= left < most->spent[BUDGET_SEGMENTS] ? left : most->spent[BUDGET_SEGMENTS];
	}
	return b->any_over;
}

/* Variations */

/* A resolution that an endpoint of the namespace has in a segment. */
struct budget_use {
	uint32_t segment, ns, resolution;
};

static int compare_uses(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct budget_use));
}

/* A namespace's part of the variations of a segment. */
struct budget_share {
	struct account *account;
	size_t n;
};

/* Those that are over a budget first, then those with most. */
static int compare_shares(const void *a, const void *b)
{
	const struct budget_share *x = a, *y = b;

	if (x->account->over != y->account->over)
		return x->account->over ? -1 : 1;
	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return x->account < y->account ? -1 : x->account > y->account;
}

/* The namespaces together have more variations than a segment may have: puts those with most over
 * their budget, until the rest fits. */
static void fit_variations(struct budgets *b, const struct budget_use *uses, size_t n, size_t n_all)
{
	ARRAY(struct budget_share) shares = {0};
	size_t left = n_all;

	for (size_t i = 0; i < n; i++) {
		if (!i || uses[i].ns != uses[i - 1].ns)
			array_push(&shares, ((struct budget_share){&b->namespaces[uses[i].ns], 1}));
		else if (compare_uses(&uses[i], &uses[i - 1]))
			shares.at[shares.n - 1].n++;
	}
	array_sort(&shares, compare_shares);
	for (size_t i = 0; i < shares.n && left > BH_VARIATION_MAX; i++) {
		/* does nothing to a namespace that is over a budget */
		account_put_over(
			b, shares.at[i].account, BUDGET_VARIATIONS,
			"pods of one segment number their ports in %zu ways, the limit is %u, and "
			"its namespace has more of them than others",
			n_all, BH_VARIATION_MAX);
		left -= left < shares.at[i].n ? left : shares.at[i].n;
	}
	array_free(&shares);
}

static void charge_segment(struct compiler *c, const struct budget_use *uses, size_t n)
{
	struct budgets *b = c->budgets;

	for (size_t i = 0; i < n; i++) {
		if (!i || uses[i].ns != uses[i - 1].ns)
			b->namespaces[uses[i].ns].spent[BUDGET_VARIATIONS] = 0;
		if (!i || compare_uses(&uses[i], &uses[i - 1]))
			accounts_spend_namespace(b, uses[i].ns, BUDGET_VARIATIONS, 1);
	}
	fit_variations(b, uses, n, c->segments.at[uses->segment].resolutions.n);
	for (size_t i = 0; i < n; i++)
		b->namespaces[uses[i].ns].nameless |= b->namespaces[uses[i].ns].over;
}

void budget_charge_variations(struct compiler *c)
{
	ARRAY(struct budget_use) uses = {0};

	if (!c->budgets)
		return;
	for (size_t i = 0; i < c->addresses.n; i++) {
		const struct endpoint_address *at = &c->addresses.at[i];

		if (at->resolution &&
		    c->segments.at[at->segment].resolutions.n > budget_limits[BUDGET_VARIATIONS].ns)
			array_push(&uses,
				   ((struct budget_use){at->segment,
							c->cluster->endpoints[at->endpoint].ns,
							at->resolution}));
	}
	array_sort(&uses, compare_uses);
	for (size_t i = 0, end; i < uses.n; i = end) {
		for (end = i + 1; end < uses.n && uses.at[end].segment == uses.at[i].segment;)
			end++;
		charge_segment(c, &uses.at[i], end - i);
	}
	array_free(&uses);
}

/* Lists that are too long */

/* A policy's part of a list of rules. */
struct budget_part {
	uint32_t policy;
	uint32_t spans;
	bool admin;
};

/* Those of a namespace before those of an administrator, most spans first; equal parts in the order
 * of the policies. */
static int compare_parts(const void *a, const void *b)
{
	const struct budget_part *x = a, *y = b;

	if (x->admin != y->admin)
		return x->admin ? 1 : -1;
	if (x->spans != y->spans)
		return x->spans > y->spans ? -1 : 1;
	return x->policy < y->policy ? -1 : x->policy > y->policy;
}

bool budget_shorten_list(struct compiler *c, const uint32_t *rules, const uint32_t *spans, size_t n,
			 size_t n_intervals)
{
	struct budgets *b = c->budgets;
	ARRAY(struct budget_part) parts = {0};
	size_t left = n_intervals, n_over = 0;

	for (size_t i = 0; b && i < n; i++) {
		const uint32_t policy = account_of_policy(c, c->rules.at[rules[i]].policy);

		if (!parts.n || parts.at[parts.n - 1].policy != policy)
			array_push(&parts, ((struct budget_part){
						   policy, 0, b->ns_of[policy] == BUDGET_NOBODY}));
		parts.at[parts.n - 1].spans += spans[i];
	}
	array_sort(&parts, compare_parts);
	/* each span begins at most two intervals */
	for (size_t i = 0; i < parts.n && left > BH_PORTS_MAX; i++) {
		const struct budget_part *part = &parts.at[i];

		account_put_over(
			b, &b->objects[part->policy], BUDGET_PREFIXES,
			"with the policies that select the same pods it needs %zu port intervals "
			"in one list, the limit is %u, and it has more ports than they",
			n_intervals, BH_PORTS_MAX);
		left -= left < 2 * (size_t)part->spans ? left : 2 * (size_t)part->spans;
		n_over++;
	}
	array_free(&parts);
	return n_over;
}
