/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the endpoints and addresses that a delta concerns. */
#ifndef BULKHEAD_NODE_ENDPOINT_SEARCH_H
#define BULKHEAD_NODE_ENDPOINT_SEARCH_H

#include "node/change/endpoint_entries.h"

/*
 * Lists the addresses that are new or changed, and those of endpoints that are new or changed; and
 * this node's endpoints that come, also after `endpoint del`, or change otherwise than by their
 * segment: in their own records, their addresses, or the CIDRs that they may send from. Sets
 * plan->taken, and lists the endpoints that have records there. Returns 0; COMPARE_ALL (planner.h),
 * not reported; or another -errno, reported.
 */
int endpoints_search(struct endpoints *endpoints);

#endif
