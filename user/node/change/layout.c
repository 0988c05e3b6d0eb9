// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "maps/domain.h"
#include "maps/pair.h"
#include "maps/segment.h"
#include "maps/variation.h"
#include "node/kernel/domains.h"
#include "node/change/layout.h"
#include "node/change/places.h"

/* Finds the reference in the maps for a reference of the policy, and puts a port list that the maps
 * lack. */
static int place_ports(struct layout *layout, struct places *places, struct bh_ports_ref ref,
		       struct bh_ports_ref *placed)
{
	const struct bh_interval *intervals = layout->policy->intervals + ref.at;
	struct list *known = &places->placed[places_is_list(ref) ? ref.at : 0];
	const struct list *found;
	int error = 0;

	*placed = ref;
	if (ref.count == BH_PORTS_NAMED)
		placed->at = layout_id(layout->ids, ref.at);
	if (!places_is_list(ref))
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

			error = table_add(&layout->change->maps[MAP_ports].put, &index,
					  &intervals[i]);
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
		struct bh_pair_key key = {layout_id(layout->ids, pair->subject),
					  layout_id(layout->ids, pair->peer)};
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
		struct bh_named_key key = {layout_id(layout->ids, named->list),
					   layout_id(layout->ids, named->resolution)};
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
		struct bh_variation_key key = {layout_id(layout->ids, segment->id), variation->id};
		struct bh_variation value = {layout_id(layout->ids, variation->resolution)};

		error = table_add(&layout->want.map[MAP_variations], &key, &value);
	}
	return error;
}

int layout_segment(const struct policy_segment *segment, uint32_t ids, layout_place *place,
		   void *data, struct bh_segment *value)
{
	int error = 0;

	*value = (struct bh_segment){
		.id = layout_id(ids, segment->id),
		.flags = segment->flags,
		.peer_own = layout_id(ids, segment->peer_own),
		.peer_common = layout_id(ids, segment->peer_common),
	};
	for (int direction = 0; !error && direction < 2; direction++) {
		value->own[direction] = layout_id(ids, segment->own[direction]);
		value->common[direction] = layout_id(ids, segment->common[direction]);
		for (int external = 0; !error && external < 2; external++)
			error = place(data, segment->fallback[direction][external],
				      &value->fallback[direction][external]);
	}
	return error;
}

/* The layout, and the places of its port lists. */
struct lists {
	struct layout *layout;
	struct places *places;
};

static int place_list(void *data, struct bh_ports_ref ref, struct bh_ports_ref *placed)
{
	const struct lists *lists = data;

	return place_ports(lists->layout, lists->places, ref, placed);
}

static int want_segment(struct layout *layout, struct places *places,
			const struct policy_segment *segment, uint32_t slot)
{
	struct lists lists = {layout, places};
	struct bh_segment value;
	int error = layout_segment(segment, layout->ids, place_list, &lists, &value);

	if (!error)
		error = want_variations(layout, segment);
	return error ? error : table_add(&layout->want.map[MAP_segments], &slot, &value);
}

/* Returns the segment in a slot; NULL: the slot is empty, or beyond the end of the map. */
static const struct bh_segment *segment_at(const struct table *segments, uint32_t slot)
{
	const struct bh_segment *segment = slot < segments->n ? table_value(segments, slot) : NULL;

	return segment && segment->id ? segment : NULL;
}

/* Makes a table of the segment IDs in the maps with their slots. */
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
		uint32_t id = layout_id(layout->ids, policy->segments[i].id);
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

static int want_domains(struct node_handle *handle, struct layout *layout)
{
	const struct policy *policy = layout->policy;
	struct table *names = &layout->want.map[MAP_domains];
	int error = 0;

	for (size_t i = 0; !error && i < policy->n_domains; i++) {
		const struct policy_domain *domain = &policy->domains[i];
		struct bh_domain name;
		struct bh_domain_key key = {
			.segment = layout_id(layout->ids, policy->segments[domain->from].id),
			.class = layout_id(layout->ids, domain->class)};
		struct bh_domain_segment value = {
			layout->slots[domain->segment],
			layout_id(layout->ids, policy->segments[domain->segment].id)};

		error = domains_hash(handle, policy_string(policy, domain->name), &key.domain,
				     &name);
		if (!error && (!i || strcmp(policy_string(policy, domain[-1].name),
					    policy_string(policy, domain->name))))
			error = table_add(names, &key.domain, &name);
		if (!error)
			error = table_add(&layout->want.map[MAP_domain_peers], &key, &value);
	}
	return error;
}

/* Puts the entries that are wanted and missing. Entries that exist are in force, and must be as
 * wanted. */
static int want_more(struct node_handle *handle, const struct image *have, struct layout *layout,
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
			error = table_add(&layout->change->maps[map].put, key, value);
		} else if (memcmp(old, value, want->value_size)) {
			diag_error(handle->diag, NULL, NULL,
				   "the policy would change an entry of %s that is in force",
				   node_map_names[map]);
			error = -EINVAL;
		}
	}
	return error;
}

/* The maps of a layout that have keys, not indexes. */
static const enum node_map_id keyed[] = {MAP_pairs, MAP_named, MAP_variations, MAP_domains,
					 MAP_domain_peers};

static int layout_finish(struct node_handle *handle, const struct image *have,
			 struct layout *layout)
{
	int error = want_more(handle, have, layout, MAP_segments);

	for (size_t i = 0; !error && i < ARRAY_SIZE(keyed); i++) {
		table_sort(&layout->want.map[keyed[i]]);
		error = want_more(handle, have, layout, keyed[i]);
		if (!error)
			change_want(layout->change, keyed[i],
				    have->map[keyed[i]].n + layout->change->maps[keyed[i]].put.n);
	}
	return error;
}

int layout_make(struct node_handle *handle, const struct image *have, const struct policy *policy,
		uint32_t ids, struct change *change, struct layout *layout)
{
	CLEANUP(places_free) struct places places = {};
	int error;

	*layout = (struct layout){.policy = policy, .ids = ids, .change = change};
	image_init(&layout->want);
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
	if (!error)
		error = want_domains(handle, layout);
	if (error)
		return node_fail(handle, error, "cannot lay out the policy for the maps");
	change_want(change, MAP_segments, (size_t)layout->last_slot + 1);
	change_want(change, MAP_ports, places.n_used);
	layout->ports_end = places_end(&places);
	return layout_finish(handle, have, layout);
}

/* Empties every slot whose segment neither policy wants. */
static int collect_segments(const struct image *have, const struct layout *layout,
			    const struct layout *later, struct table *empty)
{
	const struct table *segments = &have->map[MAP_segments];
	CLEANUP(table_free) struct table wanted = {};
	const struct bh_segment none = {};
	int error = 0;

	table_init(&wanted, sizeof(uint32_t), 0);
	for (size_t i = 0; !error && i < layout->policy->n_segments; i++)
		error = table_add(&wanted, &layout->slots[i], NULL);
	for (size_t i = 0; later && !error && i < later->policy->n_segments; i++)
		error = table_add(&wanted, &later->slots[i], NULL);
	table_sort(&wanted);
	for (uint32_t slot = 1; !error && slot < segments->n; slot++) {
		const struct bh_segment *segment = table_value(segments, slot);

		if (segment->id && !table_find(&wanted, &slot))
			error = table_add(empty, &slot, &none);
	}
	return error;
}

int layout_collect(struct node_handle *handle, const struct image *have,
		   const struct layout *layout, const struct layout *later, struct change *change)
{
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(keyed); i++) {
		const struct table *there = &have->map[keyed[i]],
				   *want = &layout->want.map[keyed[i]];
		CLEANUP(table_free) struct table unwanted = {};

		table_init(&unwanted, there->key_size, there->value_size);
		error = table_without(there, want, &unwanted);
		if (!error)
			error = table_without(&unwanted, later ? &later->want.map[keyed[i]] : want,
					      &change->maps[keyed[i]].gone);
	}
	if (!error)
		error = collect_segments(have, layout, later, &change->maps[MAP_segments].gone);
	return error ? node_fail(handle, error, "cannot find what the old policy left") : 0;
}

bool layout_has(enum node_map_id map)
{
	for (size_t i = 0; i < ARRAY_SIZE(keyed); i++)
		if (keyed[i] == map)
			return true;
	return map == MAP_ports || map == MAP_segments;
}

bool layout_is_there(const struct change *change)
{
	for (int i = 0; i < N_NODE_MAPS; i++)
		if (layout_has(i) && change->maps[i].put.n)
			return false;
	return true;
}

void layout_free(struct layout *layout)
{
	image_free(&layout->want);
	free(layout->slots);
}
