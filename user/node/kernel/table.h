/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries of a map in memory, sorted by the bytes of their keys: the entries that a map holds,
 * should hold, or is to get.
 */
#ifndef BULKHEAD_NODE_TABLE_H
#define BULKHEAD_NODE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_map_info;

struct table {
	uint32_t key_size, value_size; /* bytes */
	size_t n, capacity;
	unsigned char *entries; /* each entry is a key and a value, both at a multiple of 8 */
};

void table_init(struct table *table, uint32_t key_size, uint32_t value_size);
void table_free(struct table *table);

void *table_key(const struct table *table, size_t i);
void *table_value(const struct table *table, size_t i);

/* Appends an entry; sort before a search. Returns 0 or -ENOMEM. */
int table_add(struct table *table, const void *key, const void *value);
void table_sort(struct table *table);
/* Adds an entry at its place in a sorted table. Returns 0 or -ENOMEM. */
int table_insert(struct table *table, const void *key, const void *value);

/* Returns the value of @key in a sorted table; NULL: none. */
void *table_find(const struct table *table, const void *key);

/* Finds a key as table_find() does, in a table that need not be sorted. */
void *table_seek(const struct table *table, const void *key);

/* Adds to @rest the entries of @table whose keys the sorted table @other lacks. */
int table_without(const struct table *table, const struct table *other, struct table *rest);

/* Returns the bytes of a map's value in bpf(2); of a per-CPU map, all CPUs' together. */
size_t table_value_size(const struct bpf_map_info *info);

/* Replaces a table's entries by a map's: sorted by key, of an array by index. An array that can be
 * mapped ends with its last value that is not zero: its room costs no time. Returns 0 or -errno. */
int table_read(struct table *table, int map);

/* As table_read(), only the entries for which @is_wanted returns true. */
typedef bool table_filter(const void *what, const void *key, const void *value);
int table_read_some(struct table *table, int map, table_filter *is_wanted, const void *what);

/* Reads @n values of an array that can be mapped. @value_size: a multiple of 8 bytes. Returns 0;
 * -ENOENT: the array has no such range; or another -errno. */
int table_read_range(int map, uint32_t at, uint32_t n, size_t value_size, void *values);

/* Write every entry to a map, or delete every key that the map has. Return 0 or -errno. */
int table_write(const struct table *table, int map);
int table_delete(const struct table *table, int map);

#endif
