/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the entries of bh_prefixes: the policy's CIDRs, this node's addresses and Services'
 * addresses, and of bh_tunnels, the nodes. If a delta changes any of these, all of the policy's
 * prefixes are compared with those of the maps; with a delta, the node's own addresses are those of
 * the last load.
 */
#ifndef BULKHEAD_NODE_PREFIX_ENTRIES_H
#define BULKHEAD_NODE_PREFIX_ENTRIES_H

#include "node/change/planner.h"

/* Returns true if an address that is no endpoint's may move to another segment. */
bool prefixes_may_move(const struct planner *plan);

/* Returns as planner.h says. */
int prefixes_plan(struct planner *plan);

#endif
