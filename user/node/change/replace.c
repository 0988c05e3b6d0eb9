// SPDX-License-Identifier: GPL-2.0-only
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "maps/iface.h"
#include "node/kernel/attach.h"
#include "node/kernel/connections.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/programs.h"
#include "node/kernel/rcu.h"
#include "node/kernel/rule_hits.h"
#include "node/kernel/socket_link.h"
#include "node/change/larger_maps.h"
#include "node/change/replace.h"

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

struct capacity replace_first_room(const struct policy *policy, const struct local *local)
{
	struct capacity capacity = {
		.first = true,
		.rules = policy->next_rule,
		.needs =
			{
#define POLICY_MAP(name, key, value, entry, kind, capacity) [MAP_##name] = capacity,
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

int replace_plan(struct node_handle *handle, uint32_t rules, struct change *change)
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

bool replace_has_room(struct node_handle *handle, uint32_t rules, const struct change *change)
{
	bool room;

	for (int i = 0; i < N_NODE_MAPS; i++)
		if (change->wanted[i] > handle->capacity[i])
			return false;
	/* the maps in memory that stand for the kernel's have no hits */
	return rules <= handle->policy->next_rule || handle->seen ||
	       (!rule_hits_have_room(handle, rules, &room) && room);
}

static uint32_t map_id(int map)
{
	struct bpf_map_info info = {};
	uint32_t length = sizeof(info);

	return bpf_obj_get_info_by_fd(map, &info, &length) ? 0 : info.id;
}

/* Fills the maps that the programs' object made in place of an older build's. */
static int fill_maps(struct node_handle *handle, const struct programs *programs)
{
	for (int i = 0; i < N_NODE_MAPS; i++) {
		const int map = programs_map(programs, node_map_names[i]);
		CLEANUP(table_free) struct table have = {};
		int error;

		if (map < 0 || map_id(map) == map_id(handle->maps[i]))
			continue;
		maps_init_table(i, &have);
		error = maps_read(handle, i, &have);
		if (!error)
			error = table_write(&have, map);
		if (error)
			return node_fail(handle, error, "cannot copy the map %s",
					 node_map_names[i]);
		handle->writes += have.n;
	}
	return 0;
}

static int renew_hooks(struct node_handle *handle)
{
	CLEANUP(table_free) struct table ifaces = {};
	int error = socket_attach(handle);

	if (error)
		return error;
	table_init(&ifaces, sizeof(uint32_t), sizeof(struct bh_iface));
	error = table_read(&ifaces, handle->maps[MAP_ifaces]);
	if (error)
		return node_fail(handle, error, "cannot read %s/ifaces", handle->pin);
	for (size_t i = 0; !error && i < ifaces.n; i++)
		error = attach_renew(handle, *(uint32_t *)table_key(&ifaces, i),
				     ((struct bh_iface *)table_value(&ifaces, i))->flags);
	return error;
}

/* Copies the connections into the larger table, and pins the former one until the programs of all
 * hooks use the larger one. */
static int copy_connections(struct node_handle *handle, const struct programs *programs)
{
	SCOPED_FD int former = pins_get(handle, CONNECTIONS);
	uint64_t lost = 0;
	int error = former < 0 ? former : 0;

	if (!error)
		error = connections_copy(handle, former, programs_map(programs, CONNECTIONS),
					 &lost);
	if (!error && lost)
		error = -ENOSPC;
	if (error)
		return node_fail(handle, error, "cannot copy the connections to a larger table");
	return pins_put_map(handle, CONNECTIONS_FORMER, former);
}

/* Copies what programs have opened in the former table since, and removes its pin. No program works
 * on it any more. */
static int finish_connections(struct node_handle *handle)
{
	SCOPED_FD int former = pins_get(handle, CONNECTIONS_FORMER);
	SCOPED_FD int active = pins_get(handle, CONNECTIONS);
	uint64_t lost = 0;
	int error = former < 0 ? former : active < 0 ? active : 0;

	if (former == -ENOENT)
		return 0;
	if (!error)
		error = rcu_wait(handle);
	if (!error)
		error = connections_copy(handle, former, active, &lost);
	if (error)
		return node_fail(handle, error, "cannot copy the connections to a larger table");
	if (lost)
		diag_warn(handle->diag, NULL, NULL,
			  "%llu connections that opened meanwhile found no place in the larger "
			  "table",
			  (unsigned long long)lost);
	return pins_remove(handle, CONNECTIONS_FORMER);
}

int replace(struct node_handle *handle, const struct programs *programs,
	    const struct capacity *capacity)
{
	int error = fill_maps(handle, programs);

	if (!error && capacity->connections)
		error = copy_connections(handle, programs);

	if (!error)
		error = programs_pin(handle, programs);
	if (!error)
		error = pins_open_maps(handle);
	if (!error)
		error = renew_hooks(handle);
	if (!error)
		error = finish_connections(handle);
	return error;
}

/* Pins the maps that PROGRAM_INGRESS uses. */
static int follow_ingress(struct node_handle *handle)
{
	const struct program *ingress;
	int error = pins_program(handle, PROGRAM_INGRESS, &ingress);

	if (error)
		return node_fail(handle, error, "cannot read %s/%s: to start anew, unload and load",
				 handle->pin, node_program_names[PROGRAM_INGRESS]);
	for (uint32_t i = 0; !error && i < ingress->n_maps; i++) {
		char pin[BPF_OBJ_NAME_LEN];
		SCOPED_FD int map = program_open_map(ingress->maps[i], pin);

		if (map < 0)
			error = node_fail(handle, map, "cannot open a map of %s",
					  node_program_names[PROGRAM_INGRESS]);
		else if (*pin)
			error = pins_put_map(handle, pin, map);
	}
	return error;
}

static bool are_current(struct node_handle *handle)
{
	for (enum node_program i = PROGRAM_INGRESS + 1; i < N_NODE_PROGRAMS; i++) {
		const struct program *program;

		if (pins_program(handle, i, &program) || !programs_is_current(handle, program))
			return false;
	}
	return true;
}

int replace_finish(struct node_handle *handle)
{
	CLEANUP(programs_free) struct programs programs = {};
	const struct capacity none = {};
	int error = pins_open_maps(handle);

	if (!error)
		error = follow_ingress(handle);
	if (!error)
		error = larger_maps_finish(handle);
	if (!error && !are_current(handle)) {
		error = programs_load(handle, &none, &programs);
		if (!error)
			error = programs_pin(handle, &programs);
		if (!error)
			error = pins_open_maps(handle);
	}
	if (!error)
		error = renew_hooks(handle);
	if (!error)
		error = finish_connections(handle);
	return error ? error : pins_remove(handle, PINS_NEW);
}
