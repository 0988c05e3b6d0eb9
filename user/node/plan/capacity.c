// SPDX-License-Identifier: GPL-2.0-only
#include "node/plan/capacity.h"

#include <errno.h>

#include "node/kernel/programs.h"
#include "node/kernel/rule_hits.h"
#include "node/kernel/socket_link.h"

/* A map of the policy has room for so many bytes of entries beyond what it needs, at least: a
 * larger map costs a copy of all entries. In 3 MB are 28,000 addresses, 19,000 entries of Services,
 * or 393,000 intervals of ports. */
#define ROOM_BYTES (3 << 20)
#define HASH_BYTES 64 /* what the kernel adds to each entry of a hash map, about */
/* Maps about interfaces have room for so many more than they need, at least. */
#define ROOM_PLACES 1024

/* Returns the most entries that a map may have: an assignment word has only so many bits for a
 * slot. */
static uint32_t limit_of(enum node_map_id map)
{
	return map == MAP_segments ? BH_SLOT_MAX + 1 : UINT32_MAX / 2;
}

/* Returns the size of a map that has @want entries: at least twice as many. */
static uint32_t room_beyond(size_t want, size_t least, uint32_t limit)
{
	const size_t room = want + (want < least ? least : want);

	return room < limit ? room : limit;
}

static uint32_t room_for(enum node_map_id map, size_t want)
{
	CLEANUP(table_free) struct table sizes = {};
	size_t least = ROOM_PLACES;

	maps_init_table(map, &sizes);
	switch (node_map_kinds[map]) {
	case MAP_KIND_LOCAL:
		break;
	case MAP_KIND_ADDRESS:
	case MAP_KIND_LAYOUT:
		least = ROOM_BYTES / (sizes.key_size + sizes.value_size + HASH_BYTES);
		break;
	case MAP_KIND_SLOTS:
		least = ROOM_BYTES / sizes.value_size;
		break;
	}
	return room_beyond(want, least, limit_of(map));
}

struct capacity capacity_first(const struct policy *policy, const struct local *local)
{
	struct capacity capacity = {
		.first = true,
		.rules = policy->next_rule,
		.needs =
			{
#define POLICY_MAP(name, key, value, entry, kind, needs) [MAP_##name] = needs,
#include "maps/maps.def"
			},
	};

	for (int i = 0; i < N_NODE_MAPS; i++)
		if (node_map_kinds[i] != MAP_KIND_LOCAL)
			capacity.entries[i] = room_for(i, capacity.needs[i]);
	return capacity;
}

static int refuse(struct node_handle *handle, enum node_map_id map, size_t want)
{
	diag_error(handle->diag, NULL, NULL, "map %s: needs %zu entries; it can have %u",
		   node_map_names[map], want, limit_of(map));
	return -ENOSPC;
}

static uint32_t room_of(const struct node_handle *handle, const struct change *change, int map)
{
	return change->anew ? change->capacity.entries[map] : handle->capacity[map];
}

/* Makes the map larger. A map whose entries are of a generation needs room for two of them at the
 * next change. */
static void make_room(struct change *change, int map)
{
	change->capacity.needs[map] = change->wanted[map];
	change->capacity.entries[map] = room_for(map, change->wanted[map]);
}

/* Finds the maps that are too small, and their new sizes. Where one is, those that are nearly full
 * grow with it. */
static int find_room(struct node_handle *handle, struct change *change)
{
	bool any = false;

	for (int i = 0; i < N_NODE_MAPS; i++) {
		if (change->wanted[i] > limit_of(i))
			return refuse(handle, i, change->wanted[i]);
		any |= change->wanted[i] > room_of(handle, change, i);
	}
	for (int i = 0; any && i < N_NODE_MAPS; i++) {
		const size_t room = room_of(handle, change, i);

		if (change->wanted[i] > (change->anew ? room : room - room / 8))
			make_room(change, i);
	}
	return 0;
}

int capacity_plan(struct node_handle *handle, uint32_t rules, struct change *change)
{
	bool own = false, room = true;
	int error = find_room(handle, change);

	if (error || change->anew)
		return error;
	error = rule_hits_have_room(handle, rules, &room);
	if (!room)
		change->capacity.rules = rules;
	if (!error)
		error = programs_are_own(handle, &own);
	change->replace |= !own || change->advance || !socket_is_attached(handle);
	return error;
}

bool capacity_suffices(struct node_handle *handle, uint32_t rules, const struct change *change)
{
	bool room;

	for (int i = 0; i < N_NODE_MAPS; i++)
		if (change->wanted[i] > handle->capacity[i])
			return false;
	/* the maps in memory that stand for the kernel's have no hits */
	return rules <= handle->policy->next_rule || handle->seen ||
	       (!rule_hits_have_room(handle, rules, &room) && room);
}
