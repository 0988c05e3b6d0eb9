// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "maps/allow_source.h"
#include "maps/endpoint.h"
#include "maps/iface.h"
#include "maps/mac.h"
#include "maps/tally.h"
#include "node/kernel/maps.h"
#include "node/kernel/rtnl.h"
#include "node/local/discovery.h"
#include "node/local/iface_entry.h"
#include "node/local/local_pod.h"

/* Finds the endpoint's interface by the route to any of its addresses. A default route leads
 * away from this node. */
static int find_link(struct discovery *discovery, const struct endpoint *endpoint,
		     const struct link **link)
{
	for (size_t i = 0; i < endpoint->n_addresses; i++) {
		const struct address *address = &endpoint->addresses[i];
		const struct bh_iface *iface;
		uint32_t ifindex;
		int error = rtnl_route(discovery->handle->rtnl, address, &ifindex);

		/* the kernel's ways to answer that there is no route */
		if (error == -ENETUNREACH || error == -EHOSTUNREACH || error == -EACCES ||
		    error == -EINVAL)
			continue;
		if (error)
			return error;
		*link = discovery_link(discovery, ifindex);
		iface = discovery_owner(discovery, ifindex);
		if (*link && !(*link)->loopback && !discovery_is_egress(discovery, ifindex) &&
		    !(iface && iface->flags & BH_IFACE_UPLINK))
			return 0;
	}
	*link = NULL;
	return 0;
}

/* Returns what the options say of the pod; NULL: nothing. */
static const struct node_attached *find_attached(const struct discovery *discovery,
						 const struct endpoint *endpoint)
{
	const struct node_options *options = discovery->handle->options;

	for (size_t i = 0; i < options->n_attached; i++)
		for (size_t j = 0; j < endpoint->n_addresses; j++)
			if (!memcmp(&options->attached[i].address, &endpoint->addresses[j],
				    sizeof(endpoint->addresses[j])))
				return &options->attached[i];
	return NULL;
}

/* Returns true if a container runtime has told the interface's MAC, for a pod of these
 * addresses. */
static bool has_reported_mac(struct discovery *discovery, uint32_t ifindex,
			     const struct bh_iface *iface, struct bh_iface *before)
{
	return !maps_lookup(discovery->handle, MAP_ifaces, &ifindex, before) &&
	       before->flags & BH_IFACE_TOLD && before->ns == iface->ns &&
	       !memcmp(&before->ipv4, &iface->ipv4, sizeof(before->ipv4)) &&
	       !memcmp(&before->ipv6, &iface->ipv6, sizeof(before->ipv6));
}

/* Sets the endpoint's MAC: the MAC in the policy, else the MAC that a container runtime told when
 * it added the pod. */
static void set_mac(struct discovery *discovery, const struct endpoint *endpoint, uint32_t ifindex,
		    struct bh_iface *iface)
{
	const struct node_attached *attached = find_attached(discovery, endpoint);
	struct bh_iface before;
	bool told = has_reported_mac(discovery, ifindex, iface, &before);

	if (!told && attached && attached->ifindex == ifindex) {
		memcpy(before.mac, attached->mac, sizeof(before.mac));
		told = memcmp(before.mac, (const uint8_t[6]){}, sizeof(before.mac)) != 0;
	}
	if (!told && !endpoint->has_mac)
		return;
	iface->flags |= BH_IFACE_MAC;
	memcpy(iface->mac, endpoint->has_mac ? endpoint->mac : before.mac, sizeof(iface->mac));
	if ((endpoint->attachment && endpoint->has_mac) ||
	    (told && !memcmp(iface->mac, before.mac, sizeof(iface->mac))))
		iface->flags |= BH_IFACE_TOLD;
}

static int add_mac(struct local *local, const struct bh_iface *iface, uint32_t ifindex)
{
	struct bh_mac_key key = {.kind = BH_MAC_ENDPOINT};
	struct bh_mac value = {iface->ipv4, iface->ipv6, .ifindex = ifindex};

	if (!(iface->flags & BH_IFACE_MAC))
		return 0;
	memcpy(key.mac, iface->mac, sizeof(key.mac));
	return table_add(&local->macs, &key, &value);
}

static int add_allow_source(struct local *local, const struct endpoint *endpoint, uint32_t ifindex)
{
	int error = 0;

	for (size_t i = 0; !error && i < endpoint->n_allow_source; i++) {
		const struct cidr *cidr = &endpoint->allow_source[i];
		struct bh_allow_source_key key = {
			.length = 32 + cidr->length,
			.ifindex = htonl(ifindex),
			.addr = bh_addr_from(&cidr->address),
		};
		struct bh_allow_source value = {};

		error = table_add(&local->allow_source, &key, &value);
	}
	return error;
}

/* Finds the interface by which the node reaches the endpoint: a bridge, or the node's own port
 * of another switch. */
static int find_via(struct discovery *discovery, const struct endpoint *endpoint,
		    const struct link *link, uint32_t *via)
{
	const struct link *route;
	int error = find_link(discovery, endpoint, &route);

	if (error)
		return node_fail(discovery->handle, error,
				 "cannot ask for the route to the addresses behind %s", link->name);
	*via = route && route != link ? route->ifindex : link->master;
	return 0;
}

static int add_endpoint(struct discovery *discovery, const struct endpoint *endpoint,
			const struct link *link)
{
	struct local *local = discovery->local;
	struct bh_iface iface = {.flags = BH_IFACE_ENDPOINT,
				 .bridge = discover_bridge(discovery, link)};
	int error = find_via(discovery, endpoint, link, &iface.via);

	if (error)
		return error;

	if (endpoint->l2 && !iface.bridge)
		diag_warn(discovery->handle->diag, NULL, NULL,
			  "endpoint %s/%s: mode = l2 needs a bridge port; %s is none",
			  endpoint->ns_name, endpoint->name, link->name);
	if (endpoint->l2 || iface.bridge)
		iface.flags |= BH_IFACE_L2;
	else if (link->veth && link->elsewhere && !link->master)
		iface.flags |= BH_IFACE_PEER;
	memcpy(iface.node_mac, link->mac, sizeof(iface.node_mac));
	iface.ns = bh_namespace(endpoint->ns_name);
	if (discovery->audit || endpoint->audit)
		iface.flags |= BH_IFACE_AUDIT;
	if (endpoint->n_allow_source)
		iface.flags |= BH_IFACE_ALLOW_SOURCE;
	iface_entry_set_addresses(&iface, endpoint);
	set_mac(discovery, endpoint, link->ifindex, &iface);
	local->endpoints++;
	error = table_add(&local->ifaces, &link->ifindex, &iface);
	if (!error)
		error = add_mac(local, &iface, link->ifindex);
	if (!error)
		error = discover_node_side(discovery, &iface, link->ifindex);
	return error ? error : add_allow_source(local, endpoint, link->ifindex);
}

/* Returns the bridge port at which an address of the endpoint is active: the route names only the
 * bridge. Returns the bridge if no such port is known. */
static const struct link *link_is_active(struct discovery *discovery,
					 const struct endpoint *endpoint, const struct link *bridge)
{
	struct bh_endpoint entry;

	for (size_t i = 0; i < endpoint->n_addresses; i++) {
		const struct address *address = &endpoint->addresses[i];
		const struct link *link;

		if (maps_lookup(discovery->handle, MAP_endpoints, address, &entry) ||
		    !entry.ifindex)
			continue;
		link = discovery_link(discovery, entry.ifindex);
		if (link && link->master == bridge->ifindex)
			return link;
	}
	return bridge;
}

/* Finds the endpoint's interface. *link is NULL if it has none yet or any more: the endpoint is
 * left out. */
static int choose_link(struct discovery *discovery, const struct endpoint *endpoint,
		       const struct link **link)
{
	struct node_handle *handle = discovery->handle;
	const char *ns = endpoint->ns_name, *name = endpoint->name;
	const char *interface = endpoint->interface;
	const struct node_attached *attached = find_attached(discovery, endpoint);
	int error = 0;

	if (endpoint->interface)
		*link = discovery_link_by_name(discovery, interface);
	else if (attached)
		*link = discovery_link(discovery, attached->ifindex);
	if (!endpoint->interface && !*link)
		error = find_link(discovery, endpoint, link);
	if (!error && !endpoint->interface && *link && (*link)->bridge)
		*link = link_is_active(discovery, endpoint, *link);
	if (error)
		return node_fail(handle, error, "endpoint %s/%s: cannot ask for the route to it",
				 ns, name);
	/* The node has just started, and its endpoints have not started yet. */
	if (handle->options->boot && (!*link || (!endpoint->interface && (*link)->bridge))) {
		*link = NULL;
		discovery->absent++;
		return 0;
	}
	if (!*link && endpoint->interface)
		return node_fail(handle, -ENODEV, "endpoint %s/%s: interface %s", ns, name,
				 interface);
	/* a follower's pod that comes or goes: the CNI plugin, which brings the interface, guards
	 * the pod */
	if (!*link && handle->options->late)
		discovery->absent++;
	else if (!*link)
		diag_warn(handle->diag, NULL, NULL,
			  "endpoint %s/%s is not guarded: no interface has a route to it", ns,
			  name);
	else if (!endpoint->interface && (*link)->bridge && handle->options->late) {
		*link = NULL;
		discovery->absent++;
	} else if (!endpoint->interface && (*link)->bridge) {
		diag_error(handle->diag, NULL, NULL,
			   "endpoint %s/%s: its route leads to the bridge %s: give its interface",
			   ns, name, (*link)->name);
		return -ENODEV;
	}
	return 0;
}

int discover_endpoint(struct discovery *discovery, const struct endpoint *endpoint,
		      uint32_t *ifindex)
{
	const struct link *link = NULL;
	const struct bh_iface *taken;
	int error = choose_link(discovery, endpoint, &link);

	if (error || !link)
		return error;
	if (link->loopback) {
		diag_error(discovery->handle->diag, NULL, NULL,
			   "endpoint %s/%s: %s is the node's loopback, where its own connections "
			   "would drop; name another interface",
			   endpoint->ns_name, endpoint->name, link->name);
		return -EINVAL;
	}
	taken = discovery_owner(discovery, link->ifindex);
	if (taken && !(taken->flags & (BH_IFACE_PORT | BH_IFACE_OTHER)) &&
	    !iface_entry_is_quarantined(taken)) {
		diag_error(discovery->handle->diag, NULL, NULL,
			   "endpoint %s/%s: %s is an uplink, or another endpoint's interface",
			   endpoint->ns_name, endpoint->name, link->name);
		return -EINVAL;
	}
	*ifindex = link->ifindex;
	return add_endpoint(discovery, endpoint, link);
}

/* Warns of endpoints that the operator may have overlooked. A follower's node may have any number
 * of pods. */
static void report_missing(const struct discovery *discovery, size_t here)
{
	const struct node_handle *handle = discovery->handle;
	const size_t nowhere = policy_n_without_node(discovery->policy);

	if (handle->options->late)
		return;
	if (discovery->absent)
		diag_note(handle->diag, NULL, NULL,
			  "%zu of %zu endpoints of this node have no interface yet: `endpoint add` "
			  "or the next load guards them",
			  discovery->absent, here);
	if (!here && nowhere)
		diag_warn(handle->diag, NULL, NULL,
			  "no endpoint is on the node %s, and %zu name no node: nothing is guarded "
			  "(`node = %s` puts an endpoint here)",
			  discovery->local->name, nowhere, discovery->local->name);
	else if (!here && discovery->policy->n_endpoints)
		diag_note(handle->diag, NULL, NULL,
			  "of %zu endpoints, none is on the node %s (-n names another)",
			  discovery->policy->n_endpoints, discovery->local->name);
	else if (nowhere)
		diag_note(handle->diag, NULL, NULL,
			  "%zu of %zu endpoints name no node: no node guards them (`node = NODE` "
			  "does)",
			  nowhere, discovery->policy->n_endpoints);
}

/* Finds the interface of one of the policy's endpoints. *here counts it, unless added endpoints
 * have all of its addresses. */
static int discover_one(struct discovery *discovery, size_t index, size_t *here)
{
	static const struct table none;
	const struct policy *policy = discovery->policy;
	CLEANUP(local_pod_free) struct local_pod pod;
	int error = local_pod_read(policy_lazy(policy), &policy->endpoints[index], &pod);

	if (error)
		return node_fail(discovery->handle, error, "cannot list the node's endpoints");
	local_pod_leave_out(&pod, &discovery->local->kept, &none);
	if (!pod.endpoint.n_addresses)
		return 0;
	++*here;
	return discover_endpoint(discovery, &pod.endpoint, &discovery->local->ifindexes[index]);
}

/* Finds the interface of an added endpoint, and makes the entries of its addresses. */
static int discover_added(struct discovery *discovery, const struct endpoint *endpoint,
			  size_t *here)
{
	struct local *local = discovery->local;
	struct bh_endpoint side;
	uint32_t ifindex = 0;
	int error = 0;

	if (endpoint->node && !strcmp(endpoint->node, local->name)) {
		++*here;
		error = discover_endpoint(discovery, endpoint, &ifindex);
	}
	side = discovery_host_side(local, ifindex, endpoint->has_mac ? endpoint->mac : NULL);
	for (size_t i = 0; i < endpoint->n_addresses; i++)
		*(struct bh_endpoint *)table_find(&local->kept, &endpoint->addresses[i]) = side;
	return error;
}

int discover_endpoints(struct discovery *discovery)
{
	const struct policy *policy = discovery->policy;
	size_t here = 0;
	int error = 0;

	for (size_t i = 0; !error && i < policy->n_endpoints; i++) {
		const uint32_t node = policy->endpoints[i].node;

		if (!node || strcmp(policy_string(policy, node), discovery->local->name))
			continue;
		error = discover_one(discovery, i, &here);
	}
	for (size_t i = 0; !error && i < discovery->added->n_endpoints; i++)
		error = discover_added(discovery, &discovery->added->endpoints[i], &here);
	if (!error)
		report_missing(discovery, here);
	return error;
}
