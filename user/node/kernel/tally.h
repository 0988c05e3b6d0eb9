/* SPDX-License-Identifier: GPL-2.0-only */
/* What the programs hold against each interface (maps/tally.h, maps/share.h). */
#ifndef BULKHEAD_NODE_TALLY_H
#define BULKHEAD_NODE_TALLY_H

#include "maps/tally.h"
#include "node/kernel/handle.h"

/* Records that were kept back from all readers. */
uint64_t tally_suppressed(const struct bh_tally *sum);

/* Calls @visit for each interface's, of all CPUs together, with neither stamps nor credits. Stops
 * where @visit returns non-zero, and returns that; else 0 or -errno. */
int tally_each(struct node_handle *host,
	       int (*visit)(void *data, const struct bh_tally_key *key, const struct bh_tally *sum),
	       void *data);

/* Adds to status->drops what was dropped of each namespace. Returns 0 or -errno. */
int tally_drops(struct node_handle *host, struct node_status *status);

/*
 * Takes out what is of interfaces that are no longer those of the same namespace's endpoints; their
 * drops are kept, by namespace. Returns 0 or -errno, reported.
 */
int tally_collect(struct node_handle *host);

#endif
