// SPDX-License-Identifier: GPL-2.0-only
#include "compile/budget_accounts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "compile/distinct_rules.h"
#include "model/cluster_service.h"

/* for obstack_alloc() */
#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

#define NO_LIMIT UINT32_MAX

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

void accounts_open(struct budgets *b)
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

void accounts_close(struct budgets *b)
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

void accounts_copy_policy(struct budgets *b, uint32_t i)
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

		accounts_copy_policy(b, i);
		b->ns_of[i] =
			ns ? cluster_namespace(cluster, ns) - cluster->namespaces : BUDGET_NOBODY;
	}
	accounts_open(b);
	c->budgets = b;
	c->cluster = &b->view;
}

void budgets_close(struct budgets *b)
{
	if (!b)
		return;
	accounts_close(b);
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

uint32_t account_of_policy(const struct compiler *c, const struct policy_object *policy)
{
	return policy ? policy - c->cluster->policies : BUDGET_NOBODY;
}

/* Returns what a namespace needs of the budget that all of them have together. */
static uint64_t needs_together(const struct account *account, enum budget budget)
{
	const struct budget_limit *limits = &budget_limits[budget];
	const uint64_t spent = account->spent[budget];

	return limits->cluster && spent > limits->own ? spent - limits->own : 0;
}

void account_put_over(struct budgets *b, struct account *account, enum budget budget,
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
		account_put_over(b, account, budget,
				 "its namespace needs %" PRIu64
				 " %s or more, the limit of one is %u",
				 account->spent[budget], limits->what, limit);
	else
		account_put_over(b, account, budget,
				 "it needs %" PRIu64 " %s or more, the limit is %u",
				 account->spent[budget], limits->what, limit);
}

struct account *accounts_most(const struct budgets *b, enum budget budget)
{
	struct account *most = NULL;

	for (size_t i = 0; i < b->given->n_namespaces; i++) {
		struct account *account = &b->namespaces[i];

		if (!account->over && account->spent[budget] > (most ? most->spent[budget] : 0))
			most = account;
	}
	return most;
}

/* Puts that namespace over its budget which needs most of what all have together. */
static void put_most_over(struct budgets *b, enum budget budget, uint64_t together)
{
	const struct budget_limit *limits = &budget_limits[budget];
	struct account *most = accounts_most(b, budget);
	char beyond[64] = "";

	if (limits->own)
		snprintf(beyond, sizeof(beyond), ", beyond %u of each,", limits->own);
	account_put_over(b, most, budget,
			 "its namespace needs %" PRIu64 " and all together%s %" PRIu64
			 " %s or more, the limit is %u, and none needs more",
			 most->spent[budget], beyond, together, limits->what, limits->cluster);
}

/* Called at each charge, of which a large cluster makes millions. */
void accounts_fit(struct budgets *b, enum budget budget)
{
	const uint64_t together = b->together[budget];

	while (b->sized && b->together[budget] > budget_limits[budget].cluster)
		put_most_over(b, budget, together);
}

uint32_t account_number(const struct budgets *b, const struct account *account)
{
	if (account->is_namespace)
		return b->given->n_policies + (account - b->namespaces);
	return account - b->objects;
}

uint32_t account_ns(const struct budgets *b, const struct account *account)
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
	accounts_fit(b, budget);
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

bool accounts_spend_policy(struct budgets *b, uint32_t policy, enum budget budget, uint64_t n)
{
	if (policy == BUDGET_NOBODY || b->ns_of[policy] == BUDGET_NOBODY)
		return !b->stopped;
	return spend(b, &b->objects[policy], budget, n);
}

bool accounts_spend_namespace(struct budgets *b, uint32_t ns, enum budget budget, uint64_t n)
{
	return ns == BUDGET_NOBODY ? !b->stopped : spend(b, &b->namespaces[ns], budget, n);
}
