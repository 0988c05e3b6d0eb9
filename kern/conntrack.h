/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables of connections: lookup, age, and the words of maps/conntrack.h. */
#ifndef BULKHEAD_KERN_CONNTRACK_H
#define BULKHEAD_KERN_CONNTRACK_H

#include "table.h"

static __always_inline __u32 ct_now(void)
{
	return table_now();
}

/* To be called again where the key has changed. */
static __always_inline void ct_hash(struct packet *p)
{
	table_hash(table_key(p));
}

static __always_inline __u32 ct_tag(const struct packet *p)
{
	return bh_ct_hash_tag(p->hash);
}

/* The tag of words about a connection between these ends. */
static __always_inline __u32 ct_bound(const struct packet *p, const struct bh_ct_end end[2])
{
	return bh_ct_bound(ct_tag(p), end[0].ifindex, end[1].ifindex);
}

static __always_inline struct bh_ct *ct_lookup(const struct packet *p)
{
	return table_find((const struct table_key *)p);
}

/* Makes the packet's key that of the SYN that waits for its connection's place, or the packet's own
 * again. */
static __always_inline void ct_wait(struct packet *p, bool waiting)
{
	p->key.kind = waiting ? BH_CT_WAITING : 0;
	p->absent = false; /* under this key nobody has looked */
	ct_hash(p);
}

/* A new connection. Returns 0 or BH_DROP_SHARE. */
static __always_inline int ct_insert(const struct packet *p, const struct bh_ct *ct)
{
	return packet_is_group(p) ? 0 : table_insert((const struct table_key *)p, ct, p->absent);
}

/* Whether an entry is this key's, whatever its ends, and has not lapsed. */
static __always_inline bool ct_usable(const struct packet *p, const struct bh_ct *ct)
{
	__u64 word = READ_ONCE(ct->verdict[BH_EGRESS]);

	return ((__u32)word & ~BH_CT_FLAGS) == ct_bound(p, ct->end) &&
	       !table_lapsed(ct, p->protocol, p->now);
}

static __always_inline struct bh_ct *ct_find(struct packet *p)
{
	struct bh_ct *ct = p->found ? table_slot(p->at) : ct_lookup(p);

	p->absent = !ct;
	return ct && ct_usable(p, ct) ? ct : NULL;
}

/* Its words are those of the connection that it is to become. */
static __noinline struct bh_ct *ct_find_waiting(struct packet *p)
{
	struct bh_ct *ct;

	ct_wait(p, true);
	ct = ct_lookup(p);
	ct_wait(p, false);
	return ct && ct_usable(p, ct) ? ct : NULL;
}

/* Where only the bits that @set and @clear name change; what another CPU changes meanwhile stays.
 * Returns the state before. */
static __always_inline __u32 ct_state(struct bh_ct *ct, __u32 set, __u32 clear)
{
	__u32 state = READ_ONCE(ct->state), next = (state & ~clear) | set;

	return next == state ? state : __sync_val_compare_and_swap(&ct->state, state, next);
}

/* Which end of the connection sent the packet: BH_EGRESS, the initiator, or BH_INGRESS. */
static __always_inline __u32 ct_sender(const struct packet *p, __u64 word)
{
	return !!(word & BH_CT_INITIATOR) == p->from ? BH_EGRESS : BH_INGRESS;
}

/* Where a packet is met, and who says to have sent it. */
struct ct_sight {
	__u32 hook; /* enum bh_hook */
	__u32 from; /* which end of the key sent it */
	__u32 ifindex, ingress; /* as in struct packet */
	const __u8 *mac_from;
};

static __always_inline bool ct_came_from(const struct bh_ct_end *end, __u32 ifindex,
					 const __u8 *mac)
{
	return end->ifindex == ifindex && *(__u32 *)end->mac == *(__u32 *)mac &&
	       *(__u16 *)(end->mac + 4) == *(__u16 *)(mac + 4);
}

/* From now on its sender's packets have this MAC. */
static __always_inline void ct_comes_from(struct bh_ct *ct, const struct packet *p)
{
	struct bh_ct_end *end = p->from ? &ct->end[1] : &ct->end[0];

	if (!ct_came_from(end, p->ifindex, p->mac_from))
		__builtin_memcpy(end->mac, p->mac_from, sizeof(end->mac));
}

/* The ends are where the entry says: at either hook this stands for the checks of anti_spoofing.h.
 */
static __always_inline bool ct_ends_match(const struct bh_ct_end end[2], __u64 word,
					  const struct ct_sight *at)
{
	const struct bh_ct_end *source = at->from ? &end[1] : &end[0];
	const struct bh_ct_end *destination = at->from ? &end[0] : &end[1];

	if (at->hook == BH_HOOK_FROM_ENDPOINT)
		return ct_came_from(source, at->ifindex, at->mac_from);
	/* An endpoint's, which has passed that endpoint's own hook. */
	if (at->hook == BH_HOOK_LEAVE)
		return source->ifindex;
	if (destination->ifindex != at->ifindex)
		return false;
	if (word & BH_CT_NODE && !!(word & BH_CT_INITIATOR) == at->from)
		return !at->ingress || at->ingress == at->ifindex;
	return !source->ifindex || source->ifindex == at->ingress;
}

/* Whether the sender may be anybody on the link who says so: no check of any source stands for the
 * ends of a link-local connection where the sender is no endpoint. */
static __always_inline bool ct_is_anybody(const struct packet *p, const struct bh_ct *ct)
{
	return p->key.scope && !(p->from ? ct->end[1].ifindex : ct->end[0].ifindex);
}

/* Whether both ends allow the connection: @want is the word of one that does, but for the ends. */
static __always_inline bool ct_allowed(const struct bh_ct *ct, __u64 want, __u64 *word)
{
	const __u64 varies = BH_CT_NODE | BH_CT_INITIATOR | BH_CT_LOCAL | BH_CT_SERVICE;

	want ^= bh_ct_bound(0, ct->end[0].ifindex, ct->end[1].ifindex);
	*word = READ_ONCE(ct->verdict[BH_EGRESS]);
	return !(((*word ^ want) | (READ_ONCE(ct->verdict[BH_INGRESS]) ^ want)) & ~varies);
}

/* Whether it is open and has not lapsed. If so, it has been seen now. */
static __always_inline bool ct_alive(struct bh_ct *ct, __u8 protocol, __u32 now)
{
	__u32 seen = READ_ONCE(ct->seen);

	if (READ_ONCE(ct->state))
		return false;
	if (unlikely(seen != now)) {
		if ((__s32)(now - seen) > (__s32)table_timeout(protocol, 0))
			return false;
		WRITE_ONCE(ct->seen, now);
	}
	return true;
}

#define CT_ACKNOWLEDGED 0x10000 /* how far behind what an end has acknowledged may be noted */
#define CT_WINDOW 0x100000 /* what may be under way beyond that */

/* Notes what an end of an open TCP connection has acknowledged: seldom, so that the entry's cache
 * line stays clean. */
static __always_inline void ct_acknowledge(struct bh_ct *ct, __u32 end, __u32 acknowledged)
{
	__u32 *number = end ? &ct->number[1] : &ct->number[0], has = READ_ONCE(*number);

	if (unlikely((__s32)(acknowledged - has) >= CT_ACKNOWLEDGED || !has))
		WRITE_ONCE(*number, acknowledged);
}

/* Whether a RST is where its receiver takes one for true. */
static __always_inline bool ct_resets(const struct packet *p, const struct bh_ct *ct)
{
	__u32 number = READ_ONCE(*(p->from ? &ct->number[0] : &ct->number[1]));

	return number && p->sequence - number < CT_ACKNOWLEDGED + CT_WINDOW;
}

/*
 * The main line: a packet of an open connection that both ends have allowed at
 * the generation in force. Whatever is less simple returns NULL.
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
		ct_acknowledge(ct, p->from, p->acknowledged);
	return ct;
}

#endif
