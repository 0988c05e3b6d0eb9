// SPDX-License-Identifier: GPL-2.0-only
#include "compile/budget.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "compile/budget_strangers.h"
#include "compile/distinct_rules.h"
#include "model/cluster_service.h"

/* for obstack_alloc() */
#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

#define NO_LIMIT UINT32_MAX
#define NOBODY UINT32_MAX
#define NAMED_MAX 3 /* namespaces that a reason names */

/* Work that is left out costs a pass: so many steps of accounts over their budget end the pass. */
#define WASTE_MAX (128u << 20)

/*
 * Bytes of the compiled policy that NetworkPolicies of all namespaces may bring. The engine takes
 * up to 8 bytes of memory to compile one of these, and may have 1 GiB
 * (tools/deploy/base/engine.yaml): half is theirs; a quarter is for 150,000 endpoints, the rest for
 * the last policy and the objects as the API server sent them. 75,000 policies of usual size bring
 * 15 MiB, 1,000 bring 0.3 MiB.
 */
#define CLUSTER_BYTES (1u << 26)

/*
 * Steps that NetworkPolicies of all namespaces may take beyond OWN_STEPS of each namespace: 0.7 s.
 * Without this limit those who may write in many namespaces could make each compile take longer
 * than the engine's lease lasts, each namespace within its budget.
 */
#define CLUSTER_STEPS (1u << 26)
#define OWN_STEPS (1u << 20)

/* OPERATING.md says why each limit is what it is. */
const struct budget_limit budget_limits[BUDGETS] = {
	[BUDGET_PREFIXES] = {"CIDRs", 1 << 16, 1 << 17, sizeof(struct policy_prefix), 0, 0},
	[BUDGET_SEGMENTS] = {"segments of addresses", 1 << 12, 1 << 14,
			     sizeof(struct policy_segment), 0, 0},
	[BUDGET_VARIATIONS] = {"variations of port names in one segment", NO_LIMIT, 1 << 11,
			       sizeof(struct policy_variation), 0, 0},
	[BUDGET_LISTS] = {"port lists", 1 << 16, 1 << 18, sizeof(struct policy_class), 0, 0},
	[BUDGET_INTERVALS] = {"port intervals", 1 << 18, 1 << 20, sizeof(struct bh_interval), 0, 0},
	[BUDGET_PAIRS] = {"pairs of segments", 1 << 19, 1 << 21, sizeof(struct policy_pair), 0, 0},
	[BUDGET_BYTES] = {"bytes of the compiled policy", 1 << 24, 3 << 24, 1, CLUSTER_BYTES, 0},
	[BUDGET_STEPS] = {"steps of the compiler", 1 << 24, 1 << 25, 0, CLUSTER_STEPS, OWN_STEPS},
	[BUDGET_FRONTENDS] = {"addresses and ports", 1 << 16, 1 << 20, 0, 0, 0},
	[BUDGET_BACKENDS] = {"backends", 1 << 18, 1 << 20, 0, 0, 0},
};

struct account {
	bool is_namespace;
	bool nameless; /* over by variations: its pods' port names get no numbers */
	bool over;
	enum budget over_by; /* valid with `over` */
	uint64_t spent[BUDGETS];
	char *why; /* over: the budget, the figure and the limit */
};

struct budgets {
	const struct cluster *given; /* the cluster as it came */
	struct cluster view; /* the cluster with the policies below */
	struct policy_object *policies; /* with equal rules once */
	ARRAY(struct rule *) rules; /* that these have in place of the given ones */
	struct service *services; /* in place of the cluster's */
	char **service_why; /* by Service that is aside */
	bool *aside; /* by policy */
	char **why; /* by policy that is aside */
	bool *nameless; /* by namespace: its pods' port names have no number */
	char **ns_why; /* by namespace that is nameless; NULL: policies of it say why */
	/* by namespace: those whose pods its policies do not match, and why */
	numbers_t *left_out;
	char **left_out_why;
	struct obstack memory; /* holds the rules in place of such policies' */
	struct strangers strangers;
	uint32_t *ns_of; /* by policy: its namespace; NOBODY: an administrator's policy */
	struct account *objects; /* by policy */
	struct account *namespaces;
	/* what namespaces that are within their budgets need together, where that has a limit */
	uint64_t together[BUDGETS];
	/* what accounts over a budget have charged: all steps, and the namespaces' bytes */
	uint64_t wasted, wasted_bytes;
	bool sized; /* each policy has been charged its own size */
	bool any_over, stopped;
	struct intern regions; /* sets of matchers that one account has in a region */
	uint32_t *marks; /* by policy, then by namespace: the region that last began there */
	uint32_t n_regions;
};

/* What the rules of a list cost. */
struct cost {
	uint64_t each; /* each rule */
	/* NULL: see `each`; else each rule costs the intervals that so many ports may begin */
	const uint32_t *spans;
	uint64_t most; /* a policy, or the namespace, pays no more */
};

/* Accounts */

static void open_accounts(struct budgets *b)
{
	const size_t n = b->given->n_policies, n_ns = b->given->n_namespaces;

	b->objects = grow_zeroed(n, sizeof(*b->objects));
	b->namespaces = grow_zeroed(n_ns, sizeof(*b->namespaces));
	b->marks = grow_zeroed(n + n_ns, sizeof(*b->marks));
	b->any_over = b->stopped = b->sized = false;
	memset(b->together, 0, sizeof(b->together));
	b->wasted = b->wasted_bytes = b->n_regions = 0;
	b->regions = (struct intern){0};
	for (size_t i = 0; i < n_ns; i++)
		b->namespaces[i].is_namespace = true;
}

static void close_accounts(struct budgets *b)
{
	for (size_t i = 0; i < b->given->n_policies; i++)
		free(b->objects[i].why);
	for (size_t i = 0; i < b->given->n_namespaces; i++)
		free(b->namespaces[i].why);
	free(b->objects);
	free(b->namespaces);
	free(b->marks);
	intern_free(&b->regions);
	strangers_free(&b->strangers);
}

/* Copies a policy, with equal rules once. */
static void copy_policy(struct budgets *b, uint32_t i)
{
	struct policy_object *policy = &b->policies[i];

	*policy = b->given->policies[i];
	for (int direction = INGRESS; direction <= EGRESS; direction++) {
		struct rule *rules =
			distinct_rules(policy->rules[direction], &policy->n_rules[direction]);

		if (!rules)
			continue;
		policy->rules[direction] = rules;
		array_push(&b->rules, rules);
	}
}

uint64_t budget_repeats(const struct compiler *c, const struct policy_object *policy)
{
	const struct budgets *b = c->budgets;
	const uint32_t number = policy - c->cluster->policies;
	const struct policy_object *given;

	if (!b || b->aside[number])
		return 0;
	given = &b->given->policies[number];
	return given->n_rules[INGRESS] + given->n_rules[EGRESS] - policy->n_rules[INGRESS] -
	       policy->n_rules[EGRESS];
}

void budgets_open(struct compiler *c)
{
	const struct cluster *cluster = c->cluster;
	struct budgets *b = grow_zeroed(1, sizeof(*b));

	b->given = cluster;
	b->view = *cluster;
	b->view.policies = b->policies = grow_zeroed(cluster->n_policies, sizeof(*b->policies));
	b->view.services = b->services = grow_zeroed(cluster->n_services, sizeof(*b->services));
	b->service_why = grow_zeroed(cluster->n_services, sizeof(*b->service_why));
	for (size_t i = 0; i < cluster->n_services; i++)
		b->services[i] = cluster->services[i];
	b->aside = grow_zeroed(cluster->n_policies, sizeof(*b->aside));
	b->why = grow_zeroed(cluster->n_policies, sizeof(*b->why));
	b->nameless = grow_zeroed(cluster->n_namespaces, sizeof(*b->nameless));
	b->ns_why = grow_zeroed(cluster->n_namespaces, sizeof(*b->ns_why));
	b->left_out = grow_zeroed(cluster->n_namespaces, sizeof(*b->left_out));
	b->left_out_why = grow_zeroed(cluster->n_namespaces, sizeof(*b->left_out_why));
	obstack_init(&b->memory);
	b->ns_of = grow_zeroed(cluster->n_policies, sizeof(*b->ns_of));
	for (size_t i = 0; i < cluster->n_policies; i++) {
		const char *ns = cluster->policies[i].ns_name;

		copy_policy(b, i);
		b->ns_of[i] = ns ? cluster_namespace(cluster, ns) - cluster->namespaces : NOBODY;
	}
	open_accounts(b);
	c->budgets = b;
	c->cluster = &b->view;
}

void budgets_close(struct budgets *b)
{
	if (!b)
		return;
	close_accounts(b);
	for (size_t i = 0; i < b->given->n_policies; i++)
		free(b->why[i]);
	for (size_t i = 0; i < b->given->n_services; i++)
		free(b->service_why[i]);
	free(b->service_why);
	free(b->services);
	free(b->policies);
	for (size_t i = 0; i < b->rules.n; i++)
		free(b->rules.at[i]);
	array_free(&b->rules);
	free(b->aside);
	free(b->why);
	for (size_t i = 0; i < b->given->n_namespaces; i++) {
		free(b->ns_why[i]);
		free(b->left_out_why[i]);
		array_free(&b->left_out[i]);
	}
	free(b->ns_why);
	free(b->left_out_why);
	free(b->left_out);
	obstack_free(&b->memory, NULL);
	free(b->nameless);
	free(b->ns_of);
	free(b);
}

static uint32_t number_of(const struct compiler *c, const struct policy_object *policy)
{
	return policy ? policy - c->cluster->policies : NOBODY;
}

/* Returns what a namespace needs of the budget that all of them have together. */
static uint64_t needs_together(const struct account *account, enum budget budget)
{
	const struct budget_limit *limits = &budget_limits[budget];
	const uint64_t spent = account->spent[budget];

	return limits->cluster && spent > limits->own ? spent - limits->own : 0;
}

static void put_over(struct budgets *b, struct account *account, enum budget budget,
		     const char *format, ...) __attribute__((format(printf, 4, 5)));

static void put_over(struct budgets *b, struct account *account, enum budget budget,
		     const char *format, ...)
{
	va_list args;

	if (account->over)
		return;
	va_start(args, format);
	if (vasprintf(&account->why, format, args) < 0)
		account->why = NULL;
	va_end(args);
	if (!account->why)
		memory_exhausted();
	account->over = b->any_over = true;
	account->over_by = budget;
	b->wasted += account->spent[BUDGET_STEPS];
	for (int i = 0; account->is_namespace && i < BUDGETS; i++)
		b->together[i] -= needs_together(account, i);
	if (account->is_namespace)
		b->wasted_bytes += account->spent[BUDGET_BYTES];
	b->stopped |= b->wasted > WASTE_MAX || b->wasted_bytes > CLUSTER_BYTES;
}

/* The one place in which the figure of an account meets its limit. */
static void check(struct budgets *b, struct account *account, enum budget budget)
{
	const struct budget_limit *limits = &budget_limits[budget];
	const uint32_t limit = account->is_namespace ? limits->ns : limits->object;

	if (account->spent[budget] <= limit || limit == NO_LIMIT)
		return;
	if (account->is_namespace)
		put_over(b, account, budget,
			 "its namespace needs %" PRIu64 " %s or more, the limit of one is %u",
			 account->spent[budget], limits->what, limit);
	else
		put_over(b, account, budget, "it needs %" PRIu64 " %s or more, the limit is %u",
			 account->spent[budget], limits->what, limit);
}

/* Returns the namespace that has spent most of those that are within their budgets; NULL: none has
 * spent any. */
static struct account *most_of(const struct budgets *b, enum budget budget)
{
	struct account *most = NULL;

	for (size_t i = 0; i < b->given->n_namespaces; i++) {
		struct account *account = &b->namespaces[i];

		if (!account->over && account->spent[budget] > (most ? most->spent[budget] : 0))
			most = account;
	}
	return most;
}

/* Puts the namespaces that need most over their budget, until the rest fits. */
static void fit_cluster(struct budgets *b, enum budget budget)
{
	const struct budget_limit *limits = &budget_limits[budget];
	const uint64_t together = b->together[budget];
	char beyond[64] = "";

	if (limits->own)
		snprintf(beyond, sizeof(beyond), ", beyond %u of each,", limits->own);
	while (b->sized && b->together[budget] > limits->cluster) {
		struct account *most = most_of(b, budget);

		put_over(b, most, budget,
			 "its namespace needs %" PRIu64 " and all together%s %" PRIu64
			 " %s or more, the limit is %u, and none needs more",
			 most->spent[budget], beyond, together, limits->what, limits->cluster);
	}
}

/* Returns the number of an account: of a policy, then of a namespace. */
static uint32_t account_number(const struct budgets *b, const struct account *account)
{
	if (account->is_namespace)
		return b->given->n_policies + (account - b->namespaces);
	return account - b->objects;
}

static uint32_t account_ns(const struct budgets *b, const struct account *account)
{
	if (account->is_namespace)
		return account - b->namespaces;
	return b->ns_of[account - b->objects];
}

static void add(struct budgets *b, struct account *account, enum budget budget, uint64_t n)
{
	const uint64_t before = needs_together(account, budget);

	if (account->over)
		return;
	account->spent[budget] += n;
	if (b->strangers.n_now)
		strangers_note(&b->strangers, account_number(b, account), account_ns(b, account),
			       budget, n);
	if (account->is_namespace)
		b->together[budget] += needs_together(account, budget) - before;
	check(b, account, budget);
	fit_cluster(b, budget);
}

/* Returns false if the account is over a budget. */
static bool spend(struct budgets *b, struct account *account, enum budget budget, uint64_t n)
{
	if (account->over || b->stopped)
		return false;
	add(b, account, budget, n);
	if (budget != BUDGET_BYTES)
		add(b, account, BUDGET_BYTES, n * budget_limits[budget].bytes);
	return !account->over;
}

static bool spend_object(struct budgets *b, uint32_t policy, enum budget budget, uint64_t n)
{
	if (policy == NOBODY || b->ns_of[policy] == NOBODY)
		return !b->stopped;
	return spend(b, &b->objects[policy], budget, n);
}

static bool spend_namespace(struct budgets *b, uint32_t ns, enum budget budget, uint64_t n)
{
	return ns == NOBODY ? !b->stopped : spend(b, &b->namespaces[ns], budget, n);
}

/* Charges */

bool budget_charge(struct compiler *c, const struct policy_object *policy, enum budget budget,
		   uint64_t n)
{
	struct budgets *b = c->budgets;
	const uint32_t number = number_of(c, policy);

	if (!b || number == NOBODY)
		return true;
	return spend_object(b, number, budget, n) &&
	       spend_namespace(b, b->ns_of[number], budget, n);
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
	const uint32_t number = number_of(c, policy);
	uint32_t ns;

	if (!b || number == NOBODY)
		return true;
	ns = b->ns_of[number];
	return !b->stopped &&
	       (ns == NOBODY || !(b->objects[number].over || b->namespaces[ns].over));
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
	fit_cluster(c->budgets, BUDGET_BYTES);
	fit_cluster(c->budgets, BUDGET_STEPS);
}

/* Returns the namespace that pays for a list of rules: the only one that has NetworkPolicies in it.
 */
static uint32_t payer_of(const struct compiler *c, const uint32_t *rules, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t ns = c->budgets->ns_of[number_of(c, c->rules.at[rules[i]].policy)];

		if (ns != NOBODY)
			return ns;
	}
	return NOBODY;
}

bool budget_charge_namespace(struct compiler *c, const uint32_t *rules, size_t n,
			     enum budget budget, uint64_t units)
{
	return !c->budgets || spend_namespace(c->budgets, payer_of(c, rules, n), budget, units);
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
		if (spend_object(c->budgets, number_of(c, policy), budget,
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
	return number_of(c, c->matchers.at[matcher].owner);
}

static uint32_t owner_ns_of(const struct compiler *c, uint32_t matcher)
{
	const uint32_t policy = owner_of(c, matcher);

	return policy == NOBODY ? NOBODY : c->budgets->ns_of[policy];
}

static bool has_matcher(const struct compiler *c, const uint32_t *rules, size_t n, uint32_t matcher)
{
	for (size_t i = 0; i < n; i++)
		if (c->rules.at[rules[i]].common == matcher + 1)
			return true;
	return false;
}

/* Returns the first namespace that has one of the edges; NOBODY: none has. */
static uint32_t ns_of_edges(const struct compiler *c, uint32_t edges)
{
	size_t n;
	const uint32_t *at = intern_set(&c->sets, edges, &n);
	uint32_t ns = NOBODY;

	for (size_t i = 0; i < n && ns == NOBODY; i++)
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
	if (payer == NOBODY || payer == payer_of(c, rules, n))
		return budget_charge_once(c, rules, n, BUDGET_PAIRS);
	return spend_namespace(c->budgets, payer, BUDGET_PAIRS, 1);
}

bool budget_keeps_edges(const struct compiler *c, uint32_t edges)
{
	const uint32_t ns = c->budgets && edges != INTERN_NONE ? ns_of_edges(c, edges) : NOBODY;

	return ns == NOBODY || !c->budgets->namespaces[ns].over;
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
	const uint32_t ns = policy == NOBODY ? NOBODY : b->ns_of[policy];
	uint32_t *of_policy, *of_ns;

	if (ns == NOBODY)
		return;
	of_policy = &b->marks[policy];
	of_ns = &b->marks[b->given->n_policies + ns];
	if (*of_policy != b->n_regions)
		spend_object(b, policy, BUDGET_PREFIXES, 1);
	if (*of_ns != b->n_regions)
		spend_namespace(b, ns, BUDGET_PREFIXES, 1);
	*of_policy = *of_ns = b->n_regions;
}

/* Charges each account whose clauses hold in the region. Those of one policy stand next to each
 * other, and those of one namespace: clauses are numbered in the order of the policies. */
static void charge_clauses(struct compiler *c, const numbers_t *clauses, const uint32_t *matcher_of,
			   bool is_ns)
{
	uint32_t (*account_of)(const struct compiler *, uint32_t) = is_ns ? owner_ns_of : owner_of;
	bool (*spend_it)(struct budgets *, uint32_t, enum budget, uint64_t) =
		is_ns ? spend_namespace : spend_object;
	struct budgets *b = c->budgets;
	const uint32_t first = is_ns ? b->given->n_policies : 0;

	for (size_t i = 0, end; i < clauses->n; i = end) {
		const uint32_t account = account_of(c, matcher_of[clauses->at[i]]);

		for (end = i + 1;
		     end < clauses->n && account_of(c, matcher_of[clauses->at[end]]) == account;)
			end++;
		if (account == NOBODY)
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

	while (left > SEGMENTS_MAX && (most = most_of(b, BUDGET_PREFIXES))) {
		put_over(b, most, BUDGET_PREFIXES,
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
		put_over(b, shares.at[i].account, BUDGET_VARIATIONS,
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
			spend_namespace(b, uses[i].ns, BUDGET_VARIATIONS, 1);
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
		const uint32_t policy = number_of(c, c->rules.at[rules[i]].policy);

		if (!parts.n || parts.at[parts.n - 1].policy != policy)
			array_push(&parts,
				   ((struct budget_part){policy, 0, b->ns_of[policy] == NOBODY}));
		parts.at[parts.n - 1].spans += spans[i];
	}
	array_sort(&parts, compare_parts);
	/* each span begins at most two intervals */
	for (size_t i = 0; i < parts.n && left > BH_PORTS_MAX; i++) {
		const struct budget_part *part = &parts.at[i];

		put_over(b, &b->objects[part->policy], BUDGET_PREFIXES,
			 "with the policies that select the same pods it needs %zu port intervals "
			 "in one list, the limit is %u, and it has more ports than they",
			 n_intervals, BH_PORTS_MAX);
		left -= left < 2 * (size_t)part->spans ? left : 2 * (size_t)part->spans;
		n_over++;
	}
	array_free(&parts);
	return n_over;
}

/* Setting aside */

/* Takes the rules from a policy. It isolates its subjects where it isolated them; an
 * administrator's policy denies them everything in the directions in which it has rules. */
static void close_policy(struct policy_object *policy)
{
	static struct rule deny = {
		.name = "set-aside", .action = ACTION_DENY, .any_peer = true, .any_port = true};
	const bool admin = policy->tier != TIER_NETWORK_POLICY;

	for (int direction = INGRESS; direction <= EGRESS; direction++) {
		policy->n_rules[direction] = admin && policy->n_rules[direction];
		policy->rules[direction] = policy->n_rules[direction] ? &deny : NULL;
	}
}

/* Returns true if the port names of the endpoint's namespace have no numbers. */
static bool is_nameless(const struct asides *asides, const struct endpoint *endpoint)
{
	for (size_t i = 0; i < asides->n; i++) {
		const struct aside *aside = &asides->at[i];

		if (aside->nameless && !strcmp(asides_namespace(aside), endpoint->ns_name))
			return true;
	}
	return false;
}

/* @aside: of the policy's Namespace; NULL: nothing of it is set aside. */
static void rewrite(struct policy_object *policy, const struct aside *aside, struct obstack *memory)
{
	if (aside && aside->n_left_out)
		strangers_rewrite(policy, (const char *const *)aside->left_out, aside->n_left_out,
				  memory);
}

void budget_close_objects(struct cluster *cluster, const struct asides *asides)
{
	for (size_t i = 0; asides && i < cluster->n_policies; i++) {
		struct policy_object *policy = &cluster->policies[i];

		if (asides_find(asides, budget_kind_of(policy),
				policy->ns_name ? policy->ns_name : "", policy->name))
			close_policy(policy);
		else if (policy->ns_name)
			rewrite(policy, asides_find(asides, "Namespace", "", policy->ns_name),
				&cluster->memory);
	}
	for (size_t i = 0; asides && i < cluster->n_endpoints; i++)
		if (is_nameless(asides, &cluster->endpoints[i]))
			cluster->endpoints[i].n_ports = 0;
}

static char *copy_text(const char *text)
{
	char *copied = strdup(text ? text : "");

	if (!copied)
		memory_exhausted();
	return copied;
}

static void set_aside(struct budgets *b, uint32_t policy, const char *why)
{
	if (b->aside[policy])
		return;
	b->why[policy] = copy_text(why);
	b->aside[policy] = true;
	close_policy(&b->policies[policy]);
}

/* Returns the names of the namespaces that are left out, in memory of @b's. */
static const char **left_out_names(struct budgets *b, uint32_t ns)
{
	const numbers_t *left_out = &b->left_out[ns];
	const char **names = obstack_alloc(&b->memory, (left_out->n + 1) * sizeof(*names));

	for (size_t i = 0; i < left_out->n; i++)
		names[i] = b->given->namespaces[left_out->at[i]].name;
	return names;
}

/* Says why namespaces are left out, and names three. */
static char *why_left_out(const char *why, const char *const *names, size_t n)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		memory_exhausted();
	fprintf(to, "%s, most of it for pods of ", why);
	for (size_t i = 0; i < n && i < NAMED_MAX; i++)
		fprintf(to, "%s%s", i ? ", " : "", names[i]);
	if (n > NAMED_MAX)
		fprintf(to, " and %zu more", n - NAMED_MAX);
	if (fclose(to))
		memory_exhausted();
	return text;
}

/* Lets the policies of a namespace match no pods of those that are left out. Takes @why. */
static void leave_out(struct budgets *b, uint32_t ns, char *why)
{
	const char **names = left_out_names(b, ns);

	free(b->left_out_why[ns]);
	b->left_out_why[ns] = why;
	for (uint32_t i = 0; i < b->given->n_policies; i++) {
		if (b->ns_of[i] != ns || b->aside[i])
			continue;
		copy_policy(b, i);
		strangers_rewrite(&b->policies[i], names, b->left_out[ns].n, &b->memory);
	}
}

/* Returns true if strangers have put the account over its budget. They are left out then. */
static bool spare(struct budgets *b, const struct account *account)
{
	const uint32_t ns = account_ns(b, account);

	return account->over && ns != NOBODY &&
	       strangers_leave_out(&b->strangers, account_number(b, account), account->over_by,
				   account->spent[account->over_by], &b->left_out[ns]);
}

/* Returns by namespace what strangers have put over its budget, to be freed; NULL: nothing. */
static const struct account **spare_namespaces(struct budgets *b)
{
	const struct account **spared = grow_zeroed(b->given->n_namespaces, sizeof(*spared));

	for (uint32_t i = 0; i < b->given->n_policies; i++)
		if (spare(b, &b->objects[i]))
			spared[b->ns_of[i]] = &b->objects[i];
	for (uint32_t i = 0; i < b->given->n_namespaces; i++) {
		if (spare(b, &b->namespaces[i]))
			spared[i] = &b->namespaces[i];
		if (!spared[i])
			continue;
		numbers_sort(&b->left_out[i]);
		leave_out(b, i,
			  why_left_out(spared[i]->why, left_out_names(b, i), b->left_out[i].n));
	}
	return spared;
}

void budgets_apply(struct compiler *c)
{
	struct budgets *b = c->budgets;
	const struct account **spared = spare_namespaces(b);

	for (uint32_t i = 0; i < b->given->n_policies; i++) {
		const struct account *ns =
			b->ns_of[i] == NOBODY ? NULL : &b->namespaces[b->ns_of[i]];

		if (ns && spared[b->ns_of[i]])
			continue;
		if (ns && ns->over)
			set_aside(b, i, ns->why);
		else if (b->objects[i].over)
			set_aside(b, i, b->objects[i].why);
	}
	free(spared);
	for (size_t i = 0; i < b->given->n_namespaces; i++) {
		if (!b->namespaces[i].nameless || b->nameless[i])
			continue;
		b->nameless[i] = true;
		b->ns_why[i] = copy_text(b->namespaces[i].why);
	}
	close_accounts(b);
	open_accounts(b);
}

void budget_leave_out(struct compiler *c, uint32_t ns, const struct aside *aside)
{
	struct budgets *b = c->budgets;

	for (size_t i = 0; i < aside->n_left_out; i++) {
		const struct namespace *found = cluster_namespace(b->given, aside->left_out[i]);

		if (found)
			array_push(&b->left_out[ns], found - b->given->namespaces);
	}
	if (!b->left_out[ns].n)
		return;
	numbers_sort(&b->left_out[ns]);
	leave_out(b, ns, copy_text(aside->why));
}

void budget_set_aside(struct compiler *c, uint32_t policy, const char *why, bool nameless)
{
	struct budgets *b = c->budgets;

	set_aside(b, policy, why);
	if (nameless && b->ns_of[policy] != NOBODY)
		b->nameless[b->ns_of[policy]] = true;
}

void budget_check_baseline(struct compiler *c)
{
	const struct budgets *b = c->budgets;
	const struct policy_object *first = NULL;
	char why[400];

	for (uint32_t i = 0; i < b->given->n_policies; i++) {
		const struct policy_object *policy = &b->given->policies[i];

		if (policy->kind != POLICY_BASELINE_ADMIN)
			continue;
		if (first) {
			snprintf(
				why, sizeof(why),
				"the cluster has one BaselineAdminNetworkPolicy, and %.253s is it: "
				"use ClusterNetworkPolicies of the tier Baseline for more",
				first->name);
			set_aside(c->budgets, i, why);
		}
		first = first ? first : policy;
	}
}

const char *budget_kind_of(const struct policy_object *policy)
{
	static const char *const kinds[] = {[POLICY_NETWORK] = "NetworkPolicy",
					    [POLICY_NETWORK_V1BETA1] = "NetworkPolicy",
					    [POLICY_ADMIN] = "AdminNetworkPolicy",
					    [POLICY_CLUSTER] = "ClusterNetworkPolicy",
					    [POLICY_BASELINE_ADMIN] = "BaselineAdminNetworkPolicy"};

	return kinds[policy->kind];
}

void budget_close_service(struct compiler *c, size_t service, const char *why)
{
	struct budgets *b = c->budgets;

	b->service_why[service] = copy_text(why);
	b->services[service].closed = true;
}

static struct aside *add_aside(struct asides **asides, size_t most)
{
	if (!*asides) {
		*asides = grow_zeroed(1, sizeof(**asides));
		(*asides)->at = grow_zeroed(most, sizeof(*(*asides)->at));
	}
	return &(*asides)->at[(*asides)->n++];
}

/* Adds the Namespaces whose policies do not match the pods of some others. */
static void add_left_out(struct budgets *b, struct asides **asides, size_t most)
{
	for (uint32_t i = 0; i < b->given->n_namespaces; i++) {
		const struct namespace *ns = &b->given->namespaces[i];
		const size_t n = b->left_out[i].n;
		const char **names;
		struct aside *aside;

		if (!n)
			continue;
		names = left_out_names(b, i);
		aside = add_aside(asides, most);
		*aside = (struct aside){.ns = copy_text(NULL),
					.name = copy_text(ns->name),
					.why = copy_text(b->left_out_why[i]),
					.effect = "its NetworkPolicies match no pods of some "
						  "other namespaces",
					.kind = "Namespace",
					.nameless = b->nameless[i],
					.left_out = grow_zeroed(n, sizeof(*aside->left_out)),
					.n_left_out = n,
					.where = ns->where};
		for (size_t k = 0; k < n; k++)
			aside->left_out[k] = copy_text(names[k]);
	}
}

struct asides *budgets_asides(const struct compiler *c)
{
	struct budgets *b = c->budgets;
	const size_t most = b->given->n_policies + b->given->n_namespaces + b->given->n_services;
	struct asides *asides = NULL;

	for (size_t i = 0; i < b->given->n_policies; i++) {
		const struct policy_object *policy = &b->given->policies[i];

		if (!b->aside[i])
			continue;
		*add_aside(&asides, most) = (struct aside){.stays = true,
							   .ns = copy_text(policy->ns_name),
							   .name = copy_text(policy->name),
							   .why = copy_text(b->why[i]),
							   .effect = "isolates what it selects",
							   .nameless = b->ns_of[i] != NOBODY &&
								       b->nameless[b->ns_of[i]],
							   .kind = budget_kind_of(policy),
							   .where = policy->where};
	}
	for (size_t i = 0; i < b->given->n_namespaces; i++) {
		const struct namespace *ns = &b->given->namespaces[i];

		if (b->ns_why[i] && !b->left_out[i].n)
			*add_aside(&asides, most) =
				(struct aside){.ns = copy_text(NULL),
					       .name = copy_text(ns->name),
					       .why = copy_text(b->ns_why[i]),
					       .effect = "its pods have no named ports",
					       .kind = "Namespace",
					       .nameless = true,
					       .where = ns->where};
	}
	add_left_out(b, &asides, most);
	for (size_t i = 0; i < b->given->n_services; i++) {
		const struct service *service = &b->services[i];

		if (b->service_why[i])
			*add_aside(&asides, most) =
				(struct aside){.ns = copy_text(service->ns_name),
					       .name = copy_text(service->name),
					       .why = copy_text(b->service_why[i]),
					       .effect = "its addresses have no backends",
					       .kind = "Service",
					       .where = service->where};
	}
	asides_sort(asides);
	return asides;
}

bool budget_numbers_ports(const struct compiler *c, uint32_t ns)
{
	return !c->budgets || !c->budgets->nameless[ns];
}
