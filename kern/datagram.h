/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections of protocols without a TCP handshake: UDP, SCTP, ICMP queries and others. The first
 * packet opens the connection, the other end's packets are replies.
 */
#ifndef BULKHEAD_KERN_DATAGRAM_H
#define BULKHEAD_KERN_DATAGRAM_H

#include "connection_again.h"

/* Returns true if an SCTP packet, from behind an address of the node, would be a reply to a call of
 * the node: the kernel cannot be asked whose the packet is, and the node has not made it. */
static __always_inline bool datagram_is_untold(const struct packet *p, __u64 word)
{
	return p->protocol == IPPROTO_SCTP && p->hook == BH_HOOK_TO_ENDPOINT &&
	       ct_sender(p, word) == BH_INGRESS && p->ingress && p->ingress != p->ifindex;
}

/* Returns true if the node itself sends what another caller has sent by the same port of the node,
 * or the node returns to the endpoint what that has sent to a Service. */
static __always_inline bool datagram_is_nodes(const struct packet *p, __u64 word)
{
	return p->hook == BH_HOOK_TO_ENDPOINT && (!p->ingress || p->ingress == p->ifindex) &&
	       !(word & BH_CT_NODE) && ct_sender(p, word) == BH_EGRESS;
}

/* Returns true if the entry is the packet's connection. It is not if the kernel's conntrack names
 * the other end as the initiator, or another initiator than the node. For the responder's packets
 * it is so only after the responder's policy has allowed it: else a denied initiator could keep the
 * responder from opening a connection of its own. */
static __always_inline bool datagram_is_of(const struct packet *p, const struct bh_ct *ct)
{
	__u64 word = READ_ONCE(ct->verdict[BH_EGRESS]);

	if (word & BH_CT_ASKS && (datagram_is_untold(p, word) || datagram_is_nodes(p, word)))
		return false;
	if (connection_is_anothers(p, word))
		return false;
	return ct_sender(p, word) == BH_EGRESS || READ_ONCE(ct->verdict[BH_INGRESS]);
}

/*
 * Evaluates the node as the receiver of what an endpoint sends to a group, and policy has passed.
 * At the other end of a link that is no bridge nobody else hears it, and the node has no receiver's
 * hook. Returns 0 or BH_DROP_EGRESS. Global, for the stack.
 */
BPF_GLOBAL int datagram_to_group(struct packet *p)
{
	struct end sender = {}, node = {};
	struct bh_iface *iface;
	__u32 verdict;

	if (!p || p->hook != BH_HOOK_FROM_ENDPOINT || !p->generation || !packet_has_group(p))
		return 0;
	iface = endpoint_iface(p->ifindex);
	if (!iface || iface->flags & BH_IFACE_L2 ||
	    endpoint_of(p->ifindex, p->version, p->generation, &sender) ||
	    !policy_has_egress(&sender) ||
	    endpoint_node(p->ifindex, p->version, p->generation, BH_DROP_INTERFACE, &node) ||
	    !policy_denies_node(&sender, &node, policy_point(p, p->from), &verdict))
		return 0;
	p->verdict[BH_EGRESS] = verdict;
	events_rule(verdict);
	if (iface->flags & BH_IFACE_AUDIT) {
		packet_audited(p, BH_DROP_EGRESS);
		return 0;
	}
	p->enforced = true;
	return BH_DROP_EGRESS;
}

static __noinline int datagram_insert(struct packet *p, const struct connection *c)
{
	struct icmp_query query = {};
	struct words words;
	int reason = connection_new(p, c, &words);

	if (bh_reason_drops(reason))
		return reason;
	if (packet_is_group(p))
		return datagram_to_group(p) ? BH_DROP_EGRESS : reason;
	if (p->protocol == IPPROTO_ICMP || p->protocol == IPPROTO_ICMPV6)
		query = icmp_query(p->protocol, p->type);
	/* An unsolicited reply opens no connection. Where the table has no room, policy evaluates
	 * each datagram by itself, and the answer as a call of its sender's. */
	if (!query.type || query.asks)
		connection_insert(p, c, &words, BH_CT_HALF, 0);
	return reason;
}

BPF_GLOBAL int datagram_open(struct packet *p)
{
	struct connection c;

	if (!p)
		return BH_DROP_MAPS;
	return connection_closed(p, &c) ? connection_without_entry(p, &c) : datagram_insert(p, &c);
}

static __always_inline int datagram_packet(struct packet *p)
{
	struct bh_ct *ct = p->absent ? NULL : ct_find(p);

	return ct && datagram_is_of(p, ct) ? connection_again(p, ct) : datagram_open(p);
}

/* The same, not inline: for a packet that is evaluated again. */
BPF_GLOBAL int datagram_packet_again(struct packet *p)
{
	return p ? datagram_packet(p) : BH_DROP_MAPS;
}

#endif
