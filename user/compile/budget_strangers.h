/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts how much of one namespace's budget the pods of other namespaces use up. A policy that
 * selects pods of all namespaces is evaluated for each kind of pod that it tells apart, and whoever
 * may start pods may give them any labels: so strangers multiply what the policy costs. The
 * policy's namespace pays for the kinds, since it wrote the selectors. If it is over a budget and
 * strangers have brought a quarter of that, its policies are not set aside: they match no pods of
 * these namespaces any more. That closes only the flows between these pods and the pods that the
 * policies select.
 */
#ifndef BULKHEAD_COMPILE_BUDGET_STRANGERS_H
#define BULKHEAD_COMPILE_BUDGET_STRANGERS_H

#include "compile/budget.h"

/* The charges of one account for pods of one namespace. */
struct stranger {
	uint32_t account, ns;
	uint64_t spent[BUDGETS];
};

struct strangers {
	const uint32_t *now; /* the namespaces whose pods the charges are for */
	size_t n_now;
	struct intern keys; /* an account and a namespace */
	ARRAY(struct stranger) all;
};

void strangers_free(struct strangers *strangers);

/* Notes that an account of the namespace @own was charged. What pods cost that are its own, too, is
 * no stranger's. */
void strangers_note(struct strangers *strangers, uint32_t account, uint32_t own, enum budget budget,
		    uint64_t n);

/* The account has @spent so much of a budget. Adds the namespaces to @left_out that have brought
 * most of it. Returns false if they have brought little, or stand there already. */
bool strangers_leave_out(const struct strangers *strangers, uint32_t account, enum budget budget,
			 uint64_t spent, numbers_t *left_out);

/* Replaces the rules of a policy by such that match no pods of these namespaces by a selector of
 * namespaces. */
void strangers_rewrite(struct policy_object *policy, const char *const *namespaces, size_t n,
		       struct obstack *memory);

#endif
