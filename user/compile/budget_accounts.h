/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The accounts of a compile: what each policy and namespace has spent of each budget. Shared by
 * budget_accounts.c, which keeps them, budget.c, which charges them, and budget_aside.c, which sets
 * aside what is over.
 */
#ifndef BULKHEAD_COMPILE_BUDGET_ACCOUNTS_H
#define BULKHEAD_COMPILE_BUDGET_ACCOUNTS_H

#include "compile/budget.h"
#include "compile/budget_strangers.h"

#define BUDGET_NOBODY UINT32_MAX

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
	uint32_t *ns_of; /* by policy: its namespace; BUDGET_NOBODY: an administrator's policy */
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

void accounts_open(struct budgets *b);
void accounts_close(struct budgets *b);
/* Copies a policy, with equal rules once. */
void accounts_copy_policy(struct budgets *b, uint32_t i);

uint32_t account_of_policy(const struct compiler *c, const struct policy_object *policy);
/* Returns the number of an account: of a policy, then of a namespace. */
uint32_t account_number(const struct budgets *b, const struct account *account);
uint32_t account_ns(const struct budgets *b, const struct account *account);

/* Puts an account over its budget, unless it is. */
void account_put_over(struct budgets *b, struct account *account, enum budget budget,
		      const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Returns the namespace that has spent most of those that are within their budgets; NULL: none has
 * spent any. */
struct account *accounts_most(const struct budgets *b, enum budget budget);
/* Puts the namespaces that need most over their budget, until the rest fits. */
void accounts_fit(struct budgets *b, enum budget budget);

/* Return false if the account is over a budget. */
bool accounts_spend_policy(struct budgets *b, uint32_t policy, enum budget budget, uint64_t n);
bool accounts_spend_namespace(struct budgets *b, uint32_t ns, enum budget budget, uint64_t n);

#endif
