/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A policy laid out for the maps that never change once they are in force:
 * segments, pairs, port lists, names. Its segments keep the slots, and its port
 * lists the places, that the maps give the same ones already; the rest is put
 * where nothing is.
 */
#ifndef BULKHEAD_NODE_LAYOUT_H
#define BULKHEAD_NODE_LAYOUT_H

#include "node/change/change.h"

struct layout {
	const struct policy *policy;
	uint32_t ids; /* bh_blob.ids */
	uint32_t *slots; /* by the policy's segments; 0: deleted, it has none */
	uint32_t last_slot;
	struct image want; /* what has to be there */
	struct change *change;
};

void layout_free(struct layout *layout);

/* Has @change put what is not there yet, and want the room for it. Returns 0 or -errno, reported.
 */
int layout_make(struct node_handle *host, const struct image *have, const struct policy *policy,
		uint32_t ids, struct change *change, struct layout *layout);

/* Whether @change puts nothing of what layouts put: all of it is there. */
bool layout_is_there(const struct change *change);

/* Has @change delete what is in @have and neither layout wants; @later: what is staged, or NULL.
 * Returns 0 or -errno, reported. */
int layout_collect(struct node_handle *host, const struct image *have, const struct layout *layout,
		   const struct layout *later, struct change *change);

/* An ID of the policy as it stands in the maps; 0 is nothing in both. */
static inline uint32_t layout_id(const struct layout *layout, uint32_t id)
{
	return id ? id ^ layout->ids : 0;
}

#endif
