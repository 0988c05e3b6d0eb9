// SPDX-License-Identifier: GPL-2.0-only
#include "node/change/delta/places_delta.h"

#include <errno.h>

#include "maps/pair.h"
#include "maps/segment.h"
#include "node/change/places.h"
#include "node/kernel/pinned.h"

/* Records that a search reads at a time. */
#define STEP 1024

void places_delta_init(struct places_delta *places, struct planner *plan)
{
	places->plan = plan;
	table_init(&places->lists, sizeof(uint32_t), sizeof(struct bh_ports_ref));
}

void places_delta_free(struct places_delta *places)
{
	table_free(&places->lists);
}

/* A list of the old policy, which is sought in the maps. */
struct sought {
	struct bh_ports_ref ref;
	struct bh_ports_ref found;
};

static bool is_it(const struct bh_ports_ref *ref, const struct sought *sought)
{
	return ref->at == sought->ref.at && ref->count == sought->ref.count;
}

/* Takes the place that an entry of the maps refers to. Returns whether the entry has the list's
 * length. */
static bool take_list(struct sought *sought, const struct bh_ports_ref *there)
{
	sought->found = *there;
	return there->count == sought->ref.count;
}

static bool seek_in_pairs(const struct places_delta *places, struct sought *sought)
{
	const struct lazy_policy *old = places->plan->old;
	const struct policy_pair *pairs = old->pairs;
	struct bh_pair there;

	for (size_t i = 0; i < old->n_pairs; i++) {
		const size_t left = old->n_pairs - i;

		if (i % STEP == 0)
			lazy_read(old, &pairs[i], (left < STEP ? left : STEP) * sizeof(*pairs));
		if (is_it(&pairs[i].ports, sought)) {
			const struct bh_pair_key key = {delta_id(places->plan, pairs[i].subject),
							delta_id(places->plan, pairs[i].peer)};

			return !maps_lookup(places->plan->handle, MAP_pairs, &key, &there) &&
			       take_list(sought, &there.ports);
		}
	}
	return false;
}

static bool seek_in_named(const struct places_delta *places, struct sought *sought)
{
	const struct lazy_policy *old = places->plan->old;
	const struct policy_named *named =
		lazy_read(old, old->named, old->n_named * sizeof(*named));
	struct bh_named there;

	for (size_t i = 0; i < old->n_named; i++)
		if (is_it(&named[i].ports, sought)) {
			const struct bh_named_key key = {
				delta_id(places->plan, named[i].list),
				delta_id(places->plan, named[i].resolution)};

			return !maps_lookup(places->plan->handle, MAP_named, &key, &there) &&
			       take_list(sought, &there.ports);
		}
	return false;
}

static bool seek_in_segments(const struct places_delta *places, struct sought *sought)
{
	const struct planner *plan = places->plan;
	struct bh_segment there;

	for (uint32_t i = 0; i < plan->old->n_segments; i++) {
		const struct policy_segment *segment = delta_segment(plan->old, i);
		const uint32_t slot = pinned_slot(plan->handle, i);

		for (int k = 0; !segment->delete_generation && k < 4; k++)
			if (is_it(&segment->fallback[k / 2][k % 2], sought))
				return !maps_lookup(places->plan->handle, MAP_segments, &slot,
						    &there) &&
				       there.id == delta_id(places->plan, segment->id) &&
				       take_list(sought, &there.fallback[k / 2][k % 2]);
	}
	return false;
}

/* Finds the list in the maps, by an entry of the old policy that refers to the same list. Returns
 * false where the old policy lacks the list or the maps disagree. */
static bool find_list(const struct places_delta *places, struct bh_ports_ref ref,
		      struct bh_ports_ref *placed)
{
	const struct delta_table *intervals = &places->plan->delta->tables[BLOB_TABLE_intervals];
	const uint32_t last = ref.count - 1;
	struct sought sought = {.ref = {delta_origin(intervals, ref.at), ref.count}};

	if (sought.ref.at == UINT32_MAX ||
	    delta_origin(intervals, ref.at + last) != sought.ref.at + last ||
	    delta_next_fresh(intervals, ref.at) <= ref.at + last ||
	    !(seek_in_pairs(places, &sought) || seek_in_named(places, &sought) ||
	      seek_in_segments(places, &sought)))
		return false;
	*placed = sought.found;
	return true;
}

/* Puts the list behind all others. */
static int put_list(const struct places_delta *places, struct bh_ports_ref ref,
		    struct bh_ports_ref *placed)
{
	struct planner *plan = places->plan;
	const struct bh_interval *intervals =
		lazy_read(plan->new, plan->new->intervals + ref.at, ref.count * sizeof(*intervals));
	int error = 0;

	if (!plan->ports_end)
		return -EOPNOTSUPP;
	*placed = (struct bh_ports_ref){plan->ports_end, ref.count};
	for (uint32_t i = 0; !error && i < ref.count; i++, plan->ports_end++)
		error = table_add(&plan->change->maps[MAP_ports].put, &plan->ports_end,
				  &intervals[i]);
	return error;
}

int places_delta_put(void *data, struct bh_ports_ref ref, struct bh_ports_ref *placed)
{
	struct places_delta *places = data;
	const struct bh_ports_ref *known;
	int error = 0;

	*placed = ref;
	if (ref.count == BH_PORTS_NAMED)
		placed->at = delta_id(places->plan, ref.at);
	if (!places_is_list(ref))
		return 0;
	known = table_find(&places->lists, &ref.at);
	if (known && known->count == ref.count) {
		*placed = *known;
		return 0;
	}
	if (!find_list(places, ref, placed))
		error = put_list(places, ref, placed);
	return error || known ? error : table_insert(&places->lists, &ref.at, placed);
}

int places_delta_expect(void *data, struct bh_ports_ref ref, struct bh_ports_ref *placed)
{
	const struct places_delta *places = data;

	*placed = ref;
	if (places_is_list(ref))
		placed->at = 0;
	else if (ref.count == BH_PORTS_NAMED)
		placed->at = delta_id(places->plan, ref.at);
	return 0;
}

bool places_delta_agree(const struct places_delta *places, struct bh_ports_ref ref,
			struct bh_ports_ref there)
{
	struct bh_ports_ref expected;

	places_delta_expect((void *)places, ref, &expected);
	if (places_is_list(there))
		there.at = 0;
	return expected.at == there.at && expected.count == there.count;
}
