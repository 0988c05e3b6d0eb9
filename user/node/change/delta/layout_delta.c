// SPDX-License-Identifier: GPL-2.0-only
#include "node/change/delta/layout_delta.h"

#include <errno.h>
#include <string.h>

#include "maps/pair.h"
#include "maps/segment.h"
#include "maps/variation.h"
#include "model/search.h"
#include "node/change/layout.h"
#include "node/change/places.h"
#include "node/change/delta/places_delta.h"
#include "node/change/slot.h"
#include "node/kernel/pinned.h"

struct layer {
	struct planner *plan;
	const uint32_t *staged;
	struct places_delta places;
	bool *used; /* by slot: a segment has the slot */
	uint32_t next_slot; /* the slots below this one are not free */
};

static void layer_end(struct layer *layer)
{
	places_delta_free(&layer->places);
	free(layer->used);
}

static int look_up(const struct layer *layer, enum node_map_id map, const void *key, void *value)
{
	return maps_lookup(layer->plan->handle, map, key, value);
}

/* Pairs and names */

static int plan_pair(struct layer *layer, const struct policy_pair *pair)
{
	const struct bh_pair_key key = {delta_id(layer->plan, pair->subject),
					delta_id(layer->plan, pair->peer)};
	struct bh_pair value;
	int error = look_up(layer, MAP_pairs, &key, &value);

	if (!error)
		return places_delta_agree(&layer->places, pair->ports, value.ports) ? 0
										    : -EOPNOTSUPP;
	error = error == -ENOENT ? places_delta_put(&layer->places, pair->ports, &value.ports)
				 : error;
	return error ? error : table_add(&layer->plan->change->maps[MAP_pairs].put, &key, &value);
}

static int plan_named(struct layer *layer, const struct policy_named *named)
{
	const struct bh_named_key key = {delta_id(layer->plan, named->list),
					 delta_id(layer->plan, named->resolution)};
	struct bh_named value;
	int error = look_up(layer, MAP_named, &key, &value);

	if (!error)
		return places_delta_agree(&layer->places, named->ports, value.ports) ? 0
										     : -EOPNOTSUPP;
	error = error == -ENOENT ? places_delta_put(&layer->places, named->ports, &value.ports)
				 : error;
	return error ? error : table_add(&layer->plan->change->maps[MAP_named].put, &key, &value);
}

/* Deletes an entry after the flip, once. */
static int plan_gone(struct layer *layer, enum node_map_id map, const void *key)
{
	struct table *gone = &layer->plan->change->maps[map].gone;
	unsigned char value[sizeof(struct bh_segment)];

	/* the node's extension and the delta may delete the same entry */
	for (size_t i = 0; layer->plan->handle->blob.local && i < gone->n; i++)
		if (!memcmp(table_key(gone, i), key, gone->key_size))
			return 0;
	return look_up(layer, map, key, value) ? -EOPNOTSUPP : table_add(gone, key, value);
}

static const struct policy_pair *pair_at(const struct lazy_policy *policy, size_t i)
{
	return lazy_read(policy, &policy->pairs[i], sizeof(*policy->pairs));
}

static bool pair_is_before(const struct policy_pair *a, const struct policy_pair *b)
{
	return a->subject != b->subject ? a->subject < b->subject : a->peer < b->peer;
}

static int plan_pair_gone(struct layer *layer, const struct policy_pair *pair)
{
	const struct lazy_policy *new = layer->plan->new;
	const size_t at = SEARCH(new->n_pairs, i, pair_is_before(pair_at(new, i), pair));
	const struct bh_pair_key key = {delta_id(layer->plan, pair->subject),
					delta_id(layer->plan, pair->peer)};

	if (at < new->n_pairs && !pair_is_before(pair, pair_at(new, at)))
		return 0;
	return plan_gone(layer, MAP_pairs, &key);
}

static const struct policy_named *named_at(const struct lazy_policy *policy, size_t i)
{
	return lazy_read(policy, &policy->named[i], sizeof(*policy->named));
}

static bool named_is_before(const struct policy_named *a, const struct policy_named *b)
{
	return a->list != b->list ? a->list < b->list : a->resolution < b->resolution;
}

static int plan_named_gone(struct layer *layer, const struct policy_named *named)
{
	const struct lazy_policy *new = layer->plan->new;
	const size_t at = SEARCH(new->n_named, i, named_is_before(named_at(new, i), named));
	const struct bh_named_key key = {delta_id(layer->plan, named->list),
					 delta_id(layer->plan, named->resolution)};

	if (at < new->n_named && !named_is_before(named, named_at(new, at)))
		return 0;
	return plan_gone(layer, MAP_named, &key);
}

static int plan_pairs(struct layer *layer)
{
	const struct planner *plan = layer->plan;
	const struct delta_table *table = &plan->delta->tables[BLOB_TABLE_pairs];
	int error = 0;
	uint32_t i;

	for (i = delta_next_fresh(table, 0); !error && i < table->n;
	     i = delta_next_fresh(table, i + 1)) {
		const uint32_t before = delta_origin(table, i);

		error = plan_pair(layer, pair_at(plan->new, i));
		if (!error && before != UINT32_MAX)
			error = plan_pair_gone(layer, pair_at(plan->old, before));
	}
	for (i = delta_next_gone(table, 0); !error && i < table->n_base;
	     i = delta_next_gone(table, i + 1))
		error = plan_pair_gone(layer, pair_at(plan->old, i));
	return error;
}

static int plan_names(struct layer *layer)
{
	const struct planner *plan = layer->plan;
	const struct delta_table *table = &plan->delta->tables[BLOB_TABLE_named];
	int error = 0;
	uint32_t i;

	for (i = delta_next_fresh(table, 0); !error && i < table->n;
	     i = delta_next_fresh(table, i + 1)) {
		const uint32_t before = delta_origin(table, i);

		error = plan_named(layer, named_at(plan->new, i));
		if (!error && before != UINT32_MAX)
			error = plan_named_gone(layer, named_at(plan->old, before));
	}
	for (i = delta_next_gone(table, 0); !error && i < table->n_base;
	     i = delta_next_gone(table, i + 1))
		error = plan_named_gone(layer, named_at(plan->old, i));
	return error;
}

/* Segments */

static const struct policy_variation *variations_of(const struct lazy_policy *policy,
						    const struct policy_segment *segment)
{
	return lazy_read(policy, policy->variations + segment->variations.at,
			 segment->variations.n * sizeof(struct policy_variation));
}

/* A segment of the old policy or of the new one. */
struct member {
	const struct lazy_policy *policy;
	const struct policy_segment *segment; /* NULL: it has none */
	uint32_t index;
};

static bool is_live(const struct member *member)
{
	return member->segment && !member->segment->delete_generation;
}

static bool has_variation(const struct member *member, uint32_t id)
{
	const struct policy_variation *variations;

	if (!is_live(member))
		return false;
	variations = variations_of(member->policy, member->segment);
	for (uint32_t i = 0; i < member->segment->variations.n; i++)
		if (variations[i].id == id)
			return true;
	return false;
}

static int put_variations(struct layer *layer, const struct member *to)
{
	const struct policy_variation *variations = variations_of(to->policy, to->segment);
	int error = 0;

	for (uint32_t i = 0; !error && i < to->segment->variations.n; i++) {
		const struct bh_variation_key key = {delta_id(layer->plan, to->segment->id),
						     variations[i].id};
		const struct bh_variation value = {delta_id(layer->plan, variations[i].resolution)};
		struct bh_variation there;

		error = look_up(layer, MAP_variations, &key, &there);
		if (error == -ENOENT)
			error = table_add(&layer->plan->change->maps[MAP_variations].put, &key,
					  &value);
		else if (!error && there.resolution != value.resolution)
			error = -EOPNOTSUPP;
	}
	return error;
}

static int take_variations(struct layer *layer, const struct member *from, const struct member *to)
{
	const struct policy_variation *variations = variations_of(from->policy, from->segment);
	int error = 0;

	for (uint32_t i = 0; !error && i < from->segment->variations.n; i++) {
		const struct bh_variation_key key = {delta_id(layer->plan, from->segment->id),
						     variations[i].id};

		if (!has_variation(to, variations[i].id))
			error = plan_gone(layer, MAP_variations, &key);
	}
	return error;
}

/* Finds a slot without a segment. A segment that is about to be collected still has its slot. */
static int find_slot(struct layer *layer, uint32_t *slot)
{
	const struct planner *plan = layer->plan;
	const uint32_t room = plan->handle->room[MAP_segments];
	struct bh_segment there;

	if (!layer->used)
		layer->used = calloc(room + 1, sizeof(*layer->used));
	if (!layer->used)
		return -ENOMEM;
	for (uint32_t i = 0; !layer->next_slot && i < plan->n_slots; i++)
		if (plan->slots[i] < room)
			layer->used[plan->slots[i]] = true;
	for (*slot = layer->next_slot ? layer->next_slot : 1; *slot < room; (*slot)++) {
		int error = layer->used[*slot] ? 0 : look_up(layer, MAP_segments, slot, &there);

		if (error && error != -ENOENT)
			return error;
		if (!layer->used[*slot] && (error || !there.id)) {
			layer->next_slot = *slot + 1;
			return 0;
		}
	}
	return -EOPNOTSUPP;
}

/* Whether the slot has the segment as the policy wants it. */
static bool is_there(struct layer *layer, const struct policy_segment *segment, uint32_t slot)
{
	struct bh_segment want, there;

	if (!slot || look_up(layer, MAP_segments, &slot, &there))
		return false;
	layout_segment(segment, layer->plan->handle->blob.ids, places_delta_expect, &layer->places,
		       &want);
	for (int k = 0; k < 4; k++)
		if (places_is_list(there.fallback[k / 2][k % 2]))
			there.fallback[k / 2][k % 2].at = 0;
	return !memcmp(&want, &there, sizeof(want));
}

/* Puts a segment that comes. A staged segment is in the maps already. */
static int put_segment(struct layer *layer, const struct member *to)
{
	struct planner *plan = layer->plan;
	uint32_t *slot = &plan->slots[to->index];
	struct bh_segment value;
	int error;

	if (layer->staged) {
		*slot = layer->staged[to->index];
		return is_there(layer, to->segment, *slot) ? 0 : -EOPNOTSUPP;
	}
	error = find_slot(layer, slot);
	if (!error)
		error = layout_segment(to->segment, plan->handle->blob.ids, places_delta_put,
				       &layer->places, &value);
	if (!error)
		change_want(plan->change, MAP_segments, (size_t)*slot + 1);
	return error ? error : table_add(&plan->change->maps[MAP_segments].put, slot, &value);
}

/* Finds the slot of a segment that the maps have. */
static int slot_of(const struct layer *layer, const struct member *member, uint32_t *slot)
{
	const struct planner *plan = layer->plan;

	*slot = pinned_slot(plan->handle, member->index);
	return slot_find(plan->handle, plan->change, member->segment->id, slot);
}

/* Empties the slot of a segment that goes. */
static int take_segment(struct layer *layer, const struct member *from)
{
	const struct bh_segment none = {};
	uint32_t slot;

	if (slot_of(layer, from, &slot))
		return -EOPNOTSUPP;
	return table_add(&layer->plan->change->maps[MAP_segments].gone, &slot, &none);
}

/* Plans a segment that comes, goes or gets other variations. */
static int plan_segment(struct layer *layer, const struct member *from, const struct member *to)
{
	int error = 0;

	if (is_live(from) && is_live(to)) {
		uint32_t *slot = &layer->plan->slots[to->index];

		error = !slot_of(layer, from, slot) && is_there(layer, to->segment, *slot)
				? 0
				: -EOPNOTSUPP;
	} else if (is_live(to)) {
		error = put_segment(layer, to);
	} else if (is_live(from)) {
		error = take_segment(layer, from);
	}
	if (!error && is_live(to))
		error = put_variations(layer, to);
	if (!error && is_live(from))
		error = take_variations(layer, from, to);
	return error;
}

static struct member member_of(const struct lazy_policy *policy, uint32_t id)
{
	struct member member = {policy, lazy_segment_by_id(policy, id), 0};

	if (member.segment)
		member.index = member.segment - policy->segments;
	return member;
}

/* Plans a segment of the old policy that the new one lacks. */
static int plan_segment_gone(struct layer *layer, const struct lazy_policy *old, uint32_t index)
{
	const struct member from = {old, delta_segment(old, index), index};
	const struct member to = member_of(layer->plan->new, from.segment->id);

	return to.segment ? 0 : plan_segment(layer, &from, &to);
}

static int plan_segments(struct layer *layer)
{
	const struct planner *plan = layer->plan;
	const struct delta_table *table = &plan->delta->tables[BLOB_TABLE_segments];
	int error = 0;
	uint32_t i;

	for (i = delta_next_fresh(table, 0); !error && i < table->n;
	     i = delta_next_fresh(table, i + 1)) {
		const struct member to = {plan->new, delta_segment(plan->new, i), i};
		const struct member from = member_of(plan->old, to.segment->id);
		const uint32_t before = delta_origin(table, i);

		error = plan_segment(layer, &from, &to);
		if (!error && before != UINT32_MAX)
			error = plan_segment_gone(layer, plan->old, before);
	}
	for (i = delta_next_gone(table, 0); !error && i < table->n_base;
	     i = delta_next_gone(table, i + 1))
		error = plan_segment_gone(layer, plan->old, i);
	return error;
}

/* Gives each segment that stays the slot that it has. */
static int keep_slots(struct planner *plan)
{
	const struct delta_table *segments = &plan->delta->tables[BLOB_TABLE_segments];
	const uint32_t n = segments->n;

	plan->n_slots = plan->extension ? plan->extension->n[BLOB_TABLE_segments] : n;
	plan->slots = calloc(plan->n_slots + 1, sizeof(*plan->slots));
	if (!plan->slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < segments->n_runs; i++)
		for (uint32_t k = 0; k < segments->runs[i].n; k++)
			plan->slots[segments->runs[i].to + k] =
				pinned_slot(plan->handle, segments->runs[i].from + k);
	for (uint32_t i = n; i < plan->n_slots; i++)
		plan->slots[i] = pinned_slot(plan->handle, segments->n_base + i - n);
	return 0;
}

/* Sets the room that the maps need. They have the entries of the policy in force. */
static void want_room(const struct planner *plan)
{
	const struct lazy_policy *now = plan->handle->policy;
	struct change *change = plan->change;

	change_want(change, MAP_pairs, now->n_pairs + change->maps[MAP_pairs].put.n);
	change_want(change, MAP_named, now->n_named + change->maps[MAP_named].put.n);
	change_want(change, MAP_variations, now->n_variations + change->maps[MAP_variations].put.n);
	change_want(change, MAP_ports, plan->ports_end);
}

int layout_delta_plan(struct planner *plan, const uint32_t *staged)
{
	CLEANUP(layer_end) struct layer layer = {.plan = plan, .staged = staged};
	int error = keep_slots(plan);

	places_delta_init(&layer.places, plan);
	if (!error)
		error = plan_segments(&layer);
	if (!error)
		error = plan_pairs(&layer);
	if (!error)
		error = plan_names(&layer);
	if (!error)
		want_room(plan);
	return error;
}

int layout_delta_drop_local(struct planner *plan)
{
	struct layer layer = {.plan = plan};
	const struct delta *local = pinned_local(plan->handle);
	const struct delta_table *tables = local->tables;
	const struct lazy_policy *extended = plan->handle->policy;
	const struct delta_table *segments = &tables[BLOB_TABLE_segments];
	const struct delta_table *pairs = &tables[BLOB_TABLE_pairs];
	const struct delta_table *named = &tables[BLOB_TABLE_named];
	int error = 0;
	uint32_t i;

	for (i = delta_next_fresh(segments, 0); !error && i < segments->n;
	     i = delta_next_fresh(segments, i + 1)) {
		const struct member from = {extended, delta_segment(extended, i), i};
		const struct member to = member_of(plan->new, from.segment->id);

		if (is_live(&from) && is_live(&to))
			error = take_variations(&layer, &from, &to);
		else if (is_live(&from))
			error = plan_segment(&layer, &from, &to);
	}
	for (i = delta_next_fresh(pairs, 0); !error && i < pairs->n;
	     i = delta_next_fresh(pairs, i + 1))
		error = plan_pair_gone(&layer, pair_at(extended, i));
	for (i = delta_next_fresh(named, 0); !error && i < named->n;
	     i = delta_next_fresh(named, i + 1))
		error = plan_named_gone(&layer, named_at(extended, i));
	return error;
}
