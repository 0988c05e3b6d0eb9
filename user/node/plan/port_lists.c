// SPDX-License-Identifier: GPL-2.0-only
#include "node/plan/port_lists.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "maps/pair.h"
#include "maps/segment.h"
#include "maps/variation.h"
#include "node/kernel/pinned_policy.h"

/* Records that a search reads at a time. */
#define STEP 1024

/* The lists of the maps, by content */

/* A port list in bh_ports. */
struct port_lists_list {
	uint64_t hash;
	uint32_t at, count;
};

static void index_free(struct port_lists_index *index)
{
	free(index->intervals);
	free(index->starts);
	free(index->used);
	free(index->lists);
}

static int compare_lists(const void *a, const void *b)
{
	const struct port_lists_list *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static uint64_t hash_list(const struct bh_interval *intervals, uint32_t count)
{
	return XXH3_64bits(intervals, count * sizeof(*intervals));
}

/* Notes a list that the maps refer to. */
static int note_list(struct port_lists_index *index, struct bh_ports_ref ref)
{
	/* an entry that refers to no place of the map agrees with no policy (port_lists_agree()) */
	if (!port_lists_is_list(ref) || ref.at >= index->n_there ||
	    ref.count > index->n_there - ref.at)
		return 0;
	if (index->starts[ref.at] == ref.count)
		return 0;
	if (index->n == index->capacity) {
		size_t capacity = index->capacity ? index->capacity * 2 : 64;
		void *lists = reallocarray(index->lists, capacity, sizeof(*index->lists));

		if (!lists)
			return -ENOMEM;
		index->lists = lists;
		index->capacity = capacity;
	}
	index->starts[ref.at] = ref.count;
	index->lists[index->n++] = (struct port_lists_list){
		hash_list(index->intervals + ref.at, ref.count), ref.at, ref.count};
	memset(index->used + ref.at, true, ref.count);
	return 0;
}

/* Notes the lists that the maps refer to. @more: number of entries by which bh_ports may grow. */
static int index_init(struct port_lists_index *index, const struct image *have, size_t more)
{
	const struct table *map = have->map;
	int error = 0;

	*index = (struct port_lists_index){.n_intervals = map[MAP_ports].n + more,
					   .n_there = map[MAP_ports].n};
	index->intervals = calloc(index->n_intervals + 1, sizeof(*index->intervals));
	index->starts = calloc(index->n_intervals + 1, sizeof(*index->starts));
	index->used = calloc(index->n_intervals + 1, sizeof(*index->used));
	if (!index->intervals || !index->starts || !index->used)
		return -ENOMEM;
	for (size_t i = 0; i < index->n_there; i++)
		memcpy(&index->intervals[i], table_value(&map[MAP_ports], i),
		       sizeof(*index->intervals));
	for (size_t i = 0; !error && i < map[MAP_pairs].n; i++)
		error = note_list(index,
				  ((struct bh_pair *)table_value(&map[MAP_pairs], i))->ports);
	for (size_t i = 0; !error && i < map[MAP_named].n; i++)
		error = note_list(index,
				  ((struct bh_named *)table_value(&map[MAP_named], i))->ports);
	for (size_t i = 0; !error && i < map[MAP_segments].n; i++) {
		const struct bh_segment *segment = table_value(&map[MAP_segments], i);

		for (int j = 0; !error && segment->id && j < 4; j++)
			error = note_list(index, segment->fallback[j / 2][j % 2]);
	}
	if (index->n)
		qsort(index->lists, index->n, sizeof(*index->lists), compare_lists);
	return error;
}

/* Finds the list. NULL: bh_ports lacks it. */
static const struct port_lists_list *index_find(const struct port_lists_index *index,
						const struct bh_interval *intervals, uint32_t count)
{
	struct port_lists_list key = {.hash = hash_list(intervals, count)};
	const struct port_lists_list *end = index->lists + index->n, *list;

	list = index->n ? bsearch(&key, index->lists, index->n, sizeof(key), compare_lists) : NULL;
	if (!list)
		return NULL;
	while (list > index->lists && list[-1].hash == key.hash)
		list--;
	for (; list < end && list->hash == key.hash; list++)
		if (list->count == count &&
		    !memcmp(index->intervals + list->at, intervals, count * sizeof(*intervals)))
			return list;
	return NULL;
}

/* Returns the first place with @count free entries; the end if there is none. */
static size_t free_run(struct port_lists_index *index, uint32_t count)
{
	size_t at, run = 0;

	while (index->cursor < index->n_intervals && index->used[index->cursor])
		index->cursor++;
	for (at = index->cursor; at < index->n_intervals && run < count; at++)
		run = index->used[at] ? 0 : run + 1;
	return run == count ? at - run : index->n_intervals;
}

static uint32_t index_end(const struct port_lists_index *index)
{
	size_t end = index->n_intervals;

	while (end > 1 && !index->used[end - 1])
		end--;
	return end ? end : 1;
}

/* The lists of the maps, by the old policy */

/* A list of the old policy, which is sought in the maps. */
struct sought {
	struct bh_ports_ref ref;
	struct bh_ports_ref found;
};

static bool is_sought(const struct bh_ports_ref *ref, const struct sought *sought)
{
	return ref->at == sought->ref.at && ref->count == sought->ref.count;
}

/* Notes the list that an entry of the maps refers to as the one that is sought. Returns true if it
 * has the length. */
static bool note_found(struct sought *sought, const struct bh_ports_ref *there)
{
	sought->found = *there;
	return there->count == sought->ref.count;
}

static bool seek_in_pairs(const struct port_lists *lists, struct sought *sought)
{
	const struct lazy_policy *old = lists->plan->old;
	const struct policy_pair *pairs = old->pairs;
	struct bh_pair there;

	for (size_t i = 0; i < old->n_pairs; i++) {
		const size_t left = old->n_pairs - i;

		if (i % STEP == 0)
			lazy_read(old, &pairs[i], (left < STEP ? left : STEP) * sizeof(*pairs));
		if (is_sought(&pairs[i].ports, sought)) {
			const struct bh_pair_key key = {planner_id(lists->plan, pairs[i].subject),
							planner_id(lists->plan, pairs[i].peer)};

			return !maps_lookup(lists->plan->handle, MAP_pairs, &key, &there) &&
			       note_found(sought, &there.ports);
		}
	}
	return false;
}

static bool seek_in_named(const struct port_lists *lists, struct sought *sought)
{
	const struct lazy_policy *old = lists->plan->old;
	const struct policy_named *named = LAZY_ALL(old, named);
	struct bh_named there;

	for (size_t i = 0; i < old->n_named; i++)
		if (is_sought(&named[i].ports, sought)) {
			const struct bh_named_key key = {
				planner_id(lists->plan, named[i].list),
				planner_id(lists->plan, named[i].resolution)};

			return !maps_lookup(lists->plan->handle, MAP_named, &key, &there) &&
			       note_found(sought, &there.ports);
		}
	return false;
}

static bool seek_in_segments(const struct port_lists *lists, struct sought *sought)
{
	const struct planner *plan = lists->plan;
	struct bh_segment there;

	for (uint32_t i = 0; i < plan->old->n_segments; i++) {
		const struct policy_segment *segment = LAZY_ONE(plan->old, segments, i);
		const uint32_t slot = pinned_slot(plan->handle, i);

		for (int k = 0; !segment->delete_generation && k < 4; k++)
			if (is_sought(&segment->fallback[k / 2][k % 2], sought))
				return !maps_lookup(lists->plan->handle, MAP_segments, &slot,
						    &there) &&
				       there.id == planner_id(lists->plan, segment->id) &&
				       note_found(sought, &there.fallback[k / 2][k % 2]);
	}
	return false;
}

/* Finds the list in the maps, by an entry of the old policy that refers to the same list. Returns
 * false if the old policy lacks the list or the maps disagree. To read all lists of the maps, as a
 * whole load does, takes several times as long as all else of a delta beside 20,000 pairs. */
static bool find_list(const struct port_lists *lists, struct bh_ports_ref ref,
		      struct bh_ports_ref *placed)
{
	const struct delta_table *intervals = &lists->plan->delta->tables[BLOB_TABLE_intervals];
	const uint32_t last = ref.count - 1;
	struct sought sought = {.ref = {delta_origin(intervals, ref.at), ref.count}};

	if (sought.ref.at == UINT32_MAX ||
	    delta_origin(intervals, ref.at + last) != sought.ref.at + last ||
	    delta_next_new(intervals, ref.at) <= ref.at + last ||
	    !(seek_in_pairs(lists, &sought) || seek_in_named(lists, &sought) ||
	      seek_in_segments(lists, &sought)))
		return false;
	*placed = sought.found;
	return true;
}

/* New lists */

/* Makes the change write a list at a place that is free. */
static int write_list(const struct port_lists *lists, struct bh_ports_ref ref, uint32_t at)
{
	const struct planner *plan = lists->plan;
	const struct bh_interval *intervals = LAZY_SOME(plan->new, intervals, ref.at, ref.count);
	int error = 0;

	for (uint32_t i = 0; !error && i < ref.count; i++) {
		const uint32_t to = at + i;

		error = table_add(&plan->change->maps[MAP_ports].put, &to, &intervals[i]);
	}
	return error;
}

static int put_by_content(struct port_lists *lists, struct bh_ports_ref ref,
			  struct bh_ports_ref *placed)
{
	struct port_lists_index *index = lists->index;
	const struct lazy_policy *new = lists->plan->new;
	const struct bh_interval *intervals = LAZY_SOME(new, intervals, ref.at, ref.count);
	const struct port_lists_list *found = index_find(index, intervals, ref.count);

	placed->at = found ? found->at : free_run(index, ref.count);
	if (!found && placed->at == index->n_intervals)
		return -ENOSPC;
	memset(index->used + placed->at, true, ref.count);
	return found ? 0 : write_list(lists, ref, placed->at);
}

/* Puts the list behind all others, unless the old policy has it. */
static int put_behind(struct port_lists *lists, struct bh_ports_ref ref,
		      struct bh_ports_ref *placed)
{
	if (find_list(lists, ref, placed))
		return 0;
	*placed = (struct bh_ports_ref){lists->end, ref.count};
	lists->end += ref.count;
	return write_list(lists, ref, placed->at);
}

int port_lists_put(struct port_lists *lists, struct bh_ports_ref ref, struct bh_ports_ref *placed)
{
	int error;

	*placed = ref;
	if (ref.count == BH_PORTS_NAMED)
		placed->at = planner_id(lists->plan, ref.at);
	if (!port_lists_is_list(ref))
		return 0;
	if (lists->placed[ref.at].count == ref.count) {
		*placed = lists->placed[ref.at];
		return 0;
	}
	error = lists->index ? put_by_content(lists, ref, placed) : put_behind(lists, ref, placed);
	if (!error)
		lists->placed[ref.at] = *placed;
	return error;
}

int port_lists_expect(struct port_lists *lists, struct bh_ports_ref ref,
		      struct bh_ports_ref *placed)
{
	*placed = ref;
	if (port_lists_is_list(ref))
		placed->at = 0;
	else if (ref.count == BH_PORTS_NAMED)
		placed->at = planner_id(lists->plan, ref.at);
	return 0;
}

/* Returns true if the maps have the list at that place. */
static bool has_list(const struct planner *plan, struct bh_ports_ref ref, uint32_t at)
{
	const size_t size = ref.count * sizeof(struct bh_interval);
	const void *intervals = lazy_read(plan->new, plan->new->intervals + ref.at, size);
	SCOPED_FREE void *there = malloc(size);

	return there && !maps_lookup_range(plan->handle, MAP_ports, at, ref.count, there) &&
	       !memcmp(there, intervals, size);
}

bool port_lists_agree(struct port_lists *lists, struct bh_ports_ref ref, struct bh_ports_ref there)
{
	struct bh_ports_ref *placed;

	if (!port_lists_is_list(ref))
		return there.count == ref.count &&
		       there.at == (ref.count == BH_PORTS_NAMED ? planner_id(lists->plan, ref.at)
								: ref.at);
	placed = &lists->placed[ref.at];
	if (there.count != ref.count)
		return false;
	/* the segments of a namespace often refer to the same long list */
	if (placed->count == ref.count && placed->at == there.at)
		return true;
	if (!has_list(lists->plan, ref, there.at))
		return false;
	if (placed->count != ref.count)
		*placed = there;
	return true;
}

uint32_t port_lists_end(const struct port_lists *lists)
{
	return lists->index ? index_end(lists->index) : lists->end;
}

/* Reads the maps that have lists, or refer to them. */
static int read_lists(const struct planner *plan, struct image *image)
{
	static const enum node_map_id maps[] = {MAP_ports, MAP_pairs, MAP_named, MAP_segments};
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(maps); i++)
		error = maps_read(plan->handle, maps[i], &image->map[maps[i]]);
	return error;
}

/* Returns true if lists may go behind all others: the lists of a delta, while the map has room for
 * them there. Each delta leaves the gaps of the lists that it deletes. */
static bool has_room_behind(const struct planner *plan)
{
	return plan->delta && plan->ports_end &&
	       plan->delta->tables[BLOB_TABLE_intervals].n_fresh + (size_t)plan->ports_end <=
		       plan->handle->capacity[MAP_ports];
}

int port_lists_init(struct port_lists *lists, struct planner *plan)
{
	const size_t n = plan->new->n_intervals;
	CLEANUP(image_free) struct image image;
	int error = 0;

	image_init(&image);
	*lists = (struct port_lists){.plan = plan,
				     .placed = calloc(n + 1, sizeof(*lists->placed)),
				     .end = plan->ports_end};
	if (!lists->placed)
		return -ENOMEM;
	if (has_room_behind(plan))
		return 0;
	lists->index = calloc(1, sizeof(*lists->index));
	if (!lists->index)
		return -ENOMEM;
	if (!plan->have)
		error = read_lists(plan, &image);
	return error ? error : index_init(lists->index, plan->have ? plan->have : &image, n);
}

void port_lists_free(struct port_lists *lists)
{
	if (lists->index)
		index_free(lists->index);
	free(lists->index);
	free(lists->placed);
}

size_t port_lists_used(const struct image *image, enum node_map_id map)
{
	const struct table *table = &image->map[map];
	CLEANUP(index_free) struct port_lists_index index = {};
	size_t n = 0;

	if (map == MAP_segments) {
		for (size_t slot = 1; slot < table->n; slot++)
			n += ((struct bh_segment *)table_value(table, slot))->id != 0;
		return n;
	}
	if (map == MAP_ports) {
		if (!index_init(&index, image, 0))
			for (size_t i = 0; i < index.n_intervals; i++)
				n += index.used[i];
		return n;
	}
	return table->n;
}
