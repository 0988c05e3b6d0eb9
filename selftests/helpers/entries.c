// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints the entries of pinned maps.
 *
 *   entries FOLDER MAP...
 *
 * For each map it prints the name, then a line `KEY VALUE`, in hexadecimal bytes, for each entry,
 * in the order of the keys. Zeros of an array that can be mapped are left out: a policy's arrays
 * are much larger than what is in them. A port list that an entry of `segments`, `pairs` or `named`
 * refers to is written out behind the entry, and its place in `ports` is not printed: deltas may
 * put a list elsewhere than whole policies do.
 */
#include <bpf/bpf.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "maps/pair.h"
#include "maps/ports.h"
#include "maps/segment.h"
#include "selftests/helpers/lib/helper.h"

#define KEY_MAX 64
#define VALUE_MAX 4096

static const struct {
	const char *map;
	size_t offset;
} lists[] = {
	{"pairs", offsetof(struct bh_pair, ports)},
	{"named", offsetof(struct bh_named, ports)},
	{"segments", offsetof(struct bh_segment, fallback[0][0])},
	{"segments", offsetof(struct bh_segment, fallback[0][1])},
	{"segments", offsetof(struct bh_segment, fallback[1][0])},
	{"segments", offsetof(struct bh_segment, fallback[1][1])},
};

struct map {
	const char *name;
	int fd;
	struct bpf_map_info info;
	size_t n;
	unsigned char *entries; /* key, value; sorted by key */
};

static size_t size_of(const struct map *map)
{
	return map->info.key_size + map->info.value_size;
}

static size_t key_size; /* of the map whose entries are sorted */

static int compare_keys(const void *a, const void *b)
{
	return memcmp(a, b, key_size);
}

static bool is_zero(const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i])
			return false;
	return true;
}

static void add(struct map *map, const void *key, const void *value)
{
	unsigned char *entry;

	if (!(map->n & (map->n - 1))) {
		void *more = realloc(map->entries, (map->n ? 2 * map->n : 1) * size_of(map));

		if (more)
			map->entries = more;
		else
			helper_die("realloc");
	}
	entry = map->entries + map->n++ * size_of(map);
	memcpy(entry, key, map->info.key_size);
	memcpy(entry + map->info.key_size, value, map->info.value_size);
}

/* The kernel's places for the values are multiples of 8 bytes. */
static void read_array(struct map *map)
{
	const size_t step = (map->info.value_size + 7) & ~7u, size = step * map->info.max_entries;
	const unsigned char *values = mmap(NULL, size, PROT_READ, MAP_SHARED, map->fd, 0);

	if (values == MAP_FAILED)
		helper_die(map->name);
	for (__u32 i = 0; i < map->info.max_entries; i++)
		if (!is_zero(values + i * step, map->info.value_size))
			add(map, &i, values + i * step);
	munmap((void *)values, size);
}

static void read_map(struct map *map)
{
	unsigned char keys[2][KEY_MAX], value[VALUE_MAX];
	void *last = NULL;

	if (map->info.map_flags & BPF_F_MMAPABLE)
		read_array(map);
	else
		for (int i = 0; !bpf_map_get_next_key(map->fd, last, keys[i]); i = !i) {
			last = keys[i];
			if (!bpf_map_lookup_elem(map->fd, last, value))
				add(map, last, value);
		}
	key_size = map->info.key_size;
	if (map->n)
		qsort(map->entries, map->n, size_of(map), compare_keys);
}

static void open_map(struct map *map, const char *folder, const char *name)
{
	__u32 size = sizeof(map->info);
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	*map = (struct map){.name = name, .fd = bpf_obj_get(path)};
	if (map->fd < 0 || bpf_obj_get_info_by_fd(map->fd, &map->info, &size) ||
	    map->info.key_size > KEY_MAX || map->info.value_size > VALUE_MAX)
		helper_die(path);
}

static void print_bytes(const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%02x", bytes[i]);
}

static void print_list(int ports, struct bh_ports_ref ref)
{
	struct bh_interval interval;

	for (__u32 at = ref.at; at < ref.at + ref.count; at++) {
		if (bpf_map_lookup_elem(ports, &at, &interval))
			helper_die("ports");
		printf(" %x:%x", interval.start, interval.verdict);
	}
}

static bool is_list(struct bh_ports_ref ref)
{
	return ref.count && ref.count != BH_PORTS_NAMED;
}

static void print_entry(const struct map *map, int ports, const unsigned char *key)
{
	unsigned char value[VALUE_MAX];
	struct bh_ports_ref ref;

	memcpy(value, key + map->info.key_size, map->info.value_size);
	print_bytes(key, map->info.key_size);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (strcmp(lists[i].map, map->name))
			continue;
		memcpy(&ref, value + lists[i].offset, sizeof(ref));
		if (!is_list(ref))
			continue;
		printf(" list");
		print_list(ports, ref);
		ref.at = 0;
		memcpy(value + lists[i].offset, &ref, sizeof(ref));
	}
	putchar(' ');
	print_bytes(value, map->info.value_size);
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct map ports, map;

	if (argc < 3) {
		fprintf(stderr, "usage: entries FOLDER MAP...\n");
		return 2;
	}
	open_map(&ports, argv[1], "ports");
	for (int i = 2; i < argc; i++) {
		open_map(&map, argv[1], argv[i]);
		read_map(&map);
		puts(map.name);
		for (size_t k = 0; k < map.n; k++)
			print_entry(&map, ports.fd, map.entries + k * size_of(&map));
		free(map.entries);
	}
	return 0;
}
