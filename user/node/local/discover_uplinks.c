// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "maps/iface.h"
#include "node/kernel/rtnl.h"
#include "node/local/discovery.h"

int discover_egress(struct discovery *discovery)
{
	int error = rtnl_default_routes(discovery->handle->rtnl, &discovery->ways_out,
					&discovery->n_ways_out);

	return error ? node_fail(discovery->handle, error, "cannot list the default routes") : 0;
}

bool discovery_is_egress(const struct discovery *discovery, uint32_t ifindex)
{
	for (size_t i = 0; i < discovery->n_ways_out; i++)
		if (discovery->ways_out[i] == ifindex)
			return true;
	return false;
}

static int add_uplink(struct discovery *discovery, uint32_t ifindex)
{
	const struct link *link = discovery_link(discovery, ifindex);
	struct bh_iface iface = {.flags = BH_IFACE_UPLINK,
				 .bridge = discover_bridge(discovery, link)};

	if (discovery->audit)
		iface.flags |= BH_IFACE_AUDIT;
	/* a default route may lead to the loopback */
	if ((link && link->loopback) || discovery_iface(discovery->local, ifindex))
		return 0;
	if (link && link->bare)
		iface.flags |= BH_IFACE_BARE;
	discovery->local->uplinks++;
	return table_add(&discovery->local->ifaces, &ifindex, &iface);
}

static int add_uplink_by_name(struct discovery *discovery, const char *name)
{
	const struct link *link = discovery_link_by_name(discovery, name);

	if (link && link->loopback) {
		diag_error(discovery->handle->diag, NULL, NULL,
			   "uplink %s: this is the node's loopback, where the node's own "
			   "connections would drop; name another interface",
			   name);
		return -EINVAL;
	}
	if (link)
		return add_uplink(discovery, link->ifindex);
	if (!discovery->handle->options->boot)
		return node_fail(discovery->handle, -ENODEV, "uplink %s", name);
	diag_warn(discovery->handle->diag, NULL, NULL,
		  "uplink %s does not exist yet: the next load guards it", name);
	return 0;
}

int discover_uplinks(struct discovery *discovery)
{
	const struct node_options *options = discovery->handle->options;
	const struct policy *policy = discovery->policy;
	int error = 0;

	for (size_t i = 0; !error && i < options->n_uplinks; i++)
		error = add_uplink_by_name(discovery, options->uplinks[i]);
	if (error || options->n_uplinks)
		return error;
	for (uint32_t i = 0; !error && i < policy->uplinks_n; i++)
		error = add_uplink_by_name(discovery, policy_string(policy, policy->texts[i]));
	if (error || policy->uplinks_n)
		return error;
	for (size_t i = 0; !error && i < discovery->n_ways_out; i++)
		error = add_uplink(discovery, discovery->ways_out[i]);
	if (!error && !discovery->n_ways_out)
		diag_note(discovery->handle->diag, NULL, NULL,
			  "no uplink is named and there is no default route: endpoints are guarded "
			  "at "
			  "their own interfaces only");
	return error;
}
