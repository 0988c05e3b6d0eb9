/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the prefixes of a delta that changes CIDRs, nodes or Services' addresses. It compares all
 * of the policy's prefixes with those of the maps. The node's own addresses are those of the last
 * load.
 */
#ifndef BULKHEAD_NODE_PREFIXES_DELTA_H
#define BULKHEAD_NODE_PREFIXES_DELTA_H

#include "node/change/delta/delta_plan.h"

/* Whether the delta changes prefixes or nodes, and so may move an address that is no endpoint's to
 * another segment. */
bool prefixes_delta_moves(const struct delta *delta);

int prefixes_delta_plan(struct delta_plan *plan);

#endif
