// SPDX-License-Identifier: GPL-2.0-only
/* Functions of a node for the container runtimes' plugin, beside endpoint add and del. */
#include <errno.h>
#include <string.h>

#include "policy/expected.h"
#include "policy/lazy_policy.h"
#include "maps/endpoint.h"
#include "maps/iface.h"
#include "node/change/apply.h"
#include "node/kernel/attach.h"
#include "node/kernel/rights.h"
#include "node/local/iface_entry.h"
#include "node/plan/active_endpoints.h"
#include "node/plan/added_record.h"

bool node_is_loaded(const struct node_handle *handle)
{
	return handle && handle->policy;
}

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
	struct change_role turn = {.to = {.flags = BH_IFACE_ENDPOINT}};
	const bool known = !maps_lookup(handle, MAP_ifaces, &ifindex, &turn.from);
	int error;

	if (known && change_is_others(turn.from.flags)) {
		error = table_add(&change->turn, &ifindex, &turn);
	} else {
		error = change_attach(change, &ifindex, turn.to.flags);
		if (!error && !known)
			error = table_add(&change->maps[MAP_ifaces].put, &ifindex, &turn.to);
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

int node_address_owner(struct node_handle *handle, const struct address *address,
		       struct node_owner *owner)
{
	struct bh_added name;
	struct bh_endpoint entry;

	if (!node_is_loaded(handle) || maps_lookup(handle, MAP_endpoints, address, &entry) ||
	    !active_owner(handle, address, &name))
		return -ENOENT;
	*owner = (struct node_owner){.ifindex = entry.ifindex};
	memcpy(owner->ns, name.ns, sizeof(owner->ns));
	memcpy(owner->name, name.name, sizeof(owner->name));
	owner->added = !maps_lookup(handle, MAP_added, address, &name);
	return 0;
}

int node_is_guarded(struct node_handle *handle, uint32_t ifindex, bool *guarded)
{
	struct attached attached;
	struct bh_iface iface;
	int error;

	*guarded = false;
	if (!node_is_loaded(handle) || maps_lookup(handle, MAP_ifaces, &ifindex, &iface) ||
	    !(iface.flags & BH_IFACE_ENDPOINT))
		return 0;
	error = attach_read(handle, ifindex, iface.flags, &attached);
	*guarded = !error && !attached.stale && attach_is_complete(&attached, iface.flags);
	return error;
}

int node_endpoint_known(struct node_handle *handle, struct cluster *cluster,
			struct endpoint *endpoint, bool *known)
{
	const struct lazy_policy *policy = handle->policy;

	*known = expected_find(policy, cluster, endpoint);
	return lazy_error(policy);
}
