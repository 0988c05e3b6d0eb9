/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an endpoint sends to its node may be, to the kernel, the reply to a call that policy denied:
 * then the node translates it and forwards it. Conntrack can be asked about TCP and UDP. About SCTP
 * nobody tells. So the sender's hook marks SCTP to the node, and ICMP errors about SCTP of the
 * node, in the skb's tc_index as audit.h does, and each hook behind the node drops such a packet.
 */
#ifndef BULKHEAD_KERN_CONFINE_H
#define BULKHEAD_KERN_CONFINE_H

#include "endpoint.h"

#define CONFINED 0xb600u /* beside the marks of audit_mark.h */

/* Marks a packet that passes. */
static __always_inline void confine_mark(struct __sk_buff *skb, const struct packet *p)
{
	if (unlikely(p->confined) && !p->audit)
		skb->tc_index = CONFINED;
}

/* Returns true if an endpoint's hook has marked the packet, which the node forwards all the same.
 * No entry serves such a packet. */
static __always_inline bool confine_breaks(struct __sk_buff *skb, const struct packet *p)
{
	struct bh_iface *iface;

	if (likely(skb->tc_index != CONFINED) || p->hook == BH_HOOK_FROM_ENDPOINT ||
	    (p->protocol != IPPROTO_SCTP && p->class != PACKET_ICMP_ERROR))
		return false;
	/* The kernel has made the fragment anew, and copied the mark without the interface. */
	if (hook_is_lost(skb))
		return p->flags & PACKET_FRAGMENT_HEADER;
	/* Packets of other interfaces may have a tc_index of other programs. */
	iface = endpoint_iface(skb->ingress_ifindex);
	return iface && iface->flags & (BH_IFACE_ENDPOINT | BH_IFACE_VIA);
}

#endif
