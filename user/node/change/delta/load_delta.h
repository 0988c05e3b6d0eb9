/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the load of a delta by its parts: segments (layout_delta.h), endpoints (endpoints_delta.h
 * and added_delta.h), prefixes (prefixes_delta.h) and Services (services_delta.h).
 */
#ifndef BULKHEAD_NODE_LOAD_DELTA_H
#define BULKHEAD_NODE_LOAD_DELTA_H

#include "compile/delta.h"
#include "node/change/change.h"

/* Returns 0; -EOPNOTSUPP, not reported, where only a load of the whole policy can do what the delta
 * asks or the node needs; or another -errno, reported. *own: the delta concerns endpoints of this
 * node. */
int load_delta_plan(struct node_handle *handle, const struct delta *delta, struct change *change,
		    bool *own);

/* Moves the segments that @whole would put in force from @whole to @stage, which only installs
 * them. */
void load_delta_plan_stage(struct change *whole, struct change *stage);

#endif
