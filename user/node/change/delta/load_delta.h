/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the load of a delta by its parts: segments (layout_delta.h), endpoints (endpoints_delta.h
 * and added_delta.h), prefixes (prefixes_delta.h) and Services (services_delta.h).
 */
#ifndef BULKHEAD_NODE_LOAD_DELTA_H
#define BULKHEAD_NODE_LOAD_DELTA_H

#include "compile/delta.h"
#include "node/change/change.h"

/* Returns 0; -EOPNOTSUPP, not reported, where the delta does more, or the node needs more; or
 * another -errno, reported. *own: it moves endpoints of this node. */
int load_delta_plan(struct node_handle *handle, const struct delta *delta, struct change *change,
		    bool *own);

/* Makes @stage install the segments that @whole would put in force, and takes them from @whole. */
void load_delta_plan_stage(struct change *whole, struct change *stage);

#endif
