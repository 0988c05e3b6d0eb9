/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the slots in which the maps have segments. */
#ifndef BULKHEAD_NODE_SLOT_H
#define BULKHEAD_NODE_SLOT_H

#include "model/cluster.h"
#include "node/plan/change.h"

/*
 * Finds the slot in which the maps have the segment of that ID (of the maps), or in which @change
 * puts it. *slot: the slot to try first. @by_id keeps the slots of all segments between calls:
 * they are read once a slot that was tried first is not the segment's. Returns 0, -ENOENT or
 * another -errno, not reported.
 */
int slot_find(const struct node_handle *handle, const struct change *change, struct table *by_id,
	      uint32_t id, uint32_t *slot);

/* Finds the segment of handle->policy that an endpoint's address fits. Sets *place in the form of
 * an assignment word, and *isolated if the address fits no segment. @change: entries that are about
 * to be put. Returns 0 or -errno, reported. */
int slot_place(const struct node_handle *handle, const struct change *change,
	       const struct endpoint *endpoint, const struct address *address, uint64_t *place,
	       bool *isolated);

#endif
