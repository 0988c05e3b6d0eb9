// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "maps/pair.h"
#include "maps/segment.h"
#include "maps/variation.h"
#include "node/change/places.h"

void places_free(struct places *places)
{
	free(places->intervals);
	free(places->starts);
	free(places->used);
	free(places->lists);
	free(places->placed);
}

static int compare_lists(const void *a, const void *b)
{
	const struct list *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static uint64_t hash_list(const struct bh_interval *intervals, uint32_t count)
{
	return XXH3_64bits(intervals, count * sizeof(*intervals));
}

/* Notes a list that the maps refer to. */
static int places_know(struct places *places, struct bh_ports_ref ref)
{
	if (!places_is_list(ref))
		return 0;
	if (ref.at >= places->n_there || ref.count > places->n_there - ref.at)
		return -EILSEQ;
	if (places->starts[ref.at] == ref.count)
		return 0;
	if (places->n == places->room) {
		size_t room = places->room ? places->room * 2 : 64;
		void *lists = reallocarray(places->lists, room, sizeof(*places->lists));

		if (!lists)
			return -ENOMEM;
		places->lists = lists;
		places->room = room;
	}
	places->starts[ref.at] = ref.count;
	places->lists[places->n++] =
		(struct list){hash_list(places->intervals + ref.at, ref.count), ref.at, ref.count};
	memset(places->used + ref.at, true, ref.count);
	return 0;
}

int places_init(struct places *places, const struct image *have, size_t more)
{
	const struct table *map = have->map;
	int error = 0;

	*places = (struct places){.n_intervals = map[MAP_ports].n + more,
				  .n_there = map[MAP_ports].n};
	places->intervals = calloc(places->n_intervals + 1, sizeof(*places->intervals));
	places->starts = calloc(places->n_intervals + 1, sizeof(*places->starts));
	places->used = calloc(places->n_intervals + 1, sizeof(*places->used));
	if (!places->intervals || !places->starts || !places->used)
		return -ENOMEM;
	for (size_t i = 0; i < places->n_there; i++)
		memcpy(&places->intervals[i], table_value(&map[MAP_ports], i),
		       sizeof(*places->intervals));
	for (size_t i = 0; !error && i < map[MAP_pairs].n; i++)
		error = places_know(places,
				    ((struct bh_pair *)table_value(&map[MAP_pairs], i))->ports);
	for (size_t i = 0; !error && i < map[MAP_named].n; i++)
		error = places_know(places,
				    ((struct bh_named *)table_value(&map[MAP_named], i))->ports);
	for (size_t i = 0; !error && i < map[MAP_segments].n; i++) {
		const struct bh_segment *segment = table_value(&map[MAP_segments], i);

		for (int j = 0; !error && segment->id && j < 4; j++)
			error = places_know(places, segment->fallback[j / 2][j % 2]);
	}
	if (places->n)
		qsort(places->lists, places->n, sizeof(*places->lists), compare_lists);
	return error;
}

const struct list *places_find(const struct places *places, const struct bh_interval *intervals,
			       uint32_t count)
{
	struct list key = {.hash = hash_list(intervals, count)};
	const struct list *end = places->lists + places->n, *list;

	list = places->n ? bsearch(&key, places->lists, places->n, sizeof(key), compare_lists)
			 : NULL;
	if (!list)
		return NULL;
	while (list > places->lists && list[-1].hash == key.hash)
		list--;
	for (; list < end && list->hash == key.hash; list++)
		if (list->count == count &&
		    !memcmp(places->intervals + list->at, intervals, count * sizeof(*intervals)))
			return list;
	return NULL;
}

size_t places_free_run(struct places *places, uint32_t count)
{
	size_t at, run = 0;

	while (places->cursor < places->n_intervals && places->used[places->cursor])
		places->cursor++;
	for (at = places->cursor; at < places->n_intervals && run < count; at++)
		run = places->used[at] ? 0 : run + 1;
	return run == count ? at - run : places->n_intervals;
}

uint32_t places_end(const struct places *places)
{
	size_t end = places->n_intervals;

	while (end > 1 && !places->used[end - 1])
		end--;
	return end ? end : 1;
}

size_t places_used(const struct image *image, enum node_map_id map)
{
	const struct table *table = &image->map[map];
	CLEANUP(places_free) struct places places = {};
	size_t n = 0;

	switch (map) {
	case MAP_segments:
		for (size_t slot = 1; slot < table->n; slot++)
			n += ((struct bh_segment *)table_value(table, slot))->id != 0;
		return n;
	case MAP_ports:
		if (!places_init(&places, image, 0))
			for (size_t i = 0; i < places.n_intervals; i++)
				n += places.used[i];
		return n;
	default:
		return table->n;
	}
}
