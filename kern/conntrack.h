/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections as the hooks use them: the age, words and states of an entry (maps/conntrack.h).
 * conntrack_table.h has the table, and chooses which entry a new one replaces. */
#ifndef BULKHEAD_KERN_CONNTRACK_H
#define BULKHEAD_KERN_CONNTRACK_H

#include "conntrack_table.h"

static __always_inline __u32 ct_now(void)
{
	return table_now();
}

/* Computes the hash of the packet's key. Call it again after the key has changed. */
static __always_inline void ct_hash(struct packet *p)
{
	table_hash(table_key(p));
}

static __always_inline __u32 ct_tag(const struct packet *p)
{
	return bh_ct_hash_tag(p->hash);
}

/* Returns the tag of connection words for a connection between these ends. */
static __always_inline __u32 ct_bound(const struct packet *p, const struct bh_ct_end end[2])
{
	return bh_ct_bound(ct_tag(p), end[0].ifindex, end[1].ifindex);
}

static __always_inline struct bh_ct *ct_lookup(const struct packet *p)
{
	return table_find((const struct table_key *)p);
}

/* Changes the packet's key to that of the entry of a waiting SYN, or back to its own. */
static __always_inline void ct_wait(struct packet *p, bool waiting)
{
	p->key.kind = waiting ? BH_CT_WAITING : 0;
	p->absent = false; /* no lookup of this key has been made */
	ct_hash(p);
}

/* Claims a slot for a new connection of the packet (table_claim()), and removes an entry of the
 * same key. Returns its place; 0: there is none, or the packet goes to a group. */
static __always_inline __u32 ct_claim(const struct packet *p, __u32 payer)
{
	if (packet_is_group(p))
		return 0;
	if (!p->absent)
		table_remove((const struct table_key *)p);
	return table_claim((const struct table_key *)p, payer);
}

static __always_inline void ct_fill(const struct packet *p, __u32 place, __u32 state)
{
	table_fill(place, (const struct table_key *)p, state);
}

/* Makes a filled entry known (table_commit()). */
static __always_inline void ct_commit(const struct packet *p, __u32 place, __u32 wins)
{
	table_commit((const struct table_key *)p, place, wins);
}

/* Returns true if the words of an entry are of the packet's key and the entry's ends. */
static __always_inline bool ct_is_of(const struct packet *p, const struct bh_ct *ct)
{
	__u64 word = READ_ONCE(ct->verdict[BH_EGRESS]);

	return ((__u32)word & ~BH_CT_FLAGS) == ct_bound(p, ct->end);
}

/* The same, and it has not timed out. */
static __always_inline bool ct_usable(const struct packet *p, const struct bh_ct *ct)
{
	return ct_is_of(p, ct) && !table_lapsed(ct, p->protocol, p->now);
}

static __always_inline struct bh_ct *ct_find(struct packet *p)
{
	struct bh_ct *ct = p->found ? table_slot(p->at) : ct_lookup(p);

	p->absent = !ct;
	return ct && ct_usable(p, ct) ? ct : NULL;
}

/* Finds the entry of a waiting SYN for the packet's ports. Its words have the tag of the connection
 * that it will become. */
static __noinline struct bh_ct *ct_find_waiting(struct packet *p)
{
	struct bh_ct *ct;

	ct_wait(p, true);
	ct = ct_lookup(p);
	ct_wait(p, false);
	return ct && ct_usable(p, ct) ? ct : NULL;
}

#define CT_TRIES 4

/* Tries once what ct_change() does. Sets *@cleared. Returns false if another CPU has changed the
 * state meanwhile. */
static __always_inline bool ct_change_once(struct bh_ct *ct, __u32 tag, __u32 set, __u32 clear,
					   __u32 *cleared)
{
	__u32 state = table_state(ct);
	__u32 next = (state & ~clear) | set;

	*cleared = 0;
	barrier();
	if (((__u32)READ_ONCE(ct->verdict[BH_EGRESS]) & ~BH_CT_FLAGS) != tag || next == state)
		return true;
	if (__sync_val_compare_and_swap(&ct->state, state, next) != state)
		return false;
	*cleared = state & clear;
	return true;
}

/* Makes the further attempts, which are rare: one copy of them serves all callers. */
BPF_GLOBAL __u32 ct_change_again(struct bh_ct *ct, __u32 tag, __u32 set, __u32 clear)
{
	__u32 cleared;

	if (!ct)
		return 0;
#pragma unroll
	for (int i = 1; i < CT_TRIES; i++)
		if (ct_change_once(ct, tag, set, clear, &cleared))
			return cleared;
	return 0;
}

/*
 * Sets and clears bits of the state of the connection whose words have @tag. Changes nothing if the
 * slot has another connection by now: its incarnation is read before the tag. Another CPU's change
 * between is kept. Returns the bits that this call has cleared.
 */
static __always_inline __u32 ct_change(struct bh_ct *ct, __u32 tag, __u32 set, __u32 clear)
{
	__u32 cleared;

	if (likely(ct_change_once(ct, tag, set, clear, &cleared)))
		return cleared;
	return ct_change_again(ct, tag, set, clear);
}

/* The same for the connection of the packet. */
static __always_inline void ct_state(const struct packet *p, struct bh_ct *ct, __u32 set,
				     __u32 clear)
{
	ct_change(ct, ct_bound(p, ct->end), set, clear);
}

/* Returns which end of the connection sent the packet: BH_EGRESS, the initiator, or BH_INGRESS, the
 * responder. */
static __always_inline __u32 ct_sender(const struct packet *p, __u64 word)
{
	return !!(word & BH_CT_INITIATOR) == p->from ? BH_EGRESS : BH_INGRESS;
}

/*
 * Updates the state of a connection without a handshake by a packet of @sender: BH_CT_HALF until
 * the responder answers, then BH_CT_ONCE until the initiator sends again. @state: READ_ONCE(ct->
 * state). No entry that has timed out comes here (ct_find()): what either end sends then opens a
 * connection of its own, which nobody has answered yet.
 */
static __always_inline void ct_exchange(struct bh_ct *ct, __u32 tag, __u32 state, __u32 sender)
{
	if (sender == BH_EGRESS && state & BH_CT_ONCE)
		ct_change(ct, tag, 0, BH_CT_ONCE);
	else if (sender == BH_INGRESS && state & BH_CT_HALF)
		ct_change(ct, tag, BH_CT_ONCE, BH_CT_HALF);
}

/* The hook and the interfaces of a packet, and the MAC of its sender. */
struct ct_sight {
	__u32 hook; /* enum bh_hook */
	__u32 from; /* the end of the key that sent the packet */
	__u32 ifindex, ingress; /* as in struct packet */
	const __u8 *mac_from;
};

_Static_assert(offsetof(struct bh_ct_end, mac) % 4 == 0, "ct_came_from() reads a word of the MAC");
static __always_inline bool ct_came_from(const struct bh_ct_end *end, __u32 ifindex,
					 const __u8 *mac)
{
	return end->ifindex == ifindex && *(__u32 *)end->mac == *(__u32 *)mac &&
	       *(__u16 *)(end->mac + 4) == *(__u16 *)(mac + 4);
}

/* Notes that any MAC is right in the first packet of an end. @changes: of bh_config, read before
 * the maps that say so. */
static __always_inline void ct_learns_from(struct bh_ct_end *end, __u32 changes)
{
	*(__u32 *)end->mac = BH_CT_LEARNS(changes);
	*(__u16 *)(end->mac + 4) = BH_CT_LEARNS(changes) >> 32;
}

/* Returns true if any MAC is right in the next packet of an end: it is the first one. */
static __always_inline bool ct_learns(const struct bh_ct_end *end)
{
	__u64 learns = BH_CT_LEARNS(packet_changes());

	return *(__u32 *)end->mac == (__u32)learns && *(__u16 *)(end->mac + 4) == learns >> 32;
}

/* Stores the packet's source MAC as that of its sender's end. */
static __always_inline void ct_set_source(struct bh_ct *ct, const struct packet *p)
{
	struct bh_ct_end *end = p->from ? &ct->end[1] : &ct->end[0];

	if (!ct_came_from(end, p->ifindex, p->mac_from))
		__builtin_memcpy(end->mac, p->mac_from, sizeof(end->mac));
}

/* Returns true if the packet is at the interface, and has the MAC, that the entry gives for its
 * end. Replaces the checks of anti_spoofing.h. */
static __always_inline bool ct_ends_match(const struct bh_ct_end end[2], __u64 word,
					  const struct ct_sight *at)
{
	const struct bh_ct_end *source = at->from ? &end[1] : &end[0];
	const struct bh_ct_end *destination = at->from ? &end[0] : &end[1];

	if (at->hook == BH_HOOK_FROM_ENDPOINT)
		return ct_came_from(source, at->ifindex, at->mac_from);
	/* The packet of an endpoint has passed that endpoint's own hook. Its address names the
	 * endpoint, or the interface by which the packet came in does. */
	if (at->hook == BH_HOOK_LEAVE)
		return source->ifindex &&
		       (!(word & BH_CT_BY_INGRESS) || source->ifindex == at->ingress);
	if (destination->ifindex != at->ifindex)
		return false;
	if (word & BH_CT_NODE && !!(word & BH_CT_INITIATOR) == at->from)
		return !at->ingress || at->ingress == at->ifindex;
	return !source->ifindex || source->ifindex == at->ingress;
}

/* Returns true if anybody on the link may have sent the packet: the sender of a link-local
 * connection is no endpoint of this node, so no hook has checked its source. */
static __always_inline bool ct_is_anybody(const struct packet *p, const struct bh_ct *ct)
{
	return p->key.scope && !(p->from ? ct->end[1].ifindex : ct->end[0].ifindex);
}

/* Returns true if both ends allow the connection. @want: the word of an end that allows it, without
 * the interfaces of the ends and the flags that @varies has. Sets *@word to the initiator's
 * word. */
static __always_inline bool ct_agrees(const struct bh_ct *ct, __u64 want, __u64 varies, __u64 *word)
{
	want ^= bh_ct_bound(0, ct->end[0].ifindex, ct->end[1].ifindex);
	*word = READ_ONCE(ct->verdict[BH_EGRESS]);
	return !(((*word ^ want) | (READ_ONCE(ct->verdict[BH_INGRESS]) ^ want)) & ~varies);
}

#define CT_VARIES                                                                                \
	((__u64)(BH_CT_NODE | BH_CT_INITIATOR | BH_CT_LOCAL | BH_CT_SERVICE | BH_CT_BY_INGRESS | \
		 BH_CT_TO_NODE))

/* The same for an entry that serves packets by itself: without BH_CT_ASKS. */
static __always_inline bool ct_allowed(const struct bh_ct *ct, __u64 want, __u64 *word)
{
	return ct_agrees(ct, want, CT_VARIES, word);
}

/* Returns true if the connection is open and has not timed out. If so, renews its age. */
static __always_inline bool ct_alive(struct bh_ct *ct, __u8 protocol, __u32 now)
{
	__u32 seen = READ_ONCE(ct->seen);

	if (READ_ONCE(ct->state) & BH_CT_STATE)
		return false;
	if (unlikely(seen != now)) {
		if ((__s32)(now - seen) > (__s32)table_timeout(protocol, 0))
			return false;
		WRITE_ONCE(ct->seen, now);
	}
	return true;
}

#define CT_ACKNOWLEDGED 0x10000 /* bytes by which the noted number may lag behind */
#define CT_WINDOW 0x100000 /* bytes that may be in flight after the acknowledged one */
#define CT_LARGEST 0x40000000 /* the largest window that TCP can scale to (RFC 7323) */
#define CT_BULK 0x2000000 /* bytes that the flow cache may pass in a jiffy, unnoted */

/* Returns true if a number may be one that follows the noted number of an end; 0: none is noted. */
static __always_inline bool ct_follows(__u32 number, __u32 noted)
{
	return noted && number - noted < CT_ACKNOWLEDGED + CT_WINDOW;
}

/*
 * Returns true if a segment may be its sender's, by two numbers of it and the noted numbers that
 * they follow. The first number alone proves that where it is near. Behind megabytes in flight, or
 * that the flow cache has passed, the second number must be near, too. Who guesses needs 4,096
 * segments for the first condition, 16,384 for each of the others.
 */
static __always_inline bool ct_proves(__u32 number, __u32 noted, __u32 other, __u32 other_noted)
{
	if (ct_follows(number, noted))
		return true;
	if (!noted || !other_noted)
		return false;
	return (number - noted <= CT_LARGEST && ct_follows(other, other_noted)) ||
	       (number - noted < CT_BULK && other - other_noted < CT_BULK);
}

/* Notes a number that is far from the noted one, if the segment proves its sender: who could move
 * the noted number by forged segments would know it. Not inline, for the stack. */
static __noinline int ct_note(struct bh_ct *ct, __u32 end, __u32 sequence, __u32 acknowledged)
{
	__u32 *number = end ? &ct->number[1] : &ct->number[0], has = READ_ONCE(*number);
	__u32 other = READ_ONCE(*(end ? &ct->number[0] : &ct->number[1]));

	if (!has || ct_proves(acknowledged, has, sequence, other))
		WRITE_ONCE(*number, acknowledged);
	return 0;
}

/* Notes the number that an end of an open TCP connection has acknowledged, once for 64 KB, so that
 * few packets write to the entry's cache line. */
static __always_inline void ct_acknowledge(struct bh_ct *ct, __u32 end, __u32 sequence,
					   __u32 acknowledged)
{
	__u32 has = READ_ONCE(*(end ? &ct->number[1] : &ct->number[0]));

	if (unlikely((__s32)(acknowledged - has) >= CT_ACKNOWLEDGED || !has))
		ct_note(ct, end, sequence, acknowledged);
}

/*
 * Returns true if a segment of an open TCP connection that ends the connection, or its direction,
 * may be of its sender: the sequence number may be in the receiver's window, or it is behind more
 * in flight, and the segment acknowledges what its sender has got.
 */
static __always_inline bool ct_is_senders(const struct packet *p, const struct bh_ct *ct)
{
	__u32 receiver = READ_ONCE(*(p->from ? &ct->number[0] : &ct->number[1]));
	__u32 sender = READ_ONCE(*(p->from ? &ct->number[1] : &ct->number[0]));

	return ct_proves(p->sequence, receiver, p->acknowledged,
			 p->tcp_flags & TCP_ACK ? sender : 0);
}

/* Returns true if a FIN ends its sender's direction. Of a connection that the command has imported
 * no number may be noted yet. */
static __always_inline bool ct_finishes(const struct packet *p, const struct bh_ct *ct)
{
	return ct_is_senders(p, ct) || !READ_ONCE(*(p->from ? &ct->number[0] : &ct->number[1]));
}

/* Moves a noted number on to one that is near. Another CPU may move it on at the same time: the
 * later number stays. Global, as ct_note_ends(). */
BPF_GLOBAL int ct_move_on(__u32 *number, __u32 to)
{
	if (!number)
		return 0;
#pragma unroll
	for (int i = 0; i < CT_TRIES; i++) {
		__u32 was = READ_ONCE(*number);

		if (to - was - 1 >= 2 * CT_ACKNOWLEDGED ||
		    __sync_val_compare_and_swap(number, was, to) == was)
			return 0;
	}
	return 0;
}

/* Returns true if the end that receives the packet has sent its FIN. No other access of this
 * program moves past this read. */
static __always_inline bool ct_other_finished(const struct packet *p, struct bh_ct *ct)
{
	return __sync_fetch_and_or(&ct->state, 0) & BH_CT_FIN(!p->from);
}

/*
 * Notes up to where both directions go: by the first FIN what that ends; by the one that closes the
 * second direction what that ends, and the later of what its sender has got and what the first one
 * has ended. Each must be near what is noted: data before an end that somebody has guessed would
 * not restore the connection. @state: of before the FIN. Global: the verifier checks it once, not
 * for each way to an entry.
 *
 * Two CPUs may handle both FINs at once. Called again once the FIN's bit is set, either program
 * finds the other's bit, or stores what its FIN ends before the other one reads that. Who finds the
 * other's bit notes what its own FIN ends.
 */
BPF_GLOBAL int ct_note_ends(const struct packet *p, struct bh_ct *ct, __u32 state)
{
	__u32 *receiver, *sender, end, first;
	bool is_first;

	if (!p || !ct)
		return 0;
	receiver = p->from ? &ct->number[0] : &ct->number[1];
	sender = p->from ? &ct->number[1] : &ct->number[0];
	end = p->sequence + p->payload + 1;
	is_first = !ct_other_finished(p, ct);
	if (is_first) {
		__sync_lock_test_and_set(&ct->answer, end);
		if (!ct_other_finished(p, ct))
			return 0;
	}
	first = READ_ONCE(ct->answer);
	ct_move_on(receiver, end);
	ct_move_on(sender, p->acknowledged);
	if (!is_first && !(state & BH_CT_FIN(p->from)))
		ct_move_on(sender, first);
	return 0;
}

/* Returns true if a segment of a connection that both FINs have closed has data behind its sender's
 * FIN. What was before may come once more. */
static __always_inline bool ct_goes_on(const struct packet *p, const struct bh_ct *ct)
{
	__u32 closed = READ_ONCE(*(p->from ? &ct->number[0] : &ct->number[1]));

	return p->payload && (!closed || (__s32)(p->sequence + p->payload - closed) > 0);
}

/*
 * Finds the open connection of a packet if both ends allow it at the active generation. Returns
 * NULL in all other cases.
 */
static __always_inline struct bh_ct *ct_established(const struct packet *p, __u64 *word)
{
	const struct ct_sight at = {p->hook, p->from, p->ifindex, p->ingress, p->mac_from};
	struct bh_ct *ct = ct_lookup(p);

	if (!ct || !ct_allowed(ct, bh_ct_word(p->generation, ct_tag(p), BH_CT_ALLOW), word) ||
	    !ct_ends_match(ct->end, *word, &at) || ct_is_anybody(p, ct) ||
	    !ct_alive(ct, p->protocol, p->now))
		return NULL;
	if (p->protocol == IPPROTO_TCP)
		ct_acknowledge(ct, p->from, p->sequence, p->acknowledged);
	return ct;
}

#endif
