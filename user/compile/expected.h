/* SPDX-License-Identifier: GPL-2.0-only */
/* What a policy says of a pod that has no address yet. */
#ifndef BULKHEAD_COMPILE_EXPECTED_H
#define BULKHEAD_COMPILE_EXPECTED_H

#include "compile/policy.h"

/*
 * Gives a pod that a container runtime had added, and that is unknown, what the policy knows of one
 * of its name: labels, ports and allowed sources, in memory of @cluster's, where it expects one, or
 * else `as_policy`, where it has one. A name that has a colon is the pod's before it. False: the
 * policy knows none, or one of another UID. The policy may have a source, whose error is to be
 * looked at.
 */
bool expected_find(const struct policy *policy, struct cluster *cluster, struct endpoint *endpoint);

#endif
