/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The planner of loads: each part plans the entries that the policy's records have in its maps
 * (planner.h). A delta passes through the same parts as a whole policy, with fewer records.
 */
#ifndef BULKHEAD_NODE_COMPARE_MAPS_H
#define BULKHEAD_NODE_COMPARE_MAPS_H

#include "node/plan/planner.h"

/* Plans all parts in their order: what an entry refers to has its place before. Returns as
 * planner.h says. */
int plan_parts(struct planner *plan);

/*
 * Makes @plan->change bring the maps to the whole policy that @plan has from planner_init(), on the
 * node that is @plan->local, except for deleting the entries that only the old policy needs
 * (segment_entries_collect()). Does not check which interfaces lack programs. Returns 0 or -errno,
 * reported.
 */
int compare_maps(struct planner *plan);

#endif
