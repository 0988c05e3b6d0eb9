/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A delta that only brings, moves or takes endpoints of other nodes, or moves
 * this node's between segments that are there, planned by what it says: neither
 * the maps nor the policy in force are read as a whole.
 */
#ifndef BULKHEAD_NODE_LOAD_DELTA_H
#define BULKHEAD_NODE_LOAD_DELTA_H

#include "compile/delta.h"
#include "node/change/change.h"

/* Returns 0; -EOPNOTSUPP, not reported: it is no such delta, or the node needs more than it says;
 * or another -errno, reported. */
int load_delta_plan(struct node_handle *host, const struct delta *delta, struct change *change);

#endif
