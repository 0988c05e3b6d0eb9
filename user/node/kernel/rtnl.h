/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Asks the kernel by rtnetlink about this network namespace: interfaces, addresses, routes, TC
 * filters. Changes nothing. Each function returns 0 or -errno and reports nothing. Arrays are to
 * be freed.
 */
#ifndef BULKHEAD_NODE_RTNL_H
#define BULKHEAD_NODE_RTNL_H

#include <net/if.h>
#include <stddef.h>
#include <stdint.h>

#include "model/cluster.h"

struct mnl_socket;

struct link {
	uint32_t ifindex;
	char name[IF_NAMESIZE];
	/* ifindex of the bridge or the like of which this interface is a port; 0: none */
	uint32_t master;
	/* ifindex of the interface on which this one is made; of a veth, of its other side */
	uint32_t lower;
	uint8_t mac[6]; /* all 0: none */
	bool up, loopback, bridge, vlan;
	bool bare; /* has no Ethernet headers */
	bool veth, elsewhere; /* `elsewhere`: its other side is in another namespace */
	int32_t lower_ns; /* if `elsewhere`: the kernel's number for that namespace */
	bool xdp; /* has an XDP program, ours or another's */
};

/* NULL: see errno. */
struct mnl_socket *rtnl_open(void);
void rtnl_close(struct mnl_socket **socket);

/* Lists every interface. */
int rtnl_links(struct mnl_socket *socket, struct link **links, size_t *n);

/* Finds one interface by its name, or if @name is NULL by its index. -ENODEV: there is none. */
int rtnl_link(struct mnl_socket *socket, const char *name, uint32_t ifindex, struct link *link);

/* Finds the number that the kernel has for another namespace, an open file. -ENOENT: it has none,
 * so no interface of this namespace has its other side there. */
int rtnl_namespace(struct mnl_socket *socket, int there, int32_t *number);

/* Lists the addresses of the interfaces, without loopback and link-local IPv6 addresses, which
 * routed packets do not have. */
int rtnl_addresses(struct mnl_socket *socket, struct address **addresses, size_t *n);

/* A link-local IPv6 address of an interface. */
struct link_local {
	uint32_t ifindex;
	struct address address;
};

/* Lists the link-local IPv6 addresses. */
int rtnl_link_locals(struct mnl_socket *socket, struct link_local **addresses, size_t *n);

/* Lists the UDP ports of tunnel devices (VXLAN, Geneve, bareudp). A port may stand twice. */
int rtnl_tunnel_ports(struct mnl_socket *socket, uint32_t **ports, size_t *n);

/* Lists the interfaces of the default routes of both IP versions. An interface may stand twice. */
int rtnl_default_routes(struct mnl_socket *socket, uint32_t **ifindexes, size_t *n);

/* Finds the interface by which a packet to @address would leave. -ENETUNREACH: there is none, or
 * the address is the node's own. */
int rtnl_route(struct mnl_socket *socket, const struct address *address, uint32_t *ifindex);

/* A BPF filter on a clsact qdisc. */
struct rtnl_filter {
	uint32_t parent; /* TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS or TC_H_MIN_EGRESS) */
	uint32_t chain; /* the kernel begins with chain 0; filters lead to the others */
	uint32_t priority, handle;
	uint32_t program; /* ID; 0: not a BPF filter */
};

/* Lists the filters of an interface's clsact qdisc, in both directions; those of one direction and
 * chain stand in the order in which they run. Without the qdisc the list is empty, and 0 is
 * returned. */
int rtnl_filters(struct mnl_socket *socket, uint32_t ifindex, struct rtnl_filter **filters,
		 size_t *n);

/* Returns true if an interface has a clsact qdisc. */
int rtnl_has_clsact(struct mnl_socket *socket, uint32_t ifindex, bool *there);

#endif
