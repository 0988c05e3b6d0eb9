// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "maps/maps.def"
#include "model/search.h"
#include "node/kernel/maps.h"

static const struct {
	uint32_t key, value; /* bytes */
} sizes[N_NODE_MAPS] = {
#define NODE_MAP(name, key, value, ...) [MAP_##name] = {sizeof(key), sizeof(value)},
#include "maps/maps.def"
};

void maps_init_table(enum node_map_id map, struct table *table)
{
	table_init(table, sizes[map].key, sizes[map].value);
}

void image_init(struct image *image)
{
	for (int i = 0; i < N_NODE_MAPS; i++)
		maps_init_table(i, &image->map[i]);
}

void image_free(struct image *image)
{
	for (int i = 0; i < N_NODE_MAPS; i++)
		table_free(&image->map[i]);
}

int image_read(struct node_handle *handle, struct image *image)
{
	for (int i = 0; i < N_NODE_MAPS; i++) {
		int error = maps_read(handle, i, &image->map[i]);

		if (error)
			return node_fail(handle, error, "cannot read %s/%s", handle->pin,
					 node_map_names[i]);
	}
	return 0;
}

/* Finds the longest prefix that holds the key's, as the kernel's trie does. */
static uint32_t prefix_length(const struct table *prefixes, size_t i)
{
	return ((const struct bh_prefix_key *)table_key(prefixes, i))->length;
}

static const void *find_prefix(const struct table *prefixes, const struct bh_prefix_key *key)
{
	struct address address;

	memcpy(&address, &key->addr, sizeof(address));
	/* the table is sorted by length first: looks among the longest, then the next shorter ones
	 */
	for (size_t end = prefixes->n; end;) {
		const uint32_t length = prefix_length(prefixes, end - 1);
		const struct address masked = address_mask(&address, length);
		struct bh_prefix_key wanted = {.length = length};
		const void *found;

		memcpy(&wanted.addr, &masked, sizeof(wanted.addr));
		found = length <= key->length ? table_find(prefixes, &wanted) : NULL;
		if (found)
			return found;
		end = SEARCH(end, i, prefix_length(prefixes, i) < length);
	}
	return NULL;
}

static const void *find(const struct image *image, enum node_map_id map, const void *key)
{
	const struct table *table = &image->map[map];
	uint32_t index;

	if (map == MAP_prefixes)
		return find_prefix(table, key);
	if (node_map_kinds[map] != MAP_KIND_SLOTS)
		return table_find(table, key);
	memcpy(&index, key, sizeof(index));
	return index < table->n ? table_value(table, index) : NULL;
}

int maps_lookup(const struct node_handle *handle, enum node_map_id map, const void *key,
		void *value)
{
	const void *found;

	if (!handle->seen)
		return bpf_map_lookup_elem(handle->maps[map], key, value) ? -errno : 0;
	found = find(handle->seen, map, key);
	if (!found)
		return -ENOENT;
	memcpy(value, found, sizes[map].value);
	return 0;
}

static int range_in_memory(const struct table *table, uint32_t at, uint32_t n, void *values)
{
	if (at > table->n || n > table->n - at)
		return -ENOENT;
	for (uint32_t i = 0; i < n; i++)
		memcpy((unsigned char *)values + (size_t)i * table->value_size,
		       table_value(table, at + i), table->value_size);
	return 0;
}

int maps_lookup_range(const struct node_handle *handle, enum node_map_id map, uint32_t at,
		      uint32_t n, void *values)
{
	return handle->seen ? range_in_memory(&handle->seen->map[map], at, n, values)
			    : table_read_range(handle->maps[map], at, n, sizes[map].value, values);
}

int maps_read(const struct node_handle *handle, enum node_map_id map, struct table *table)
{
	return maps_read_some(handle, map, table, NULL, NULL);
}

int maps_read_some(const struct node_handle *handle, enum node_map_id map, struct table *table,
		   table_filter *is_wanted, const void *what)
{
	const struct table *seen = handle->seen ? &handle->seen->map[map] : NULL;
	int error = 0;

	if (!seen)
		return table_read_some(table, handle->maps[map], is_wanted, what);
	table->n = 0;
	for (size_t i = 0; !error && i < seen->n; i++)
		if (!is_wanted || is_wanted(what, table_key(seen, i), table_value(seen, i)))
			error = table_add(table, table_key(seen, i), table_value(seen, i));
	return error;
}
