// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "policy/place.h"
#include "maps/allow_source.h"
#include "maps/endpoint.h"
#include "maps/link_local.h"
#include "maps/mac.h"
#include "maps/tunnel.h"
#include "node/change/endpoint_add.h"
#include "node/change/assignment.h"
#include "node/change/endpoint_del.h"
#include "node/change/added_record.h"
#include "node/change/service_entries.h"
#include "node/change/slot.h"

/* Puts an entry that belongs to one endpoint only. An equal entry may be there already. */
static int put(struct node_handle *handle, struct change *change, enum node_map_id map,
	       const void *key, const void *value)
{
	struct table *put = &change->maps[map].put;
	SCOPED_FREE void *there = calloc(1, put->value_size);
	int error = there ? maps_lookup(handle, map, key, there) : -ENOMEM;

	if (!error)
		error = memcmp(there, value, put->value_size) ? -EEXIST : 0;
	else if (error == -ENOENT)
		error = table_add(put, key, value);
	return error ? node_fail(handle, error, "cannot write to %s/%s", handle->pin,
				 node_map_names[map])
		     : 0;
}

static int put_all(struct node_handle *handle, struct change *change, enum node_map_id map,
		   const struct table *table)
{
	int error = 0;

	for (size_t i = 0; !error && i < table->n; i++)
		error = put(handle, change, map, table_key(table, i), table_value(table, i));
	return error;
}

/* Puts the endpoint's MACs. The node's own MACs may be there already, for another endpoint's
 * interface; a load keeps them. */
static int put_macs(struct node_handle *handle, struct change *change, const struct table *macs)
{
	struct bh_mac there;
	int error = 0;

	for (size_t i = 0; !error && i < macs->n; i++) {
		const struct bh_mac_key *key = table_key(macs, i);

		if (key->kind == BH_MAC_ENDPOINT || maps_lookup(handle, MAP_macs, key, &there))
			error = put(handle, change, MAP_macs, key, table_value(macs, i));
	}
	return error;
}

/* Adds an address, which until the commit counts as its covering prefix, or is isolated if
 * @closed. */
static int add_address(struct node_handle *handle, struct change *change,
		       const struct endpoint *endpoint, const struct address *address,
		       uint32_t ifindex, bool closed, bool *isolated)
{
	struct bh_endpoint value = {.ifindex = ifindex};
	struct bh_addr addr;
	uint64_t place;
	int error = slot_place(handle, change, endpoint, address, &place, isolated);

	if (!error)
		error = services_may_have(handle, endpoint->ns_name, address_is_ipv4(address),
					  place, change);
	if (error)
		return error;
	memcpy(&addr, address, sizeof(addr));
	memcpy(value.mac, endpoint->mac, sizeof(value.mac));
	value.assignment[0] = closed ? 0 : assign_covering_prefix(handle, &addr);
	value.assignment[1] = bh_assignment(node_generation(handle) + 1, bh_assignment_slot(place),
					    bh_assignment_variation(place));
	return put(handle, change, MAP_endpoints, &addr, &value);
}

static int add_record(struct node_handle *handle, struct change *change,
		      const struct endpoint *endpoint, const struct address *address)
{
	struct bh_added there, added = {};
	int error = record_make(handle, endpoint, &added);

	if (error)
		return error;
	/* removes the note that the policy's endpoint at this address was taken off */
	if (!maps_lookup(handle, MAP_added, address, &there) && !*there.name)
		return table_add(&change->maps[MAP_added].put, address, &added);
	return put(handle, change, MAP_added, address, &added);
}

int endpoint_add_address(struct node_handle *handle, struct change *change,
			 const struct endpoint *endpoint, const struct address *address,
			 uint32_t ifindex, bool *isolated)
{
	int error = add_address(handle, change, endpoint, address, ifindex, false, isolated);

	return error ? error : add_record(handle, change, endpoint, address);
}

/* Guards the endpoint's interface. The interface may be guarded already, as a port of its bridge or
 * as another way out of the node, also after a command that failed. */
static int add_interface(struct node_handle *handle, struct change *change, uint32_t ifindex,
			 const struct bh_iface *iface)
{
	struct change_role turn = {.to = *iface};

	if (maps_lookup(handle, MAP_ifaces, &ifindex, &turn.from) ||
	    (!change_is_others(turn.from.flags) && !endpoint_del_is_sealed(&turn.from))) {
		int error = put(handle, change, MAP_ifaces, &ifindex, iface);

		return error ? error : table_add(&change->attach, &ifindex, &iface->flags);
	}
	turn.to.flags |= turn.from.flags & BH_IFACE_QDISC;
	return table_add(&change->turn, &ifindex, &turn);
}

static int add_local(struct node_handle *handle, struct change *change, const struct local *local,
		     uint32_t ifindex)
{
	const struct bh_iface *iface;
	int error;

	if (!ifindex)
		return 0;
	iface = table_find(&local->ifaces, &ifindex);
	error = add_interface(handle, change, ifindex, iface);
	if (!error)
		error = put_macs(handle, change, &local->macs);
	for (int i = 0; !error && i < N_NODE_MAPS; i++)
		if (node_map_kinds[i] == MAP_KIND_LOCAL && i != MAP_ifaces && i != MAP_macs)
			error = put_all(handle, change, i, local_table(local, i));
	return error;
}

int endpoint_add_plan(struct node_handle *handle, const struct endpoint *endpoint,
		      const struct local *local, struct change *change, bool *isolated)
{
	int error = 0;

	for (size_t i = 0; !error && i < endpoint->n_addresses; i++)
		/* until the commit, a container runtime's pod is isolated: its guarded interface
		 * let no packet pass, and so the pod never counted as its covering prefix */
		error = add_address(handle, change, endpoint, &endpoint->addresses[i],
				    local->ifindexes[0], endpoint->attachment, isolated);
	for (size_t i = 0; !error && i < endpoint->n_addresses; i++)
		error = add_record(handle, change, endpoint, &endpoint->addresses[i]);
	if (!error)
		error = add_local(handle, change, local, local->ifindexes[0]);
	change->commits = !error;
	return error;
}

/* Returns true if no active endpoint is behind the same bridge, or the same other way to it. */
static bool is_first(const struct table *active, const struct bh_iface *iface)
{
	for (size_t i = 0; i < active->n; i++) {
		const struct bh_iface *other = table_value(active, i);

		if (other->flags & BH_IFACE_ENDPOINT && local_is_beside(other, iface))
			return false;
	}
	return true;
}

/* Reads the interfaces of the node, with the endpoint's among the active ones. */
static int read_others(struct node_handle *handle, const struct table *active, uint32_t ifindex,
		       const struct bh_iface *iface, struct local *others)
{
	CLEANUP(table_free) struct table ifaces = {};
	int error;

	maps_init_table(MAP_ifaces, &ifaces);
	error = table_add(&ifaces, &ifindex, iface);
	for (size_t i = 0; !error && i < active->n; i++)
		if (*(uint32_t *)table_key(active, i) != ifindex)
			error = table_add(&ifaces, table_key(active, i), table_value(active, i));
	return error ? node_fail(handle, error, "cannot look at the interfaces")
		     : local_read_others(handle, &ifaces, others);
}

/* Gives an interface beside the endpoint's the entry that a load would. */
static int add_other(const struct node_handle *handle, struct change *change,
		     const uint32_t *ifindex, const struct bh_iface *iface)
{
	struct change_role turn = {.to = *iface};
	const bool there = !maps_lookup(handle, MAP_ifaces, ifindex, &turn.from);
	int error = 0;

	if (turn.to.flags & BH_IFACE_PORT && handle->blob.flags & BH_BLOB_AUDIT)
		turn.to.flags |= BH_IFACE_AUDIT;
	turn.to.flags |= turn.from.flags & BH_IFACE_QDISC;
	if (there && memcmp(&turn.from, &turn.to, sizeof(turn.to)))
		return table_add(&change->turn, ifindex, &turn);
	if (!there)
		error = table_add(&change->maps[MAP_ifaces].put, ifindex, &turn.to);
	/* a killed command may have written the entry alone */
	return error || !change_is_others(turn.to.flags)
		       ? error
		       : table_add(&change->attach, ifindex, &turn.to.flags);
}

/* Returns true if an interface's entry may change as the endpoint at @iface comes first. */
static bool is_concerned(const struct bh_iface *iface, uint32_t ifindex,
			 const struct bh_iface *other)
{
	return !(other->flags & BH_IFACE_ENDPOINT) &&
	       (ifindex == iface->via || ifindex == iface->bridge ||
		(other->bridge && other->bridge == iface->bridge));
}

int endpoint_add_others(struct node_handle *handle, const struct local *local,
			const struct table *active, struct change *change)
{
	const uint32_t own = local->ifindexes[0];
	const struct bh_iface *iface = own ? table_find(&local->ifaces, &own) : NULL;
	CLEANUP(local_free) struct local others = {};
	int error;

	if (!iface || !(iface->bridge || iface->via) || !is_first(active, iface))
		return 0;
	error = read_others(handle, active, own, iface, &others);
	for (size_t i = 0; !error && i < others.ifaces.n; i++) {
		const uint32_t *ifindex = table_key(&others.ifaces, i);
		const struct bh_iface *other = table_value(&others.ifaces, i);

		if (is_concerned(iface, *ifindex, other))
			error = add_other(handle, change, ifindex, other);
	}
	if (!error)
		local_warn(handle, &others);
	return error;
}
