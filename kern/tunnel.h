/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drops packets that an endpoint encapsulates to a node, unless `encapsulation` is set. The node
 * would unpack them, and the inner packet would come from the tunnel device, with any address.
 * Policy about the outer packet does not matter. Three hooks share the work:
 *
 * - the sender's hook: to its own node, and to the addresses of all Node objects;
 * - the leave hook: to other nodes, where the packet had a Service's address before;
 * - the socket of the tunnel: to the own node, whatever address the packet had before. Only there
 * is the address that the node's translation has chosen known, and no packet is too early for it.
 */
#ifndef BULKHEAD_KERN_TUNNEL_H
#define BULKHEAD_KERN_TUNNEL_H

#include "leave.h"
#include "local.h"
#include "tunables.h"
#include "maps/tunnel.bpf.h"

/* Returns true if nodes decapsulate what comes to a UDP port, in host byte order. */
static __noinline bool tunnel_port(__u32 port)
{
	struct bh_tunnel_key key = {.port = port};

	return bpf_map_lookup_elem(&bh_tunnels, &key);
}

static __always_inline bool tunnel_is(const struct packet *p)
{
	switch (p->protocol) {
	case IPPROTO_IPIP:
	case IPPROTO_IPV6:
	case IPPROTO_GRE:
	case IPPROTO_MPLS:
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

	return bpf_map_lookup_elem(&bh_tunnels, &key);
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
	return !(end.flags & END_ENDPOINT) && local_stays(skb, p, &addr);
}

static __always_inline bool tunnel_drops(struct __sk_buff *skb, const struct packet *p)
{
	return !encapsulation && p->hook == BH_HOOK_FROM_ENDPOINT && tunnel_is(p) &&
	       tunnel_to_node(skb, p);
}

/* At the leave hook: returns true if an endpoint of this node sends the packet to another node,
 * which would decapsulate it. The kernel's conntrack tells who sent it. */
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
	leaves = leave_from(p, &sender);
	p->told = 0;
	return leaves;
}

#define TUNNEL_SOMEBODY 0xffffffffu /* in the place of an endpoint's interface */

/*
 * Returns the interface of the endpoint of this node that sent the packet of a socket; 0: none did.
 * A bridge does not tell its port, and br_netfilter tells the interface of the node's address over
 * IPv6: then the source address decides, which no uplink brings. Nodes that tunnel from link-local
 * addresses do so to such addresses, so a link-local source with another destination is a host's on
 * a bridge.
 */
static __noinline __u32 tunnel_sender(struct bpf_sk_lookup *ctx, __u32 generation)
{
	struct bh_iface *iface = endpoint_iface(ctx->ingress_ifindex);
	struct bh_addr addr, local;
	struct end end = {};
	__be32 ipv4;

	if (iface && iface->flags & BH_IFACE_ENDPOINT)
		return ctx->ingress_ifindex;
	/* Every load comes before the branch: the verifier refuses one load for both versions. */
	ipv4 = READ_ONCE(ctx->remote_ip4);
	local.word[0] = READ_ONCE(ctx->local_ip6[0]);
	addr.word[0] = READ_ONCE(ctx->remote_ip6[0]);
	addr.word[1] = READ_ONCE(ctx->remote_ip6[1]);
	addr.word[2] = READ_ONCE(ctx->remote_ip6[2]);
	addr.word[3] = READ_ONCE(ctx->remote_ip6[3]);
	if (ctx->family == AF_INET)
		addr = (struct bh_addr){{0, 0, bpf_htonl(0xffff), ipv4}};
	else if (endpoint_link_local(&addr) && !endpoint_link_local(&local))
		return TUNNEL_SOMEBODY;
	return endpoint_resolve(&addr, generation, &end) ? 0 : end.ifindex;
}

/* Returns true if the packet goes to a tunnel of this node, and an endpoint sent it. */
static __always_inline bool tunnel_received(struct bpf_sk_lookup *ctx)
{
	__u32 generation = packet_generation(), sender;
	struct bh_iface *iface;
	bool audit;

	if (encapsulation || !generation || ctx->protocol != IPPROTO_UDP ||
	    likely(!tunnel_port(ctx->local_port)))
		return false;
	sender = tunnel_sender(ctx, generation);
	if (!sender)
		return false;
	iface = endpoint_iface(sender);
	audit = iface && iface->flags & BH_IFACE_AUDIT;
	events_count(BH_DROP_TUNNEL, 0, BH_EGRESS, audit);
	return !audit;
}

#endif
