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
	uint32_t ports_end; /* entries of bh_ports from here on are free, above 0 */
	struct image want; /* the entries that must be in the maps */
	struct change *change;
};

void layout_free(struct layout *layout);

/* Makes @change put the entries that the maps lack, with the room for them. Returns 0 or -errno,
 * reported. */
int layout_make(struct node_handle *handle, const struct image *have, const struct policy *policy,
		uint32_t ids, struct change *change, struct layout *layout);

/* Whether a map is one of those whose entries never change while they are in force. */
bool layout_has(enum node_map_id map);

/* Whether @change puts nothing into these maps: the layout is complete there. */
bool layout_is_there(const struct change *change);

/* Makes @change delete entries of @have that neither layout wants. @later: the staged policy's,
 * or NULL. Returns 0 or -errno, reported. */
int layout_collect(struct node_handle *handle, const struct image *have,
		   const struct layout *layout, const struct layout *later, struct change *change);

/* Returns a policy's ID as the maps have it (@ids: bh_blob.ids); 0 stays 0. */
static inline uint32_t layout_id(uint32_t ids, uint32_t id)
{
	return id ? id ^ ids : 0;
}

/* Makes a segment's entry. @place finds the reference in the maps for a reference of the policy,
 * and returns 0 or -errno. */
typedef int layout_place(void *data, struct bh_ports_ref ref, struct bh_ports_ref *placed);
int layout_segment(const struct policy_segment *segment, uint32_t ids, layout_place *place,
		   void *data, struct bh_segment *value);

#endif
