// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "maps/allow_source.h"
#include "maps/endpoint.h"
#include "maps/iface.h"
#include "maps/link_local.h"
#include "maps/mac.h"
#include "maps/tally.h"
#include "maps/tunnel.h"
#include "node/change/endpoint_del.h"
#include "node/change/local.h"
#include "node/kernel/fou.h"
#include "node/kernel/maps.h"
#include "node/kernel/rtnl.h"

/* Room for the interfaces by which one endpoint can be reached. */
#define LINKS_OF_ONE 64

/* The state of one local_read(). */
struct survey {
	struct node_handle *handle;
	const struct policy *policy;
	struct local *local;
	struct link_local *link_locals; /* the node's link-local addresses */
	size_t n_link_locals;
	uint32_t *ways_out; /* interfaces of the default routes */
	size_t n_ways_out;
	size_t absent; /* endpoints left out because the node has just started */
	const struct table
		*in_force; /* local_read_one(): bh_ifaces; interfaces are asked for one by one */
};

static void survey_end(struct survey *survey)
{
	free(survey->link_locals);
	free(survey->ways_out);
}

static const struct link *ask_for_link(const struct survey *survey, const char *name,
				       uint32_t ifindex)
{
	struct local *local = survey->local;

	if (!survey->in_force || local->n_links == LINKS_OF_ONE ||
	    rtnl_link(survey->handle->rtnl, name, ifindex, &local->links[local->n_links]))
		return NULL;
	return &local->links[local->n_links++];
}

static const struct link *link_by_name(const struct survey *survey, const char *name)
{
	const struct local *local = survey->local;

	for (size_t i = 0; i < local->n_links; i++)
		if (!strcmp(local->links[i].name, name))
			return &local->links[i];
	return ask_for_link(survey, name, 0);
}

static const struct link *link_by_ifindex(const struct survey *survey, uint32_t ifindex)
{
	const struct local *local = survey->local;

	for (size_t i = 0; i < local->n_links; i++)
		if (local->links[i].ifindex == ifindex)
			return &local->links[i];
	return ifindex ? ask_for_link(survey, NULL, ifindex) : NULL;
}

static int compare_addresses(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct address));
}

/* Collects the addresses of the interfaces, and those of the Node object. */
static int node_addresses(struct survey *survey)
{
	struct local *local = survey->local;
	const struct policy *policy = survey->policy;
	const struct policy_node *node = policy_node_by_name(policy, local->name);
	int error = rtnl_addresses(survey->handle->rtnl, &local->addresses, &local->n_addresses);

	if (!error)
		error = rtnl_link_locals(survey->handle->rtnl, &survey->link_locals,
					 &survey->n_link_locals);
	if (!error && node) {
		void *grown =
			reallocarray(local->addresses, local->n_addresses + node->addresses.n + 1,
				     sizeof(*local->addresses));

		if (!grown)
			return -ENOMEM;
		local->addresses = grown;
		memcpy(local->addresses + local->n_addresses,
		       policy->node_addresses + node->addresses.at,
		       node->addresses.n * sizeof(*local->addresses));
		local->n_addresses += node->addresses.n;
	}
	if (!error && local->n_addresses)
		qsort(local->addresses, local->n_addresses, sizeof(*local->addresses),
		      compare_addresses);
	return error;
}

/* Returns NULL where the interface gets no programs so far. */
static struct bh_iface *iface_at(const struct local *local, uint32_t ifindex)
{
	for (size_t i = 0; i < local->ifaces.n; i++)
		if (*(uint32_t *)table_key(&local->ifaces, i) == ifindex)
			return table_value(&local->ifaces, i);
	return NULL;
}

/* As iface_at(); where one endpoint is added, also among the interfaces in force. */
static const struct bh_iface *taken_by(const struct survey *survey, uint32_t ifindex)
{
	const struct bh_iface *iface = iface_at(survey->local, ifindex);

	return iface || !survey->in_force ? iface : table_find(survey->in_force, &ifindex);
}

static uint32_t bridge_of(const struct survey *survey, const struct link *link)
{
	const struct link *master = link ? link_by_ifindex(survey, link->master) : NULL;

	return master && master->bridge ? master->ifindex : 0;
}

static int add_uplink(struct survey *survey, uint32_t ifindex)
{
	const struct link *link = link_by_ifindex(survey, ifindex);
	struct bh_iface iface = {.flags = BH_IFACE_UPLINK, .bridge = bridge_of(survey, link)};

	if (survey->handle->options->audit)
		iface.flags |= BH_IFACE_AUDIT;
	if (iface_at(survey->local, ifindex))
		return 0;
	if (link && link->bare)
		iface.flags |= BH_IFACE_BARE;
	survey->local->uplinks++;
	return table_add(&survey->local->ifaces, &ifindex, &iface);
}

static int add_uplink_by_name(struct survey *survey, const char *name)
{
	const struct link *link = link_by_name(survey, name);

	if (link)
		return add_uplink(survey, link->ifindex);
	if (!survey->handle->options->boot)
		return node_fail(survey->handle, -ENODEV, "uplink %s", name);
	diag_warn(survey->handle->diag, NULL, NULL,
		  "uplink %s is not there yet: a load that finds it guards it", name);
	return 0;
}

static int find_ways_out(struct survey *survey)
{
	int error =
		rtnl_default_routes(survey->handle->rtnl, &survey->ways_out, &survey->n_ways_out);

	return error ? node_fail(survey->handle, error, "cannot list the default routes") : 0;
}

static bool is_way_out(const struct survey *survey, uint32_t ifindex)
{
	for (size_t i = 0; i < survey->n_ways_out; i++)
		if (survey->ways_out[i] == ifindex)
			return true;
	return false;
}

static int choose_uplinks(struct survey *survey)
{
	const struct node_options *options = survey->handle->options;
	const struct policy *policy = survey->policy;
	int error = 0;

	for (size_t i = 0; !error && i < options->n_uplinks; i++)
		error = add_uplink_by_name(survey, options->uplinks[i]);
	if (error || options->n_uplinks)
		return error;
	for (uint32_t i = 0; !error && i < policy->uplinks_n; i++)
		error = add_uplink_by_name(survey, policy_string(policy, policy->texts[i]));
	if (error || policy->uplinks_n)
		return error;
	for (size_t i = 0; !error && i < survey->n_ways_out; i++)
		error = add_uplink(survey, survey->ways_out[i]);
	if (!error && !survey->n_ways_out)
		diag_note(survey->handle->diag, NULL, NULL,
			  "no uplink is named and there is no default route: endpoints are guarded "
			  "at "
			  "their own interfaces only");
	return error;
}

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
		*link = link_by_ifindex(survey, ifindex);
		iface = taken_by(survey, ifindex);
		if (*link && !(*link)->loopback && !is_way_out(survey, ifindex) &&
		    !(iface && iface->flags & BH_IFACE_UPLINK))
			return 0;
	}
	*link = NULL;
	return 0;
}

static struct bh_addr bh_addr_from(const struct address *address)
{
	struct bh_addr addr;

	memcpy(&addr, address, sizeof(addr));
	return addr;
}

static int add_mac(struct local *local, const struct policy_endpoint *endpoint,
		   const struct bh_iface *iface, uint32_t ifindex)
{
	struct bh_mac_key key = {.kind = BH_MAC_ENDPOINT};
	struct bh_mac value = {iface->ipv4, iface->ipv6, .ifindex = ifindex};

	if (!(endpoint->flags & POLICY_MAC))
		return 0;
	memcpy(key.mac, endpoint->mac, sizeof(key.mac));
	return table_add(&local->macs, &key, &value);
}

/* Whether the address is in 169.254.0.0/16, where a node may have an address for its own DNS. */
static bool is_link_local(const struct address *address)
{
	return address->bytes[12] == 169 && address->bytes[13] == 254;
}

/* Sets the addresses by which policy knows the node when it uses a link-local one: the first of
 * each IP version that its Node object names, else that the node has. */
static bool node_mac_value(const struct survey *survey, struct bh_mac *value)
{
	const struct policy *policy = survey->policy;
	const struct policy_node *node = policy_node_by_name(policy, survey->local->name);
	const struct local *local = survey->local;
	const struct address *ipv4 = NULL, *ipv6 = NULL;

	for (size_t i = local->n_addresses; i-- > 0;) {
		const struct address *address = &local->addresses[i];

		if (ipv4 && address_is_ipv4(address) && is_link_local(address))
			continue;
		*(address_is_ipv4(address) ? &ipv4 : &ipv6) = address;
	}
	for (uint32_t i = node ? node->addresses.n : 0; i-- > 0;) {
		const struct address *address = &policy->node_addresses[node->addresses.at + i];

		*(address_is_ipv4(address) ? &ipv4 : &ipv6) = address;
	}
	if (!ipv4 && !ipv6)
		return false;
	value->ipv4 = bh_addr_from(ipv4 ? ipv4 : ipv6);
	value->ipv6 = bh_addr_from(ipv6 ? ipv6 : ipv4);
	return true;
}

/* Several interfaces may have one MAC. */
static int add_node_mac(struct survey *survey, const struct link *link)
{
	struct local *local = survey->local;
	struct bh_mac_key key = {.kind = BH_MAC_NODE};
	struct bh_mac value = {};

	if (!link || !node_mac_value(survey, &value))
		return 0;
	memcpy(key.mac, link->mac, sizeof(key.mac));
	if (!memcmp(key.mac, (uint8_t[6]){}, sizeof(key.mac)))
		return 0;
	for (size_t i = 0; i < local->macs.n; i++)
		if (!memcmp(table_key(&local->macs, i), &key, sizeof(key)))
			return 0;
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

/* Adds the node's link-local addresses on an endpoint's link: those of its bridge, of its
 * interface, and of the interface by which the node reaches it. */
static int add_link_locals(struct survey *survey, const struct bh_iface *iface, uint32_t ifindex)
{
	struct table *table = &survey->local->link_locals;
	struct bh_link_local_key key = {.link = iface->bridge ? iface->bridge : ifindex};
	const struct bh_link_local value = {};
	int error = 0;

	for (size_t i = 0; !error && i < survey->n_link_locals; i++) {
		const struct link_local *own = &survey->link_locals[i];
		bool there = false;

		if (own->ifindex != ifindex && own->ifindex != iface->bridge &&
		    own->ifindex != iface->via)
			continue;
		key.addr = bh_addr_from(&own->address);
		for (size_t j = 0; !there && j < table->n; j++)
			there = !memcmp(table_key(table, j), &key, sizeof(key));
		error = there ? 0 : table_add(table, &key, &value);
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
				 "cannot ask for the route to what is behind %s", link->name);
	*via = route && route != link ? route->ifindex : link->master;
	return 0;
}

static int add_endpoint(struct survey *survey, const struct policy_endpoint *endpoint,
			const struct link *link)
{
	const struct policy *policy = survey->policy;
	struct local *local = survey->local;
	struct bh_iface iface = {.flags = BH_IFACE_ENDPOINT, .bridge = bridge_of(survey, link)};
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
	if (endpoint->flags & POLICY_MAC) {
		iface.flags |= BH_IFACE_MAC;
		memcpy(iface.mac, endpoint->mac, sizeof(iface.mac));
	}
	for (uint32_t i = endpoint->addresses.n; i-- > 0;) {
		const struct address *address = endpoint_address(policy, endpoint, i);

		*(address_is_ipv4(address) ? &iface.ipv4 : &iface.ipv6) = bh_addr_from(address);
	}
	local->endpoints++;
	error = table_add(&local->ifaces, &link->ifindex, &iface);
	if (!error)
		error = add_mac(local, endpoint, &iface, link->ifindex);
	if (!error)
		error = add_node_mac(survey, link);
	if (!error)
		error = add_node_mac(survey, link_by_ifindex(survey, iface.via));
	if (!error)
		error = add_link_locals(survey, &iface, link->ifindex);
	return error ? error : add_allow_source(local, policy, endpoint, link->ifindex);
}

/* Returns the bridge port of an address of the endpoint that is in force. The bridge itself does
 * not know the port. */
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
		link = link_by_ifindex(survey, entry.ifindex);
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
		*link = link_by_name(survey, interface);
	else
		error = find_link(survey, endpoint, link);
	if (!error && !endpoint->interface && *link && (*link)->bridge)
		*link = link_in_force(survey, endpoint, *link);
	if (error)
		return node_fail(handle, error, "endpoint %s/%s: cannot ask for the route to it",
				 ns, name);
	/* The node has just started, and its endpoints of before have not. */
	if (handle->options->boot && (!*link || (!endpoint->interface && (*link)->bridge))) {
		*link = NULL;
		survey->absent++;
		return 0;
	}
	if (!*link && endpoint->interface)
		return node_fail(handle, -ENODEV, "endpoint %s/%s: interface %s", ns, name,
				 interface);
	if (!*link)
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

static int place_endpoint(struct survey *survey, const struct policy_endpoint *endpoint,
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
	taken = taken_by(survey, link->ifindex);
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

static int place_endpoints(struct survey *survey)
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
		error = place_endpoint(survey, endpoint, &survey->local->ifindexes[i]);
	}
	if (!error && survey->absent)
		diag_note(survey->handle->diag, NULL, NULL,
			  "%zu of %zu endpoints of this node have no interface yet: whoever brings "
			  "one adds it (endpoint add, load)",
			  survey->absent, here);
	if (!error && !here && policy->n_endpoints)
		diag_note(survey->handle->diag, NULL, NULL,
			  "of %zu endpoints, none is on the node %s (-n names another)",
			  policy->n_endpoints, survey->local->name);
	return error;
}

static bool has_endpoint(const struct local *local, uint32_t bridge)
{
	for (size_t i = 0; bridge && i < local->ifaces.n; i++) {
		const struct bh_iface *iface = table_value(&local->ifaces, i);

		if (iface->flags & BH_IFACE_ENDPOINT && iface->bridge == bridge)
			return true;
	}
	return false;
}

/* Whether packets that come in by the port were at another interface of this node before, or
 * made here. */
static bool leads_inside(const struct survey *survey, const struct link *port)
{
	const struct link *lower = link_by_ifindex(survey, port->lower);

	return !port->elsewhere && lower && (port->veth || (port->vlan && lower->bridge));
}

static int add_ports(struct survey *survey)
{
	struct local *local = survey->local;
	struct bh_iface iface = {.flags = BH_IFACE_PORT};
	int error = 0;

	if (survey->handle->options->audit)
		iface.flags |= BH_IFACE_AUDIT;
	for (size_t i = 0; !error && i < local->n_links; i++) {
		const struct link *port = &local->links[i];

		iface.bridge = bridge_of(survey, port);
		if (!has_endpoint(local, iface.bridge) || iface_at(local, port->ifindex) ||
		    leads_inside(survey, port))
			continue;
		local->ports++;
		error = table_add(&local->ifaces, &port->ifindex, &iface);
	}
	return error;
}

static bool is_master(const struct local *local, uint32_t ifindex)
{
	for (size_t i = 0; i < local->n_links; i++)
		if (local->links[i].master == ifindex)
			return true;
	return false;
}

/* Whether the node may receive an endpoint's packets by the interface: it is a bridge or the
 * like, even if no endpoint is on it yet, or leads back to another interface of this node. */
static bool brings_endpoints(const struct survey *survey, const struct link *link, uint32_t flags)
{
	const struct table *ifaces = &survey->local->ifaces;

	if (link->bridge || leads_inside(survey, link) ||
	    (!(flags & BH_IFACE_UPLINK) && is_master(survey->local, link->ifindex)))
		return true;
	for (size_t i = 0; i < ifaces->n; i++)
		if (((struct bh_iface *)table_value(ifaces, i))->via == link->ifindex)
			return true;
	return false;
}

/* Keeps a sealed interface as it is until it goes. */
static int add_sealed(struct survey *survey)
{
	struct local *local = survey->local;
	int error = 0;

	for (size_t i = 0; !error && i < local->n_links; i++) {
		const uint32_t ifindex = local->links[i].ifindex;
		struct bh_iface iface;

		if (!iface_at(local, ifindex) &&
		    !maps_lookup(survey->handle, MAP_ifaces, &ifindex, &iface) &&
		    endpoint_del_is_sealed(&iface))
			error = table_add(&local->ifaces, &ifindex, &iface);
	}
	return error;
}

/* Adds all other interfaces that are up: packets may leave the node by them. */
static int add_others(struct survey *survey)
{
	struct local *local = survey->local;
	struct bh_iface iface = {.flags = BH_IFACE_OTHER};
	int error = 0;

	for (size_t i = 0; !error && i < local->n_links; i++) {
		const struct link *link = &local->links[i];

		iface.flags = BH_IFACE_OTHER | (link->bare ? BH_IFACE_BARE : 0);
		if (link->up && !link->loopback && !iface_at(local, link->ifindex))
			error = table_add(&local->ifaces, &link->ifindex, &iface);
	}
	for (size_t i = 0; i < local->n_links; i++) {
		struct bh_iface *there = iface_at(local, local->links[i].ifindex);

		if (there && !(there->flags & BH_IFACE_ENDPOINT) &&
		    brings_endpoints(survey, &local->links[i], there->flags))
			there->flags |= BH_IFACE_VIA;
	}
	return error;
}

static int add_tunnels(struct table *table, const uint32_t *ports, size_t n)
{
	const struct bh_tunnel value = {};
	int error = 0;

	for (size_t i = 0; !error && i < n; i++) {
		bool there = false;

		for (size_t j = 0; !there && j < table->n; j++)
			there = *(uint32_t *)table_key(table, j) == ports[i];
		error = there ? 0 : table_add(table, &ports[i], &value);
	}
	return error;
}

/* Reads the tunnels that the kernel has now. */
static int read_tunnels(struct survey *survey)
{
	struct table *table = &survey->local->tunnels;
	SCOPED_FREE uint32_t *devices = NULL, *others = NULL;
	size_t n_devices = 0, n_others = 0;
	int error = rtnl_tunnel_ports(survey->handle->rtnl, &devices, &n_devices);

	if (!error)
		error = fou_ports(&others, &n_others);
	if (!error)
		error = add_tunnels(table, devices, n_devices);
	if (!error)
		error = add_tunnels(table, others, n_others);
	table_sort(table);
	return error ? node_fail(survey->handle, error, "cannot list the tunnels") : 0;
}

static int local_init(struct node_handle *handle, const struct policy *policy, struct local *local)
{
	table_init(&local->ifaces, sizeof(uint32_t), sizeof(struct bh_iface));
	table_init(&local->macs, sizeof(struct bh_mac_key), sizeof(struct bh_mac));
	table_init(&local->allow_source, sizeof(struct bh_allow_source_key),
		   sizeof(struct bh_allow_source));
	table_init(&local->link_locals, sizeof(struct bh_link_local_key),
		   sizeof(struct bh_link_local));
	table_init(&local->tunnels, sizeof(uint32_t), sizeof(struct bh_tunnel));
	local->ifindexes = calloc(policy->n_endpoints + 1, sizeof(*local->ifindexes));
	return local->ifindexes ? 0 : node_fail(handle, -ENOMEM, "cannot look at this node");
}

/* Returns the node's name from the options or the policy; NULL: neither has one. */
static const char *said_name(const struct node_handle *handle, const struct policy *policy)
{
	if (handle->options->name)
		return handle->options->name;
	return policy->node ? policy_string(policy, policy->node) : NULL;
}

/* Checks the name, if one is given, against the one that the pin folder has. */
static int check_name(const struct node_handle *handle, const char *name)
{
	const char *known = handle->policy ? handle->blob.node : NULL;

	if (name && strlen(name) >= sizeof(handle->blob.node)) {
		diag_error(handle->diag, NULL, NULL, "node name %s: too long", name);
		return -EINVAL;
	}
	if (!name || !known || handle->options->force || !strcmp(name, known))
		return 0;
	diag_error(handle->diag, NULL, NULL,
		   "this node is %s by the load before, and %s now: --force makes it that", known,
		   name);
	return -EINVAL;
}

int local_choose_name(struct node_handle *handle, const struct policy *policy, struct local *local)
{
	const char *name = said_name(handle, policy);
	int error = check_name(handle, name);

	if (error)
		return error;
	if (!name && handle->policy)
		name = handle->blob.node;
	if (name)
		strcpy(local->name, name);
	else if (gethostname(local->name, sizeof(local->name) - 1))
		return node_fail(handle, -errno, "cannot read the host's name");
	return 0;
}

int local_read_one(struct node_handle *handle, const struct policy *policy,
		   const struct table *in_force, struct local *local)
{
	CLEANUP(survey_end)
	struct survey survey = {
		.handle = handle, .policy = policy, .local = local, .in_force = in_force};
	int error = local_init(handle, policy, local);

	if (error)
		return error;
	local->links = calloc(LINKS_OF_ONE, sizeof(*local->links));
	error = local->links ? node_addresses(&survey) : -ENOMEM;
	if (error)
		return node_fail(handle, error, "cannot list the node's addresses");
	error = read_tunnels(&survey);
	if (!error)
		error = find_ways_out(&survey);
	if (!error)
		error = place_endpoint(&survey, policy->endpoints, &local->ifindexes[0]);
	table_sort(&local->macs);
	table_sort(&local->allow_source);
	table_sort(&local->link_locals);
	return error;
}

int local_read(struct node_handle *handle, const struct policy *policy, struct local *local)
{
	CLEANUP(survey_end)
	struct survey survey = {.handle = handle, .policy = policy, .local = local};
	int error = local_init(handle, policy, local);

	if (error)
		return error;
	error = rtnl_links(handle->rtnl, &local->links, &local->n_links);
	if (error)
		return node_fail(handle, error, "cannot list the interfaces");
	error = node_addresses(&survey);
	if (error)
		return node_fail(handle, error, "cannot list the node's addresses");
	error = read_tunnels(&survey);
	if (!error)
		error = find_ways_out(&survey);
	if (!error)
		error = choose_uplinks(&survey);
	if (!error)
		error = place_endpoints(&survey);
	if (!error)
		error = add_sealed(&survey);
	if (!error)
		error = add_ports(&survey);
	if (!error)
		error = add_others(&survey);
	table_sort(&local->ifaces);
	table_sort(&local->macs);
	table_sort(&local->allow_source);
	table_sort(&local->link_locals);
	return error;
}

void local_free(struct local *local)
{
	free(local->addresses);
	free(local->ifindexes);
	free(local->links);
	table_free(&local->ifaces);
	table_free(&local->macs);
	table_free(&local->allow_source);
	table_free(&local->link_locals);
	table_free(&local->tunnels);
	table_free(&local->kept);
}

static void warn_of_ports(const struct node_handle *handle, const struct local *local,
			  const struct link *bridge)
{
	const struct link *first = NULL;
	char more[40] = "";
	size_t n = 0;

	for (size_t i = 0; i < local->n_links; i++) {
		const struct link *port = &local->links[i];
		const struct bh_iface *iface = iface_at(local, port->ifindex);

		if (port->master != bridge->ifindex || (iface && !(iface->flags & BH_IFACE_OTHER)))
			continue;
		first = first ? first : port;
		n++;
	}
	if (n > 1)
		snprintf(more, sizeof(more), " (and %zu more)", n - 1);
	if (n)
		diag_warn(
			handle->diag, NULL, NULL,
			"bridge %s: its port %s%s leads to another interface of this node and is "
			"not guarded: what it sends through the bridge's own address can claim to "
			"be an endpoint",
			bridge->name, first->name, more);
}

void local_warn(const struct node_handle *handle, const struct local *local)
{
	for (size_t i = 0; i < local->n_links; i++) {
		const struct link *link = &local->links[i];

		if (link->bridge && has_endpoint(local, link->ifindex))
			warn_of_ports(handle, local, link);
	}
}
