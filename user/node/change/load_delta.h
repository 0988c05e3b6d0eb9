/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the load of a delta: which records differ is known, and no other entry of the maps is read.
 * The parts are those of every load (planner.h), and added_endpoints.h and own_interfaces.h for
 * this node's endpoints.
 */
#ifndef BULKHEAD_NODE_LOAD_DELTA_H
#define BULKHEAD_NODE_LOAD_DELTA_H

#include "policy/delta.h"
#include "node/plan/change.h"

/* @stages: the delta is not activated yet, so its effect is not found. *own: the delta concerns
 * endpoints of this node. Returns 0; COMPARE_ALL (planner.h), not reported; or another -errno,
 * reported. */
int load_delta_plan(struct node_handle *handle, const struct delta *delta, bool stages,
		    struct change *change, bool *own);

/* Moves the segments that @whole would activate from @whole to @stage, which only installs them. */
void load_delta_plan_stage(struct change *whole, struct change *stage);

#endif
