/* SPDX-License-Identifier: GPL-2.0-only */
/* Removes the records that a node does not need from a policy (locality.h). */
#ifndef BULKHEAD_COMPILE_REDUCE_H
#define BULKHEAD_COMPILE_REDUCE_H

#include "compile/locality.h"

/*
 * Makes a policy of the remaining records. It has its own `addresses`, `prefixes`, `segments`,
 * `variations`, `pairs`, `intervals` and `named`, and @policy's other tables. It cannot place
 * endpoints: it lacks the endpoints' lists of addresses and the deleted segments. Free it by
 * policy_reduced_free() before @policy.
 */
void policy_reduce(const struct policy *policy, const struct locality *locality,
		   struct policy *reduced);
void policy_reduced_free(struct policy *reduced);

#endif
