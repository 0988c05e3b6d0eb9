// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "maps/allow_source.h"
#include "maps/endpoint.h"
#include "maps/iface.h"
#include "maps/mac.h"
#include "maps/tally.h"
#include "node/change/endpoint_del.h"
#include "node/change/survey.h"
#include "node/kernel/maps.h"
#include "node/kernel/rtnl.h"

static const struct address *endpoint_address(const struct policy *policy,
					      const struct policy_endpoint *endpoint, uint32_t i)
{
	return &policy->addresses[policy->endpoint_addresses[endpoint->addresses.at + i]].address;
}

/* Finds the endpoint's interface by the route to any of its addresses. A default route leads
 * away from this node. */
static int find_link(struct survey *survey, const struct policy_endpoint *endpoint,
		     const struct link **link)
{
	for (uint32_t i = 0; i < endpoint->addresses.n; i++) {
		const struct address *address = endpoint_address(survey->policy, endpoint, i);
		const struct bh_iface *iface;
		uint32_t ifindex;
		int error = rtnl_route(survey->handle->rtnl, address, &ifindex);

		/* the kernel's ways to answer that there is no route */
		if (error == -ENETUNREACH || error == -EHOSTUNREACH || error == -EACCES ||
		    error == -EINVAL)
			continue;
		if (error)
			return error;
		*link = survey_link(survey, ifindex);
		iface = survey_taken_by(survey, ifindex);
		if (*link && !(*link)->loopback && !survey_is_way_out(survey, ifindex) &&
		    !(iface && iface->flags & BH_IFACE_UPLINK))
			return 0;
	}
	*link = NULL;
	return 0;
}

/* Whether a container runtime has told the interface's MAC, for a pod of these addresses. */
static bool was_told(struct survey *survey, uint32_t ifindex, const struct bh_iface *iface,
		     struct bh_iface *before)
{
	return !maps_lookup(survey->handle, MAP_ifaces, &ifindex, before) &&
	       before->flags & BH_IFACE_TOLD && before->ns == iface->ns &&
	       !memcmp(&before->ipv4, &iface->ipv4, sizeof(before->ipv4)) &&
	       !memcmp(&before->ipv6, &iface->ipv6, sizeof(before->ipv6));
}

/* Sets the endpoint's MAC: the MAC in the policy, else the MAC that a container runtime told when
 * it added the pod. */
static void set_mac(struct survey *survey, const struct policy_endpoint *endpoint, uint32_t ifindex,
		    struct bh_iface *iface)
{
	struct bh_iface before;
	bool told = was_told(survey, ifindex, iface, &before);

	if (!told && !(endpoint->flags & POLICY_MAC))
		return;
	iface->flags |= BH_IFACE_MAC;
	memcpy(iface->mac, endpoint->flags & POLICY_MAC ? endpoint->mac : before.mac,
	       sizeof(iface->mac));
	if (endpoint->flags & POLICY_TOLD ||
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

static int add_allow_source(struct local *local, const struct policy *policy,
			    const struct policy_endpoint *endpoint, uint32_t ifindex)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < endpoint->allow_source.n; i++) {
		const struct policy_cidr *cidr = &policy->cidrs[endpoint->allow_source.at + i];
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
static int find_via(struct survey *survey, const struct policy_endpoint *endpoint,
		    const struct link *link, uint32_t *via)
{
	const struct link *route;
	int error = find_link(survey, endpoint, &route);

	if (error)
		return node_fail(survey->handle, error,
				 "cannot ask for the route to the addresses behind %s", link->name);
	*via = route && route != link ? route->ifindex : link->master;
	return 0;
}

static int add_endpoint(struct survey *survey, const struct policy_endpoint *endpoint,
			const struct link *link)
{
	const struct policy *policy = survey->policy;
	struct local *local = survey->local;
	struct bh_iface iface = {.flags = BH_IFACE_ENDPOINT, .bridge = survey_bridge(survey, link)};
	int error = find_via(survey, endpoint, link, &iface.via);

	if (error)
		return error;

	if (endpoint->flags & POLICY_L2 && !iface.bridge)
		diag_warn(survey->handle->diag, NULL, NULL,
			  "endpoint %s/%s: mode = l2, and %s is no bridge's port",
			  policy_string(policy, policy->namespaces[endpoint->ns].name),
			  policy_string(policy, endpoint->name), link->name);
	if (endpoint->flags & POLICY_L2 || iface.bridge)
		iface.flags |= BH_IFACE_L2;
	else if (link->veth && link->elsewhere && !link->master)
		iface.flags |= BH_IFACE_PEER;
	memcpy(iface.node_mac, link->mac, sizeof(iface.node_mac));
	iface.ns = bh_namespace(policy_string(policy, policy->namespaces[endpoint->ns].name));
	if (survey->handle->options->audit ||
	    (endpoint->flags | policy->namespaces[endpoint->ns].flags) & POLICY_AUDIT)
		iface.flags |= BH_IFACE_AUDIT;
	if (endpoint->allow_source.n)
		iface.flags |= BH_IFACE_ALLOW_SOURCE;
	for (uint32_t i = endpoint->addresses.n; i-- > 0;) {
		const struct address *address = endpoint_address(policy, endpoint, i);

		*(address_is_ipv4(address) ? &iface.ipv4 : &iface.ipv6) = bh_addr_from(address);
	}
	set_mac(survey, endpoint, link->ifindex, &iface);
	local->endpoints++;
	error = table_add(&local->ifaces, &link->ifindex, &iface);
	if (!error)
		error = add_mac(local, &iface, link->ifindex);
	if (!error)
		error = survey_node_mac(survey, link);
	if (!error)
		error = survey_node_mac(survey, survey_link(survey, iface.via));
	if (!error)
		error = survey_link_locals(survey, &iface, link->ifindex);
	return error ? error : add_allow_source(local, policy, endpoint, link->ifindex);
}

/* Returns the bridge port at which an address of the endpoint is in force: the route names only the
 * bridge. Returns the bridge where no such port is known. */
static const struct link *link_in_force(struct survey *survey,
					const struct policy_endpoint *endpoint,
					const struct link *bridge)
{
	struct bh_endpoint entry;

	for (uint32_t i = 0; i < endpoint->addresses.n; i++) {
		const struct address *address = endpoint_address(survey->policy, endpoint, i);
		const struct link *link;

		if (maps_lookup(survey->handle, MAP_endpoints, address, &entry) || !entry.ifindex)
			continue;
		link = survey_link(survey, entry.ifindex);
		if (link && link->master == bridge->ifindex)
			return link;
	}
	return bridge;
}

/* Finds the endpoint's interface. *link is NULL where it has none yet or any more: the endpoint
 * is left out. */
static int choose_link(struct survey *survey, const struct policy_endpoint *endpoint,
		       const char *ns, const char *name, const struct link **link)
{
	struct node_handle *handle = survey->handle;
	const char *interface = policy_string(survey->policy, endpoint->interface);
	int error = 0;

	if (endpoint->interface)
		*link = survey_link_by_name(survey, interface);
	else
		error = find_link(survey, endpoint, link);
	if (!error && !endpoint->interface && *link && (*link)->bridge)
		*link = link_in_force(survey, endpoint, *link);
	if (error)
		return node_fail(handle, error, "endpoint %s/%s: cannot ask for the route to it",
				 ns, name);
	/* The node has just started, and its endpoints have not started yet. */
	if (handle->options->boot && (!*link || (!endpoint->interface && (*link)->bridge))) {
		*link = NULL;
		survey->absent++;
		return 0;
	}
	if (!*link && endpoint->interface)
		return node_fail(handle, -ENODEV, "endpoint %s/%s: interface %s", ns, name,
				 interface);
	/* a follower's pod that comes or goes: the CNI plugin, which brings the interface, guards
	 * the pod */
	if (!*link && handle->options->late)
		survey->absent++;
	else if (!*link)
		diag_warn(handle->diag, NULL, NULL,
			  "endpoint %s/%s is not guarded: no interface has a route to it", ns,
			  name);
	else if (!endpoint->interface && (*link)->bridge && handle->options->late) {
		*link = NULL;
		survey->absent++;
	} else if (!endpoint->interface && (*link)->bridge) {
		diag_error(handle->diag, NULL, NULL,
			   "endpoint %s/%s: its route leads to the bridge %s: give its interface",
			   ns, name, (*link)->name);
		return -ENODEV;
	}
	return 0;
}

int survey_endpoint(struct survey *survey, const struct policy_endpoint *endpoint,
		    uint32_t *ifindex)
{
	const struct policy *policy = survey->policy;
	const char *ns = policy_string(policy, policy->namespaces[endpoint->ns].name);
	const char *name = policy_string(policy, endpoint->name);
	const struct link *link = NULL;
	const struct bh_iface *taken;
	int error = choose_link(survey, endpoint, ns, name, &link);

	if (error || !link)
		return error;
	taken = survey_taken_by(survey, link->ifindex);
	if (taken && !(taken->flags & (BH_IFACE_PORT | BH_IFACE_OTHER)) &&
	    !endpoint_del_is_sealed(taken)) {
		diag_error(survey->handle->diag, NULL, NULL,
			   "endpoint %s/%s: %s is an uplink, or another endpoint's interface", ns,
			   name, link->name);
		return -EINVAL;
	}
	*ifindex = link->ifindex;
	return add_endpoint(survey, endpoint, link);
}

/* Warns of endpoints that the operator may have overlooked. A follower's node may have any number
 * of pods. */
static void tell_missing(const struct survey *survey, size_t here)
{
	const struct node_handle *handle = survey->handle;

	if (handle->options->late)
		return;
	if (survey->absent)
		diag_note(handle->diag, NULL, NULL,
			  "%zu of %zu endpoints of this node have no interface yet: `endpoint add` "
			  "or the next load guards them",
			  survey->absent, here);
	if (!here && survey->policy->n_endpoints)
		diag_note(handle->diag, NULL, NULL,
			  "of %zu endpoints, none is on the node %s (-n names another)",
			  survey->policy->n_endpoints, survey->local->name);
}

int survey_endpoints(struct survey *survey)
{
	const struct policy *policy = survey->policy;
	size_t here = 0;
	int error = 0;

	for (size_t i = 0; !error && i < policy->n_endpoints; i++) {
		const struct policy_endpoint *endpoint = &policy->endpoints[i];

		if (!endpoint->node ||
		    strcmp(policy_string(policy, endpoint->node), survey->local->name))
			continue;
		here++;
		error = survey_endpoint(survey, endpoint, &survey->local->ifindexes[i]);
	}
	if (!error)
		tell_missing(survey, here);
	return error;
}
