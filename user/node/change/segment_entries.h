/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the entries of the maps whose entries never change while they are active: segments, pairs,
 * port lists, names. A segment that the maps have keeps its slot, and a port list its place. All
 * others get free slots and places.
 */
#ifndef BULKHEAD_NODE_SEGMENT_ENTRIES_H
#define BULKHEAD_NODE_SEGMENT_ENTRIES_H

#include "node/change/planner.h"

/*
 * Makes @plan->change put the entries that the maps lack, with the room for them, and sets
 * @plan->slots and @plan->ports_end. With a delta, also deletes the entries that the new policy
 * lacks. Returns 0 or -errno: -EINVAL, reported, if the maps have other entries than the policy,
 * and @plan->wrong refuses these.
 */
int segment_entries_plan(struct planner *plan);

/* Plans the staged policy, to be freed, into @change, which is not to be applied: its entries stay.
 * *staged NULL: none is staged. Returns 0 or -errno, reported. */
int segment_entries_staged(struct node_handle *handle, struct image *have, struct policy **staged,
			   struct change *change, struct planner *later);

/* Without a delta: deletes the entries of the maps that neither policy has. @later: the planner of
 * the staged policy after its segment_entries_plan(), or NULL. Returns 0 or -errno, reported. */
int segment_entries_collect(struct planner *plan, struct planner *later);

/* Returns true if a map is one of those whose entries never change while they are active. */
bool segment_entries_has(enum node_map_id map);

/* Returns true if @change deletes entries of these maps. */
bool segment_entries_deletes(const struct change *change);

/* Returns true if @change puts nothing into these maps: the layout is complete there. */
bool segment_entries_is_there(const struct change *change);

#endif
