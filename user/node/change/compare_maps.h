/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The planner of loads: each part plans the entries that the policy's records have in its maps
 * (planner.h). A delta passes through the same parts as a whole policy, with fewer records.
 */
#ifndef BULKHEAD_NODE_COMPARE_MAPS_H
#define BULKHEAD_NODE_COMPARE_MAPS_H

#include "node/change/planner.h"

/* Plans all parts in their order: what an entry refers to has its place before. Returns as
 * planner.h says. */
int plan_parts(struct planner *plan);

struct wanted {
	const struct policy *policy; /* the part that goes into the maps */
	uint32_t ids; /* bh_blob.ids */
	const struct local *local;
	struct image *have;
	enum planner_wrong wrong;
};

/*
 * Makes @change bring the maps to @wanted, with the room for it, except for deleting the entries
 * that only the old policy needs (segment_entries_collect()). Makes @plan on the way. Does not
 * check which interfaces lack programs. Returns 0 or -errno, reported.
 */
int compare_maps(struct node_handle *handle, const struct wanted *wanted, struct change *change,
		 struct planner *plan);

#endif
