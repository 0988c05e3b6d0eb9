/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the maps for plans: the kernel's, or in a dry run the image in memory that stands for
 * them (handle->seen).
 */
#ifndef BULKHEAD_NODE_MAPS_H
#define BULKHEAD_NODE_MAPS_H

#include "node/kernel/handle.h"
#include "node/kernel/table.h"

/* The content of every map of maps/maps.def. Those of MAP_KIND_SLOTS are by index, the others
 * sorted by key. */
struct image {
	struct table map[N_NODE_MAPS];
};

/* Sets @table to an empty one for a map's keys and values. */
void maps_init_table(enum node_map_id map, struct table *table);

void image_init(struct image *image);
void image_free(struct image *image);

/* Reads every map. Returns 0 or -errno, reported. */
int image_read(struct node_handle *handle, struct image *image);

/* Looks @key up; in `prefixes`, the longest prefix around it. Returns 0, -ENOENT or another
 * -errno, not reported. */
int maps_lookup(const struct node_handle *handle, enum node_map_id map, const void *key,
		void *value);

/* Copies @n values of an array, from index @at on, to @values: in one call of the kernel. Returns
 * 0; -ENOENT: the array ends before; or another -errno, not reported. */
int maps_lookup_range(const struct node_handle *handle, enum node_map_id map, uint32_t at,
		      uint32_t n, void *values);

/* Replace a table's entries by a map's, or by those for which @is_wanted returns true. Return 0
 * or -errno, not reported. */
int maps_read(const struct node_handle *handle, enum node_map_id map, struct table *table);
int maps_read_some(const struct node_handle *handle, enum node_map_id map, struct table *table,
		   table_filter *is_wanted, const void *what);

#endif
