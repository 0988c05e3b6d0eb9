/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the load of a delta that only adds, moves or removes endpoints of other nodes, or moves
 * this node's between existing segments. It reads the delta, and neither the maps nor the policy
 * in force as a whole.
 */
#ifndef BULKHEAD_NODE_LOAD_DELTA_H
#define BULKHEAD_NODE_LOAD_DELTA_H

#include "compile/delta.h"
#include "node/change/change.h"

/* Returns 0; -EOPNOTSUPP, not reported, where the delta does more, or the node needs more; or
 * another -errno, reported. */
/* *own: it moves endpoints of this node. */
int load_delta_plan(struct node_handle *handle, const struct delta *delta, struct change *change,
		    bool *own);

#endif
