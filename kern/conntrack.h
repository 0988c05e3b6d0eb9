/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables of connections: lookup, age, and the words of maps/conntrack.h. */
#ifndef BULKHEAD_KERN_CONNTRACK_H
#define BULKHEAD_KERN_CONNTRACK_H

#include "parse.h"
#include "tunables.h"
#include "maps/conntrack.bpf.h"

static __always_inline __u32 ct_now(void)
{
	return bpf_jiffies64() >> BH_TICK_SHIFT;
}

static __always_inline __u32 ct_tag(const struct packet *p)
{
	return p->version == 4 ? bh_ct_tag4(&p->key4) : bh_ct_tag6(&p->key6);
}

/* The tag of words about a connection between these ends. */
static __always_inline __u32 ct_bound(const struct packet *p, const struct bh_ct_end end[2])
{
	return bh_ct_bound(ct_tag(p), end[0].ifindex, end[1].ifindex);
}

/* Keys are copied, for the sake of functions that are CHECKED_ALONE. */
static __always_inline struct bh_ct *ct_lookup(const struct packet *p)
{
	struct bh_ct_key4 key4;
	struct bh_ct_key6 key6;

	if (p->version == 4) {
		key4 = p->key4;
		return bpf_map_lookup_elem(&bh_ct4, &key4);
	}
	key6 = p->key6;
	return bpf_map_lookup_elem(&bh_ct6, &key6);
}

static __always_inline struct bh_half *ct_lookup_half(const struct packet *p)
{
	struct bh_ct_key4 key4;
	struct bh_ct_key6 key6;

	if (p->version == 4) {
		key4 = p->key4;
		return bpf_map_lookup_elem(&bh_half4, &key4);
	}
	key6 = p->key6;
	return bpf_map_lookup_elem(&bh_half6, &key6);
}

static __noinline void ct_insert(const struct packet *p, const struct bh_ct *ct)
{
	struct bh_ct_key4 key4;
	struct bh_ct_key6 key6;

	if (packet_is_group(p))
		return;
	if (p->version == 4) {
		key4 = p->key4;
		bpf_map_update_elem(&bh_ct4, &key4, ct, BPF_ANY);
	} else {
		key6 = p->key6;
		bpf_map_update_elem(&bh_ct6, &key6, ct, BPF_ANY);
	}
}

static __noinline void ct_insert_half(const struct packet *p, const struct bh_half *half)
{
	struct bh_ct_key4 key4;
	struct bh_ct_key6 key6;

	if (packet_is_group(p))
		return;
	if (p->version == 4) {
		key4 = p->key4;
		bpf_map_update_elem(&bh_half4, &key4, half, BPF_ANY);
	} else {
		key6 = p->key6;
		bpf_map_update_elem(&bh_half6, &key6, half, BPF_ANY);
	}
}

static __noinline void ct_delete_half(const struct packet *p)
{
	struct bh_ct_key4 key4;
	struct bh_ct_key6 key6;

	if (p->version == 4) {
		key4 = p->key4;
		bpf_map_delete_elem(&bh_half4, &key4);
	} else {
		key6 = p->key6;
		bpf_map_delete_elem(&bh_half6, &key6);
	}
}

static __always_inline __u32 ct_timeout(__u8 protocol, __u32 state)
{
	if (state & BH_CT_DENIED)
		return timeout_denied;
	switch (protocol) {
	case IPPROTO_TCP:
		return state & BH_CT_RST || (state & BH_CT_FINS) == BH_CT_FINS ? timeout_tcp_closing
									       : timeout_tcp;
	case IPPROTO_UDP:
		return timeout_udp;
	case IPPROTO_SCTP:
		return timeout_sctp;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return timeout_icmp;
	}
	return timeout_other;
}

/* Whether an entry is this key's, whatever its ends, and has not lapsed. */
static __always_inline bool ct_usable(const struct packet *p, const struct bh_ct *ct, __u32 timeout)
{
	__u64 word = READ_ONCE(ct->verdict[BH_EGRESS]);

	return ((__u32)word & ~BH_CT_FLAGS) == ct_bound(p, ct->end) &&
	       p->now - READ_ONCE(ct->seen) <= timeout;
}

static __noinline struct bh_ct *ct_find(const struct packet *p)
{
	struct bh_ct *ct = ct_lookup(p);
	__u32 state;

	if (!ct)
		return NULL;
	state = READ_ONCE(ct->state);
	if (state & BH_CT_SUPERSEDED || !ct_usable(p, ct, ct_timeout(p->protocol, state)))
		return NULL;
	return ct;
}

static __noinline struct bh_half *ct_find_half(const struct packet *p)
{
	struct bh_half *half = ct_lookup_half(p);

	return half && ct_usable(p, &half->ct, timeout_half_open) ? half : NULL;
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

/* The ends are where the entry says: at either hook this stands for the checks of source.h. */
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
		if (now - seen > ct_timeout(protocol, 0))
			return false;
		WRITE_ONCE(ct->seen, now);
	}
	return true;
}

/*
 * The main line: a packet of an open connection that both ends have allowed at
 * the generation in force. Whatever is less simple returns NULL.
 */
static __always_inline struct bh_ct *ct_established(const struct packet *p, __u64 *word)
{
	const struct ct_sight at = {p->hook, p->from, p->ifindex, p->ingress, p->mac_from};
	struct bh_ct *ct = p->version == 4 ? bpf_map_lookup_elem(&bh_ct4, &p->key4)
					   : bpf_map_lookup_elem(&bh_ct6, &p->key6);

	return ct && ct_allowed(ct, bh_ct_word(p->generation, ct_tag(p), BH_CT_ALLOW), word) &&
			       ct_ends_match(ct->end, *word, &at) &&
			       ct_alive(ct, p->protocol, p->now)
		       ? ct
		       : NULL;
}

#endif
