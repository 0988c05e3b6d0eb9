/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A map's entries in memory, sorted by the bytes of their keys: what a map
 * holds, what it should hold, and what is to be written to it.
 */
#ifndef BULKHEAD_NODE_TABLE_H
#define BULKHEAD_NODE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table {
	uint32_t key_size, value_size; /* bytes */
	size_t n, room;
	unsigned char *entries; /* each a key and a value, both at a multiple of 8 */
};

void table_init(struct table *table, uint32_t key_size, uint32_t value_size);
void table_free(struct table *table);

void *table_key(const struct table *table, size_t i);
void *table_value(const struct table *table, size_t i);

/* Appends; sort before a search. Returns 0 or -ENOMEM. */
int table_add(struct table *table, const void *key, const void *value);
void table_sort(struct table *table);
/* Adds to a sorted table, which stays sorted. Returns 0 or -ENOMEM. */
int table_insert(struct table *table, const void *key, const void *value);

/* The value of @key in a sorted table, NULL: not there. */
void *table_find(const struct table *table, const void *key);

/* Adds to @rest the entries of @table whose keys @other, sorted, does not have. */
int table_without(const struct table *table, const struct table *other, struct table *rest);

/* Bytes of a map's value as bpf(2) gives it: of a per-CPU map, one for each CPU. */
struct bpf_map_info;
size_t table_value_size(const struct bpf_map_info *info);

/* Replaces a table by a map's entries: sorted, an array's by index. Returns 0 or -errno. */
int table_read(struct table *table, int map);

/* The same, of those entries only that @is_wanted says yes to. */
typedef bool table_filter(const void *what, const void *key, const void *value);
int table_read_some(struct table *table, int map, table_filter *is_wanted, const void *what);

/* Writes every entry to a map; or deletes every key that is in it. Returns 0 or -errno. */
int table_write(const struct table *table, int map);
int table_delete(const struct table *table, int map);

#endif
