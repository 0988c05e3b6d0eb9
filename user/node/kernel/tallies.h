/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads and collects the programs' counts for each interface (maps/tally.h, maps/share.h).
 * Collecting frees the places of interfaces that are gone. Counts decide about no packet, so
 * collecting them is no change of the node (plan/change.h). */
#ifndef BULKHEAD_NODE_TALLIES_H
#define BULKHEAD_NODE_TALLIES_H

#include "maps/tally.h"
#include "node/kernel/handle.h"

/* Returns the number of events that were held back from all readers. */
uint64_t tally_suppressed(const struct bh_tally *sum);

/* Calls @visit for each interface with the sum of all CPUs, without stamps and credits. Stops
 * if @visit returns non-zero, and returns that; else 0 or -errno. */
int tally_each(struct node_handle *handle,
	       int (*visit)(void *data, const struct bh_tally_key *key, const struct bh_tally *sum),
	       void *data);

/* Adds the drops of each namespace to status->drops. Returns 0 or -errno. */
int tally_drops(struct node_handle *handle, struct node_status *status);

/*
 * Frees the places of interfaces that no longer belong to endpoints of the same namespace, and
 * keeps their drops by namespace. Returns 0 or -errno, reported.
 */
int tally_collect(struct node_handle *handle);

#endif
