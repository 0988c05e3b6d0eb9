// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "maps/added.h"
#include "maps/allow_source.h"
#include "maps/endpoint.h"
#include "maps/iface.h"
#include "maps/link_local.h"
#include "maps/mac.h"
#include "maps/pair.h"
#include "maps/ports.h"
#include "maps/prefix.h"
#include "maps/segment.h"
#include "maps/service.h"
#include "maps/tunnel.h"
#include "maps/variation.h"
#include "node/image.h"
#include "node/replace.h"
#include "node/write.h"

void image_init(struct image *image)
{
	struct table *map = image->map;

	table_init(&map[MAP_ifaces], sizeof(uint32_t), sizeof(struct bh_iface));
	table_init(&map[MAP_macs], sizeof(struct bh_mac_key), sizeof(struct bh_mac));
	table_init(&map[MAP_allow_source], sizeof(struct bh_allow_source_key),
		   sizeof(struct bh_allow_source));
	table_init(&map[MAP_link_locals], sizeof(struct bh_link_local_key),
		   sizeof(struct bh_link_local));
	table_init(&map[MAP_tunnels], sizeof(uint32_t), sizeof(struct bh_tunnel));
	table_init(&map[MAP_endpoints], sizeof(struct bh_addr), sizeof(struct bh_endpoint));
	table_init(&map[MAP_added], sizeof(struct bh_addr), sizeof(struct bh_added));
	table_init(&map[MAP_prefixes], sizeof(struct bh_prefix_key), sizeof(struct bh_prefix));
	table_init(&map[MAP_segments], sizeof(uint32_t), sizeof(struct bh_segment));
	table_init(&map[MAP_pairs], sizeof(struct bh_pair_key), sizeof(struct bh_pair));
	table_init(&map[MAP_ports], sizeof(uint32_t), sizeof(struct bh_interval));
	table_init(&map[MAP_named], sizeof(struct bh_named_key), sizeof(struct bh_named));
	table_init(&map[MAP_variations], sizeof(struct bh_variation_key),
		   sizeof(struct bh_variation));
	table_init(&map[MAP_services], sizeof(struct bh_service_key), sizeof(struct bh_service));
}

void image_free(struct image *image)
{
	for (int i = 0; i < N_NODE_MAPS; i++)
		table_free(&image->map[i]);
}

int image_read(struct host *host, struct image *image)
{
	for (int i = 0; i < N_NODE_MAPS; i++) {
		int error = table_read(&image->map[i], host->maps[i]);

		if (error)
			return node_fail(host, error, "cannot read %s/%s", host->pin,
					 node_map_names[i]);
	}
	return 0;
}

void image_want(struct host *host, const struct image *have, enum node_map_id map, size_t more)
{
	replace_want(host, map, have->map[map].n + more);
}

/* A port list in bh_ports, known by its content. */
struct list {
	uint64_t hash;
	uint32_t at, count;
};

/* Where port lists stand in bh_ports, and what of it is free. */
struct places {
	struct bh_interval *intervals; /* bh_ports itself, and what it is to be made larger by */
	size_t n_intervals, n_there;
	uint32_t *starts; /* by index of bh_ports: the count of the list that starts there */
	bool *used; /* by index of bh_ports */
	size_t cursor; /* everything below it is used */
	size_t n_used; /* the policy's lists end below it */
	struct list *lists; /* sorted by hash */
	size_t n, room;
	struct list *placed; /* by index of the policy's intervals; count 0: not yet */
};

static void places_free(struct places *places)
{
	free(places->intervals);
	free(places->starts);
	free(places->used);
	free(places->lists);
	free(places->placed);
}

static bool is_list(struct bh_ports_ref ref)
{
	return ref.count && ref.count != BH_PORTS_NAMED;
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

/* Enters a list that the maps refer to. */
static int places_know(struct places *places, struct bh_ports_ref ref)
{
	if (!is_list(ref))
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

/* @more: entries beyond the end of bh_ports, which may be made larger. */
static int places_init(struct places *places, const struct image *have, size_t more)
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

size_t image_used(const struct image *image, enum node_map_id map)
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

/* A list that stands in the map already; NULL: none does. */
static const struct list *places_find(const struct places *places,
				      const struct bh_interval *intervals, uint32_t count)
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

/* The first place with @count free entries; the end where there is none. */
static size_t places_free_run(struct places *places, uint32_t count)
{
	size_t at, run = 0;

	while (places->cursor < places->n_intervals && places->used[places->cursor])
		places->cursor++;
	for (at = places->cursor; at < places->n_intervals && run < count; at++)
		run = places->used[at] ? 0 : run + 1;
	return run == count ? at - run : places->n_intervals;
}

/* What a reference of the policy reads in the maps. */
static int place_ports(struct layout *layout, struct places *places, struct bh_ports_ref ref,
		       struct bh_ports_ref *placed)
{
	const struct bh_interval *intervals = layout->policy->intervals + ref.at;
	struct list *known = &places->placed[is_list(ref) ? ref.at : 0];
	const struct list *found;
	int error = 0;

	*placed = ref;
	if (ref.count == BH_PORTS_NAMED)
		placed->at = layout_id(layout, ref.at);
	if (!is_list(ref))
		return 0;
	if (known->count != ref.count) {
		found = places_find(places, intervals, ref.count);
		known->count = ref.count;
		known->at = found ? found->at : places_free_run(places, ref.count);
		if (!found && known->at == places->n_intervals)
			return -ENOSPC;
		if (known->at + known->count > places->n_used)
			places->n_used = known->at + known->count;
		memset(places->used + known->at, true, ref.count);
		for (uint32_t i = 0; !error && !found && i < ref.count; i++) {
			uint32_t index = known->at + i;

			error = table_add(&layout->put.map[MAP_ports], &index, &intervals[i]);
		}
	}
	placed->at = known->at;
	return error;
}

static int want_pairs(struct layout *layout, struct places *places)
{
	int error = 0;

	for (size_t i = 0; !error && i < layout->policy->n_pairs; i++) {
		const struct policy_pair *pair = &layout->policy->pairs[i];
		struct bh_pair_key key = {layout_id(layout, pair->subject),
					  layout_id(layout, pair->peer)};
		struct bh_pair value;

		error = place_ports(layout, places, pair->ports, &value.ports);
		if (!error)
			error = table_add(&layout->want.map[MAP_pairs], &key, &value);
	}
	return error;
}

static int want_named(struct layout *layout, struct places *places)
{
	int error = 0;

	for (size_t i = 0; !error && i < layout->policy->n_named; i++) {
		const struct policy_named *named = &layout->policy->named[i];
		struct bh_named_key key = {layout_id(layout, named->list),
					   layout_id(layout, named->resolution)};
		struct bh_named value;

		error = place_ports(layout, places, named->ports, &value.ports);
		if (!error)
			error = table_add(&layout->want.map[MAP_named], &key, &value);
	}
	return error;
}

static int want_variations(struct layout *layout, const struct policy_segment *segment)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < segment->variations.n; i++) {
		const struct policy_variation *variation =
			&layout->policy->variations[segment->variations.at + i];
		struct bh_variation_key key = {layout_id(layout, segment->id), variation->id};
		struct bh_variation value = {layout_id(layout, variation->resolution)};

		error = table_add(&layout->want.map[MAP_variations], &key, &value);
	}
	return error;
}

static int want_segment(struct layout *layout, struct places *places,
			const struct policy_segment *segment, uint32_t slot)
{
	struct bh_segment value = {
		.id = layout_id(layout, segment->id),
		.flags = segment->flags,
		.peer_own = layout_id(layout, segment->peer_own),
		.peer_common = layout_id(layout, segment->peer_common),
	};
	int error = 0;

	for (int direction = 0; !error && direction < 2; direction++) {
		value.own[direction] = layout_id(layout, segment->own[direction]);
		value.common[direction] = layout_id(layout, segment->common[direction]);
		for (int external = 0; !error && external < 2; external++)
			error = place_ports(layout, places, segment->fallback[direction][external],
					    &value.fallback[direction][external]);
	}
	if (!error)
		error = want_variations(layout, segment);
	return error ? error : table_add(&layout->want.map[MAP_segments], &slot, &value);
}

/* What is in a slot; NULL: nothing, or it is beyond the end of the map. */
static const struct bh_segment *segment_at(const struct table *segments, uint32_t slot)
{
	const struct bh_segment *segment = slot < segments->n ? table_value(segments, slot) : NULL;

	return segment && segment->id ? segment : NULL;
}

/* Segment IDs of the maps with their slots, as a table. */
static int slots_in_use(const struct table *segments, struct table *slots)
{
	int error = 0;

	table_init(slots, sizeof(uint32_t), sizeof(uint32_t));
	for (uint32_t slot = 1; !error && slot < segments->n; slot++) {
		const struct bh_segment *segment = table_value(segments, slot);

		if (segment->id)
			error = table_add(slots, &segment->id, &slot);
	}
	table_sort(slots);
	return error;
}

static int want_segments(struct layout *layout, struct places *places, const struct table *segments)
{
	CLEANUP(table_free) struct table slots = {};
	const struct policy *policy = layout->policy;
	uint32_t next = 1;
	int error = slots_in_use(segments, &slots);

	for (size_t i = 0; !error && i < policy->n_segments; i++) {
		uint32_t id = layout_id(layout, policy->segments[i].id);
		const uint32_t *slot;

		if (policy->segments[i].delete_generation)
			continue;
		slot = table_find(&slots, &id);
		if (!slot) {
			while (segment_at(segments, next))
				next++;
			slot = &next;
		}
		layout->slots[i] = *slot;
		if (*slot > layout->last_slot)
			layout->last_slot = *slot;
		error = want_segment(layout, places, &policy->segments[i], *slot);
		if (slot == &next)
			next++;
	}
	return error;
}

/* Moves into `put` what is wanted and not there. What is there must be as wanted: it is in force.
 */
static int want_more(struct host *host, const struct image *have, struct layout *layout,
		     enum node_map_id map)
{
	const struct table *want = &layout->want.map[map], *there = &have->map[map];
	int error = 0;

	for (size_t i = 0; !error && i < want->n; i++) {
		const void *key = table_key(want, i), *value = table_value(want, i), *old;

		if (map == MAP_segments) {
			old = segment_at(there, *(uint32_t *)key);
		} else {
			old = table_find(there, key);
		}
		if (!old) {
			error = table_add(&layout->put.map[map], key, value);
		} else if (memcmp(old, value, want->value_size)) {
			diag_error(host->diag, NULL, NULL,
				   "the policy would change an entry of %s that is in force",
				   node_map_names[map]);
			error = -EINVAL;
		}
	}
	return error;
}

/* The maps among these that are found by key. */
static const enum node_map_id keyed[] = {MAP_pairs, MAP_named, MAP_variations};

static int layout_finish(struct host *host, const struct image *have, struct layout *layout)
{
	int error = want_more(host, have, layout, MAP_segments);

	for (size_t i = 0; !error && i < ARRAY_SIZE(keyed); i++) {
		table_sort(&layout->want.map[keyed[i]]);
		error = want_more(host, have, layout, keyed[i]);
		if (!error)
			image_want(host, have, keyed[i], layout->put.map[keyed[i]].n);
	}
	return error;
}

int layout_make(struct host *host, const struct image *have, const struct policy *policy,
		uint32_t ids, struct layout *layout)
{
	CLEANUP(places_free) struct places places = {};
	int error;

	*layout = (struct layout){.policy = policy, .ids = ids};
	image_init(&layout->want);
	image_init(&layout->put);
	layout->slots = calloc(policy->n_segments + 1, sizeof(*layout->slots));
	error = layout->slots ? places_init(&places, have, policy->n_intervals) : -ENOMEM;
	places.placed = calloc(policy->n_intervals + 1, sizeof(*places.placed));
	if (!error && !places.placed)
		error = -ENOMEM;
	if (!error)
		error = want_segments(layout, &places, &have->map[MAP_segments]);
	if (!error)
		error = want_pairs(layout, &places);
	if (!error)
		error = want_named(layout, &places);
	if (error)
		return node_fail(host, error, "cannot lay out the policy for the maps");
	replace_want(host, MAP_segments, (size_t)layout->last_slot + 1);
	replace_want(host, MAP_ports, places.n_used);
	return layout_finish(host, have, layout);
}

/* Every slot whose segment neither policy wants, as an empty record. */
static int collect_segments(struct host *host, const struct image *have,
			    const struct layout *layout, const struct layout *later)
{
	const struct table *segments = &have->map[MAP_segments];
	CLEANUP(table_free) struct table wanted = {}, empty = {};
	const struct bh_segment none = {};
	int error = 0;

	table_init(&wanted, sizeof(uint32_t), 0);
	table_init(&empty, sizeof(uint32_t), sizeof(none));
	for (size_t i = 0; !error && i < layout->policy->n_segments; i++)
		error = table_add(&wanted, &layout->slots[i], NULL);
	for (size_t i = 0; later && !error && i < later->policy->n_segments; i++)
		error = table_add(&wanted, &later->slots[i], NULL);
	table_sort(&wanted);
	for (uint32_t slot = 1; !error && slot < segments->n; slot++) {
		const struct bh_segment *segment = table_value(segments, slot);

		if (segment->id && !table_find(&wanted, &slot))
			error = table_add(&empty, &slot, &none);
	}
	if (error)
		return node_fail(host, error, "cannot find what the old policy left");
	return write_table(host, &empty, MAP_segments);
}

int layout_collect(struct host *host, const struct image *have, const struct layout *layout,
		   const struct layout *later)
{
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(keyed); i++) {
		const struct table *there = &have->map[keyed[i]],
				   *want = &layout->want.map[keyed[i]];
		CLEANUP(table_free) struct table unwanted = {}, gone = {};

		table_init(&unwanted, there->key_size, there->value_size);
		table_init(&gone, there->key_size, there->value_size);
		error = table_without(there, want, &unwanted);
		if (!error)
			error = table_without(&unwanted, later ? &later->want.map[keyed[i]] : want,
					      &gone);
		if (error)
			return node_fail(host, error, "cannot find what the old policy left");
		error = write_delete(host, &gone, keyed[i]);
	}
	return error ? error : collect_segments(host, have, layout, later);
}

int layout_stage(struct host *host, const struct layout *layout)
{
	/* What others refer to goes first. */
	static const enum node_map_id order[] = {MAP_ports, MAP_named, MAP_variations, MAP_pairs,
						 MAP_segments};

	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(order); i++)
		error = write_table(host, &layout->put.map[order[i]], order[i]);
	return error;
}

bool layout_is_staged(const struct layout *layout)
{
	for (int i = 0; i < N_NODE_MAPS; i++)
		if (layout->put.map[i].n)
			return false;
	return true;
}

void layout_free(struct layout *layout)
{
	image_free(&layout->want);
	image_free(&layout->put);
	free(layout->slots);
}
