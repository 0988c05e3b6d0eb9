/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the last drops of each endpoint, which the programs keep without a reader (maps/past.h). */
#ifndef BULKHEAD_NODE_PAST_H
#define BULKHEAD_NODE_PAST_H

#include "maps/event.h"
#include "node/kernel/handle.h"

struct past_drop {
	uint32_t ifindex; /* the endpoint's interface, which may not be the event's */
	struct bh_event event;
};

struct past {
	struct past_drop *at; /* the oldest first */
	size_t n;
};

/* Reads the records that are not older than @since, in ns of CLOCK_MONOTONIC. Returns 0 or -errno,
 * not reported; past_free() in any case. */
int past_read(struct node_handle *handle, uint64_t since, struct past *past);
void past_free(struct past *past);

#endif
