/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the maps hold. Whoever plans a change reads them here only: as the kernel
 * has them, or as an image in memory says that they are (host->seen).
 */
#ifndef BULKHEAD_NODE_MAPS_H
#define BULKHEAD_NODE_MAPS_H

#include "node/kernel/handle.h"
#include "node/kernel/table.h"

/* Every map of NODE_MAPS; `segments` and `ports` by index, the rest sorted by key. */
struct image {
	struct table map[N_NODE_MAPS];
};

/* An empty table of a map's keys and values. */
void maps_init_table(enum node_map_id map, struct table *table);

void image_init(struct image *image);
void image_free(struct image *image);

/* Reads every map. Returns 0 or -errno, reported. */
int image_read(struct node_handle *host, struct image *image);

/* The entry of @key; of `prefixes`, the longest prefix around it. Returns 0, -ENOENT, or another
 * -errno; nothing is reported. */
int maps_lookup(const struct node_handle *host, enum node_map_id map, const void *key, void *value);

/* Replaces a table by a map's entries, or by those that @is_wanted says yes to. Return 0 or -errno,
 * not reported. */
int maps_read(const struct node_handle *host, enum node_map_id map, struct table *table);
int maps_read_some(const struct node_handle *host, enum node_map_id map, struct table *table,
		   table_filter *is_wanted, const void *what);

#endif
