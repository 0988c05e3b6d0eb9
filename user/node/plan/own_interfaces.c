// SPDX-License-Identifier: GPL-2.0-only
#include "node/plan/own_interfaces.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "maps/link_local.h"
#include "maps/mac.h"
#include "node/kernel/rtnl.h"
#include "node/local/iface_entry.h"
#include "node/local/local_entries.h"
#include "node/plan/guard_rail.h"
#include "node/plan/planner_parts.h"

static bool is_local(enum node_map_id map)
{
	return node_map_kinds[map] == MAP_KIND_LOCAL;
}

void own_interfaces_init(struct own_interfaces *own, struct node_handle *handle,
			 struct change *change)
{
	*own = (struct own_interfaces){
		.handle = handle,
		.change = change,
		.closed = handle->options->quarantine && !handle->options->force,
	};
	image_init(&own->have);
	image_init(&own->want);
	maps_init_table(MAP_ifaces, &own->free);
	table_init(&own->left, sizeof(uint32_t), sizeof(bool));
	table_init(&own->added, sizeof(uint32_t), 0);
}

void own_interfaces_free(struct own_interfaces *own)
{
	image_free(&own->have);
	image_free(&own->want);
	table_free(&own->free);
	table_free(&own->left);
	table_free(&own->added);
	free(own->link_locals);
}

/* Reads the maps about interfaces. Their size follows the number of endpoints on this node. */
static int read_interfaces(struct own_interfaces *own)
{
	const struct table *ifaces = &own->have.map[MAP_ifaces];
	int error = 0;

	if (own->known)
		return 0;
	for (int i = 0; !error && i < N_NODE_MAPS; i++)
		if (is_local(i))
			error = maps_read(own->handle, i, &own->have.map[i]);
	for (size_t i = 0; !error && i < ifaces->n; i++)
		if (!iface_entry_has_endpoint(table_value(ifaces, i)))
			error = table_add(&own->free, table_key(ifaces, i), table_value(ifaces, i));
	own->known = !error;
	return error ? node_fail(own->handle, error, "cannot read the interfaces of %s",
				 own->handle->pin)
		     : 0;
}

int own_interfaces_leave(struct own_interfaces *own, uint32_t ifindex)
{
	return !ifindex || table_seek(&own->left, &ifindex)
		       ? 0
		       : table_add(&own->left, &ifindex, &own->closed);
}

/* Returns true if a whole load would find the interface free for an endpoint. */
static bool is_free(const struct own_interfaces *own, uint32_t ifindex)
{
	const struct bh_iface *old = table_find(&own->have.map[MAP_ifaces], &ifindex);

	return !table_seek(&own->added, &ifindex) &&
	       (!old || !iface_entry_has_endpoint(old) || table_seek(&own->left, &ifindex));
}

static bool is_node_mac(enum node_map_id map, const void *key)
{
	return map == MAP_macs && ((const struct bh_mac_key *)key)->kind == BH_MAC_NODE;
}

/* Returns the addresses that each MAC of the node stands for; NULL: the node has no MAC yet. */
static const struct bh_mac *node_addresses(const struct own_interfaces *own)
{
	const struct table *macs[] = {&own->have.map[MAP_macs], &own->want.map[MAP_macs]};

	for (size_t at = 0; at < ARRAY_SIZE(macs); at++)
		for (size_t i = 0; i < macs[at]->n; i++)
			if (is_node_mac(MAP_macs, table_key(macs[at], i)))
				return table_value(macs[at], i);
	return NULL;
}

/* Adds entries that endpoints have. Endpoints of one bridge share some. */
static int add_entries(struct own_interfaces *own, enum node_map_id map,
		       const struct table *entries)
{
	struct table *want = &own->want.map[map];
	const struct bh_mac *node = node_addresses(own);
	int error = 0;

	for (size_t i = 0; !error && i < entries->n; i++) {
		const void *key = table_key(entries, i), *other = table_seek(want, key);
		const void *value = node && is_node_mac(map, key) ? node : table_value(entries, i);

		if (!other)
			error = table_add(want, key, value);
		else if (memcmp(other, value, want->value_size))
			error = COMPARE_ALL;
	}
	return error;
}

/* Returns true if another endpoint, which stays, has one of these MACs (of bh_macs). */
static bool have_mac(const struct own_interfaces *own, const struct table *macs)
{
	for (size_t i = 0; i < macs->n; i++) {
		const void *key = table_key(macs, i);
		const struct bh_mac *there = table_find(&own->have.map[MAP_macs], key);

		if (there && !is_node_mac(MAP_macs, key) && !is_free(own, there->ifindex))
			return true;
	}
	return false;
}

int own_interfaces_take(struct own_interfaces *own, const struct local *local,
			struct bh_endpoint *want)
{
	const uint32_t ifindex = local->ifindexes[0];
	const struct bh_iface *iface;
	int error = ifindex ? read_interfaces(own) : 0;

	if (error || !ifindex)
		return error;
	if (!is_free(own, ifindex) || have_mac(own, &local->macs))
		return COMPARE_ALL;
	iface = table_find(&local->ifaces, &ifindex);
	want->ifindex = ifindex;
	memcpy(want->mac, iface->mac, sizeof(want->mac));
	error = table_add(&own->added, &ifindex, NULL);
	for (int i = 0; !error && i < N_NODE_MAPS; i++)
		if (is_local(i))
			error = add_entries(own, i, local_table(local, i));
	return error;
}

int own_interfaces_add(struct own_interfaces *own, const struct endpoint *endpoint,
		       struct bh_endpoint *want)
{
	CLEANUP(local_free) struct local local = {};
	int error = read_interfaces(own);

	if (!error)
		error = local_read_one(own->handle, endpoint, &own->free, &local);
	if (error)
		return error;
	memcpy(want->mac, endpoint->mac, sizeof(want->mac));
	return own_interfaces_take(own, &local, want);
}

/* Makes the MAC of an endpoint stand for the endpoint's other addresses. */
static int readdress_mac(struct own_interfaces *own, uint32_t ifindex, const struct bh_iface *iface)
{
	struct bh_mac_key key = {.kind = BH_MAC_ENDPOINT};
	const struct bh_mac *there;
	struct bh_mac value;

	memcpy(key.mac, iface->mac, sizeof(key.mac));
	there = iface->flags & BH_IFACE_MAC ? table_find(&own->have.map[MAP_macs], &key) : NULL;
	if (!there || there->ifindex != ifindex)
		return 0;
	value = *there;
	value.ipv4 = iface->ipv4;
	value.ipv6 = iface->ipv6;
	return table_add(&own->want.map[MAP_macs], &key, &value);
}

int own_interfaces_readdress(struct own_interfaces *own, uint32_t ifindex,
			     const struct endpoint *endpoint)
{
	int error = ifindex ? read_interfaces(own) : 0;
	const struct bh_iface *there;
	struct bh_iface iface;

	if (error || !ifindex)
		return error;
	there = table_find(&own->have.map[MAP_ifaces], &ifindex);
	if (!there)
		return node_fail(own->handle, -ENOENT, "%s/ifaces: interface %u", own->handle->pin,
				 ifindex);
	iface = *there;
	iface_entry_set_addresses(&iface, endpoint);
	error = table_add(&own->want.map[MAP_ifaces], &ifindex, &iface);
	return error ? error : readdress_mac(own, ifindex, &iface);
}

/* Calls @visit for each interface that has an endpoint now, or once the delta is active (@then),
 * until @visit returns true. */
static bool any_endpoint(const struct own_interfaces *own, bool then,
			 bool (*visit)(const struct own_interfaces *own, uint32_t ifindex,
				       const struct bh_iface *iface, const void *what),
			 const void *what)
{
	const struct table *want = &own->want.map[MAP_ifaces], *have = &own->have.map[MAP_ifaces];

	for (size_t i = 0; i < have->n; i++) {
		const uint32_t *ifindex = table_key(have, i);
		const struct bh_iface *iface = table_value(have, i);

		if (iface_entry_has_endpoint(iface) &&
		    !(then && (table_find(want, ifindex) || table_seek(&own->left, ifindex))) &&
		    visit(own, *ifindex, iface, what))
			return true;
	}
	for (size_t i = 0; then && i < want->n; i++)
		if (iface_entry_has_endpoint(table_value(want, i)) &&
		    visit(own, *(uint32_t *)table_key(want, i), table_value(want, i), what))
			return true;
	return false;
}

static bool is_beside(const struct own_interfaces *own, uint32_t ifindex,
		      const struct bh_iface *iface, const void *what)
{
	(void)own;
	(void)ifindex;
	return local_is_beside(iface, what);
}

/* Returns true if the interface has no bridge and no other way to it, or endpoints have the same
 * both now and then. Otherwise the entries of the bridge and of the bridge's other ports change. */
static bool keeps_bridge(const struct own_interfaces *own, const struct bh_iface *iface)
{
	return (!iface->bridge && !iface->via) || any_endpoint(own, false, is_beside, iface) ==
							  any_endpoint(own, true, is_beside, iface);
}

/* A MAC of the node, and the last interface that led to an endpoint. */
struct own_mac {
	const void *mac;
	struct link *via;
};

/* Returns true if the node uses the MAC on the way to the endpoint of @iface. The way that
 * endpoints of one bridge share is looked up once. */
static bool has_mac(const struct own_interfaces *own, uint32_t ifindex,
		    const struct bh_iface *iface, const void *what)
{
	const struct own_mac *on_way = what;
	struct link *via = on_way->via;

	(void)ifindex;
	if (!memcmp(iface->node_mac, on_way->mac, sizeof(iface->node_mac)))
		return true;
	if (!iface->via)
		return false;
	if (via->ifindex != iface->via && rtnl_link(own->handle->rtnl, NULL, iface->via, via))
		via->ifindex = 0;
	return via->ifindex && !memcmp(via->mac, on_way->mac, sizeof(via->mac));
}

static bool any_has_mac(const struct own_interfaces *own, const struct bh_mac_key *key)
{
	struct link via = {};
	const struct own_mac on_way = {key->mac, &via};

	return any_endpoint(own, true, has_mac, &on_way);
}

/* A link-local address of the node, and a bridge. */
struct own_link {
	uint32_t bridge;
	const struct link_local *address;
};

/* Returns true if the address is one of the link that an endpoint's interface is a port of. */
static bool is_on_link(const struct own_interfaces *own, uint32_t ifindex,
		       const struct bh_iface *iface, const void *what)
{
	const struct own_link *link = what;

	(void)own;
	return iface->bridge == link->bridge &&
	       (link->address->ifindex == ifindex || link->address->ifindex == link->bridge ||
		link->address->ifindex == iface->via);
}

/* Returns true if a link-local address is the node's on the way to an endpoint, once the delta is
 * active. */
static bool has_link_local(const struct own_interfaces *own, const struct bh_link_local_key *key)
{
	for (size_t i = 0; i < own->n_link_locals; i++) {
		const struct own_link link = {key->link, &own->link_locals[i]};

		if (!memcmp(&link.address->address, &key->addr, sizeof(key->addr)) &&
		    any_endpoint(own, true, is_on_link, &link))
			return true;
	}
	return false;
}

/* Returns true if a MAC or link-local address of the node was on the way to an endpoint that leaves
 * its interface. */
static bool was_on_way(const struct own_interfaces *own, enum node_map_id map, const void *key)
{
	const struct bh_mac_key *mac = key;
	const struct bh_link_local_key *address = key;

	for (size_t i = 0; i < own->left.n; i++) {
		const struct bh_iface *iface =
			table_find(&own->have.map[MAP_ifaces], table_key(&own->left, i));

		if (iface && (map == MAP_macs ? !memcmp(iface->node_mac, mac->mac, sizeof(mac->mac))
					      : iface->bridge && iface->bridge == address->link))
			return true;
	}
	return false;
}

/* Adds the interfaces that endpoints and uplinks will have. */
static int list_interfaces(const struct own_interfaces *own, struct table *ifaces)
{
	const struct table *have = &own->have.map[MAP_ifaces], *want = &own->want.map[MAP_ifaces];
	int error = 0;

	for (size_t i = 0; !error && i < want->n; i++)
		error = table_add(ifaces, table_key(want, i), table_value(want, i));
	for (size_t i = 0; !error && i < have->n; i++) {
		const uint32_t *ifindex = table_key(have, i);

		if (!table_seek(&own->added, ifindex) && !table_seek(&own->left, ifindex))
			error = table_add(ifaces, ifindex, table_value(have, i));
	}
	return error;
}

static void swap(struct table *a, struct table *b)
{
	const struct table was = *a;

	*a = *b;
	*b = was;
}

/* Finds as a whole load does what is beside the endpoints' own interfaces: the other interfaces,
 * and the node's MACs and link-local addresses. Refuses, as a whole load does, to leave an
 * interface unguarded. */
static int find_others(struct own_interfaces *own)
{
	CLEANUP(local_free) struct local local = {};
	CLEANUP(table_free) struct table ifaces;
	int error;

	maps_init_table(MAP_ifaces, &ifaces);
	own->others = true;
	error = list_interfaces(own, &ifaces);
	if (!error)
		error = local_read_others(own->handle, &ifaces, &local);
	if (!error)
		error = guard_rail_check_guard(own->handle, &own->have.map[MAP_ifaces], &local);
	if (!error)
		error = add_entries(own, MAP_macs, &local.macs);
	if (error)
		return error;
	local_warn(own->handle, &local);
	swap(&own->want.map[MAP_ifaces], &local.ifaces);
	swap(&own->want.map[MAP_link_locals], &local.link_locals);
	return 0;
}

/* Interfaces, and one of the maps about them. */
struct own_map {
	const struct own_interfaces *own;
	enum node_map_id map;
};

static bool is_about_any(const struct table *ifindexes, enum node_map_id map, const void *key,
			 const void *value)
{
	for (size_t i = 0; i < ifindexes->n; i++)
		if (iface_entry_is_about(map, key, value, *(uint32_t *)table_key(ifindexes, i)))
			return true;
	return false;
}

/* Returns true if an entry may differ: an entry about an interface that an endpoint leaves or gets,
 * and with `others` any entry about interfaces beside the endpoints'. */
static bool is_concerned(const void *what, const void *key, const void *value)
{
	const struct own_map *map = what;
	const struct own_interfaces *own = map->own;

	if (is_about_any(&own->added, map->map, key, value) ||
	    is_about_any(&own->left, map->map, key, value))
		return true;
	if (map->map == MAP_ifaces)
		return own->others || table_seek(&own->left, key);
	if (map->map != MAP_link_locals && !is_node_mac(map->map, key))
		return false;
	return own->others ||
	       (was_on_way(own, map->map, key) &&
		!(map->map == MAP_macs ? any_has_mac(own, key) : has_link_local(own, key)));
}

/* Returns true if the interface is another port of an added endpoint's bridge, or the other way to
 * that endpoint. */
static bool is_beside_added(const struct own_interfaces *own, uint32_t ifindex,
			    const struct bh_iface *iface)
{
	for (size_t i = 0; i < own->added.n; i++) {
		const struct bh_iface *added =
			table_find(&own->want.map[MAP_ifaces], table_key(&own->added, i));

		if (ifindex == added->via || ifindex == added->bridge ||
		    (iface->bridge && iface->bridge == added->bridge))
			return true;
	}
	return false;
}

/* Makes interfaces carry programs: new ones, and those of a bridge that gets its first endpoint. A
 * killed command may have written the entry alone. */
static int attach_new(struct own_interfaces *own)
{
	const struct table *want = &own->want.map[MAP_ifaces];
	int error = 0;

	for (size_t i = 0; !error && i < want->n; i++) {
		const uint32_t *ifindex = table_key(want, i);
		const struct bh_iface *iface = table_value(want, i),
				      *there = table_find(&own->have.map[MAP_ifaces], ifindex);

		if (!there || (own->others && change_is_others(iface->flags) &&
			       !memcmp(there, iface, sizeof(*iface)) &&
			       is_beside_added(own, *ifindex, iface)))
			error = change_attach(own->change, ifindex, iface->flags);
	}
	return error;
}

static void sort_wanted(struct own_interfaces *own)
{
	for (int i = 0; i < N_NODE_MAPS; i++)
		table_sort(&own->want.map[i]);
}

static int plan_wanted(struct own_interfaces *own)
{
	const bool again = own->change->commits_again;
	int error = 0;

	for (int i = 0; !error && i < N_NODE_MAPS; i++) {
		const struct own_map what = {own, i};

		if (!is_local(i))
			continue;
		error = interfaces_plan_map(own->change, i, &own->have.map[i], &own->want.map[i],
					    is_concerned, &what);
		/* a command is refused where a map has no room, as for the endpoint's addresses,
		 * of which nobody counts the entries; a load makes room */
		if (own->alone || own->change->early)
			own->change->wanted[i] = 0;
	}
	/* the flows of an endpoint that goes are removed, and those of others stay as they are */
	if (own->alone)
		own->change->commits_again = again;
	return error ? error : attach_new(own);
}

static bool is_there(uint32_t ifindex)
{
	char name[IF_NAMESIZE];

	return if_indextoname(ifindex, name);
}

/* Returns true if interfaces beside the endpoints' may differ: a bridge, or another way to
 * endpoints, gets its first endpoint or loses its last; or an interface gets another role. */
static bool changes_others(const struct own_interfaces *own)
{
	const struct table *have = &own->have.map[MAP_ifaces], *want = &own->want.map[MAP_ifaces];

	for (size_t i = 0; i < want->n; i++)
		if (!keeps_bridge(own, table_value(want, i)))
			return true;
	for (size_t i = 0; i < own->left.n; i++) {
		const uint32_t *ifindex = table_key(&own->left, i);
		const struct bh_iface *iface = table_find(have, ifindex);

		if ((iface && !keeps_bridge(own, iface)) ||
		    (!table_seek(&own->added, ifindex) && !own->closed && is_there(*ifindex)))
			return true;
	}
	return false;
}

/* Finds what stays, until it is gone, of an interface that an endpoint leaves. */
static int find_left(struct own_interfaces *own, const uint32_t *ifindex, bool closed)
{
	const struct bh_iface *iface = table_find(&own->have.map[MAP_ifaces], ifindex);
	struct bh_iface stays;
	int error = 0;

	if (!iface)
		return own->alone || table_seek(&own->added, ifindex) ? 0 : COMPARE_ALL;
	if (iface->bridge && !own->link_locals)
		error = rtnl_link_locals(own->handle->rtnl, &own->link_locals, &own->n_link_locals);
	if (error)
		return node_fail(own->handle, error, "cannot list the node's addresses");
	if (table_seek(&own->added, ifindex) || !is_there(*ifindex))
		return 0;
	if (!(iface->flags & BH_IFACE_ENDPOINT) || iface_entry_is_quarantined(iface))
		stays = *iface;
	else
		stays = closed ? iface_entry_quarantine(iface)
			       : iface_entry_nobodys(own->handle, iface);
	return table_add(&own->want.map[MAP_ifaces], ifindex, &stays);
}

int own_interfaces_finish(struct own_interfaces *own)
{
	int error = own->left.n ? read_interfaces(own) : 0;

	sort_wanted(own);
	if (!error && !own->alone && changes_others(own))
		error = find_others(own);
	for (size_t i = 0; !error && !own->others && i < own->left.n; i++)
		error = find_left(own, table_key(&own->left, i),
				  *(bool *)table_value(&own->left, i));
	sort_wanted(own);
	return error ? error : plan_wanted(own);
}
