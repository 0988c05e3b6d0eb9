/* SPDX-License-Identifier: GPL-2.0-only */
/* A policy without what a node does without (locality.h). */
#ifndef BULKHEAD_COMPILE_REDUCE_H
#define BULKHEAD_COMPILE_REDUCE_H

#include "compile/locality.h"

/*
 * A policy of what stays: `addresses`, `prefixes`, `segments`, `variations`, `pairs`, `intervals`
 * and `named` are its own, and @policy's otherwise, without what it would be placed by: the lists
 * of the endpoints' addresses and the deleted segments. To be freed with policy_reduced_free(),
 * before @policy.
 */
void policy_reduce(const struct policy *policy, const struct locality *locality,
		   struct policy *reduced);
void policy_reduced_free(struct policy *reduced);

#endif
