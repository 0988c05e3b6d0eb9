/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The effect of a load for this node: the policies and the endpoints that the load protects more or
 * less than before (struct node_effect).
 */
#ifndef BULKHEAD_NODE_EFFECT_H
#define BULKHEAD_NODE_EFFECT_H

#include "node/plan/planner.h"

/*
 * Finds the effect of a planned load. The handle owns the effect. With a delta, reads the policies
 * that the delta names, and this node's endpoints and the isolations of all policies only if such
 * an endpoint may move to another segment; a follower only if the endpoint may be isolated
 * otherwise. Of a whole policy, if not all of the active policy was read (kernel/pinned_policy.h),
 * the effect names no policies. Returns as planner.h says.
 */
int effect_find(struct planner *plan);

/* Warns of each policy and endpoint that the handle's effect opens. */
void effect_warn(const struct node_handle *handle);

#endif
