/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the maps have the segment that an endpoint fits. */
#ifndef BULKHEAD_NODE_SLOT_H
#define BULKHEAD_NODE_SLOT_H

#include "model/cluster.h"
#include "node/change/change.h"

/* *place: as an assignment word has it; *isolated is set where the endpoint fits none of the
 * segments in force. @change: what else is about to be put. Returns 0 or -errno, reported. */
int slot_place(const struct node_handle *host, const struct change *change,
	       const struct endpoint *endpoint, const struct address *address, uint64_t *place,
	       bool *isolated);

#endif
