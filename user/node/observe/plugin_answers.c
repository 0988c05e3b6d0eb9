// SPDX-License-Identifier: GPL-2.0-only
/* What the container runtimes' plugin asks of a node. */
#include <errno.h>
#include <string.h>

#include "policy/expected.h"
#include "policy/lazy_policy.h"
#include "maps/added.h"
#include "maps/endpoint.h"
#include "maps/iface.h"
#include "node/kernel/attach.h"
#include "node/kernel/maps.h"
#include "node/plan/active_endpoints.h"
#include "node/plan/added_record.h"

/* Sets the UID of an owner that is the active policy's. */
static void set_uid(struct node_owner *owner, const struct lazy_policy *policy,
		    const struct address *address)
{
	const struct policy_address *found = lazy_address_find(policy, address);

	if (found)
		memcpy(owner->uid, LAZY_ONE(policy, endpoints, found->endpoint)->uid,
		       sizeof(owner->uid));
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
	if (owner->added)
		record_uid(&name, owner->uid);
	else
		set_uid(owner, handle->policy, address);
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

bool node_endpoint_fits(const struct endpoint *endpoint)
{
	struct bh_added record;

	return !record_write(endpoint, &record);
}
