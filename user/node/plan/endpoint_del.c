// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "policy/lazy_policy.h"
#include "maps/added.h"
#include "maps/endpoint.h"
#include "node/plan/active_endpoints.h"
#include "node/plan/added_record.h"
#include "node/plan/assignment.h"
#include "node/plan/endpoint_del.h"
#include "node/plan/endpoint_find.h"
#include "node/plan/own_interfaces.h"

/* Deletes the record of an address that is not active any more. */
static int delete_record(struct node_handle *handle, const struct bh_addr *addr,
			 struct change *change)
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

	return error ? error : delete_record(handle, addr, change);
}

static int failed(struct node_handle *handle, int error)
{
	return node_fail(handle, error, "cannot take an endpoint off");
}

int endpoint_del_address(struct node_handle *handle, const struct bh_addr *addr,
			 const struct bh_endpoint *entry, struct change *change)
{
	/* the address counts as its covering prefix from the next generation on */
	int error = assign_delete(handle, addr, entry, change);

	if (!error)
		error = forget(handle, addr, change);
	return error ? failed(handle, error) : 0;
}

int endpoint_del_members(struct own_interfaces *own, const struct table *members)
{
	int error = 0;

	for (size_t i = 0; i < members->n; i++) {
		const struct bh_endpoint *entry = table_value(members, i);
		const struct bh_addr *addr = table_key(members, i);

		error = endpoint_del_address(own->handle, addr, entry, own->change);
		if (!error)
			error = own_interfaces_leave(own, entry->ifindex);
		if (error)
			return error;
	}
	own->change->commits |= members->n > 0;
	return 0;
}

int endpoint_del_plan(struct own_interfaces *own, const struct bh_added *name)
{
	struct node_handle *handle = own->handle;
	CLEANUP(table_free) struct table members = {};
	int error = endpoint_find(handle, name, &members);

	if (error)
		return node_fail(handle, error, "cannot look for %s/%s", name->ns, name->name);
	if (!members.n) {
		diag_error(handle->diag, NULL, NULL, "endpoint %s/%s is not active here", name->ns,
			   name->name);
		return -EINVAL;
	}
	return endpoint_del_members(own, &members);
}

/* Removes the endpoint's addresses at this interface. Another sandbox of the same pod may have the
 * same name at another interface. */
static int del_members_at(struct own_interfaces *own, uint32_t ifindex, const struct bh_added *name)
{
	CLEANUP(table_free) struct table all = {}, members = {};
	int error = endpoint_find(own->handle, name, &all);

	maps_init_table(MAP_endpoints, &members);
	for (size_t i = 0; !error && i < all.n; i++) {
		const struct bh_endpoint *entry = table_value(&all, i);

		if (entry->ifindex == ifindex)
			error = table_add(&members, table_key(&all, i), entry);
	}
	return error ? failed(own->handle, error) : endpoint_del_members(own, &members);
}

int endpoint_del_at(struct own_interfaces *own, uint32_t ifindex, const struct bh_iface *iface,
		    struct bh_added *owner)
{
	const struct bh_addr *addrs[] = {&iface->ipv4, &iface->ipv6};
	struct bh_added name;
	int error = 0;

	*owner = (struct bh_added){};
	for (size_t i = 0; !error && i < ARRAY_SIZE(addrs); i++) {
		if (!active_owner_at(own->handle, ifindex, addrs[i], &name) ||
		    (*owner->name && record_is_of(&name, owner)))
			continue;
		*owner = name;
		error = del_members_at(own, ifindex, &name);
	}
	return error ? error : own_interfaces_leave(own, ifindex);
}
