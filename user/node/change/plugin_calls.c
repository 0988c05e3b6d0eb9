// SPDX-License-Identifier: GPL-2.0-only
/* Changes of a node for the container runtimes' plugin, beside endpoint add and del. */
#include <errno.h>

#include "maps/iface.h"
#include "node/change/apply.h"
#include "node/kernel/attach.h"
#include "node/kernel/rights.h"
#include "node/local/iface_entry.h"

int node_guard(const struct node_options *options, uint32_t ifindex, struct diag *diag)
{
	SCOPED_HANDLE struct node_handle *handle = NULL;
	struct bh_iface iface;
	int error = node_new(options, diag, &handle);

	if (!error)
		error = rights_to_change(handle);
	if (!error)
		error = node_find(handle);
	if (error)
		return error;
	if (!node_is_loaded(handle) || !maps_lookup(handle, MAP_ifaces, &ifindex, &iface))
		return -EOPNOTSUPP;
	return attach_guard(handle, ifindex) ? -EOPNOTSUPP : 0;
}

/* Plans to guard an interface as an endpoint's although no endpoint has it. */
static int plan_quarantine(struct node_handle *handle, uint32_t ifindex, struct change *change)
{
	struct change_role role = {.to = {.flags = BH_IFACE_ENDPOINT}};
	const bool known = !maps_lookup(handle, MAP_ifaces, &ifindex, &role.from);
	int error;

	if (known && change_is_others(role.from.flags)) {
		error = table_add(&change->role, &ifindex, &role);
	} else {
		error = change_attach(change, &ifindex, role.to.flags);
		if (!error && !known)
			error = table_add(&change->maps[MAP_ifaces].put, &ifindex, &role.to);
	}
	return error ? node_fail(handle, error, "cannot guard interface %u", ifindex) : 0;
}

/* Returns true if an endpoint has the interface, or had a former one of that number. */
static bool has_endpoint(struct node_handle *handle, uint32_t ifindex)
{
	struct bh_iface iface;

	return !maps_lookup(handle, MAP_ifaces, &ifindex, &iface) &&
	       iface_entry_has_endpoint(&iface);
}

int node_quarantine(struct node_handle *handle, uint32_t ifindex)
{
	CLEANUP(change_free) struct change change;
	int error = rights_to_change(handle);

	change_init(&change, "an interface that is to be guarded");
	if (!error && node_is_busy(handle))
		error = apply_repair(handle);
	if (!error && has_endpoint(handle, ifindex))
		error = node_interfaces_del(handle, &ifindex, 1);
	if (!error)
		error = plan_quarantine(handle, ifindex, &change);
	return error ? error : apply(handle, &change, NULL);
}

int node_unguard(struct node_handle *handle, uint32_t ifindex)
{
	CLEANUP(change_free) struct change change;
	struct bh_iface iface;
	char name[IF_NAMESIZE];
	bool known;
	int error;

	change_init(&change, "an interface without an endpoint");
	if (handle->maps[MAP_ifaces] < 0 || if_indextoname(ifindex, name))
		return 0;
	known = !maps_lookup(handle, MAP_ifaces, &ifindex, &iface);
	if (known && !iface_entry_is_quarantined(&iface))
		return 0;
	error = table_add(&change.detach, &ifindex, NULL);
	if (!error && known)
		error = table_add(&change.maps[MAP_ifaces].deleted, &ifindex, &iface);
	if (error)
		return node_fail(handle, error, "cannot leave interface %u", ifindex);
	return apply(handle, &change, NULL);
}
