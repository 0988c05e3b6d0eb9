/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds where this node's endpoints that a delta adds or changes are, before the delta and after.
 */
#ifndef BULKHEAD_NODE_OWN_SEARCH_H
#define BULKHEAD_NODE_OWN_SEARCH_H

#include "node/change/endpoint_entries.h"

/* Plans the interfaces of @endpoints->own, and fills in their entries. Returns 0; COMPARE_ALL
 * (planner.h), not reported; or another -errno, reported. */
int endpoints_find_own(struct endpoints *endpoints);

#endif
