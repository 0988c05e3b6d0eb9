/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A place among the readers of events (maps/reader.h): its ring, its filter, its lease.
 */
#ifndef BULKHEAD_NODE_READER_H
#define BULKHEAD_NODE_READER_H

#include <bpf/libbpf.h>

#include "maps/reader.h"
#include "node/kernel/handle.h"
#include "node/kernel/table.h"

struct reader;

/* The keys and values of bh_reader_ends: struct bh_addr, and BH_END_* as a uint8_t. */
void reader_ends_init(struct table *ends);

/*
 * Takes a free place and makes it read. @ends: who the filter names, sorted; without any nobody is
 * named. @take is called for each record. Returns 0 or -errno, reported; -EBUSY: all are taken.
 */
int reader_open(struct node_handle *host, const struct bh_filter *filter, const struct table *ends,
		ring_buffer_sample_fn take, void *data, struct reader **reader);
void reader_close(struct reader *reader);

/* Has the filter name others. Returns 0 or -errno, reported. */
int reader_rename(struct reader *reader, const struct table *ends);

/*
 * Keeps the place, and gives @take the records that are there, as ring_buffer__consume() does.
 * Returns -ESTALE where this process stood still for so long that another has the place.
 */
int reader_consume(struct reader *reader);

uint32_t reader_place(const struct reader *reader);

/* Records that its ring had no room for, since it was opened. */
uint64_t reader_lost(const struct reader *reader);

struct node_status;

/* Lists the readers that are there. Returns 0 or -errno. */
int reader_status(struct node_handle *host, struct node_status *status);

#endif
