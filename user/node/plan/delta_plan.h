/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the load of a delta: which records differ is known, and no other entry of the maps is read.
 * The parts are those of every load (planner.h), and added_endpoints.h and own_interfaces.h for
 * this node's endpoints.
 */
#ifndef BULKHEAD_NODE_DELTA_PLAN_H
#define BULKHEAD_NODE_DELTA_PLAN_H

#include "policy/delta.h"
#include "node/plan/change.h"

/* @stages: the delta is not activated yet, so its effect is not found. *own: the delta concerns
 * endpoints of this node. Returns 0; COMPARE_ALL (planner.h), not reported; or another -errno,
 * reported. */
int delta_plan(struct node_handle *handle, const struct delta *delta, bool stages,
	       struct change *change, bool *own);

/* Moves the segments that @whole would activate from @whole to @stage, which only installs them. */
void delta_plan_stage(struct change *whole, struct change *stage);

/* Makes the policy that the delta makes of the active one, to be freed. Reads all of that. Returns
 * 0 or -errno, reported. */
int delta_make_whole(struct node_handle *handle, const struct delta *delta, struct policy **policy);

#endif
