/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A policy's entries for the maps whose entries never change while they are in force: segments,
 * pairs, port lists, names. A segment that the maps have keeps its slot, and a port list its
 * place. All others get free slots and places.
 */
#ifndef BULKHEAD_NODE_LAYOUT_H
#define BULKHEAD_NODE_LAYOUT_H

#include "node/change/change.h"

struct layout {
	const struct policy *policy;
	uint32_t ids; /* bh_blob.ids */
	uint32_t *slots; /* by index of the policy's segments; 0: the segment is deleted and has
			  * none */
	uint32_t last_slot;
	struct image want; /* the entries that must be in the maps */
	struct change *change;
};

void layout_free(struct layout *layout);

/* Makes @change put what is missing, with the room for it. Returns 0 or -errno, reported. */
int layout_make(struct node_handle *handle, const struct image *have, const struct policy *policy,
		uint32_t ids, struct change *change, struct layout *layout);

/* Whether @change puts nothing into these maps: the layout is complete there. */
bool layout_is_there(const struct change *change);

/* Makes @change delete entries of @have that neither layout wants. @later: the staged policy's,
 * or NULL. Returns 0 or -errno, reported. */
int layout_collect(struct node_handle *handle, const struct image *have,
		   const struct layout *layout, const struct layout *later, struct change *change);

/* Returns a policy's ID as the maps have it; 0 stays 0. */
static inline uint32_t layout_id(const struct layout *layout, uint32_t id)
{
	return id ? id ^ layout->ids : 0;
}

#endif
