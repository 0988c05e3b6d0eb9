/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shorter way between two endpoints of this node, if `redirect` is set: from the source's hook
 * straight into the destination's network namespace, past the host's routing and netfilter and past
 * the destination's hook. A packet takes it only if it is of an open connection that both ends have
 * allowed at the active generation, and only while the ordinary way proves itself: at least once in
 * each period a packet in the same direction has to arrive by it at the destination's hook,
 * unchanged. So packets that the host translates never take the shorter way. A connection that the
 * host stops leaves it after a few seconds, and the host's conntrack sees enough packets of a
 * connection not to forget it.
 */
#ifndef BULKHEAD_KERN_REDIRECT_H
#define BULKHEAD_KERN_REDIRECT_H

#include "conntrack.h"
#include "event_records.h"
#include "anti_spoofing.h"

/* A period is 1024 jiffies, 1 to 10 seconds: less than the shortest timeout of the host's
 * conntrack, 30 seconds. */
#define REDIRECT_PERIOD(tick) ((__u16)((tick) >> 4) | 1 << 15)

/* The part of a frame that a router changes. */
struct redirect_frame {
	struct ethhdr ethernet;
	union {
		struct {
			__u8 before[8], ttl, protocol;
			__u16 checksum;
		} ipv4;
		struct {
			__u8 before[6], next_header, hop_limit;
		} ipv6;
	};
} __attribute__((packed));
#define REDIRECT_IPV4_END (ETH_HLEN + 12)
#define REDIRECT_IPV6_END (ETH_HLEN + 8)

/* Returns true if the frame has no tag, IP option or extension header. */
static __always_inline bool redirect_is_plain(const struct redirect_frame *frame, bool ipv4)
{
	if (ipv4)
		return frame->ipv4.before[0] == 0x45;
	return frame->ethernet.h_proto == bpf_htons(ETH_P_IPV6) &&
	       (frame->ipv6.next_header == IPPROTO_TCP || frame->ipv6.next_header == IPPROTO_UDP);
}

/* Notes, at the destination's hook, that the ordinary way has carried a packet from that end of the
 * key. */
static __always_inline void redirect_confirm(struct bh_ct *ct, __u32 from)
{
	__u16 period = REDIRECT_PERIOD(ct_now());
	struct bh_ct_end *source = from ? &ct->end[1] : &ct->end[0];

	if (READ_ONCE(source->proven) != period)
		WRITE_ONCE(source->proven, period);
}

static __always_inline bool redirect_has_address(const struct bh_iface *to, const void *l3,
						 const void *end, bool ipv4)
{
	const __be32 *own = ipv4 ? to->ipv4.word : to->ipv6.word;
	const __be32 *address = l3 + (ipv4 ? 16 : 24);

	if (ipv4)
		return (void *)(address + 1) <= end && own[3] == address[0];
	return (void *)(address + 4) <= end && own[0] == address[0] && own[1] == address[1] &&
	       own[2] == address[2] && own[3] == address[3];
}

/* Decrements the hop limit. Returns false if it is used up: the host then sends the ICMP error. */
static __always_inline bool redirect_hop(struct redirect_frame *frame, bool ipv4)
{
	__u32 sum;

	if (!ipv4)
		return frame->ipv6.hop_limit-- > 1;
	sum = frame->ipv4.checksum + bpf_htons(0x0100);
	frame->ipv4.checksum = sum + (sum >> 16);
	return frame->ipv4.ttl-- > 1;
}

static __always_inline bool redirect_fits(struct __sk_buff *skb, __u32 ifindex)
{
	__u32 mtu = 0;

	return !bpf_check_mtu(skb, ifindex, &mtu, 0, BPF_MTU_CHK_SEGS);
}

/*
 * Redirects a packet at the source's hook, which is of an open connection and no fragment. @from:
 * the end that sent it. Returns TC_ACT_REDIRECT and counts the packet; or -1 without any change:
 * the packet takes the ordinary way.
 */
static __noinline int redirect_packet(struct __sk_buff *skb, struct bh_ct *ct, __u32 from)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	const struct bh_ct_end *source = from ? &ct->end[1] : &ct->end[0];
	const struct bh_ct_end *destination = from ? &ct->end[0] : &ct->end[1];
	__u32 ifindex = destination->ifindex;
	struct redirect_frame frame;
	struct bh_iface *to;
	bool ipv4;

	if (READ_ONCE(source->proven) != REDIRECT_PERIOD(ct_now()) || skb->pkt_type ||
	    skb->vlan_present || data + sizeof(frame) > end)
		return -1;
	__builtin_memcpy(&frame, data, sizeof(frame));
	ipv4 = frame.ethernet.h_proto == bpf_htons(ETH_P_IP);
	if (!redirect_is_plain(&frame, ipv4))
		return -1;
	to = endpoint_iface(ifindex);
	/* The entry may be another connection's by now, so the packet's address is checked. */
	if (!to || !(to->flags & BH_IFACE_PEER) || ifindex == skb->ifindex ||
	    !redirect_has_address(to, data + ETH_HLEN, end, ipv4) || !redirect_hop(&frame, ipv4))
		return -1;
	__builtin_memcpy(frame.ethernet.h_source, to->node_mac, ETH_ALEN);
	__builtin_memcpy(frame.ethernet.h_dest,
			 to->flags & BH_IFACE_MAC ? to->mac : destination->mac, ETH_ALEN);
	if (!spoofing_mac_known(frame.ethernet.h_dest) || !redirect_fits(skb, ifindex) ||
	    bpf_skb_store_bytes(skb, 0, &frame, ipv4 ? REDIRECT_IPV4_END : REDIRECT_IPV6_END, 0))
		return -1;
	/* the destination's hook does the same */
	events_count(BH_PASS_ESTABLISHED, skb->len, BH_INGRESS, false);
	return bpf_redirect_peer(ifindex, 0);
}

#endif
