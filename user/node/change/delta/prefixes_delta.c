// SPDX-License-Identifier: GPL-2.0-only
#include "node/change/delta/prefixes_delta.h"

#include <errno.h>
#include <string.h>

#include "maps/prefix.h"
#include "maps/tunnel.h"
#include "node/change/assign.h"
#include "node/change/slot.h"
#include "node/change/survey.h"

static bool moves_nodes(const struct delta *delta)
{
	return !delta_is_settled(&delta->tables[BLOB_TABLE_nodes]) ||
	       !delta_is_settled(&delta->tables[BLOB_TABLE_node_addresses]);
}

bool prefixes_delta_moves(const struct delta *delta)
{
	return !delta_is_settled(&delta->tables[BLOB_TABLE_prefixes]) || moves_nodes(delta);
}

/* Whether a delta that moves no prefix changes Services' addresses. */
static bool moves_frontends(const struct delta *delta)
{
	return !delta_is_settled(&delta->tables[BLOB_TABLE_frontends]) ||
	       !delta_is_settled(&delta->tables[BLOB_TABLE_service_cidrs]);
}

/* Finds the slots of the segments that prefixes have. */
static int find_slots(const struct delta_plan *plan)
{
	const struct policy *outside = &plan->outside;

	for (size_t i = 0; i < outside->n_prefixes; i++) {
		const uint32_t segment = outside->prefixes[i].segment;

		if (slot_find(plan->handle, plan->change, delta_segment(plan->new, segment)->id,
			      &plan->slots[segment]))
			return -EOPNOTSUPP;
	}
	return 0;
}

/* Finds the node's own addresses, which the maps have as prefixes. */
static int find_own(const struct table *prefixes, struct local *local)
{
	local->addresses = calloc(prefixes->n + 1, sizeof(*local->addresses));
	if (!local->addresses)
		return -ENOMEM;
	for (size_t i = 0; i < prefixes->n; i++) {
		const struct bh_prefix_key *key = table_key(prefixes, i);
		const struct bh_prefix *prefix = table_value(prefixes, i);

		if (prefix->flags & BH_PREFIX_NODE)
			memcpy(&local->addresses[local->n_addresses++], &key->addr,
			       sizeof(key->addr));
	}
	return 0;
}

/* Plans the entries of bh_tunnels for nodes that come or go. A delta leaves the tunnels' ports as
 * they are. */
static int plan_nodes(struct delta_plan *plan)
{
	struct change_map *map = &plan->change->maps[MAP_tunnels];
	CLEANUP(table_free) struct table have = {}, want = {};
	int error;

	maps_init_table(MAP_tunnels, &have);
	maps_init_table(MAP_tunnels, &want);
	error = maps_read(plan->handle, MAP_tunnels, &have);
	for (size_t i = 0; !error && i < have.n; i++)
		if (((struct bh_tunnel_key *)table_key(&have, i))->port)
			error = table_add(&want, table_key(&have, i), table_value(&have, i));
	if (!error)
		error = survey_nodes(&plan->outside, &want);
	if (!error)
		error = table_without(&want, &have, &map->put);
	if (!error)
		error = table_without(&have, &want, &map->gone);
	change_want(plan->change, MAP_tunnels, have.n + map->put.n);
	return error;
}

int prefixes_delta_plan(struct delta_plan *plan)
{
	CLEANUP(image_free) struct image have = {};
	CLEANUP(local_free) struct local local = {};
	const struct layout layout = {
		.policy = &plan->outside, .ids = plan->handle->blob.ids, .slots = plan->slots};
	int error;

	if (!prefixes_delta_moves(plan->delta) && !moves_frontends(plan->delta))
		return 0;
	image_init(&have);
	strcpy(local.name, plan->handle->blob.node);
	error = maps_read(plan->handle, MAP_prefixes, &have.map[MAP_prefixes]);
	if (!error)
		error = find_own(&have.map[MAP_prefixes], &local);
	if (!error)
		error = find_slots(plan);
	if (!error && moves_nodes(plan->delta))
		error = plan_nodes(plan);
	return error ? error
		     : assign_make_prefixes(plan->handle, &have, &layout, &local, plan->change);
}
