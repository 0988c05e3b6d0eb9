/* SPDX-License-Identifier: GPL-2.0-only */
/* The difference between the entries of the maps and the entries that a policy wants on this
 * node. */
#ifndef BULKHEAD_NODE_COMPARE_MAPS_H
#define BULKHEAD_NODE_COMPARE_MAPS_H

#include "node/change/planner.h"

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
