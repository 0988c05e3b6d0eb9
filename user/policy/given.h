/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes objects again of the policies that a compiled policy keeps as they were given. */
#ifndef BULKHEAD_POLICY_GIVEN_H
#define BULKHEAD_POLICY_GIVEN_H

#include "policy/lazy_policy.h"

/*
 * Adds namespaces, nodes and policies to an empty cluster, sorted as cluster_finish() sorts them.
 * Works on a policy with a source. Memory that runs out ends the guarded work (model/memory.h).
 */
void given_fill(const struct lazy_policy *policy, struct cluster *cluster);

/* Returns a string of the policy, in the cluster's memory. */
const char *given_string(const struct lazy_policy *policy, struct cluster *cluster,
			 uint32_t string);

#endif
