/* SPDX-License-Identifier: GPL-2.0-only */
/* The records of a policy about a pod that has no address yet. */
#ifndef BULKHEAD_POLICY_EXPECTED_H
#define BULKHEAD_POLICY_EXPECTED_H

#include "policy/lazy_policy.h"

/*
 * Fills in an unknown pod that a container runtime added. If the policy expects a pod of its name,
 * gives it labels, ports and allowed sources, in memory of @cluster's. If the policy has a pod of
 * its name, sets `as_policy`. Of a name with a colon, the part before the colon counts. Returns
 * false for a pod that rests, and if the policy knows no such pod, or one of another UID. If the
 * policy has a source, check the source's error.
 */
bool expected_find(const struct lazy_policy *policy, struct cluster *cluster,
		   struct endpoint *endpoint);

#endif
