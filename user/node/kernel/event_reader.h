/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A place among the readers of events (maps/reader.h): its ring, filter and lease. A reader writes
 * its own place only, which decides about no packet. So reading is no change of the node
 * (plan/change.h) and takes no lock.
 */
#ifndef BULKHEAD_NODE_EVENT_READER_H
#define BULKHEAD_NODE_EVENT_READER_H

#include <bpf/libbpf.h>

#include "maps/reader.h"
#include "node/kernel/handle.h"
#include "node/kernel/table.h"

struct ring_reader;

/* Makes an empty table of bh_reader_ends: keys are struct bh_addr, values BH_END_* in a uint8_t. */
void reader_ends_init(struct table *ends);

/*
 * Takes a free place. @ends: the ends that the filter names, sorted; may be empty. @take gets
 * each record. Returns 0 or -errno, reported; -EBUSY: no place is free.
 */
int reader_open(struct node_handle *handle, const struct bh_filter *filter,
		const struct table *ends, ring_buffer_sample_fn take, void *data,
		struct ring_reader **reader);
void reader_close(struct ring_reader *reader);

/* Replaces the ends that the filter names. Returns 0 or -errno, reported. */
int reader_set_ends(struct ring_reader *reader, const struct table *ends);

/*
 * Renews the lease, and gives @take the records in the ring, as ring_buffer__consume() does.
 * Returns -ESTALE if this process stood still for so long that another reader has the place.
 */
int reader_consume(struct ring_reader *reader);

uint32_t reader_place(const struct ring_reader *reader);

/* Returns the number of records for which the ring had no room, since reader_open(). */
uint64_t reader_lost(const struct ring_reader *reader);

struct node_status;

/* Lists the present readers. Returns 0 or -errno. */
int reader_status(struct node_handle *handle, struct node_status *status);

#endif
