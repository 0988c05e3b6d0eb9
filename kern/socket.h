/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * At the sockets of the node: packets of its endpoints. A Service's address may stand for the node
 * itself, by a backend or an address that no map knows (yet), and no hook of an interface sees what
 * the translation has made of the packet. So where the kernel looks for a socket of the node, this
 * drops
 *
 * - encapsulated packets (tunnel.h), and
 * - connections and datagrams that an Admin or Baseline rule denies the endpoint, asked about the
 *   address that the packet has now, and about the node. All others reach the node always.
 *
 * The kernel looks for no socket for segments of an open TCP connection, nor for SCTP and ICMP.
 */
#ifndef BULKHEAD_KERN_SOCKET_H
#define BULKHEAD_KERN_SOCKET_H

#include "policy_ask.h"
#include "tunnel.h"

#define SOCKET_SOMEBODY 0xffffffffu /* in the place of an endpoint's interface */

/* A packet that looks for a socket. */
struct socket_packet {
	struct bh_addr source, destination;
	__u32 ingress; /* later the sender's interface */
	__u32 point, generation;
	__be16 port[2]; /* source, destination */
	__u8 protocol;
	__u8 version; /* 4 or 6 */
};

static __always_inline void socket_read(struct bpf_sk_lookup *ctx, struct socket_packet *p)
{
	__be32 from = READ_ONCE(ctx->remote_ip4), to = READ_ONCE(ctx->local_ip4);

	/* Every load comes before the branch: the verifier refuses one load for both versions. */
	p->source.word[0] = READ_ONCE(ctx->remote_ip6[0]);
	p->source.word[1] = READ_ONCE(ctx->remote_ip6[1]);
	p->source.word[2] = READ_ONCE(ctx->remote_ip6[2]);
	p->source.word[3] = READ_ONCE(ctx->remote_ip6[3]);
	p->destination.word[0] = READ_ONCE(ctx->local_ip6[0]);
	p->destination.word[1] = READ_ONCE(ctx->local_ip6[1]);
	p->destination.word[2] = READ_ONCE(ctx->local_ip6[2]);
	p->destination.word[3] = READ_ONCE(ctx->local_ip6[3]);
	p->version = ctx->family == AF_INET ? 4 : 6;
	if (p->version == 6)
		return;
	p->source = (struct bh_addr){{0, 0, bpf_htonl(0xffff), from}};
	p->destination = (struct bh_addr){{0, 0, bpf_htonl(0xffff), to}};
}

/*
 * Finds the endpoint of this node that sent the packet. Returns its interface; 0: none sent it. A
 * bridge does not tell its port, and br_netfilter tells the interface of the node's address over
 * IPv6: then the source address decides, which no uplink brings. Nodes that tunnel from link-local
 * addresses do so to such addresses, so a link-local source with another destination is a host's on
 * a bridge.
 */
static __noinline __u32 socket_sender(const struct socket_packet *p, struct end *sender)
{
	struct bh_iface *iface = endpoint_iface(p->ingress);
	struct bh_endpoint *endpoint;

	if (iface && iface->flags & BH_IFACE_ENDPOINT) {
		if (!endpoint_resolve(&p->source, p->generation, sender) &&
		    sender->ifindex != p->ingress)
			endpoint_of(p->ingress, p->version, p->generation, sender);
		return p->ingress;
	}
	/* Most packets end here: what tunnels of other nodes send comes by an uplink. */
	if (p->version == 4 && !(iface && iface->flags & BH_IFACE_VIA))
		return 0;
	if (p->version == 6 && endpoint_link_local(&p->source) &&
	    !endpoint_link_local(&p->destination))
		return SOCKET_SOMEBODY;
	endpoint = active_lookup(&at_endpoints, &p->source);
	if (!endpoint || !endpoint->ifindex)
		return 0;
	endpoint_resolve(&p->source, p->generation, sender);
	return endpoint->ifindex;
}

/* Returns true if an Admin or Baseline rule denies the endpoint this end. */
static __always_inline bool socket_refuses(const struct socket_packet *p, const struct end *sender,
					   const struct end *node)
{
	__u32 verdict;

	return policy_denies_node(sender, node, p->point, &verdict);
}

/* Finds the node as policy knows it by the endpoint's interface. */
static __noinline int socket_node(const struct socket_packet *p, __u32 ifindex, struct end *node)
{
	return endpoint_node(ifindex, p->version, p->generation, BH_DROP_INTERFACE, node);
}

/* Returns true if policy denies the endpoint @sender its own node, at the packet's address. An
 * address that no map knows as the node's is evaluated as the node, too. */
static __noinline bool socket_denied(const struct socket_packet *p, const struct end *sender)
{
	struct end node = {};

	if (!policy_has_egress(sender) || endpoint_resolve(&p->destination, p->generation, &node))
		return false;
	if (socket_refuses(p, sender, &node))
		return true;
	if (node.flags & END_NODE || socket_node(p, sender->ifindex, &node))
		return false;
	return socket_refuses(p, sender, &node);
}

/* Returns true if the datagram answers the node: it is of a connection that the node has opened and
 * both ends allow. One of a caller whom the node has masqueraded, which may be the endpoint itself,
 * counts in the endpoint's share (connection_share()): once the kernel has forgotten such a call,
 * its reply finds a socket of the node. TCP answers have a socket of their own, for which this
 * program does not run. */
static __noinline bool socket_answers(const struct socket_packet *p)
{
	struct table_key key = {.key.protocol = p->protocol};
	bool from = table_ends(&key, &p->source, p->port[0], &p->destination, p->port[1]);
	struct bh_ct *ct;
	__u64 word;

	table_hash(&key);
	ct = table_find(&key);
	return ct && BH_CT_PAYER(ct->payer) == BH_SHARE_NODE &&
	       ct_agrees(ct, bh_ct_word(p->generation, bh_ct_hash_tag(key.hash), BH_CT_ALLOW),
			 CT_VARIES | BH_CT_ASKS, &word) &&
	       !!(word & BH_CT_INITIATOR) != from && !(READ_ONCE(ct->state) & BH_CT_DENIED);
}

static __always_inline bool socket_tunnels(const struct socket_packet *p)
{
	return !encapsulation && p->protocol == IPPROTO_UDP && tunnel_port(bpf_ntohs(p->port[1]));
}

/* Returns the enum bh_reason for which the packet drops; 0: it passes. Sets p->ingress to the
 * interface of the endpoint that sent it. */
static __noinline int socket_evaluate(struct socket_packet *p)
{
	struct end sender = {};

	p->ingress = socket_sender(p, &sender);
	if (likely(!p->ingress))
		return 0;
	if (socket_tunnels(p))
		return BH_DROP_TUNNEL;
	if (!sender.ifindex || !socket_denied(p, &sender))
		return 0;
	return p->protocol == IPPROTO_UDP && socket_answers(p) ? 0 : BH_DROP_EGRESS;
}

/* Returns true if the packet drops. In audit, the sender's hook has counted what policy denies. */
static __always_inline bool socket_drops(struct bpf_sk_lookup *ctx)
{
	struct socket_packet p = {.generation = packet_generation(),
				  .ingress = ctx->ingress_ifindex,
				  .protocol = ctx->protocol,
				  .port = {ctx->remote_port, bpf_htons(ctx->local_port)}};
	int reason;
	bool audit;

	if (!p.generation)
		return false;
	socket_read(ctx, &p);
	p.point = bh_point(p.protocol, bpf_ntohs(p.port[1]));
	reason = socket_evaluate(&p);
	if (likely(!reason))
		return false;
	audit = endpoint_in_audit(p.ingress);
	if (!audit || reason == BH_DROP_TUNNEL)
		events_count(reason, 0, BH_EGRESS, audit);
	return !audit;
}

#endif
