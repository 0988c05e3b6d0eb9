/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the last drops of each endpoint, which the programs keep without a reader (maps/past.h). */
#ifndef BULKHEAD_NODE_LAST_DROPS_H
#define BULKHEAD_NODE_LAST_DROPS_H

#include "maps/past.h"
#include "maps/tally.h"
#include "node/kernel/handle.h"

struct past_drop {
	uint32_t ifindex; /* the endpoint's interface, which may not be the event's */
	uint32_t at; /* the record's place: below PAST_RECORDS, as long as it is in use */
	struct bh_event event;
};

#define PAST_RECORDS (BH_TALLIES * BH_PAST_DROPS)

struct past {
	struct past_drop *at; /* the oldest first */
	size_t n;
};

/* Reads the records that are not older than @since, in ns of CLOCK_MONOTONIC. Returns 0 or -errno,
 * not reported; past_free() in any case. */
int past_read(struct node_handle *handle, uint64_t since, struct past *past);
void past_free(struct past *past);

#endif
