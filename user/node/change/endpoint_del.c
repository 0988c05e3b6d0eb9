// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "policy/lazy_policy.h"
#include "maps/added.h"
#include "maps/allow_source.h"
#include "maps/endpoint.h"
#include "maps/link_local.h"
#include "maps/mac.h"
#include "node/change/assignment.h"
#include "node/change/endpoint_del.h"
#include "node/change/endpoint_find.h"
#include "node/change/active_endpoints.h"
#include "node/change/added_record.h"

bool endpoint_del_is_about(enum node_map_id map, const void *entry_key, const void *entry_value,
			   uint32_t ifindex)
{
#define IFACE_MAP(name, key_type, value_type, entry, about) \
	if (map == MAP_##name) {                            \
		const key_type *key = entry_key;            \
		const value_type *value = entry_value;      \
                                                            \
		(void)value;                                \
		return ifindex && (about) == ifindex;       \
	}
#include "maps/maps.def"
	return false;
}

bool endpoint_del_deletes(enum node_map_id map)
{
	static const bool deletes[N_NODE_MAPS] = {
#define IFACE_MAP(name, ...) [MAP_##name] = true,
#include "maps/maps.def"
	};

	return deletes[map];
}

bool endpoint_del_is_sealed(const struct bh_iface *iface)
{
	const struct bh_addr none = {};

	return iface->flags & BH_IFACE_ENDPOINT && !memcmp(&iface->ipv4, &none, sizeof(none)) &&
	       !memcmp(&iface->ipv6, &none, sizeof(none));
}

bool endpoint_del_has_endpoint(const struct bh_iface *iface)
{
	return iface->flags & BH_IFACE_ENDPOINT && !endpoint_del_is_sealed(iface);
}

struct bh_iface endpoint_del_seal(const struct bh_iface *iface)
{
	return (struct bh_iface){
		.flags = BH_IFACE_ENDPOINT | (iface->flags & (BH_IFACE_QDISC | BH_IFACE_L2)),
		.bridge = iface->bridge,
	};
}

static int quarantine(uint32_t ifindex, const struct bh_iface *iface, struct change *change)
{
	const struct bh_iface quarantined = endpoint_del_seal(iface);

	return table_add(&change->quarantine, &ifindex, &quarantined);
}

/* Guards the interface, as long as it exists, as a port of its bridge or as a way out of the
 * node. */
static int become_nobodys(struct node_handle *handle, uint32_t ifindex,
			  const struct bh_iface *iface, struct change *change)
{
	struct change_role turn = {
		.from = *iface,
		.to = {.flags = (iface->bridge ? BH_IFACE_PORT : BH_IFACE_OTHER) |
				(iface->flags & BH_IFACE_QDISC),
		       .bridge = iface->bridge},
	};

	if (iface->bridge && handle->blob.flags & BH_BLOB_AUDIT)
		turn.to.flags |= BH_IFACE_AUDIT;
	return table_add(&change->late_role, &ifindex, &turn);
}

static int go(uint32_t ifindex, const struct bh_iface *iface, struct change *change)
{
	int error = table_add(&change->detach, &ifindex, NULL);

	return error ? error : table_add(&change->maps[MAP_ifaces].deleted, &ifindex, iface);
}

/* An interface whose entries of a map go. */
struct going {
	enum node_map_id map;
	uint32_t ifindex;
};

static bool goes(const void *what, const void *key, const void *value)
{
	const struct going *going = what;

	return endpoint_del_is_about(going->map, key, value, going->ifindex);
}

/* Makes @change delete the entries of a map about an interface. */
static int gather(struct node_handle *handle, enum node_map_id map, uint32_t ifindex,
		  struct change *change)
{
	const struct going going = {map, ifindex};
	CLEANUP(table_free) struct table found = {};
	int error;

	maps_init_table(map, &found);
	error = maps_read_some(handle, map, &found, goes, &going);
	for (size_t i = 0; !error && i < found.n; i++)
		error = table_add(&change->maps[map].deleted, table_key(&found, i),
				  table_value(&found, i));
	return error;
}

static bool is_leaving(const struct change *change, uint32_t ifindex)
{
	return table_seek(&change->detach, &ifindex) || table_seek(&change->late_role, &ifindex) ||
	       table_seek(&change->quarantine, &ifindex);
}

int endpoint_del_interface(struct node_handle *handle, uint32_t ifindex, bool closed,
			   struct change *change)
{
	struct bh_iface iface;
	char name[IF_NAMESIZE];
	bool stays;
	int error;

	if (!ifindex || is_leaving(change, ifindex))
		return 0;
	error = maps_lookup(handle, MAP_ifaces, &ifindex, &iface);
	if (error)
		return error == -ENOENT
			       ? 0
			       : node_fail(handle, error, "cannot read %s/ifaces", handle->pin);
	stays = if_indextoname(ifindex, name);
	if (stays &&
	    (iface.flags & (BH_IFACE_PORT | BH_IFACE_OTHER) || endpoint_del_is_sealed(&iface)))
		return 0;
	for (enum node_map_id map = 0; !error && map < N_NODE_MAPS; map++)
		if (endpoint_del_deletes(map))
			error = gather(handle, map, ifindex, change);
	if (!error)
		error = !stays	 ? go(ifindex, &iface, change)
			: closed ? quarantine(ifindex, &iface, change)
				 : become_nobodys(handle, ifindex, &iface, change);
	return error ? node_fail(handle, error, "cannot take interface %u off", ifindex) : 0;
}

/* Deletes the record of an address that is not active any more. */
static int note_leave(struct node_handle *handle, const struct bh_addr *addr, struct change *change)
{
	struct change_map *map = &change->maps[MAP_added];
	struct bh_added there = {};

	return maps_lookup(handle, MAP_added, addr, &there)
		       ? 0
		       : table_add(&map->deleted, addr, &there);
}

static int forget(struct node_handle *handle, const struct bh_addr *addr, struct change *change)
{
	int error = table_add(&change->forget, addr, NULL);

	return error ? error : note_leave(handle, addr, change);
}

static int failed(struct node_handle *handle, int error)
{
	return node_fail(handle, error, "cannot take an endpoint off");
}

int endpoint_del_address(struct node_handle *handle, const struct bh_addr *addr,
			 const struct bh_endpoint *entry, struct change *change)
{
	/* the address counts as its covering prefix from the next generation on */
	int error = assign_leave(handle, addr, entry, change);

	if (!error)
		error = forget(handle, addr, change);
	if (!error)
		error = table_add(&change->maps[MAP_endpoints].deleted, addr, entry);
	return error ? failed(handle, error) : 0;
}

int endpoint_del_members(struct node_handle *handle, const struct table *members,
			 struct change *change)
{
	int error = 0;

	for (size_t i = 0; i < members->n; i++) {
		const struct bh_endpoint *entry = table_value(members, i);
		const struct bh_addr *addr = table_key(members, i);

		error = endpoint_del_address(handle, addr, entry, change);
		if (!error)
			error = endpoint_del_interface(handle, entry->ifindex,
						       handle->options->quarantine, change);
		if (error)
			return error;
	}
	change->commits |= members->n > 0;
	return 0;
}

int endpoint_del_plan(struct node_handle *handle, const struct bh_added *name,
		      struct change *change)
{
	CLEANUP(table_free) struct table members = {};
	int error = endpoint_find(handle, name, &members);

	if (error)
		return node_fail(handle, error, "cannot look for %s/%s", name->ns, name->name);
	if (!members.n) {
		diag_error(handle->diag, NULL, NULL, "endpoint %s/%s is not active here", name->ns,
			   name->name);
		return -EINVAL;
	}
	return endpoint_del_members(handle, &members, change);
}

/* Finds the endpoint that has the address. Returns true if the address is active at the
 * interface. */
static bool find_owner(struct node_handle *handle, uint32_t ifindex, const struct bh_addr *addr,
		       struct bh_added *owner)
{
	struct bh_endpoint entry;
	struct address address;

	memcpy(&address, addr, sizeof(address));
	return !maps_lookup(handle, MAP_endpoints, &address, &entry) && entry.ifindex == ifindex &&
	       active_owner(handle, &address, owner);
}

/* Removes the endpoint's addresses at this interface. Another sandbox of the same pod may have the
 * same name at another interface. */
static int del_members_at(struct node_handle *handle, uint32_t ifindex, const struct bh_added *name,
			  struct change *change)
{
	CLEANUP(table_free) struct table all = {}, members = {};
	int error = endpoint_find(handle, name, &all);

	maps_init_table(MAP_endpoints, &members);
	for (size_t i = 0; !error && i < all.n; i++) {
		const struct bh_endpoint *entry = table_value(&all, i);

		if (entry->ifindex == ifindex)
			error = table_add(&members, table_key(&all, i), entry);
	}
	return error ? failed(handle, error) : endpoint_del_members(handle, &members, change);
}

int endpoint_del_at(struct node_handle *handle, uint32_t ifindex, const struct bh_iface *iface,
		    struct change *change, struct bh_added *owner)
{
	const struct bh_addr *addrs[] = {&iface->ipv4, &iface->ipv6};
	struct bh_added name;
	int error = 0;

	*owner = (struct bh_added){};
	for (size_t i = 0; !error && i < ARRAY_SIZE(addrs); i++) {
		if (!find_owner(handle, ifindex, addrs[i], &name) ||
		    (*owner->name && record_is_of(&name, owner)))
			continue;
		*owner = name;
		error = del_members_at(handle, ifindex, &name, change);
	}
	return error || *owner->name ? error
				     : endpoint_del_interface(handle, ifindex,
							      handle->options->quarantine, change);
}
