// SPDX-License-Identifier: GPL-2.0-only
#include "node/change/own_endpoints.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "maps/allow_source.h"
#include "maps/link_local.h"
#include "maps/mac.h"
#include "node/change/interfaces.h"
#include "node/change/endpoint_del.h"
#include "node/change/local_entries.h"
#include "node/change/single.h"
#include "node/kernel/rtnl.h"

static bool is_local(enum node_map_id map)
{
	return node_map_kinds[map] == MAP_KIND_LOCAL;
}

void own_endpoints_init(struct own_endpoints *own, struct node_handle *handle,
			struct change *change)
{
	*own = (struct own_endpoints){.handle = handle, .change = change};
	image_init(&own->have);
	maps_init_table(MAP_ifaces, &own->free);
	table_init(&own->deleted, sizeof(uint32_t), 0);
	maps_init_table(MAP_ifaces, &own->came);
	table_init(&own->known_before, sizeof(uint32_t), 0);
}

void own_endpoints_free(struct own_endpoints *own)
{
	image_free(&own->have);
	table_free(&own->free);
	table_free(&own->deleted);
	table_free(&own->came);
	table_free(&own->known_before);
}

static bool is_endpoints(const struct bh_iface *iface)
{
	return iface->flags & BH_IFACE_ENDPOINT && !endpoint_del_is_sealed(iface);
}

/* Reads the maps about interfaces. Their size follows the number of endpoints on this node. */
static int read_interfaces(struct own_endpoints *own)
{
	const struct table *ifaces = &own->have.map[MAP_ifaces];
	int error = 0;

	if (own->known)
		return 0;
	for (int i = 0; !error && i < N_NODE_MAPS; i++)
		if (is_local(i))
			error = maps_read(own->handle, i, &own->have.map[i]);
	for (size_t i = 0; !error && i < ifaces->n; i++)
		if (!is_endpoints(table_value(ifaces, i)))
			error = table_add(&own->free, table_key(ifaces, i), table_value(ifaces, i));
	own->known = !error;
	return error ? node_fail(own->handle, error, "cannot read the interfaces of %s",
				 own->handle->pin)
		     : 0;
}

static bool has_key(const struct table *table, const void *key)
{
	for (size_t i = 0; i < table->n; i++)
		if (!memcmp(table_key(table, i), key, table->key_size))
			return true;
	return false;
}

/* The interface stays guarded until it is gone. If the options do not ask for that (`seal`) and the
 * interface exists, only a whole load can decide: it refuses to leave the interface unguarded
 * without `force`. */
int own_endpoints_delete(struct own_endpoints *own, uint32_t ifindex)
{
	char name[IF_NAMESIZE];
	int error;

	if (has_key(&own->deleted, &ifindex))
		return 0;
	if (!own->handle->options->quarantine && if_indextoname(ifindex, name))
		return COMPARE_ALL;
	error = read_interfaces(own);
	if (!error && !table_find(&own->have.map[MAP_ifaces], &ifindex))
		return COMPARE_ALL;
	if (!error)
		error = endpoint_del_interface(own->handle, ifindex, true, own->change);
	return error ? error : table_add(&own->deleted, &ifindex, NULL);
}

/* Plans one entry. An entry that goes with one endpoint must not be wanted by another endpoint. */
static int plan_added_entry(struct own_endpoints *own, enum node_map_id map, const void *key,
			    void *value)
{
	struct change *change = own->change;
	const void *old = table_find(&own->have.map[map], key);

	if (has_key(&change->maps[map].deleted, key) || has_key(&change->maps[map].late, key))
		return COMPARE_ALL;
	if (has_key(&change->maps[map].put, key))
		return map == MAP_ifaces ? COMPARE_ALL : 0;
	return interfaces_plan_entry(change, map, key, old, value);
}

static int plan_added_entries(struct own_endpoints *own, enum node_map_id map,
			      const struct table *want)
{
	int error = 0;

	for (size_t i = 0; !error && i < want->n; i++)
		error = plan_added_entry(own, map, table_key(want, i), table_value(want, i));
	own->change->commits_again |= own->change->maps[map].late.n > 0;
	return error;
}

/* Returns true if the entry is about this interface and no other. */
static bool is_about(enum node_map_id map, const void *key, const void *value, uint32_t ifindex)
{
	switch (map) {
	case MAP_macs:
		return ((const struct bh_mac_key *)key)->kind == BH_MAC_ENDPOINT &&
		       ((const struct bh_mac *)value)->ifindex == ifindex;
	case MAP_allow_source:
		return ntohl(((const struct bh_allow_source_key *)key)->ifindex) == ifindex;
	case MAP_link_locals:
		return ((const struct bh_link_local_key *)key)->link == ifindex;
	default:
		return false;
	}
}

/* Deletes the entries that the endpoint had before, and that the policy does not want. None of them
 * may be wanted by another endpoint. */
static int delete_rest(struct own_endpoints *own, enum node_map_id map, uint32_t ifindex,
		       const struct table *want)
{
	const struct table *have = &own->have.map[map];
	struct change_map *to = &own->change->maps[map];
	int error = 0;

	for (size_t i = 0; !error && i < have->n; i++) {
		const void *key = table_key(have, i), *value = table_value(have, i);

		if (!is_about(map, key, value, ifindex) || table_find(want, key))
			continue;
		error = has_key(&to->late, key) ? COMPARE_ALL : table_add(&to->deleted, key, value);
	}
	return error;
}

static int plan_added_local(struct own_endpoints *own, uint32_t ifindex, const struct local *local)
{
	int error = 0;

	for (int i = 0; !error && i < N_NODE_MAPS; i++) {
		const struct table *want = is_local(i) ? local_table(local, i) : NULL;

		if (want)
			error = plan_added_entries(own, i, want);
		if (want && !error)
			error = delete_rest(own, i, ifindex, want);
	}
	return error;
}

/* Returns true if a whole load would find the interface free for the endpoint, or already the
 * endpoint's. */
static bool is_free(const struct own_endpoints *own, uint32_t ifindex, uint32_t before)
{
	const struct bh_iface *old = table_find(&own->have.map[MAP_ifaces], &ifindex);

	if (has_key(&own->deleted, &ifindex) || has_key(&own->came, &ifindex))
		return false;
	return before ? old && ifindex == before : !old || !is_endpoints(old);
}

int own_endpoints_add(struct own_endpoints *own, const struct endpoint *endpoint,
		      struct own_before before, struct bh_endpoint *want)
{
	CLEANUP(local_free) struct local local = {};
	const struct bh_iface *old, *iface;
	uint32_t ifindex;
	int error = read_interfaces(own);

	if (!error)
		error = single_local(own->handle, endpoint, endpoint->audit, &own->free, &local);
	if (error)
		return error;
	memcpy(want->mac, endpoint->mac, sizeof(want->mac));
	ifindex = local.ifindexes[0];
	if (!ifindex)
		return before.ifindex ? COMPARE_ALL : 0;
	if (!is_free(own, ifindex, before.ifindex))
		return COMPARE_ALL;
	old = table_find(&own->have.map[MAP_ifaces], &ifindex);
	iface = table_find(&local.ifaces, &ifindex);
	want->ifindex = ifindex;
	memcpy(want->mac, iface->mac, sizeof(want->mac));
	error = table_add(&own->came, &ifindex, iface);
	if (!error && before.known && before.ifindex)
		error = table_add(&own->known_before, &ifindex, NULL);
	if (!error && !old)
		error = table_add(&own->change->attach, &ifindex, &iface->flags);
	return error ? error : plan_added_local(own, ifindex, &local);
}

/* Calls @visit for the entry of each interface that has an endpoint once the delta is active, until
 * @visit returns true. Skips the interface @but. */
static bool any_then(const struct own_endpoints *own,
		     bool (*visit)(const struct own_endpoints *own, const struct bh_iface *iface,
				   const void *what),
		     const void *what, uint32_t but)
{
	const struct table *tables[] = {&own->have.map[MAP_ifaces], &own->came};

	for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
		for (size_t i = 0; i < tables[t]->n; i++) {
			const uint32_t *ifindex = table_key(tables[t], i);
			const struct bh_iface *iface = table_value(tables[t], i);

			if (*ifindex != but && is_endpoints(iface) &&
			    !has_key(&own->deleted, ifindex) && visit(own, iface, what))
				return true;
		}
	return false;
}

static bool is_neighbour(const struct own_endpoints *own, const struct bh_iface *iface,
			 const void *what)
{
	const struct bh_iface *other = what;

	(void)own;
	return iface->bridge == other->bridge && iface->via == other->via;
}

/* Returns true if the interface has no bridge and no other way to it, or another endpoint that was
 * there before and stays has the same. Otherwise the entries of the bridge and of the bridge's
 * other ports change, unless the endpoint itself was there before and stays. */
static bool has_neighbour(const struct own_endpoints *own, const struct bh_iface *iface,
			  uint32_t ifindex)
{
	struct own_endpoints before = *own;

	before.came.n = 0;
	return (!iface->bridge && !iface->via) || any_then(&before, is_neighbour, iface, ifindex);
}

/* Returns true if the node uses the MAC on the way to the endpoint of @iface. */
static bool has_mac(const struct own_endpoints *own, const struct bh_iface *iface, const void *what)
{
	struct link link;

	return !memcmp(iface->node_mac, what, sizeof(iface->node_mac)) ||
	       (iface->via && !rtnl_link(own->handle->rtnl, NULL, iface->via, &link) &&
		!memcmp(link.mac, what, sizeof(link.mac)));
}

static int forget_node_mac(struct own_endpoints *own, const struct bh_iface *iface,
			   uint32_t ifindex)
{
	struct table *deleted = &own->change->maps[MAP_macs].deleted;
	struct bh_mac_key key = {.kind = BH_MAC_NODE};
	const struct bh_mac *there;

	memcpy(key.mac, iface->node_mac, sizeof(key.mac));
	there = table_find(&own->have.map[MAP_macs], &key);
	if (!there || has_key(deleted, &key) || any_then(own, has_mac, iface->node_mac, ifindex))
		return 0;
	return table_add(deleted, &key, there);
}

/* Forgets the link-local addresses on a bridge that the node has no more: the port that leaves the
 * bridge may have had one. */
static int forget_link_locals(struct own_endpoints *own, const struct bh_iface *iface)
{
	const struct table *have = &own->have.map[MAP_link_locals];
	struct table *deleted = &own->change->maps[MAP_link_locals].deleted;
	SCOPED_FREE struct link_local *there = NULL;
	size_t n = 0;
	int error = iface->bridge ? rtnl_link_locals(own->handle->rtnl, &there, &n) : 0;

	for (size_t i = 0; !error && iface->bridge && i < have->n; i++) {
		const struct bh_link_local_key *key = table_key(have, i);
		bool stays = key->link != iface->bridge || has_key(deleted, key);

		for (size_t j = 0; !stays && j < n; j++)
			stays = !memcmp(&there[j].address, &key->addr, sizeof(key->addr));
		error = stays ? 0 : table_add(deleted, key, table_value(have, i));
	}
	return error;
}

/* Returns true if an endpoint that comes or changes leaves the entries of its bridge, of the
 * bridge's other ports, and of the node's own MACs as they are. */
static bool keeps_bridge(const struct own_endpoints *own, uint32_t ifindex,
			 const struct bh_iface *iface)
{
	const struct bh_iface *old = table_find(&own->have.map[MAP_ifaces], &ifindex);

	if (!has_key(&own->known_before, &ifindex))
		return has_neighbour(own, iface, ifindex);
	return old->bridge == iface->bridge && old->via == iface->via &&
	       !memcmp(old->node_mac, iface->node_mac, sizeof(old->node_mac));
}

int own_endpoints_finish(struct own_endpoints *own)
{
	int error = 0;

	for (size_t i = 0; i < own->came.n; i++)
		if (!keeps_bridge(own, *(uint32_t *)table_key(&own->came, i),
				  table_value(&own->came, i)))
			return COMPARE_ALL;
	for (size_t i = 0; !error && i < own->deleted.n; i++) {
		const uint32_t *ifindex = table_key(&own->deleted, i);
		const struct bh_iface *iface = table_find(&own->have.map[MAP_ifaces], ifindex);

		if (!has_neighbour(own, iface, *ifindex))
			return COMPARE_ALL;
		error = forget_node_mac(own, iface, *ifindex);
		if (!error)
			error = forget_link_locals(own, iface);
	}
	for (int i = 0; i < N_NODE_MAPS; i++)
		if (is_local(i))
			change_want(own->change, i,
				    own->have.map[i].n + own->change->maps[i].put.n);
	return error;
}
