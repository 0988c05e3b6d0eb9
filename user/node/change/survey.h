/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of one local_read() (local.h), and its steps: each adds to `local` what it finds. Steps
 * return 0 or -errno, reported, unless said otherwise.
 */
#ifndef BULKHEAD_NODE_SURVEY_H
#define BULKHEAD_NODE_SURVEY_H

#include <string.h>

#include "maps/iface.h"
#include "node/change/local.h"
#include "node/kernel/rtnl.h"

/* Room for the interfaces by which one endpoint can be reached. */
#define LINKS_OF_ONE 64

struct survey {
	struct node_handle *handle;
	const struct policy *policy;
	struct local *local;
	struct link_local *link_locals; /* the node's link-local addresses */
	size_t n_link_locals;
	uint32_t *ways_out; /* interfaces of the default routes */
	size_t n_ways_out;
	size_t absent; /* endpoints left out because they have no interface yet */
	const struct table
		*in_force; /* local_read_one(): bh_ifaces; interfaces are asked for one by one */
};

/* survey.c: the interface of that name or number; NULL: there is none. */
const struct link *survey_link_by_name(const struct survey *survey, const char *name);
const struct link *survey_link(const struct survey *survey, uint32_t ifindex);
/* Returns the interface's entry as planned so far; NULL: the interface gets no programs so far. */
struct bh_iface *survey_iface(const struct local *local, uint32_t ifindex);
/* As survey_iface(). While one endpoint is added, it also looks among the interfaces in force. */
const struct bh_iface *survey_taken_by(const struct survey *survey, uint32_t ifindex);
/* Returns the bridge that the interface is a port of; 0: none. */
uint32_t survey_bridge(const struct survey *survey, const struct link *link);

/* survey_node.c: the node's own addresses (the error is not reported), its tunnels, and, for an
 * endpoint's interface, the MAC that the node has there and its link-local addresses on that link.
 */
int survey_addresses(struct survey *survey);
int survey_tunnels(struct survey *survey);
/* survey_resolvers.c: the DNS servers whose answers teach. survey_dns_service() adds the addresses
 * of the Service kube-system/kube-dns and of its backends; its error is not reported. */
int survey_resolvers(struct survey *survey);
int survey_dns_service(const struct lazy_policy *policy, struct table *table);
/* Adds the addresses of the policy's nodes to entries of bh_tunnels. The error is not reported. */
int survey_nodes(const struct policy *policy, struct table *table);
int survey_node_mac(struct survey *survey, const struct link *link);
int survey_link_locals(struct survey *survey, const struct bh_iface *iface, uint32_t ifindex);

/* survey_uplinks.c: the interfaces of the default routes, and the uplinks: those that an option
 * names, else those that the policy names, else those of the default routes. */
int survey_ways_out(struct survey *survey);
bool survey_is_way_out(const struct survey *survey, uint32_t ifindex);
int survey_uplinks(struct survey *survey);

/* survey_endpoints.c: the interface of each endpoint of this node. *ifindex is not set where the
 * endpoint has no interface. */
int survey_endpoints(struct survey *survey);
int survey_endpoint(struct survey *survey, const struct policy_endpoint *endpoint,
		    uint32_t *ifindex);

/* survey_ports.c: sealed interfaces as they are in force, the other ports of the endpoints'
 * bridges, and all other interfaces that are up. */
int survey_sealed(struct survey *survey);
int survey_ports(struct survey *survey);
int survey_others(struct survey *survey);

static inline struct bh_addr bh_addr_from(const struct address *address)
{
	struct bh_addr addr;

	memcpy(&addr, address, sizeof(addr));
	return addr;
}

#endif
