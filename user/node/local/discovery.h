/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of one local_read() (local_entries.h), and its steps: each adds to `local` what it
 * finds. Steps return 0 or -errno, reported, unless said otherwise.
 */
#ifndef BULKHEAD_NODE_DISCOVERY_H
#define BULKHEAD_NODE_DISCOVERY_H

#include <string.h>

#include "maps/iface.h"
#include "node/kernel/rtnl.h"
#include "node/local/local_entries.h"

struct bh_endpoint;

/* Room for the interfaces by which one endpoint can be reached. */
#define LINKS_OF_ONE 64

struct discovery {
	struct node_handle *handle;
	const struct policy *policy;
	const struct cluster *added; /* the added endpoints that stay */
	const struct address *node_addresses; /* those of this node's object */
	size_t n_node_addresses;
	struct local *local;
	struct link_local *link_locals; /* the node's link-local addresses */
	size_t n_link_locals;
	uint32_t *ways_out; /* interfaces of the default routes */
	size_t n_ways_out;
	bool audit; /* the node only audits */
	size_t absent; /* endpoints left out because they have no interface yet */
	const struct table
		*active; /* local_read_one(): bh_ifaces; interfaces are asked for one by one */
};

/* discovery.c: the interface of that name or number; NULL: there is none. local_link() looks only
 * among the interfaces that are known already. */
const struct link *local_link(const struct local *local, uint32_t ifindex);
const struct link *discovery_link_by_name(const struct discovery *discovery, const char *name);
const struct link *discovery_link(const struct discovery *discovery, uint32_t ifindex);
/* Returns the interface's entry as planned so far; NULL: the interface gets no programs so far. */
struct bh_iface *discovery_iface(const struct local *local, uint32_t ifindex);
/* As discovery_iface(). While one endpoint is added, it also looks among the active interfaces. */
const struct bh_iface *discovery_owner(const struct discovery *discovery, uint32_t ifindex);
/* Returns the entry of an endpoint at an interface (0: none), without its place. @mac: the
 * endpoint's own; NULL: none. The interface's MAC, which a container runtime may have told, comes
 * first. */
struct bh_endpoint discovery_host_side(const struct local *local, uint32_t ifindex,
				       const uint8_t *mac);
/* Returns the bridge that the interface is a port of; 0: none. */
uint32_t discover_bridge(const struct discovery *discovery, const struct link *link);

/* discover_node.c: the node's own addresses (the error is not reported), the tunnels that the
 * kernel has now with the nodes that the policy has, and, for an endpoint's interface, the MACs
 * that the node has on the way there and its link-local addresses on that link. */
int discover_addresses(struct discovery *discovery);
int discover_tunnels(struct discovery *discovery);
/* Adds the UDP ports of the kernel's tunnels to entries of bh_tunnels. */
int discover_tunnel_ports(struct node_handle *handle, struct table *table);
int discover_node_side(struct discovery *discovery, const struct bh_iface *iface, uint32_t ifindex);
/* Adds the addresses of the policy's nodes to entries of bh_tunnels. The error is not reported. */
int discover_nodes(const struct policy *policy, struct table *table);
/* discover_resolvers.c: the DNS servers whose answers teach. discover_dns_service() adds the
 * addresses of the Service kube-system/kube-dns, discover_node_resolvers() then those that the node
 * itself has, and discover_resolver_backends() at last the backends of each Service whose own
 * address is there; their errors are not reported. */
int discover_resolvers(struct discovery *discovery);
/* Returns the place of the Service kube-system/kube-dns among the policy's; UINT32_MAX: there is
 * none. */
uint32_t discover_dns_place(const struct lazy_policy *policy);
int discover_dns_service(const struct lazy_policy *policy, struct table *table);
int discover_node_resolvers(const struct discovery *discovery, struct table *table);
int discover_resolver_backends(const struct lazy_policy *policy, struct table *table);

/* discover_uplinks.c: the interfaces of the default routes, and the uplinks: those that an option
 * names, else those that the policy names, else those of the default routes. */
int discover_egress(struct discovery *discovery);
bool discovery_is_egress(const struct discovery *discovery, uint32_t ifindex);
int discover_uplinks(struct discovery *discovery);

/* discover_endpoints.c: the interface of each endpoint of this node, and for added endpoints the
 * entries of `kept`. *ifindex is not set if the
 * endpoint has no interface. */
int discover_endpoints(struct discovery *discovery);
int discover_endpoint(struct discovery *discovery, const struct endpoint *endpoint,
		      uint32_t *ifindex);

/* discover_bridges.c: quarantined interfaces, the other ports of the endpoints' bridges, and all
 * other interfaces that are up. */
int discover_quarantined(struct discovery *discovery);
int discover_bridges(struct discovery *discovery);
int discover_others(struct discovery *discovery);

static inline struct bh_addr bh_addr_from(const struct address *address)
{
	struct bh_addr addr;

	memcpy(&addr, address, sizeof(addr));
	return addr;
}

#endif
