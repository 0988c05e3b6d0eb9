/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCP connections: opened by a SYN only, half-open until the initiator has
 * acknowledged the number of the SYN-ACK.
 */
#ifndef BULKHEAD_KERN_TCP_H
#define BULKHEAD_KERN_TCP_H

#include "connection.h"

/* Both ends sent a SYN and each was allowed: either may answer the other's. */
#define TCP_BOTH_OPENED (1u << 6)

/* Whether the segment acknowledges a SYN with that number, and at most what may follow one. */
static __always_inline bool tcp_acknowledges(const struct packet *p, __u32 number)
{
	return p->tcp_flags & TCP_ACK && p->acknowledged - number - 1 < 0x10000;
}

static __noinline int tcp_open_new(struct packet *p, const struct connection *c,
				   const struct bh_half *crossing)
{
	struct bh_half new;
	int reason = connection_new(p, c, &new.ct);

	if (bh_reason_drops(reason))
		return reason;
	new.number[BH_EGRESS] = p->sequence;
	new.number[BH_INGRESS] = 0;
	if (crossing) {
		new.number[BH_INGRESS] = crossing->number[BH_EGRESS];
		new.ct.state = TCP_BOTH_OPENED;
	}
	ct_insert_half(p, &new);
	return reason;
}

/* A bare SYN: judged in its own direction, whatever is known of the ports; by the entry that
 * another copy of it has made, where there is one. */
static __noinline int tcp_open(struct packet *p)
{
	struct connection c;
	struct bh_half *half;
	bool crosses;

	if (connection_closed(p, &c))
		return connection_drop(p, &c);
	half = ct_find_half(p);
	crosses = half && ct_sender(p, READ_ONCE(half->ct.verdict[BH_EGRESS])) == BH_INGRESS;
	if (half && !crosses && half->number[BH_EGRESS] == p->sequence) {
		c.flags = READ_ONCE(half->ct.verdict[BH_EGRESS]) & BH_CT_NODE;
		return connection_go_on(p, &half->ct, &c);
	}
	if (crosses && READ_ONCE(half->ct.state) & BH_CT_ANSWERED)
		crosses = false;
	return tcp_open_new(p, &c, crosses ? half : NULL);
}

/* The responder of the half-open connection answered: so it has forgotten any older one, of which
 * the first answer is the end. */
static __always_inline int tcp_answer_half(struct packet *p, struct bh_half *half, __u32 sender)
{
	int reason = connection_again(p, &half->ct);
	__u32 state = READ_ONCE(half->ct.state);
	struct bh_ct *ct;

	if (bh_reason_drops(reason))
		return reason;
	half->number[sender & 1] = p->sequence;
	if (state & BH_CT_ANSWERED)
		return reason;
	WRITE_ONCE(half->ct.state, state | BH_CT_ANSWERED);
	ct = ct_find(p);
	if (ct)
		WRITE_ONCE(ct->state, READ_ONCE(ct->state) | BH_CT_SUPERSEDED);
	return reason;
}

/* A SYN-ACK: of the half-open connection, else a late copy of an open one's. */
static __always_inline int tcp_answer(struct packet *p)
{
	struct bh_half *half = ct_find_half(p);
	struct bh_ct *ct;
	__u32 sender;

	if (half) {
		sender = ct_sender(p, READ_ONCE(half->ct.verdict[BH_EGRESS]));
		if ((sender == BH_INGRESS || READ_ONCE(half->ct.state) & TCP_BOTH_OPENED) &&
		    tcp_acknowledges(p, half->number[!sender]))
			return tcp_answer_half(p, half, sender);
	}
	ct = ct_find(p);
	if (ct && ct_sender(p, READ_ONCE(ct->verdict[BH_EGRESS])) == BH_INGRESS)
		return connection_again(p, ct);
	return half ? BH_DROP_HANDSHAKE : BH_DROP_NO_CONNECTION;
}

/* A word that is another key's by now is none: that end is judged again. */
static __always_inline __u64 tcp_own_word(const struct packet *p, const struct bh_ct *ct,
					  __u64 word)
{
	return ((__u32)word & ~BH_CT_FLAGS) == ct_bound(p, ct->end) ? word : 0;
}

static __noinline void tcp_promote(const struct packet *p, const struct bh_half *half)
{
	struct bh_ct open = half->ct;

	open.verdict[0] = tcp_own_word(p, &open, open.verdict[0]);
	open.verdict[1] = tcp_own_word(p, &open, open.verdict[1]);
	open.state = p->tcp_flags & TCP_FIN ? BH_CT_FIN(p->from) : 0;
	open.seen = p->now;
	if (open.verdict[BH_EGRESS])
		ct_insert(p, &open);
	ct_delete_half(p);
}

/* A segment of a half-open connection: the end of its handshake, or a refusal. */
static __always_inline int tcp_complete(struct packet *p, struct bh_half *half)
{
	__u32 state = READ_ONCE(half->ct.state);
	__u32 sender = ct_sender(p, READ_ONCE(half->ct.verdict[BH_EGRESS]));
	bool refuses = p->tcp_flags & TCP_RST, fits;
	int reason;

	fits = tcp_acknowledges(p, half->number[!sender]) && (refuses || state & BH_CT_ANSWERED);
	if (refuses && sender == BH_EGRESS && p->sequence == half->number[BH_EGRESS] + 1)
		fits = true;
	if (!fits)
		return BH_DROP_HANDSHAKE;
	reason = connection_again(p, &half->ct);
	if (!bh_reason_drops(reason) && !refuses &&
	    (sender == BH_EGRESS || state & TCP_BOTH_OPENED))
		tcp_promote(p, half);
	return reason;
}

CHECKED_ALONE int tcp_packet(struct packet *p)
{
	struct bh_half *half;
	struct bh_ct *ct;

	if (!p)
		return BH_DROP_MAPS;
	switch (p->tcp_flags & (TCP_SYN | TCP_ACK)) {
	case TCP_SYN:
		return tcp_open(p);
	case TCP_SYN | TCP_ACK:
		return tcp_answer(p);
	}
	ct = p->absent ? NULL : ct_find(p);
	if (ct)
		return connection_again(p, ct);
	half = ct_find_half(p);
	return half ? tcp_complete(p, half) : BH_DROP_NO_CONNECTION;
}

#endif
