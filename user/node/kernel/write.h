/* SPDX-License-Identifier: GPL-2.0-only */
/* What a command changes in the maps, counted as map writes. */
#ifndef BULKHEAD_NODE_WRITE_H
#define BULKHEAD_NODE_WRITE_H

#include "node/kernel/handle.h"
#include "node/kernel/table.h"

/* Adds or replaces the entries, or deletes those of these keys. Return 0 or -errno, reported. */
int write_table(struct node_handle *host, const struct table *table, enum node_map_id map);
int write_delete(struct node_handle *host, const struct table *table, enum node_map_id map);

/* The same of one entry of a table. */
int write_one(struct node_handle *host, const struct table *table, size_t i, enum node_map_id map);

/*
 * Stores each request (struct bh_assign) of a table into an entry that is there: bpf(2) replaces a
 * hash element as a whole and the kernel reuses the old one at once, under the eyes of whoever
 * reads it; a program stores into it. Returns 0 or -errno, reported.
 */
int write_stores(struct node_handle *host, const struct table *stores, enum node_map_id map);

/* The one store that puts another generation in force. */
void write_flip(struct node_handle *host, uint64_t generation);

/* Before the first change, and after the last one: meanwhile packets go without the cache, and from
 * then on without what it holds (maps/verdict_cache.h). */
void write_busy(struct node_handle *host, bool busy);

/* What the last command was to bring about, in the policies' own count. */
void write_desired(struct node_handle *host, uint32_t policy, uint32_t endpoint);

#endif
