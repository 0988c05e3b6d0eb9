/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes to the maps for a change, and counts the writes. Only change/apply.c and the functions
 * that it calls use it. */
#ifndef BULKHEAD_NODE_WRITE_H
#define BULKHEAD_NODE_WRITE_H

#include "node/kernel/handle.h"
#include "node/kernel/table.h"

/* Add or replace the entries, or delete the entries with these keys. Return 0 or -errno,
 * reported. */
int write_table(struct node_handle *handle, const struct table *table, enum node_map_id map);
int write_delete(struct node_handle *handle, const struct table *table, enum node_map_id map);

/* As the former two, for one entry of a table. */
int write_one(struct node_handle *handle, const struct table *table, size_t i,
	      enum node_map_id map);

/*
 * Stores each request (struct bh_assign) of a table into an existing entry. bpf(2) would replace a
 * hash element as a whole, and the kernel reuses the old element at once, while programs may still
 * read it; so a program stores the value in place. Returns 0 or -errno, reported.
 */
int write_stores(struct node_handle *handle, const struct table *stores, enum node_map_id map);

/* Puts another active generation, by one store. */
void write_commit(struct node_handle *handle, uint64_t generation);

/* Marks the beginning of a change, or its end. During the change programs do not use the verdict
 * cache; afterwards the cache's old entries are void (maps/verdict_cache.h). */
void write_busy(struct node_handle *handle, bool busy);

/* Notes the policies' generations that the last command wants. Commands read them, programs do
 * not. */
void write_desired(struct node_handle *handle, uint32_t policy, uint32_t endpoint);

#endif
