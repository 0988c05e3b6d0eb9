/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel knows of this network namespace, by rtnetlink: interfaces,
 * addresses, routes, TC filters. Only questions; nothing is changed here.
 * Each function returns 0 or -errno and reports nothing.
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
	uint32_t master; /* ifindex of the bridge or the like that it is a port of, 0: none */
	uint32_t lower; /* ifindex of what it is made on; of a veth, of its other side */
	uint8_t mac[6]; /* all 0: none */
	bool up, loopback, bridge, vlan;
	bool bare; /* without Ethernet headers */
	bool veth, elsewhere; /* elsewhere: its other side is in another namespace */
	bool xdp; /* it has an XDP program, anybody's */
};

/* NULL: errno says why. */
struct mnl_socket *rtnl_open(void);
void rtnl_close(struct mnl_socket **socket);

/* Every interface. The array is to be freed. */
int rtnl_links(struct mnl_socket *socket, struct link **links, size_t *n);

/* One interface, by its name, or where that is NULL by its index; -ENODEV: there is none. */
int rtnl_link(struct mnl_socket *socket, const char *name, uint32_t ifindex, struct link *link);

/* The addresses of the interfaces, each once as the kernel has them, but for loopback
 * ones and link-local IPv6 ones: they mean nothing in a routed packet's path. To be freed. */
int rtnl_addresses(struct mnl_socket *socket, struct address **addresses, size_t *n);

/* A link-local IPv6 address of an interface. */
struct link_local {
	uint32_t ifindex;
	struct address address;
};

/* All of them. To be freed. */
int rtnl_link_locals(struct mnl_socket *socket, struct link_local **addresses, size_t *n);

/* The UDP ports on which tunnel devices listen (VXLAN, Geneve, bareudp). To be freed; one may stand
 * twice. */
int rtnl_tunnel_ports(struct mnl_socket *socket, uint32_t **ports, size_t *n);

/* The interfaces of the default routes, IPv4's and IPv6's. To be freed; one may stand twice. */
int rtnl_default_routes(struct mnl_socket *socket, uint32_t **ifindexes, size_t *n);

/* Where a packet to @address would leave; -ENETUNREACH: nowhere, or it is the node's own. */
int rtnl_route(struct mnl_socket *socket, const struct address *address, uint32_t *ifindex);

/* A BPF filter on a clsact qdisc. */
struct filter {
	uint32_t parent; /* TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS or TC_H_MIN_EGRESS) */
	uint32_t priority, handle;
	uint32_t program; /* ID; 0: not a BPF filter */
};

/* The filters of an interface's clsact qdisc, in both directions. None and 0 without one. */
int rtnl_filters(struct mnl_socket *socket, uint32_t ifindex, struct filter **filters, size_t *n);

/* Whether an interface has a clsact qdisc. */
int rtnl_has_clsact(struct mnl_socket *socket, uint32_t ifindex, bool *there);

#endif
