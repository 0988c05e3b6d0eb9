/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the segment that an endpoint fits in the maps. */
#ifndef BULKHEAD_NODE_SLOT_H
#define BULKHEAD_NODE_SLOT_H

#include "model/cluster.h"
#include "node/change/change.h"

/* Sets *place in the form of an assignment word, and *isolated if the endpoint fits no active
 * segment. @change: entries that are about to be put. Returns 0 or -errno, reported. */
int slot_place(const struct node_handle *handle, const struct change *change,
	       const struct endpoint *endpoint, const struct address *address, uint64_t *place,
	       bool *isolated);

/* Finds the slot of the segment of that ID, in the maps or among the entries that @change puts.
 * *slot: the place to try first. Returns 0, -ENOENT or another -errno, not reported. */
int slot_find(const struct node_handle *handle, const struct change *change, uint32_t id,
	      uint32_t *slot);

#endif
