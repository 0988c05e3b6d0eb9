// SPDX-License-Identifier: GPL-2.0-only
#include "node/change/own_endpoints.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>

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
	image_init(&own->want);
	maps_init_table(MAP_ifaces, &own->free);
	table_init(&own->left, sizeof(uint32_t), 0);
}

void own_endpoints_free(struct own_endpoints *own)
{
	image_free(&own->have);
	image_free(&own->want);
	table_free(&own->free);
	table_free(&own->left);
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

int own_endpoints_leave(struct own_endpoints *own, uint32_t ifindex)
{
	return !ifindex || table_seek(&own->left, &ifindex) ? 0
							    : table_add(&own->left, &ifindex, NULL);
}

/* Returns true if a whole load would find the interface free for an endpoint. */
static bool is_free(const struct own_endpoints *own, uint32_t ifindex)
{
	const struct bh_iface *old = table_find(&own->have.map[MAP_ifaces], &ifindex);

	return !table_seek(&own->want.map[MAP_ifaces], &ifindex) &&
	       (!old || !is_endpoints(old) || table_seek(&own->left, &ifindex));
}

/* Adds the entries that an endpoint has. Endpoints of one bridge share some. */
static int add_entries(struct table *want, const struct table *entries)
{
	int error = 0;

	for (size_t i = 0; !error && i < entries->n; i++) {
		const void *key = table_key(entries, i), *value = table_value(entries, i);
		const void *other = table_seek(want, key);

		if (!other)
			error = table_add(want, key, value);
		else if (memcmp(other, value, want->value_size))
			error = COMPARE_ALL;
	}
	return error;
}

int own_endpoints_add(struct own_endpoints *own, const struct endpoint *endpoint,
		      struct bh_endpoint *want)
{
	CLEANUP(local_free) struct local local = {};
	const struct bh_iface *iface;
	uint32_t ifindex;
	int error = read_interfaces(own);

	if (!error)
		error = single_local(own->handle, endpoint, endpoint->audit, &own->free, &local);
	if (error)
		return error;
	memcpy(want->mac, endpoint->mac, sizeof(want->mac));
	ifindex = local.ifindexes[0];
	if (!ifindex)
		return 0;
	if (!is_free(own, ifindex))
		return COMPARE_ALL;
	iface = table_find(&local.ifaces, &ifindex);
	want->ifindex = ifindex;
	memcpy(want->mac, iface->mac, sizeof(want->mac));
	if (!table_find(&own->have.map[MAP_ifaces], &ifindex))
		error = table_add(&own->change->attach, &ifindex, &iface->flags);
	for (int i = 0; !error && i < N_NODE_MAPS; i++)
		if (is_local(i))
			error = add_entries(&own->want.map[i], local_table(&local, i));
	return error;
}

/* Calls @visit for each interface that has an endpoint now, or once the delta is active (@then),
 * until @visit returns true. */
static bool any_endpoint(const struct own_endpoints *own, bool then,
			 bool (*visit)(const struct own_endpoints *own, uint32_t ifindex,
				       const struct bh_iface *iface, const void *what),
			 const void *what)
{
	const struct table *want = &own->want.map[MAP_ifaces], *have = &own->have.map[MAP_ifaces];

	for (size_t i = 0; i < have->n; i++) {
		const uint32_t *ifindex = table_key(have, i);
		const struct bh_iface *iface = table_value(have, i);

		if (is_endpoints(iface) &&
		    !(then && (table_find(want, ifindex) || table_seek(&own->left, ifindex))) &&
		    visit(own, *ifindex, iface, what))
			return true;
	}
	for (size_t i = 0; then && i < want->n; i++)
		if (visit(own, *(uint32_t *)table_key(want, i), table_value(want, i), what))
			return true;
	return false;
}

static bool is_beside(const struct own_endpoints *own, uint32_t ifindex,
		      const struct bh_iface *iface, const void *what)
{
	const struct bh_iface *other = what;

	(void)own;
	(void)ifindex;
	return iface->bridge == other->bridge && iface->via == other->via;
}

/* Returns true if the interface has no bridge and no other way to it, or endpoints have the same
 * both now and then. Otherwise the entries of the bridge and of the bridge's other ports change. */
static bool keeps_bridge(const struct own_endpoints *own, const struct bh_iface *iface)
{
	return (!iface->bridge && !iface->via) || any_endpoint(own, false, is_beside, iface) ==
							  any_endpoint(own, true, is_beside, iface);
}

/* Returns true if the node uses the MAC on the way to the endpoint of @iface. */
static bool has_mac(const struct own_endpoints *own, uint32_t ifindex, const struct bh_iface *iface,
		    const void *what)
{
	struct link link;

	(void)ifindex;
	return !memcmp(iface->node_mac, what, sizeof(iface->node_mac)) ||
	       (iface->via && !rtnl_link(own->handle->rtnl, NULL, iface->via, &link) &&
		!memcmp(link.mac, what, sizeof(link.mac)));
}

static int forget_node_mac(struct own_endpoints *own, const struct bh_iface *iface)
{
	struct table *deleted = &own->change->maps[MAP_macs].deleted;
	struct bh_mac_key key = {.kind = BH_MAC_NODE};
	const struct bh_mac *there;

	memcpy(key.mac, iface->node_mac, sizeof(key.mac));
	there = table_find(&own->have.map[MAP_macs], &key);
	if (!there || table_seek(deleted, &key) || any_endpoint(own, true, has_mac, key.mac))
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
		bool stays = key->link != iface->bridge || table_seek(deleted, key);

		for (size_t j = 0; !stays && j < n; j++)
			stays = !memcmp(&there[j].address, &key->addr, sizeof(key->addr));
		error = stays ? 0 : table_add(deleted, key, table_value(have, i));
	}
	return error;
}

/* The interfaces of the added endpoints, and one of the maps about interfaces. */
struct own_map {
	const struct own_endpoints *own;
	enum node_map_id map;
};

/* Returns true if an entry is about an added endpoint's interface. */
static bool is_about_added(const void *what, const void *key, const void *value)
{
	const struct own_map *map = what;
	const struct table *ifaces = &map->own->want.map[MAP_ifaces];

	for (size_t i = 0; i < ifaces->n; i++)
		if (endpoint_del_is_about(map->map, key, value, *(uint32_t *)table_key(ifaces, i)))
			return true;
	return false;
}

static int plan_added(struct own_endpoints *own)
{
	int error = 0;

	for (int i = 0; i < N_NODE_MAPS; i++)
		table_sort(&own->want.map[i]);
	for (int i = 0; !error && i < N_NODE_MAPS; i++) {
		const struct own_map what = {own, i};

		if (is_local(i))
			error = interfaces_plan_map(own->change, i, &own->have.map[i],
						    &own->want.map[i], is_about_added, &what);
	}
	return error;
}

/* The interface stays guarded until it is gone. If the options do not ask for that (`seal`) and the
 * interface exists, only a whole load can decide: it refuses to leave the interface unguarded
 * without `force`. */
static int plan_left(struct own_endpoints *own, uint32_t ifindex, const struct bh_iface *iface)
{
	char name[IF_NAMESIZE];
	int error;

	if (!iface || (!own->handle->options->quarantine && if_indextoname(ifindex, name)))
		return COMPARE_ALL;
	error = endpoint_del_interface(own->handle, ifindex, true, own->change);
	return error ? error : forget_node_mac(own, iface);
}

static int plan_all_left(struct own_endpoints *own)
{
	int error = 0;

	for (size_t i = 0; !error && i < own->left.n; i++) {
		const uint32_t *ifindex = table_key(&own->left, i);
		const struct bh_iface *iface = table_find(&own->have.map[MAP_ifaces], ifindex);
		const bool added = table_find(&own->want.map[MAP_ifaces], ifindex);

		if (iface && !keeps_bridge(own, iface))
			return COMPARE_ALL;
		if (!added)
			error = plan_left(own, *ifindex, iface);
		else if (iface)
			error = forget_node_mac(own, iface);
		if (!error && iface)
			error = forget_link_locals(own, iface);
	}
	return error;
}

int own_endpoints_finish(struct own_endpoints *own)
{
	const struct table *added = &own->want.map[MAP_ifaces];
	int error = own->left.n ? read_interfaces(own) : 0;

	if (!error)
		error = plan_added(own);
	for (size_t i = 0; !error && i < added->n; i++)
		if (!keeps_bridge(own, table_value(added, i)))
			error = COMPARE_ALL;
	return error ? error : plan_all_left(own);
}
