/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a command changes in the maps by bpf(2), counted as map writes. What
 * programs read as a whole, a program stores (assign_store()).
 */
#ifndef BULKHEAD_NODE_WRITE_H
#define BULKHEAD_NODE_WRITE_H

#include "node/inside.h"
#include "node/table.h"

/* Adds or replaces the entries, or deletes those of these keys. Return 0 or -errno, reported. */
int write_table(struct host *host, const struct table *table, enum node_map_id map);
int write_delete(struct host *host, const struct table *table, enum node_map_id map);

/* The one store that puts another generation in force. */
void write_flip(struct host *host, uint64_t generation);

/* Before the first change, and after the last one: meanwhile packets go without the cache, and from
 * then on without what it holds (maps/cache.h). */
void write_busy(struct host *host, bool busy);

#endif
