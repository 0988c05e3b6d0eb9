/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans a delta's entries of the maps whose entries never change while they are in force: segments,
 * pairs, port lists, names (layout.h).
 */
#ifndef BULKHEAD_NODE_LAYOUT_DELTA_H
#define BULKHEAD_NODE_LAYOUT_DELTA_H

#include "node/change/planner.h"

/* Gives each segment of @plan->new and @plan->extension its slot, and puts the entries that are
 * missing. @staged: the slots of @plan->new where that policy is staged; NULL: it is not staged.
 * Deletes the entries that @plan->new lacks. */
int layout_delta_plan(struct planner *plan, const uint32_t *staged);

/* Deletes the entries of the node's extension of the old policy that @plan->new lacks. */
int layout_delta_drop_local(struct planner *plan);

#endif
