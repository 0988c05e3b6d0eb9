/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The first packets of a connection that both ends have allowed at the active generation. They need
 * no struct packet: the SYN-ACK of a half-open TCP connection, the ACK that makes the connection an
 * open one, and the first answer of UDP with the question after it. tcp.h evaluates all other
 * segments of a handshake: those that are denied, evaluated anew or contested, and those with other
 * sequence numbers.
 */
#ifndef BULKHEAD_KERN_HANDSHAKE_H
#define BULKHEAD_KERN_HANDSHAKE_H

#include "tcp.h"

struct handshake_segment {
	__u32 sequence, acknowledged;
	struct ct_sight at;
	bool answers; /* has SYN and ACK; else ACK, and neither SYN nor FIN nor RST */
	bool initiates; /* the initiator sent it */
};

/* Returns true if the segment is at the interface, and has the MAC, of its sender. Any MAC is right
 * in the first packet of an endpoint whose MAC is not known, unless the endpoint is on a bridge
 * (anti_spoofing.h). */
static __always_inline bool handshake_ends_match(const struct bh_ct *ct, __u64 word,
						 const struct ct_sight *at)
{
	const struct bh_ct_end *end = at->from ? &ct->end[1] : &ct->end[0];

	if (ct_ends_match(ct->end, word, at))
		return true;
	return at->hook == BH_HOOK_FROM_ENDPOINT && end->ifindex == at->ifindex && ct_learns(end);
}

static __always_inline bool handshake_follows(const struct bh_ct *ct,
					      const struct handshake_segment *segment, __u64 word)
{
	return !table_lapsed(ct, IPPROTO_TCP, ct_now()) &&
	       tcp_acknowledges_from(ct, segment->at.from, segment->initiates,
				     segment->acknowledged) &&
	       handshake_ends_match(ct, word, &segment->at);
}

static __always_inline void handshake_touch(struct bh_ct *ct)
{
	__u32 now = ct_now();

	if (READ_ONCE(ct->seen) != now)
		WRITE_ONCE(ct->seen, now);
}

static __always_inline bool handshake_answer(struct bh_ct *ct,
					     const struct handshake_segment *segment, __u64 word)
{
	__u32 from = segment->at.from;

	if ((READ_ONCE(ct->state) & BH_CT_STATE & ~BH_CT_ANSWERED) != BH_CT_HALF ||
	    segment->initiates || !handshake_follows(ct, segment, word))
		return false;
	if (segment->at.hook == BH_HOOK_FROM_ENDPOINT)
		__builtin_memcpy(from ? ct->end[1].mac : ct->end[0].mac, segment->at.mac_from,
				 ETH_ALEN);
	handshake_touch(ct);
	tcp_answered(ct, (__u32)word & ~BH_CT_FLAGS, from, segment->sequence);
	return true;
}

static __always_inline bool handshake_complete(struct bh_ct *ct,
					       const struct handshake_segment *segment, __u64 word)
{
	if ((READ_ONCE(ct->state) & BH_CT_STATE) != (BH_CT_HALF | BH_CT_ANSWERED) ||
	    !segment->initiates || !handshake_follows(ct, segment, word))
		return false;
	handshake_touch(ct);
	tcp_promote(ct, (__u32)word & ~BH_CT_FLAGS, segment->at.from, segment->acknowledged, 0);
	return true;
}

/* Returns true if the packet is one of a UDP connection that was answered once or not at all. */
static __always_inline bool handshake_datagram(struct bh_ct *ct,
					       const struct handshake_segment *segment, __u64 word)
{
	__u32 state = READ_ONCE(ct->state);

	if (state & BH_CT_STATE & ~(BH_CT_HALF | BH_CT_ONCE) ||
	    table_lapsed(ct, IPPROTO_UDP, ct_now()) || !ct_ends_match(ct->end, word, &segment->at))
		return false;
	handshake_touch(ct);
	ct_exchange(ct, (__u32)word & ~BH_CT_FLAGS, state,
		    segment->initiates ? BH_EGRESS : BH_INGRESS);
	return true;
}

/* Returns true if the packet is the next one of its connection's first ones. Then updates the
 * entry. */
static __always_inline bool handshake_packet(struct bh_ct *ct,
					     const struct handshake_segment *segment, __u64 word,
					     __u8 protocol)
{
	if (protocol == IPPROTO_UDP)
		return handshake_datagram(ct, segment, word);
	return segment->answers ? handshake_answer(ct, segment, word)
				: handshake_complete(ct, segment, word);
}

#endif
