/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCP connections. Only a SYN opens one. It is half-open until the initiator has acknowledged the
 * sequence number of the SYN-ACK. A SYN for the ports of an existing connection gets an entry of
 * its own, which waits and replaces the other entry when its own handshake is over.
 */
#ifndef BULKHEAD_KERN_TCP_H
#define BULKHEAD_KERN_TCP_H

#include "connection_again.h"

static __always_inline __u32 tcp_number(const struct bh_ct *ct, __u32 end)
{
	return READ_ONCE(*(end ? &ct->number[1] : &ct->number[0]));
}

static __always_inline void tcp_set_number(struct bh_ct *ct, __u32 end, __u32 number)
{
	WRITE_ONCE(*(end ? &ct->number[1] : &ct->number[0]), number);
}

static __always_inline __u32 tcp_sender(const struct packet *p, const struct bh_ct *ct)
{
	return ct_sender(p, READ_ONCE(ct->verdict[BH_EGRESS]));
}

/* Returns true if a segment acknowledges a SYN of that sequence number, and at most 64 KB after
 * it. */
static __always_inline bool tcp_follows(__u32 acknowledged, __u32 number)
{
	return acknowledged - number - 1 < 0x10000;
}

/* Returns true if a segment that an end sent acknowledges the other end's SYN. A responder may have
 * sent several SYN-ACKs: the first and the last count. @initiates: the end is the initiator. */
static __always_inline bool tcp_acknowledges_from(const struct bh_ct *ct, __u32 from,
						  bool initiates, __u32 acknowledged)
{
	if (tcp_follows(acknowledged, tcp_number(ct, !from)))
		return true;
	return READ_ONCE(ct->answer) && initiates &&
	       tcp_follows(acknowledged, READ_ONCE(ct->answer));
}

static __always_inline bool tcp_acknowledges(const struct packet *p, const struct bh_ct *ct)
{
	return p->tcp_flags & TCP_ACK &&
	       tcp_acknowledges_from(ct, p->from, tcp_sender(p, ct) == BH_EGRESS, p->acknowledged);
}

static __noinline int tcp_open_new(struct packet *p, const struct connection *c, bool waits)
{
	struct words words;
	int reason = connection_new(p, c, &words);

	if (bh_reason_drops(reason))
		return reason;
	if (waits)
		ct_wait(p, true);
	if (!packet_is_group(p) && !connection_insert(p, c, &words, BH_CT_HALF, 0))
		reason = BH_DROP_SHARE;
	if (waits)
		ct_wait(p, false);
	return reason;
}

/* Returns true if the packet is another copy of the SYN that made the entry. */
static __always_inline bool tcp_is_copy(const struct packet *p, const struct bh_ct *ct)
{
	return READ_ONCE(ct->state) & BH_CT_HALF && tcp_sender(p, ct) == BH_EGRESS &&
	       tcp_number(ct, p->from) == p->sequence;
}

/* Notes that a SYN waits beside the entry. Not inline, for the stack. */
static __noinline void tcp_contest(const struct packet *p, struct bh_ct *ct)
{
	ct_state(p, ct, BH_CT_CONTESTED, 0);
}

/* Searches the table once more, if another CPU may have changed it since the first search. Not
 * inline, for the stack. */
static __noinline struct bh_ct *tcp_find_again(struct packet *p)
{
	p->found = false;
	return ct_find(p);
}

/* Returns the entry that a copy of the SYN has made: that of the ports, or a waiting one. */
static __always_inline struct bh_ct *tcp_find_copy(struct packet *p, struct bh_ct *ct)
{
	if (tcp_is_copy(p, ct))
		return ct;
	ct = ct_find_waiting(p);
	return ct && tcp_is_copy(p, ct) ? ct : NULL;
}

/* Opens a connection by a SYN whose ports have an entry, unless the entry is a copy's. */
static __always_inline int tcp_open_beside(struct packet *p, struct connection *c, struct bh_ct *ct)
{
	struct bh_ct *copy = tcp_is_copy(p, ct) ? ct : NULL;
	int reason;

	if (!copy) {
		/* The entry may have lost its slot since it was found, or a copy may fill it anew:
		 * then the SYN has nothing to wait for. */
		ct = tcp_find_again(p);
		if (!ct)
			return tcp_open_new(p, c, false);
		copy = tcp_find_copy(p, ct);
	}
	if (copy) {
		c->flags = READ_ONCE(copy->verdict[BH_EGRESS]) & BH_CT_NODE;
		return connection_go_on(p, copy, c);
	}
	reason = tcp_open_new(p, c, true);
	if (!bh_reason_drops(reason)) {
		flow_cache_forget(p);
		tcp_contest(p, ct);
	}
	return reason;
}

/* Evaluates a SYN without ACK as a new connection, even if the ports have an entry. A copy of a SYN
 * that has made an entry uses that entry. */
static __noinline int tcp_open(struct packet *p)
{
	struct bh_ct *ct;
	struct connection c;

	if (connection_closed(p, &c))
		return connection_without_entry(p, &c);
	ct = ct_find(p);
	return ct ? tcp_open_beside(p, &c, ct) : tcp_open_new(p, &c, false);
}

/* Returns true if the packet is the responder's SYN-ACK for the SYN of the entry. */
static __always_inline bool tcp_answers(const struct packet *p, const struct bh_ct *ct)
{
	return READ_ONCE(ct->state) & BH_CT_HALF && tcp_sender(p, ct) == BH_INGRESS &&
	       tcp_acknowledges(p, ct);
}

/* Notes the SYN-ACK that an end has sent. @tag: of the connection's words. An end that has a number
 * by now has sent another SYN-ACK, or is the initiator of a connection that has got the slot. */
static __always_inline void tcp_answered(struct bh_ct *ct, __u32 tag, __u32 from, __u32 sequence)
{
	if (!tcp_number(ct, from))
		tcp_set_number(ct, from, sequence);
	WRITE_ONCE(ct->answer, sequence);
	ct_change(ct, tag, BH_CT_ANSWERED, 0);
}

static __always_inline int tcp_answer_half(struct packet *p, struct bh_ct *ct)
{
	int reason = connection_again(p, ct);

	if (bh_reason_drops(reason))
		return reason;
	tcp_answered(ct, ct_bound(p, ct->end), p->from, p->sequence);
	p->flags |= PACKET_ANSWERS;
	return reason;
}

/* Returns the open connection of a SYN-ACK that was found in neither place, or in one of a SYN that
 * waits no more: another CPU ends the handshake, and puts the connection into its place
 * (tcp_replace()). NULL: there is none. */
static __always_inline struct bh_ct *tcp_opened_meanwhile(struct packet *p, struct bh_ct *waiting)
{
	if (waiting)
		return READ_ONCE(waiting->state) & BH_CT_HALF ? NULL : waiting;
	return tcp_find_again(p);
}

/* Evaluates a SYN-ACK: that of a half-open connection, or a late copy of that of an open one. */
static __always_inline int tcp_answer(struct packet *p, struct bh_ct *ct)
{
	struct bh_ct *waiting;

	if (ct && tcp_answers(p, ct))
		return tcp_answer_half(p, ct);
	waiting = !ct || READ_ONCE(ct->state) & BH_CT_CONTESTED ? ct_find_waiting(p) : NULL;
	if (waiting && tcp_answers(p, waiting))
		return tcp_answer_half(p, waiting);
	if (!ct)
		ct = tcp_opened_meanwhile(p, waiting);
	if (!ct)
		return BH_DROP_NO_CONNECTION;
	if (READ_ONCE(ct->state) & BH_CT_HALF)
		return BH_DROP_HANDSHAKE;
	return tcp_sender(p, ct) == BH_INGRESS ? connection_again(p, ct) : BH_DROP_NO_CONNECTION;
}

/* Returns true if the packet ends the handshake: the initiator's ACK, or a RST of either end. */
static __always_inline bool tcp_ends(const struct packet *p, const struct bh_ct *ct)
{
	bool refuses = p->tcp_flags & TCP_RST;
	__u32 sender = tcp_sender(p, ct);

	if (refuses && sender == BH_EGRESS && p->sequence == tcp_number(ct, p->from) + 1)
		return true;
	return tcp_acknowledges(p, ct) &&
	       (refuses || (READ_ONCE(ct->state) & BH_CT_ANSWERED && sender == BH_EGRESS));
}

/* Returns true if the responder sends before the initiator has acknowledged its SYN-ACK. It does so
 * if the SYN had data that it has taken (TCP Fast Open, RFC 7413), and acknowledges that data. */
static __always_inline bool tcp_is_early(const struct packet *p, const struct bh_ct *ct)
{
	return READ_ONCE(ct->state) & BH_CT_ANSWERED && !(p->tcp_flags & TCP_RST) &&
	       tcp_sender(p, ct) == BH_INGRESS && tcp_acknowledges(p, ct) &&
	       p->acknowledged != tcp_number(ct, !p->from) + 1;
}

/* Changes the numbers of a half-open connection into those of an open one (struct bh_ct). @syn: the
 * number of the end's SYN. */
static __always_inline void tcp_renumber(struct bh_ct *ct, __u32 from, __u32 syn,
					 __u32 acknowledged)
{
	tcp_set_number(ct, !from, syn + 1);
	tcp_set_number(ct, from, acknowledged);
}

/* Makes a half-open connection an open one. Two CPUs may do so at once: the one that opens the
 * connection changes its numbers. @tag: of the connection's words; @fin: the state bit of the end's
 * FIN, if the segment has one. */
static __always_inline void tcp_promote(struct bh_ct *ct, __u32 tag, __u32 from, __u32 acknowledged,
					__u32 fin)
{
	__u32 syn = tcp_number(ct, from);

	if (ct_change(ct, tag, fin, BH_CT_HALF | BH_CT_ANSWERED | BH_CT_RST) & BH_CT_HALF)
		tcp_renumber(ct, from, syn, acknowledged);
}

/* Makes the connection an open one by the segment that ends the handshake. Not inline, for the
 * stack. */
static __noinline int tcp_opened(const struct packet *p, struct bh_ct *ct)
{
	tcp_promote(ct, ct_bound(p, ct->end), p->from, p->acknowledged,
		    p->tcp_flags & TCP_FIN ? BH_CT_FIN(p->from) : 0);
	return 0;
}

/* Returns true if no further hook looks for the packet's entry. What an endpoint sends to another
 * one passes that one's hook, and what it sends to the outside the host egress hook. */
static __always_inline bool tcp_is_last_hook(const struct packet *p, const struct bh_ct *ct)
{
	return p->hook == BH_HOOK_TO_ENDPOINT || READ_ONCE(ct->verdict[BH_EGRESS]) & BH_CT_NODE;
}

/* Returns true if the connection is half-open now, whatever the CPU has read of it before. */
static __always_inline bool tcp_is_half(const struct bh_ct *ct)
{
	return table_state(ct) & BH_CT_HALF;
}

/* Evaluates a segment without SYN of a half-open connection. A RST that refuses the connection
 * frees its entry at the last hook on its way, which may be the host egress hook
 * (host_egress_known()). Another CPU may have opened the connection meanwhile, and changed its
 * numbers. */
static __always_inline int tcp_complete(struct packet *p, struct bh_ct *ct)
{
	bool ends = tcp_ends(p, ct);
	int reason;

	if (!ends && !tcp_is_early(p, ct) && tcp_is_half(ct))
		return BH_DROP_HANDSHAKE;
	reason = connection_again(p, ct);
	if (bh_reason_drops(reason) || !ends)
		return reason;
	if (!(p->tcp_flags & TCP_RST))
		tcp_opened(p, ct);
	else if (tcp_is_last_hook(p, ct))
		table_remove(table_key(p));
	return reason;
}

/*
 * Puts the connection that waited, which is open now, in the place of the other one. The segment
 * that ends the handshake and the data after it may be at two CPUs at once: the one that clears
 * BH_CT_HALF does this. The waiting entry stays until the other one is complete, so that each
 * segment finds one of the two. Returns false if the table has no place.
 */
static __noinline bool tcp_replace(struct packet *p, struct bh_ct *waiting)
{
	struct bh_ct open = *waiting, *ct;
	__u32 place;

	if (!ct_change(waiting, ct_bound(p, open.end), 0, BH_CT_HALF))
		return true;
	tcp_renumber(&open, p->from, tcp_number(&open, p->from), p->acknowledged);
	place = ct_claim(p, BH_CT_PAYER(open.payer));
	ct = place ? table_slot(place) : NULL;
	if (ct) {
		open.payer = ct->payer;
		open.state = ct->state;
		*ct = open;
		ct_fill(p, place, p->tcp_flags & TCP_FIN ? BH_CT_FIN(p->from) : 0);
		ct_commit(p, place, TABLE_WINS);
	}
	ct_wait(p, true);
	table_remove(table_key(p));
	ct_wait(p, false);
	return ct;
}

/* Evaluates a segment for ports for which another SYN may wait. @ct: the entry of the ports; NULL:
 * it is gone. Returns 0 if the segment is not of the waiting SYN's handshake. */
static __always_inline int tcp_contested(struct packet *p, struct bh_ct *ct)
{
	struct bh_ct *waiting = ct_find_waiting(p);
	bool early;
	int reason;

	if (!waiting) {
		if (ct)
			ct_state(p, ct, 0, BH_CT_CONTESTED);
		return 0;
	}
	early = tcp_is_early(p, waiting);
	if (!early && !tcp_ends(p, waiting))
		return 0;
	reason = connection_again(p, waiting);
	if (reason == CONNECTION_OF_OTHERS && ct) /* a frame to another MAC has left that SYN */
		return 0;
	if (reason >= BH_REASONS) /* the evaluation asks for something first */
		return reason;
	/* A waiting connection that policy denies does not affect the other one. */
	if (bh_reason_drops(reason) && ct) {
		p->enforced = false;
		return 0;
	}
	if (bh_reason_drops(reason) || early || p->tcp_flags & TCP_RST)
		return reason;
	return tcp_replace(p, waiting) ? reason : BH_DROP_SHARE;
}

BPF_GLOBAL int tcp_packet(struct packet *p)
{
	struct bh_ct *ct;
	int reason;

	if (!p)
		return BH_DROP_MAPS;
	if ((p->tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN)
		return tcp_open(p);
	ct = p->absent ? NULL : ct_find(p);
	if (p->tcp_flags & TCP_SYN)
		return tcp_answer(p, ct);
	reason = !ct || READ_ONCE(ct->state) & BH_CT_CONTESTED ? tcp_contested(p, ct) : 0;
	if (reason)
		return reason;
	if (!ct) /* or another CPU has just put the waiting one in its place */
		ct = tcp_find_again(p);
	if (!ct)
		return BH_DROP_NO_CONNECTION;
	if (unlikely(p->told) && connection_is_anothers(p, READ_ONCE(ct->verdict[BH_EGRESS])))
		return connection_of_another(p);
	return READ_ONCE(ct->state) & BH_CT_HALF ? tcp_complete(p, ct) : connection_again(p, ct);
}

#endif
