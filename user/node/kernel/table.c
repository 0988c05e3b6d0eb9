// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "node/kernel/handle.h"
#include "node/kernel/table.h"

static size_t round_up(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static size_t stride(const struct table *table)
{
	return round_up(table->key_size) + round_up(table->value_size);
}

void table_init(struct table *table, uint32_t key_size, uint32_t value_size)
{
	*table = (struct table){.key_size = key_size, .value_size = value_size};
}

void table_free(struct table *table)
{
	free(table->entries);
	table_init(table, table->key_size, table->value_size);
}

void *table_key(const struct table *table, size_t i)
{
	return table->entries + i * stride(table);
}

void *table_value(const struct table *table, size_t i)
{
	return (unsigned char *)table_key(table, i) + round_up(table->key_size);
}

int table_add(struct table *table, const void *key, const void *value)
{
	if (table->n == table->capacity) {
		size_t capacity = table->capacity ? table->capacity * 2 : 64;
		void *entries = reallocarray(table->entries, capacity, stride(table));

		if (!entries)
			return -ENOMEM;
		table->entries = entries;
		table->capacity = capacity;
	}
	memcpy(table_key(table, table->n), key, table->key_size);
	if (table->value_size)
		memcpy(table_value(table, table->n), value, table->value_size);
	table->n++;
	return 0;
}

static int compare(const void *a, const void *b, void *table)
{
	return memcmp(a, b, ((const struct table *)table)->key_size);
}

void table_sort(struct table *table)
{
	if (table->n)
		qsort_r(table->entries, table->n, stride(table), compare, table);
}

int table_insert(struct table *table, const void *key, const void *value)
{
	int error = table_add(table, key, value);

	if (!error)
		table_sort(table);
	return error;
}

void *table_find(const struct table *table, const void *key)
{
	size_t low = 0, high = table->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = memcmp(key, table_key(table, middle), table->key_size);

		if (!order)
			return table_value(table, middle);
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

void *table_seek(const struct table *table, const void *key)
{
	for (size_t i = 0; i < table->n; i++)
		if (!memcmp(table_key(table, i), key, table->key_size))
			return table_value(table, i);
	return NULL;
}

int table_without(const struct table *table, const struct table *other, struct table *rest)
{
	int error = 0;

	for (size_t i = 0; !error && i < table->n; i++)
		if (!table_find(other, table_key(table, i)))
			error = table_add(rest, table_key(table, i), table_value(table, i));
	return error;
}

/* Splits a table into all keys and all values, as bpf(2) wants them. */
static int split(const struct table *table, void **keys, void **values)
{
	SCOPED_FREE unsigned char *key = malloc(table->n * (size_t)table->key_size + 1);
	SCOPED_FREE unsigned char *value = malloc(table->n * (size_t)table->value_size + 1);

	if (!key || !value)
		return -ENOMEM;
	for (size_t i = 0; i < table->n; i++) {
		memcpy(key + i * table->key_size, table_key(table, i), table->key_size);
		memcpy(value + i * table->value_size, table_value(table, i), table->value_size);
	}
	*keys = TAKE_PTR(key);
	*values = TAKE_PTR(value);
	return 0;
}

size_t table_value_size(const struct bpf_map_info *info)
{
	switch (info->type) {
	case BPF_MAP_TYPE_PERCPU_HASH:
	case BPF_MAP_TYPE_LRU_PERCPU_HASH:
	case BPF_MAP_TYPE_PERCPU_ARRAY:
		return round_up(info->value_size) * libbpf_num_possible_cpus();
	}
	return info->value_size;
}

int table_read(struct table *table, int map)
{
	return table_read_some(table, map, NULL, NULL);
}

/* An array as it lies in the kernel's memory. */
struct array {
	unsigned char *at;
	size_t size; /* bytes */
};

static void array_unmap(struct array *array)
{
	if (array->at)
		munmap(array->at, array->size);
}

/* @protection: as of mmap(2). */
static int array_map(int map, const struct bpf_map_info *info, int protection, struct array *array)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	const size_t size = info->max_entries * round_up(info->value_size);
	void *at;

	array->size = (size + page - 1) & ~(page - 1);
	at = mmap(NULL, array->size, protection, MAP_SHARED, map, 0);
	if (at == MAP_FAILED)
		return -errno;
	array->at = at;
	return 0;
}

static int read_info(int map, struct bpf_map_info *info)
{
	uint32_t length = sizeof(*info);

	return bpf_obj_get_info_by_fd(map, info, &length) ? -errno : 0;
}

static bool is_zero(const unsigned char *at, size_t n)
{
	return !*at && !memcmp(at, at + 1, n - 1);
}

static int read_array(struct table *table, int map, const struct bpf_map_info *info,
		      table_filter *is_wanted, const void *what)
{
	const size_t size = round_up(info->value_size);
	CLEANUP(array_unmap) struct array array = {};
	uint32_t n = info->max_entries;
	int error = array_map(map, info, PROT_READ, &array);

	if (error)
		return error;
	while (n && is_zero(array.at + (n - 1) * size, info->value_size))
		n--;
	table->n = 0;
	for (uint32_t i = 0; !error && i < n; i++) {
		const void *value = array.at + i * size;

		if (!is_wanted || is_wanted(what, &i, value))
			error = table_add(table, &i, value);
	}
	return error;
}

static int write_array(const struct table *table, int map, const struct bpf_map_info *info)
{
	const size_t size = round_up(info->value_size);
	CLEANUP(array_unmap) struct array array = {};
	int error = array_map(map, info, PROT_READ | PROT_WRITE, &array);

	for (size_t i = 0; !error && i < table->n; i++) {
		const uint32_t index = *(const uint32_t *)table_key(table, i);

		if (index < info->max_entries)
			memcpy(array.at + index * size, table_value(table, i), table->value_size);
		else
			error = -E2BIG;
	}
	return error;
}

static int copy_range(int map, const struct bpf_map_info *info, uint32_t at, uint32_t n,
		      void *values)
{
	const size_t size = round_up(info->value_size);
	CLEANUP(array_unmap) struct array array = {};
	int error = array_map(map, info, PROT_READ, &array);

	if (!error)
		memcpy(values, array.at + at * size, n * size);
	return error;
}

/* Up to so many entries of an array are read one by one: to map the array and to unmap it costs
 * more, and more the larger it is. */
#define FEW 16

int table_read_range(int map, uint32_t at, uint32_t n, size_t value_size, void *values)
{
	struct bpf_map_info info = {};
	int error = read_info(map, &info);

	if (!error && (round_up(info.value_size) != value_size || at > info.max_entries ||
		       n > info.max_entries - at))
		error = -ENOENT;
	if (error || n > FEW)
		return error ? error : copy_range(map, &info, at, n, values);
	for (uint32_t i = at; i < at + n; i++)
		if (bpf_map_lookup_elem(map, &i, (unsigned char *)values + (i - at) * value_size))
			return -errno;
	return 0;
}

/* Reads the entries in one call, so that none is missed or seen twice, if they are @room or
 * fewer. Returns 0, -EAGAIN if there are more, or another -errno. */
static int read_entries(struct table *table, int map, const struct bpf_map_info *info,
			uint32_t room, table_filter *is_wanted, const void *what)
{
	uint64_t position; /* large enough for the kernel's position in any map */
	const size_t size = table->value_size;
	SCOPED_FREE unsigned char *next =
		calloc(1, info->key_size > sizeof(position) ? info->key_size : sizeof(position));
	SCOPED_FREE unsigned char *keys = malloc((size_t)room * info->key_size);
	SCOPED_FREE unsigned char *values = malloc(room * size);
	uint32_t n = room;
	int error = 0;

	if (!next || !keys || !values)
		return -ENOMEM;
	/* -ENOENT: the kernel has come to the map's end; -ENOSPC: not even a bucket has room */
	error = bpf_map_lookup_batch(map, NULL, next, keys, values, &n, NULL) ? -errno : 0;
	if (room < info->max_entries && (!error || error == -ENOSPC))
		return -EAGAIN;
	if (error && error != -ENOENT)
		return error;
	error = 0;
	table->n = 0;
	for (uint32_t i = 0; !error && i < n; i++) {
		const void *key = keys + (size_t)i * info->key_size;
		const void *value = values + i * size;

		if (!is_wanted || is_wanted(what, key, value))
			error = table_add(table, key, value);
	}
	if (info->type != BPF_MAP_TYPE_ARRAY && info->type != BPF_MAP_TYPE_PERCPU_ARRAY)
		table_sort(table);
	return error;
}

/* Most maps have far fewer entries than they can have: the first try has room for so many bytes. */
#define FIRST_ROOM (32 << 10)

static int read_batch(struct table *table, int map, const struct bpf_map_info *info,
		      table_filter *is_wanted, const void *what)
{
	const uint32_t room = FIRST_ROOM / (info->key_size + table->value_size) + 1;
	int error = -EAGAIN;

	if (room < info->max_entries)
		error = read_entries(table, map, info, room, is_wanted, what);
	return error != -EAGAIN
		       ? error
		       : read_entries(table, map, info, info->max_entries, is_wanted, what);
}

int table_read_some(struct table *table, int map, table_filter *is_wanted, const void *what)
{
	struct bpf_map_info info = {};
	int error = read_info(map, &info);

	if (error)
		return error;
	if (info.key_size != table->key_size || table_value_size(&info) != table->value_size)
		return -EILSEQ;
	return info.map_flags & BPF_F_MMAPABLE ? read_array(table, map, &info, is_wanted, what)
					       : read_batch(table, map, &info, is_wanted, what);
}

/* From so many entries on, an array is written as it lies in memory: bpf(2) takes a microsecond for
 * each entry, and as long as ten to map the array. */
#define MANY 64

int table_write(const struct table *table, int map)
{
	SCOPED_FREE void *keys = NULL, *values = NULL;
	struct bpf_map_info info = {};
	uint32_t n = table->n;
	int error;

	if (!n)
		return 0;
	error = n < MANY ? 0 : read_info(map, &info);
	if (!error && info.map_flags & BPF_F_MMAPABLE && info.value_size == table->value_size)
		return write_array(table, map, &info);
	if (!error)
		error = split(table, &keys, &values);
	if (error)
		return error;
	return bpf_map_update_batch(map, keys, values, &n, NULL) ? -errno : 0;
}

int table_delete(const struct table *table, int map)
{
	for (size_t i = 0; i < table->n; i++)
		if (bpf_map_delete_elem(map, table_key(table, i)) && errno != ENOENT)
			return -errno;
	return 0;
}
