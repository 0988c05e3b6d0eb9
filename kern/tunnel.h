/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drops packets that an endpoint encapsulates to a node, unless `encapsulation` is set. The node
 * would unpack them, and the inner packet would come from the tunnel device, with any address.
 * Policy about the outer packet does not matter. Three hooks share the work:
 *
 * - the sender's hook: to its own node, and to the addresses of all Node objects;
 * - the host egress hook: to other nodes, where the packet had a Service's address before;
 * - the socket of the tunnel: to the own node, whatever address the packet had before. Only there
 * is the address that the node's translation has chosen known, and no packet is too early for it.
 */
#ifndef BULKHEAD_KERN_TUNNEL_H
#define BULKHEAD_KERN_TUNNEL_H

#include "host_egress.h"
#include "local.h"
#include "tunables.h"
#include "maps/tunnel.bpf.h"

#define TUNNEL_L2TP 115 /* L2TPv3 over IP: IPPROTO_L2TP, which older headers lack */

/* Returns true if nodes decapsulate what comes to a UDP port, in host byte order. */
static __noinline bool tunnel_port(__u32 port)
{
	struct bh_tunnel_key key = {.port = port};

	return active_lookup(&at_tunnels, &key);
}

static __always_inline bool tunnel_is(const struct packet *p)
{
	switch (p->protocol) {
	case IPPROTO_IPIP:
	case IPPROTO_IPV6:
	case IPPROTO_GRE:
	case IPPROTO_MPLS:
	case TUNNEL_L2TP:
		return true;
	case IPPROTO_UDP:
		return tunnel_port(bpf_ntohs(p->port[1]));
	}
	return false;
}

/* Returns true if a Node object has the address. */
static __always_inline bool tunnel_has(const struct bh_addr *addr)
{
	struct bh_tunnel_key key = {.addr = *addr};

	return active_lookup(&at_tunnels, &key);
}

/* Returns true if a packet that encapsulates another goes to a node: that of the endpoint that sent
 * it, or another one. */
BPF_GLOBAL int tunnel_to_node(struct __sk_buff *skb, const struct packet *p)
{
	struct end end = {};
	struct bh_addr addr;

	if (!p)
		return true;
	packet_address(p, !p->from, &addr);
	if (tunnel_has(&addr) || endpoint_resolve(&addr, p->generation, &end) ||
	    end.flags & END_NODE)
		return true;
	return !(end.flags & END_ENDPOINT) && local_is_delivered(skb, p, &addr);
}

static __always_inline bool tunnel_drops(struct __sk_buff *skb, const struct packet *p)
{
	return !encapsulation && p->hook == BH_HOOK_FROM_ENDPOINT && tunnel_is(p) &&
	       tunnel_to_node(skb, p);
}

/* At the host egress hook: returns true if an endpoint of this node sends the packet to another
 * node, which would decapsulate it. The kernel's conntrack tells who sent it. */
static __noinline bool tunnel_leaves(struct __sk_buff *skb, struct packet *p)
{
	struct end sender = {};
	struct bh_addr addr;
	bool leaves;

	if (encapsulation || p->class != PACKET_FLOW || !tunnel_is(p))
		return false;
	packet_address(p, !p->from, &addr);
	if (!tunnel_has(&addr))
		return false;
	p->told = netfilter_ask(skb, p);
	leaves = host_egress_find_sender(p, &sender);
	p->told = 0;
	return leaves;
}

#endif
