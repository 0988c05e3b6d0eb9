// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "maps/endpoint.h"
#include "maps/mac.h"
#include "node/change/endpoint_add.h"
#include "node/change/endpoint_del.h"
#include "node/change/endpoint_find.h"
#include "node/change/assignment.h"
#include "node/change/readdress.h"
#include "node/change/added_record.h"
#include "node/change/service_entries.h"
#include "node/change/slot.h"

static struct bh_addr first_address(const struct endpoint *endpoint, bool ipv4)
{
	struct bh_addr addr = {};

	for (size_t i = endpoint->n_addresses; i-- > 0;)
		if (address_is_ipv4(&endpoint->addresses[i]) == ipv4)
			memcpy(&addr, &endpoint->addresses[i], sizeof(addr));
	return addr;
}

static int change_mac(struct node_handle *handle, uint32_t ifindex, const struct bh_iface *iface,
		      struct change *change)
{
	struct bh_mac_key key = {.kind = BH_MAC_ENDPOINT};
	struct bh_mac value;
	int error;

	if (!(iface->flags & BH_IFACE_MAC))
		return 0;
	memcpy(key.mac, iface->mac, sizeof(key.mac));
	error = maps_lookup(handle, MAP_macs, &key, &value);
	if (error || value.ifindex != ifindex)
		return error == -ENOENT ? 0 : error;
	value.ipv4 = iface->ipv4;
	value.ipv6 = iface->ipv6;
	return table_add(&change->maps[MAP_macs].late, &key, &value);
}

/* Changes the addresses by which the interface's endpoint may send. */
static int change_interface(struct node_handle *handle, uint32_t ifindex,
			    const struct endpoint *endpoint, struct change *change)
{
	struct bh_iface iface, old;
	int error;

	if (!ifindex)
		return 0;
	error = maps_lookup(handle, MAP_ifaces, &ifindex, &old);
	if (error)
		return error;
	iface = old;
	iface.ipv4 = first_address(endpoint, true);
	iface.ipv6 = first_address(endpoint, false);
	error = change_replace_iface(change, &ifindex, &old, &iface);
	return error ? error : change_mac(handle, ifindex, &iface, change);
}

static bool is_among(const struct endpoint *endpoint, const void *address)
{
	for (size_t i = 0; i < endpoint->n_addresses; i++)
		if (!memcmp(&endpoint->addresses[i], address, sizeof(*endpoint->addresses)))
			return true;
	return false;
}

/* Moves the address to the segment of the new labels from the next generation on. The record is
 * written after the commit: a command that is killed before the commit leaves the place and the
 * record as they were. */
int readdress_keep(struct node_handle *handle, const struct endpoint *endpoint,
		   const struct bh_addr *addr, const struct bh_endpoint *entry,
		   struct change *change, bool *isolated)
{
	struct address address;
	struct bh_added record;
	uint64_t place;
	int error = record_make(handle, endpoint, &record);

	memcpy(&address, addr, sizeof(address));
	if (!error)
		error = slot_place(handle, change, endpoint, &address, &place, isolated);
	if (!error)
		error = services_may_have(handle, endpoint->ns_name, address_is_ipv4(&address),
					  place, change);
	if (!error)
		error = assign_move(handle, addr, entry, place, change);
	return error ? error : table_add(&change->maps[MAP_added].late, addr, &record);
}

/* Keeps or removes the active addresses. */
static int change_members(struct node_handle *handle, const struct endpoint *endpoint,
			  const struct table *members, struct change *change, bool *isolated)
{
	int error = 0;

	for (size_t i = 0; !error && i < members->n; i++) {
		const struct bh_addr *addr = table_key(members, i);
		const struct bh_endpoint *entry = table_value(members, i);

		error = is_among(endpoint, addr)
				? readdress_keep(handle, endpoint, addr, entry, change, isolated)
				: endpoint_del_address(handle, addr, entry, change);
	}
	return error;
}

int readdress_plan(struct node_handle *handle, const struct endpoint *endpoint,
		   const struct table *members, struct change *change, bool *isolated)
{
	const struct bh_endpoint *entry = table_value(members, 0);
	CLEANUP(table_free) struct table come = {};
	int error = 0;

	table_init(&come, sizeof(struct address), 0);
	for (size_t i = 0; !error && i < endpoint->n_addresses; i++)
		if (!table_find(members, &endpoint->addresses[i]))
			error = table_add(&come, &endpoint->addresses[i], NULL);
	for (size_t i = 0; !error && i < come.n; i++)
		error = endpoint_check_address(handle, endpoint, table_key(&come, i));
	for (size_t i = 0; !error && i < come.n; i++)
		error = endpoint_add_address(handle, change, endpoint, table_key(&come, i),
					     entry->ifindex, isolated);
	if (error)
		return error;
	error = change_members(handle, endpoint, members, change, isolated);
	if (!error)
		error = change_interface(handle, entry->ifindex, endpoint, change);
	change->commits = true;
	return error ? node_fail(handle, error, "cannot change %s/%s", endpoint->ns_name,
				 endpoint->name)
		     : 0;
}
