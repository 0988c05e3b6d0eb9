// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "maps/blob.h"
#include "maps/pair.h"
#include "maps/segment.h"
#include "maps/variation.h"
#include "model/search.h"
#include "node/kernel/pinned_policy.h"
#include "node/plan/planner_parts.h"
#include "node/plan/port_lists.h"
#include "node/plan/slot.h"

/* Pairs, and lists that depend on the numbers of port names: two IDs lead to a port list */

struct ports_entry {
	uint32_t ids[2];
	struct bh_ports_ref ports;
};
_Static_assert(sizeof(struct bh_pair_key) == sizeof(uint32_t[2]), "key of bh_pairs");
_Static_assert(sizeof(struct bh_named_key) == sizeof(uint32_t[2]), "key of bh_named");
_Static_assert(sizeof(struct bh_pair) == sizeof(struct bh_ports_ref), "value of bh_pairs");
_Static_assert(sizeof(struct bh_named) == sizeof(struct bh_ports_ref), "value of bh_named");

static size_t n_entries(const struct lazy_policy *policy, enum node_map_id map)
{
	return map == MAP_pairs ? policy->n_pairs : policy->n_named;
}

static struct ports_entry entry_at(const struct lazy_policy *policy, enum node_map_id map, size_t i)
{
	const struct policy_pair *pair;
	const struct policy_named *named;

	if (map == MAP_pairs) {
		pair = LAZY_ONE(policy, pairs, i);
		return (struct ports_entry){{pair->subject, pair->peer}, pair->ports};
	}
	named = LAZY_ONE(policy, named, i);
	return (struct ports_entry){{named->list, named->resolution}, named->ports};
}

static bool is_before(const uint32_t a[2], const uint32_t b[2])
{
	return a[0] != b[0] ? a[0] < b[0] : a[1] < b[1];
}

static bool has_entry(const struct lazy_policy *policy, enum node_map_id map, const uint32_t ids[2])
{
	const size_t n = n_entries(policy, map);
	const size_t at = SEARCH(n, i, is_before(entry_at(policy, map, i).ids, ids));

	return at < n && !is_before(ids, entry_at(policy, map, at).ids);
}

/* Segments, each with its variations */

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

static struct member member_of(const struct lazy_policy *policy, uint32_t id)
{
	struct member member = {policy, policy ? lazy_segment_by_id(policy, id) : NULL, 0};

	if (member.segment)
		member.index = member.segment - policy->segments;
	return member;
}

static const struct policy_variation *variations_of(const struct lazy_policy *policy,
						    const struct policy_segment *segment)
{
	return LAZY_SOME(policy, variations, segment->variations.at, segment->variations.n);
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

/* The entries of the maps that a policy has */

/* Returns the policy's ID of an ID in the maps. */
static uint32_t id_of(const struct planner *plan, uint32_t id)
{
	return planner_other_id(plan->ids, id);
}

static bool wants_entry(const struct planner *plan, enum node_map_id map, const uint32_t *ids)
{
	return has_entry(plan->new, map, (uint32_t[]){id_of(plan, ids[0]), id_of(plan, ids[1])});
}

static bool wants_pairs(const struct planner *plan, const void *key, const void *value)
{
	(void)value;
	return wants_entry(plan, MAP_pairs, key);
}

static bool wants_named(const struct planner *plan, const void *key, const void *value)
{
	(void)value;
	return wants_entry(plan, MAP_named, key);
}

static bool wants_variations(const struct planner *plan, const void *key, const void *value)
{
	const struct bh_variation_key *at = key;
	const struct member segment = member_of(plan->new, id_of(plan, at->segment));

	(void)value;
	return has_variation(&segment, at->variation);
}

static bool wants_domains(const struct planner *plan, const void *key, const void *value)
{
	(void)value;
	return table_find(&plan->domains, key);
}

static bool wants_by_domain(const struct planner *plan, const void *key, const void *value)
{
	(void)value;
	return table_find(&plan->by_domain, key);
}

static bool wants_segments(const struct planner *plan, const void *key, const void *value)
{
	const struct bh_segment *segment = value;
	const struct member member = member_of(plan->new, id_of(plan, segment->id));

	return is_live(&member) && plan->slots[member.index] == *(const uint32_t *)key;
}

/* Say if the policy has an entry; NULL: segment_entries_collect() does not ask about the map. */
static bool (*const wants[N_NODE_MAPS])(const struct planner *plan, const void *key,
					const void *value) = {
#define WANTS_ADDRESS(name)
#define WANTS_SLOTS(name)
#define WANTS_LAYOUT(name) [MAP_##name] = wants_##name,
#define POLICY_MAP(name, key, value, entry, kind, needs) WANTS_##kind(name)
#include "maps/maps.def"
	[MAP_segments] = wants_segments,
};

/* The plan */

struct segment_entries {
	struct planner *plan;
	enum node_map_id map; /* of the records that are walked */
	struct port_lists ports;
	bool *used; /* by slot: a segment has the slot */
	size_t n_used;
	uint32_t next_slot; /* the slots below this one are not free */
};

static void entries_free(struct segment_entries *entries)
{
	port_lists_free(&entries->ports);
	free(entries->used);
}

static int look_up(const struct segment_entries *entries, enum node_map_id map, const void *key,
		   void *value)
{
	return maps_lookup(entries->plan->handle, map, key, value);
}

/* Deletes an entry of the old policy after the commit, once, unless the new policy has it. */
static int plan_deleted(struct segment_entries *entries, enum node_map_id map, const void *key)
{
	struct table *deleted = &entries->plan->change->maps[map].deleted;
	unsigned char value[sizeof(struct bh_segment)];
	int error;

	if (wants[map](entries->plan, key, NULL))
		return 0;
	/* the node's extension and the delta may delete the same entry */
	for (size_t i = 0; entries->plan->handle->blob.local && i < deleted->n; i++)
		if (!memcmp(table_key(deleted, i), key, deleted->key_size))
			return 0;
	error = look_up(entries, map, key, value);
	if (error)
		return error == -ENOENT ? 0 : error;
	return table_add(deleted, key, value);
}

static int plan_entry(void *what, const struct lazy_policy *policy, uint32_t record)
{
	struct segment_entries *entries = what;
	struct planner *plan = entries->plan;
	const struct ports_entry entry = entry_at(policy, entries->map, record);
	const uint32_t key[2] = {planner_id(plan, entry.ids[0]), planner_id(plan, entry.ids[1])};
	struct bh_ports_ref value;
	int error = look_up(entries, entries->map, key, &value);

	if (!error && port_lists_agree(&entries->ports, entry.ports, value))
		return 0;
	if (!error)
		error = planner_differs(plan, entries->map, key);
	if (error != -ENOENT)
		return error;
	error = port_lists_put(&entries->ports, entry.ports, &value);
	return error ? error : table_add(&plan->change->maps[entries->map].put, key, &value);
}

static int plan_old_entry(void *what, const struct lazy_policy *policy, uint32_t record)
{
	struct segment_entries *entries = what;
	const struct ports_entry entry = entry_at(policy, entries->map, record);
	const uint32_t key[2] = {planner_id(entries->plan, entry.ids[0]),
				 planner_id(entries->plan, entry.ids[1])};

	return plan_deleted(entries, entries->map, key);
}

static int put_variations(struct segment_entries *entries, const struct member *to)
{
	const struct policy_variation *variations = variations_of(to->policy, to->segment);
	int error = 0;

	for (uint32_t i = 0; !error && i < to->segment->variations.n; i++) {
		const struct bh_variation_key key = {planner_id(entries->plan, to->segment->id),
						     variations[i].id};
		const struct bh_variation value = {
			planner_id(entries->plan, variations[i].resolution)};
		struct bh_variation there;

		error = look_up(entries, MAP_variations, &key, &there);
		if (!error && there.resolution != value.resolution)
			error = planner_differs(entries->plan, MAP_variations, &key);
		if (error == -ENOENT)
			error = table_add(&entries->plan->change->maps[MAP_variations].put, &key,
					  &value);
	}
	return error;
}

static int delete_variations(struct segment_entries *entries, const struct member *from)
{
	const struct policy_variation *variations = variations_of(from->policy, from->segment);
	int error = 0;

	for (uint32_t i = 0; !error && i < from->segment->variations.n; i++) {
		const struct bh_variation_key key = {planner_id(entries->plan, from->segment->id),
						     variations[i].id};

		error = plan_deleted(entries, MAP_variations, &key);
	}
	return error;
}

/* Makes a segment's entry. @find finds the references to port lists. */
static int make_entry(struct segment_entries *entries, const struct policy_segment *segment,
		      port_lists_find *find, struct bh_segment *value)
{
	const struct planner *plan = entries->plan;
	int error = 0;

	*value = (struct bh_segment){
		.id = planner_id(plan, segment->id),
		.flags = segment->flags,
		.peer_own = planner_id(plan, segment->peer_own),
		.peer_common = planner_id(plan, segment->peer_common),
	};
	for (int direction = 0; !error && direction < 2; direction++) {
		value->own[direction] = planner_id(plan, segment->own[direction]);
		value->common[direction] = planner_id(plan, segment->common[direction]);
		for (int external = 0; !error && external < 2; external++)
			error = find(&entries->ports, segment->fallback[direction][external],
				     &value->fallback[direction][external]);
	}
	return error;
}

/* Returns true if the slot has the segment as the policy wants it. */
static bool is_there(struct segment_entries *entries, const struct policy_segment *segment,
		     uint32_t slot)
{
	struct bh_segment want, there;

	if (look_up(entries, MAP_segments, &slot, &there))
		return false;
	make_entry(entries, segment, port_lists_expect, &want);
	for (int k = 0; k < 4; k++) {
		struct bh_ports_ref *ports = &there.fallback[k / 2][k % 2];

		if (!port_lists_agree(&entries->ports, segment->fallback[k / 2][k % 2], *ports))
			return false;
		if (port_lists_is_list(*ports))
			ports->at = 0;
	}
	return !memcmp(&want, &there, sizeof(want));
}

/* Finds a slot without a segment. A segment that is about to be collected still has its slot. */
static int find_slot(struct segment_entries *entries, uint32_t *slot)
{
	const struct planner *plan = entries->plan;
	struct bh_segment there;

	for (uint32_t i = 0; !entries->next_slot && i < plan->n_slots; i++)
		entries->n_used =
			plan->slots[i] >= entries->n_used ? plan->slots[i] + 1 : entries->n_used;
	if (!entries->used)
		entries->used = calloc(entries->n_used + 1, sizeof(*entries->used));
	if (!entries->used)
		return -ENOMEM;
	for (uint32_t i = 0; !entries->next_slot && i < plan->n_slots; i++)
		entries->used[plan->slots[i]] = true;
	for (*slot = entries->next_slot ? entries->next_slot : 1;; (*slot)++) {
		const bool used = *slot < entries->n_used && entries->used[*slot];
		int error = used ? 0 : look_up(entries, MAP_segments, slot, &there);

		if (error && error != -ENOENT)
			return error;
		if (!used && (error || !there.id)) {
			entries->next_slot = *slot + 1;
			return 0;
		}
	}
}

/* Puts a segment that the maps lack. */
static int put_segment(struct segment_entries *entries, const struct member *to)
{
	struct planner *plan = entries->plan;
	uint32_t *slot = &plan->slots[to->index];
	struct bh_segment value;
	int error = find_slot(entries, slot);

	if (!error)
		error = make_entry(entries, to->segment, port_lists_put, &value);
	if (!error)
		change_want(plan->change, MAP_segments, (size_t)*slot + 1);
	return error ? error : table_add(&plan->change->maps[MAP_segments].put, slot, &value);
}

/* Finds the slot in which the maps have a segment. Returns 0, or -ENOENT: they lack it. */
static int slot_there(struct segment_entries *entries, const struct member *to, uint32_t *slot)
{
	struct planner *plan = entries->plan;

	*slot = 0;
	/* a staged policy has no extension yet */
	if (plan->staged && to->segment->id < BH_IDS_LOCAL) {
		*slot = plan->staged[to->index];
	} else if (plan->delta) {
		/* the active policy, with the extension: the new one may have the same segments */
		const struct member from = member_of(plan->handle->policy, to->segment->id);

		/* no other segment that is new in a delta is in the maps, unless it is staged */
		if (!is_live(&from))
			return -ENOENT;
		*slot = pinned_slot(plan->handle, from.index);
	}
	return planner_find_segment(plan, to->segment->id, slot);
}

/* Plans a segment of the new policy. A segment that is put right gets another slot, so that its
 * endpoints move to it at the commit. */
static int plan_segment(void *what, const struct lazy_policy *policy, uint32_t index)
{
	struct segment_entries *entries = what;
	struct planner *plan = entries->plan;
	const struct member to = {policy, LAZY_ONE(policy, segments, index), index};
	uint32_t slot;
	int error = is_live(&to) ? slot_there(entries, &to, &slot) : 0;

	if (error && error != -ENOENT)
		return error;
	if (!is_live(&to))
		return 0;
	if (!error && !is_there(entries, to.segment, slot))
		error = planner_differs(plan, MAP_segments, &slot);
	if (error == -ENOENT) {
		error = put_segment(entries, &to);
	} else if (!error) {
		plan->slots[index] = slot;
		change_want(plan->change, MAP_segments, (size_t)slot + 1);
	}
	return error ? error : put_variations(entries, &to);
}

/* Plans what the old policy has of a segment, and the new one lacks: the segment, or variations of
 * it. */
static int plan_old_segment(void *what, const struct lazy_policy *policy, uint32_t index)
{
	struct segment_entries *entries = what;
	const struct member from = {policy, LAZY_ONE(policy, segments, index), index};
	const struct member to = member_of(entries->plan->new, from.segment->id);
	const struct bh_segment none = {};
	uint32_t slot = pinned_slot(entries->plan->handle, index);
	int error = is_live(&from) ? delete_variations(entries, &from) : 0;

	if (error || !is_live(&from) || is_live(&to))
		return error;
	error = planner_find_segment(entries->plan, from.segment->id, &slot);
	if (error)
		return error == -ENOENT ? 0 : error;
	return table_add(&entries->plan->change->maps[MAP_segments].deleted, &slot, &none);
}

/* Gives each segment that stays the slot that it has. */
static int keep_slots(struct planner *plan)
{
	const struct delta_table *segments =
		plan->delta ? &plan->delta->tables[BLOB_TABLE_segments] : NULL;
	const uint32_t n = plan->new->n_segments;

	plan->n_slots = plan->extension ? plan->extension->n[BLOB_TABLE_segments] : n;
	plan->slots = calloc(plan->n_slots + 1, sizeof(*plan->slots));
	if (!plan->slots)
		return -ENOMEM;
	for (uint32_t i = 0; segments && i < segments->n_runs; i++)
		for (uint32_t k = 0; k < segments->runs[i].n; k++)
			plan->slots[segments->runs[i].to + k] =
				pinned_slot(plan->handle, segments->runs[i].from + k);
	for (uint32_t i = n; segments && i < plan->n_slots; i++)
		plan->slots[i] = pinned_slot(plan->handle, segments->n_base + i - n);
	return 0;
}

/* Sets the room that a map needs: it has @n entries. */
static void plan_capacity(const struct planner *plan, enum node_map_id map, size_t n)
{
	change_want(plan->change, map,
		    (plan->have ? plan->have->map[map].n : n) + plan->change->maps[map].put.n);
}

/* The tables whose records have entries in these maps. The entries of a segment that are in
 * MAP_variations are planned with it. */
static const struct {
	enum blob_table table;
	enum node_map_id map;
	planner_visit *plan, *plan_old;
} records[] = {
	{BLOB_TABLE_segments, MAP_segments, plan_segment, plan_old_segment},
	{BLOB_TABLE_pairs, MAP_pairs, plan_entry, plan_old_entry},
	{BLOB_TABLE_named, MAP_named, plan_entry, plan_old_entry},
};

int segment_entries_plan(struct planner *plan)
{
	CLEANUP(entries_free) struct segment_entries entries = {.plan = plan};
	const struct lazy_policy *now = plan->handle->policy;
	int error = keep_slots(plan);

	if (!error)
		error = port_lists_init(&entries.ports, plan);
	for (size_t i = 0; !error && i < ARRAY_SIZE(records); i++) {
		entries.map = records[i].map;
		error = planner_walk(plan, records[i].table, records[i].plan, records[i].plan_old,
				     &entries);
	}
	if (!error)
		error = domain_entries_plan(plan);
	if (error)
		return error;
	plan_capacity(plan, MAP_pairs, now ? now->n_pairs : 0);
	plan_capacity(plan, MAP_named, now ? now->n_named : 0);
	plan_capacity(plan, MAP_variations, now ? now->n_variations : 0);
	plan->ports_end = port_lists_end(&entries.ports);
	change_want(plan->change, MAP_ports, plan->ports_end);
	return 0;
}

int segment_entries_plan_staged(struct node_handle *handle, struct image *have,
				struct policy **staged, struct change *change,
				struct planner *later)
{
	struct bh_blob header;
	int error = pinned_read_staged(handle, &header, staged);

	if (error || !*staged)
		return error;
	planner_init(later, handle, *staged, header.ids, have, change);
	later->wrong = WRONG_LIST;
	return planner_compare(later, segment_entries_plan);
}

/* What the old policies left in the maps */

static int collect_map(struct planner *plan, const struct planner *later, enum node_map_id map)
{
	const struct table *have = &plan->have->map[map];
	struct table *deleted = &plan->change->maps[map].deleted;
	const struct bh_segment none = {};
	int error = 0;

	for (size_t i = 0; !error && i < have->n; i++) {
		const void *value = table_value(have, i);
		const uint32_t slot = i;
		const bool slots = map == MAP_segments;
		const void *key = slots ? &slot : table_key(have, i);

		if ((slots && (!slot || !((const struct bh_segment *)value)->id)) ||
		    wants[map](plan, key, value) || (later && wants[map](later, key, value)))
			continue;
		error = table_add(deleted, key, slots ? &none : value);
	}
	return error;
}

int segment_entries_collect(struct planner *plan, struct planner *later)
{
	int error = 0;

	for (enum node_map_id map = 0; !error && map < N_NODE_MAPS; map++)
		if (wants[map])
			error = collect_map(plan, later, map);
	return error ? node_fail(plan->handle, error, "cannot find what the old policy left") : 0;
}

bool segment_entries_has_map(enum node_map_id map)
{
	return node_map_kinds[map] == MAP_KIND_LAYOUT || node_map_kinds[map] == MAP_KIND_SLOTS;
}

bool segment_entries_deletes(const struct change *change)
{
	for (int i = 0; i < N_NODE_MAPS; i++)
		if (segment_entries_has_map(i) && change->maps[i].deleted.n)
			return true;
	return false;
}

bool segment_entries_puts(const struct change *change)
{
	for (int i = 0; i < N_NODE_MAPS; i++)
		if (segment_entries_has_map(i) && change->maps[i].put.n)
			return true;
	return false;
}
