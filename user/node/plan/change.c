// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "policy/delta.h"
#include "maps/assign.h"
#include "maps/endpoint.h"
#include "maps/rule_hit.h"
#include "maps/service.h"
#include "node/plan/change.h"

void change_init(struct change *change, const char *name)
{
	*change = (struct change){.name = name};
	for (int i = 0; i < N_NODE_MAPS; i++) {
		struct change_map *map = &change->maps[i];

		maps_init_table(i, &map->put);
		maps_init_table(i, &map->late);
		maps_init_table(i, &map->deleted);
		table_init(&map->store, map->put.key_size, sizeof(struct bh_assign));
		table_init(&map->wrong, map->put.key_size, 0);
	}
	table_init(&change->attach, sizeof(uint32_t), sizeof(uint32_t));
	table_init(&change->attach_others, sizeof(uint32_t), sizeof(uint32_t));
	table_init(&change->role, sizeof(uint32_t), sizeof(struct change_role));
	table_init(&change->late_role, sizeof(uint32_t), sizeof(struct change_role));
	table_init(&change->detach, sizeof(uint32_t), 0);
	table_init(&change->quarantine, sizeof(uint32_t), sizeof(struct bh_iface));
	table_init(&change->cleared, sizeof(uint32_t), 0);
	table_init(&change->forget, sizeof(struct bh_addr), 0);
	table_init(&change->forget_former, sizeof(struct bh_addr), sizeof(uint32_t));
}

void change_free(struct change *change)
{
	for (int i = 0; i < N_NODE_MAPS; i++) {
		table_free(&change->maps[i].put);
		table_free(&change->maps[i].store);
		table_free(&change->maps[i].late);
		table_free(&change->maps[i].deleted);
		table_free(&change->maps[i].wrong);
	}
	table_free(&change->attach);
	table_free(&change->attach_others);
	table_free(&change->role);
	table_free(&change->late_role);
	table_free(&change->detach);
	table_free(&change->quarantine);
	table_free(&change->cleared);
	table_free(&change->forget);
	table_free(&change->forget_former);
	free(change->policy.bytes);
	policy_free(change->policy.whole);
	free(change->policy.slots);
	delta_free(change->policy.local);
	delta_free(change->policy.nothing);
}

void change_want(struct change *change, enum node_map_id map, size_t entries)
{
	if (entries > change->wanted[map])
		change->wanted[map] = entries;
}

int change_attach(struct change *change, const uint32_t *ifindex, uint32_t flags)
{
	return table_add(change_is_others(flags) ? &change->attach_others : &change->attach,
			 ifindex, &flags);
}

static bool is_none(const struct bh_addr *addr)
{
	return !(addr->word[0] | addr->word[1] | addr->word[2] | addr->word[3]);
}

int change_replace_iface(struct change *change, const uint32_t *ifindex,
			 const struct bh_iface *from, const struct bh_iface *to)
{
	struct change_role role = {*from, *from};
	int error = 0;

	role.to.ipv4 = is_none(&from->ipv4) ? from->ipv6 : from->ipv4;
	role.to.ipv6 = is_none(&to->ipv6) ? to->ipv4 : to->ipv6;
	if (from->flags & to->flags & BH_IFACE_ENDPOINT && !is_none(&role.to.ipv4) &&
	    !is_none(&role.to.ipv6) &&
	    (memcmp(&from->ipv4, &to->ipv4, sizeof(to->ipv4)) ||
	     memcmp(&from->ipv6, &to->ipv6, sizeof(to->ipv6))))
		error = table_add(&change->role, ifindex, &role);
	return error ? error : table_add(&change->maps[MAP_ifaces].late, ifindex, to);
}

/*
 * The order of all writes. An entry is written before the entries that lead to it, and deleted
 * after them. An interface's own entry is written before its other entries and deleted after them,
 * since a repair finds the other entries by the interface's own. Hooks come last: an endpoint's
 * hook without the endpoint's addresses in the maps isolates the endpoint.
 */
const struct change_step change_order[] = {
	{PHASE_PREPARE, ACT_CLEAR, 0, false},
	{PHASE_PREPARE, ACT_REMOVE_FOLDER, 0, false},
	{PHASE_PREPARE, ACT_ANEW, 0, false},
	{PHASE_PREPARE, ACT_LOAD, 0, false},
	{PHASE_STAGE, ACT_REPLACE, 0, false},
	{PHASE_STAGE, ACT_GROW, 0, false},
	{PHASE_STAGE, ACT_FINISH, 0, false},
	{PHASE_STAGE, ACT_DROP_STAGED, 0, false},
	/* before the commit: after that of a repair, another repair would not know the addresses;
	 * after that of a load, connections of another node's pod would be the next pod's until the
	 * load forgets them */
	{PHASE_STAGE, ACT_FORGET_FORMER, 0, false},
	{PHASE_STAGE, ACT_PUT, MAP_ports, false},
	{PHASE_STAGE, ACT_PUT, MAP_named, false},
	{PHASE_STAGE, ACT_PUT, MAP_variations, false},
	{PHASE_STAGE, ACT_PUT, MAP_pairs, false},
	{PHASE_STAGE, ACT_PUT, MAP_segments, false},
	{PHASE_STAGE, ACT_PUT, MAP_by_domain, false},
	{PHASE_STAGE, ACT_PUT, MAP_domains, false},
	{PHASE_STAGE, ACT_PUT, MAP_prefixes, false},
	{PHASE_STAGE, ACT_PUT, MAP_endpoints, false},
	{PHASE_STAGE, ACT_STORE, MAP_endpoints, false},
	{PHASE_STAGE, ACT_PUT, MAP_added, false},
	{PHASE_STAGE, ACT_PUT, MAP_services, false},
	{PHASE_STAGE, ACT_STORE, MAP_services, false},
	{PHASE_STAGE, ACT_PUT, MAP_ifaces, true},
	{PHASE_STAGE, ACT_SET_ROLE, 0, true},
	{PHASE_STAGE, ACT_PUT, MAP_macs, true},
	{PHASE_STAGE, ACT_PUT, MAP_allow_source, true},
	{PHASE_STAGE, ACT_PUT, MAP_link_locals, true},
	{PHASE_STAGE, ACT_PUT, MAP_tunnels, true},
	{PHASE_STAGE, ACT_PUT, MAP_resolvers, true},
	{PHASE_STAGE, ACT_ATTACH_OTHERS, 0, true},
	{PHASE_STAGE, ACT_ATTACH, 0, true},
	{PHASE_STAGE, ACT_ADOPT, 0, false},
	{PHASE_STAGE, ACT_PIN, 0, false},
	{PHASE_COMMIT, ACT_COMMIT, 0, false},
	{PHASE_COMMIT, ACT_RECORD, MAP_added, false},
	/* the interface is quarantined before the grace period: after it, every program drops the
	 * packets of the interface, and none counts the endpoint as its covering prefix */
	{PHASE_COMMIT, ACT_QUARANTINE, MAP_ifaces, false},
	{PHASE_COLLECT, ACT_DETACH, 0, false},
	{PHASE_COLLECT, ACT_REPLACE_LATE, MAP_macs, false},
	{PHASE_COLLECT, ACT_DELETE, MAP_macs, false},
	{PHASE_COLLECT, ACT_REPLACE_LATE, MAP_allow_source, false},
	{PHASE_COLLECT, ACT_DELETE, MAP_allow_source, false},
	{PHASE_COLLECT, ACT_REPLACE_LATE, MAP_link_locals, false},
	{PHASE_COLLECT, ACT_DELETE, MAP_link_locals, false},
	{PHASE_COLLECT, ACT_REPLACE_LATE, MAP_tunnels, false},
	{PHASE_COLLECT, ACT_DELETE, MAP_tunnels, false},
	{PHASE_COLLECT, ACT_REPLACE_LATE, MAP_resolvers, false},
	{PHASE_COLLECT, ACT_DELETE, MAP_resolvers, false},
	{PHASE_COLLECT, ACT_REPLACE_LATE, MAP_ifaces, false},
	{PHASE_COLLECT, ACT_SET_ROLE_LATE, 0, false},
	{PHASE_COLLECT, ACT_DELETE, MAP_ifaces, false},
	{PHASE_COLLECT, ACT_COMMIT_AGAIN, 0, false},
	{PHASE_COLLECT, ACT_FORGET, 0, false},
	{PHASE_COLLECT, ACT_DELETE, MAP_added, false},
	{PHASE_COLLECT, ACT_DELETE, MAP_endpoints, false},
	{PHASE_COLLECT, ACT_DELETE, MAP_prefixes, false},
	{PHASE_COLLECT, ACT_DELETE, MAP_services, false},
	{PHASE_COLLECT, ACT_DELETE, MAP_pairs, false},
	{PHASE_COLLECT, ACT_DELETE, MAP_named, false},
	{PHASE_COLLECT, ACT_DELETE, MAP_variations, false},
	{PHASE_COLLECT, ACT_DELETE, MAP_domains, false},
	{PHASE_COLLECT, ACT_DELETE, MAP_by_domain, false},
	{PHASE_COLLECT, ACT_DELETE, MAP_segments, false},
	/* the old policy stays pinned as long as any part of it is in the maps */
	{PHASE_COLLECT, ACT_COMPLETE, 0, false},
};

const size_t n_change_order = ARRAY_SIZE(change_order);

/* A first load's maps are made as large as they need to be, but for the hits of rules, of which
 * there are as many maps as need be. */
static size_t count_grown(const struct change *change)
{
	size_t n = change->capacity.rules > BH_RULE_HITS;

	for (int i = 0; i < N_NODE_MAPS && !change->anew; i++)
		n += change->capacity.entries[i] != 0;
	return n;
}

const struct table *change_table(const struct change *change, const struct change_step *step)
{
	const struct change_map *map = &change->maps[step->map];
	const struct table *const tables[N_CHANGE_ACTS] = {
		[ACT_PUT] = &map->put,
		[ACT_STORE] = &map->store,
		[ACT_SET_ROLE] = &change->role,
		[ACT_ATTACH_OTHERS] = &change->attach_others,
		[ACT_ATTACH] = &change->attach,
		[ACT_RECORD] = &map->late,
		[ACT_QUARANTINE] = &change->quarantine,
		[ACT_DETACH] = &change->detach,
		[ACT_REPLACE_LATE] = &map->late,
		[ACT_SET_ROLE_LATE] = &change->late_role,
		[ACT_DELETE] = &map->deleted,
		[ACT_FORGET] = &change->forget,
		[ACT_FORGET_FORMER] = &change->forget_former,
	};

	return tables[step->act];
}

size_t change_count(const struct change *change, const struct change_step *step)
{
	const struct table *table = change_table(change, step);
	const size_t counts[N_CHANGE_ACTS] = {
		[ACT_CLEAR] = change->clear,	     [ACT_REMOVE_FOLDER] = change->remove_folder,
		[ACT_ANEW] = change->anew,	     [ACT_LOAD] = change->replace,
		[ACT_REPLACE] = change->replace,     [ACT_GROW] = count_grown(change),
		[ACT_FINISH] = change->finish,	     [ACT_DROP_STAGED] = change->drop_staged,
		[ACT_ADOPT] = change->adopt != NULL, [ACT_PIN] = change->policy.header.length != 0,
		[ACT_COMMIT] = change->commits,	     [ACT_COMMIT_AGAIN] = change->commits_again,
		[ACT_COMPLETE] = change->complete,
	};

	return table ? table->n : counts[step->act];
}

bool change_is_empty(const struct change *change)
{
	for (size_t i = 0; i < n_change_order; i++)
		if (change_count(change, &change_order[i]))
			return false;
	return true;
}

static bool is_array(enum node_map_id map)
{
	return node_map_kinds[map] == MAP_KIND_SLOTS;
}

/* Makes an array of the image large enough for an index. */
static int simulate_capacity(struct table *there, uint32_t index)
{
	SCOPED_FREE void *empty = calloc(1, there->value_size + 1);
	int error = empty ? 0 : -ENOMEM;

	for (uint32_t at = there->n; !error && at <= index; at++)
		error = table_add(there, &at, empty);
	return error;
}

static int simulate_put(struct table *there, const struct table *put, enum node_map_id map)
{
	int error = 0;

	for (size_t i = 0; !error && i < put->n; i++) {
		const void *key = table_key(put, i);
		void *found = is_array(map) ? NULL : table_find(there, key);
		uint32_t index;

		if (is_array(map)) {
			memcpy(&index, key, sizeof(index));
			error = simulate_capacity(there, index);
			found = error ? NULL : table_value(there, index);
		}
		if (found)
			memcpy(found, table_value(put, i), there->value_size);
		else if (!error)
			error = table_insert(there, key, table_value(put, i));
	}
	return error;
}

static int simulate_delete(struct table *there, const struct table *deleted, enum node_map_id map)
{
	CLEANUP(table_free) struct table left = {}, sorted = {};
	int error = 0;

	if (is_array(map))
		return simulate_put(there, deleted, map);
	table_init(&left, there->key_size, there->value_size);
	table_init(&sorted, deleted->key_size, deleted->value_size);
	for (size_t i = 0; !error && i < deleted->n; i++)
		error = table_add(&sorted, table_key(deleted, i), table_value(deleted, i));
	table_sort(&sorted);
	if (!error)
		error = table_without(there, &sorted, &left);
	if (error)
		return error;
	table_free(there);
	*there = left;
	left = (struct table){};
	return 0;
}

/* Changes the image as the program `assign` changes a map. */
static void simulate_store(struct image *image, const struct bh_assign *request)
{
	struct bh_endpoint *endpoint = table_find(&image->map[MAP_endpoints], &request->addr);
	struct bh_service *service = table_find(&image->map[MAP_services], &request->service);

	if (request->which & BH_ASSIGN_SERVICE) {
		if (service)
			service->at[request->which & 1] = request->at;
	} else if (endpoint) {
		endpoint->assignment[request->which & 1] = request->word;
	}
	if (endpoint && request->which & BH_ASSIGN_HOST_SIDE) {
		endpoint->ifindex = request->ifindex;
		memcpy(endpoint->mac, request->mac, sizeof(endpoint->mac));
	}
}

static int simulate_role(struct image *image, const struct table *role)
{
	CLEANUP(table_free) struct table put = {};
	int error = 0;

	maps_init_table(MAP_ifaces, &put);
	for (size_t i = 0; !error && i < role->n; i++)
		error = table_add(&put, table_key(role, i),
				  &((struct change_role *)table_value(role, i))->to);
	return error ? error : simulate_put(&image->map[MAP_ifaces], &put, MAP_ifaces);
}

static int simulate_step(const struct change *change, const struct change_step *step,
			 struct image *image, uint32_t *generation)
{
	const struct table *table = change_table(change, step);
	struct table *there = &image->map[step->map];

	switch (step->act) {
	case ACT_PUT:
	case ACT_RECORD:
	case ACT_QUARANTINE:
	case ACT_REPLACE_LATE:
		return simulate_put(there, table, step->map);
	case ACT_STORE:
		for (size_t i = 0; i < table->n; i++)
			simulate_store(image, table_value(table, i));
		return 0;
	case ACT_SET_ROLE:
	case ACT_SET_ROLE_LATE:
		return simulate_role(image, table);
	case ACT_DELETE:
		return simulate_delete(there, table, step->map);
	case ACT_COMMIT:
	case ACT_COMMIT_AGAIN:
		++*generation;
		return 0;
	case ACT_CLEAR:
	case ACT_REMOVE_FOLDER:
	case ACT_ANEW:
	case ACT_LOAD:
	case ACT_REPLACE:
	case ACT_GROW:
	case ACT_FINISH:
	case ACT_DROP_STAGED:
	case ACT_ATTACH_OTHERS:
	case ACT_ATTACH:
	case ACT_ADOPT:
	case ACT_PIN:
	case ACT_DETACH:
	case ACT_FORGET_FORMER:
	case ACT_FORGET:
	case ACT_COMPLETE:
	case N_CHANGE_ACTS:
		break;
	}
	return 0;
}

int change_simulate(const struct change *change, struct image *image, uint32_t *generation,
		    size_t end)
{
	int error = 0;

	for (size_t i = 0; !error && i < end; i++)
		if (change_count(change, &change_order[i]))
			error = simulate_step(change, &change_order[i], image, generation);
	return error;
}
