/* SPDX-License-Identifier: GPL-2.0-only */
/* The connections of this CPU's last packets (maps/last.h): a copy in, a copy out. */
#ifndef BULKHEAD_KERN_LAST_H
#define BULKHEAD_KERN_LAST_H

#include "conntrack.h"
#include "maps/last.bpf.h"

/* The keys by words. */
union last_key {
	struct bh_last_key4 key4;
	struct bh_ct_key key6;
	__u64 word[5];
};

static __always_inline struct bh_last *last_slots(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&bh_last, &zero);
}

static __always_inline struct bh_last4 *last_slot4(const union last_key *k)
{
	struct bh_last *slots = last_slots();

	return slots ? &slots->ipv4[bh_last_index(k->word[0] ^ k->word[1])] : NULL;
}

static __always_inline struct bh_last6 *last_slot6(const union last_key *k)
{
	struct bh_last *slots = last_slots();

	return slots ? &slots->ipv6[bh_last_index(k->word[1] ^ k->word[3] ^ k->word[4])] : NULL;
}

/* Whether it is so for the packet in hand, now. */
static __always_inline bool last_holds(const struct bh_last_found *found, __u32 generation,
				       const struct ct_sight *at)
{
	return found->jiffy == bpf_jiffies64() && found->generation == generation &&
	       ct_ends_match(found->end, found->flags, at);
}

/* The flags of the initiator's word, if the slot serves this packet. Else 0. */
static __always_inline __u32 last_serves4(const struct bh_last4 *slot, const union last_key *k,
					  __u32 generation, const struct ct_sight *at)
{
	const union last_key *same = (void *)&slot->key;
	__u32 sequence = READ_ONCE(slot->found.sequence), flags = slot->found.flags;

	barrier();
	if (sequence & 1 || (same->word[0] ^ k->word[0]) | (same->word[1] ^ k->word[1]) ||
	    !last_holds(&slot->found, generation, at))
		return 0;
	barrier();
	return READ_ONCE(slot->found.sequence) == sequence ? flags : 0;
}

static __always_inline __u32 last_serves6(const struct bh_last6 *slot, const union last_key *k,
					  __u32 generation, const struct ct_sight *at)
{
	const union last_key *same = (void *)&slot->key;
	__u32 sequence = READ_ONCE(slot->found.sequence), flags = slot->found.flags;

	barrier();
	if (sequence & 1 ||
	    (same->word[0] ^ k->word[0]) | (same->word[1] ^ k->word[1]) |
		    (same->word[2] ^ k->word[2]) | (same->word[3] ^ k->word[3]) |
		    (same->word[4] ^ k->word[4]) ||
	    !last_holds(&slot->found, generation, at))
		return 0;
	barrier();
	return READ_ONCE(slot->found.sequence) == sequence ? flags : 0;
}

/* Returns whether the slot is this program's to write, until last_keep(). */
static __always_inline bool last_begins(struct bh_last_found *found)
{
	__u32 sequence = READ_ONCE(found->sequence);

	if (sequence & 1)
		return false;
	WRITE_ONCE(found->sequence, sequence + 1);
	barrier();
	return true;
}

/* @word: what the entry said when it was found to serve. */
static __always_inline void last_keep(struct bh_last_found *found, __u32 generation,
				      const struct bh_ct *ct, __u64 word)
{
	found->generation = generation;
	found->flags = word & BH_CT_FLAGS;
	found->end[0] = ct->end[0];
	found->end[1] = ct->end[1];
	barrier();
	/* Another key's by now? Then these are not its ends. */
	found->jiffy = READ_ONCE(ct->verdict[BH_EGRESS]) == word ? bpf_jiffies64() : 0;
	barrier();
	WRITE_ONCE(found->sequence, found->sequence + 1);
}

/* Before the entry of a packet's connection changes. */
CHECKED_ALONE int last_forget(const struct packet *p)
{
	union last_key short_key;
	struct bh_last4 *slot4;
	struct bh_last6 *slot6;

	if (!p)
		return 0;
	if (p->version == 4) {
		short_key.word[0] = (__u64)packet_ipv4(p, 1) << 32 | packet_ipv4(p, 0);
		short_key.word[1] = *(__u64 *)p->key.port;
		slot4 = last_slot4(&short_key);
		if (slot4)
			WRITE_ONCE(slot4->found.jiffy, 0);
	} else {
		slot6 = last_slot6((const void *)&p->key);
		if (slot6)
			WRITE_ONCE(slot6->found.jiffy, 0);
	}
	return 0;
}

#endif
