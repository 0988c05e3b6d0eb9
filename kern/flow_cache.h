/* SPDX-License-Identifier: GPL-2.0-only */
/* The flow cache: copies of the connections of this CPU's last packets (maps/flow_cache.h). */
#ifndef BULKHEAD_KERN_FLOW_CACHE_H
#define BULKHEAD_KERN_FLOW_CACHE_H

#include "conntrack.h"
#include "maps/flow_cache.bpf.h"

/* A key of either IP version, as words. */
union flow_cache_key {
	struct bh_flow_cache_key4 key4;
	struct bh_ct_key key6;
	__u64 word[5];
};

static __always_inline struct bh_flow_cache *flow_cache_slots(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&bh_flow_cache, &zero);
}

/* Words of a key of that IP version. */
#define FLOW_CACHE_WORDS(ipv4) ((ipv4) ? 2 : 5)

/* Returns the slot for a key of that IP version. Points *@key to the key that the slot holds. */
static __always_inline struct bh_flow_cache_found *flow_cache_slot(const union flow_cache_key *k,
								   bool ipv4, __u64 **key)
{
	struct bh_flow_cache *slots = flow_cache_slots();
	struct bh_flow_cache4 *slot4;
	struct bh_flow_cache6 *slot6;

	if (!slots)
		return NULL;
	if (ipv4) {
		slot4 = &slots->ipv4[bh_flow_cache_index(k->word[0] ^ k->word[1])];
		SETTLE(slot4);
		*key = (__u64 *)&slot4->key;
		return &slot4->found;
	}
	slot6 = &slots->ipv6[bh_flow_cache_index(k->word[1] ^ k->word[3] ^ k->word[4])];
	SETTLE(slot6);
	*key = (__u64 *)&slot6->key;
	return &slot6->found;
}

/* Returns true if two keys differ in the first of their @words. */
static __always_inline bool flow_cache_differs(const __u64 *a, const __u64 *b, int words)
{
	__u64 differ = 0;

#pragma unroll
	for (int i = 0; i < words; i++)
		differ |= a[i] ^ b[i];
	return differ;
}

/* Returns the flags of the initiator's word if the slot, which holds @key, is valid for this packet
 * now. Else 0. */
static __always_inline __u32 flow_cache_serves(const struct bh_flow_cache_found *found,
					       const __u64 *key, const union flow_cache_key *k,
					       int words, __u32 generation,
					       const struct ct_sight *at)
{
	__u32 sequence = READ_ONCE(found->sequence), flags = found->flags;
	__u64 now = bpf_jiffies64();

	barrier();
	if (sequence & 1 || flow_cache_differs(key, k->word, words) || found->jiffy != now ||
	    found->generation != generation || !ct_ends_match(found->end, flags, at))
		return 0;
	barrier();
	return READ_ONCE(found->sequence) == sequence ? flags : 0;
}

/* Claims the slot for writing, until flow_cache_keep(). Returns true if that succeeded. */
static __always_inline bool flow_cache_begins(struct bh_flow_cache_found *found)
{
	__u32 sequence = READ_ONCE(found->sequence);

	if (sequence & 1)
		return false;
	WRITE_ONCE(found->sequence, sequence + 1);
	barrier();
	return true;
}

/* Writes a claimed slot. @word: the initiator's word as the entry had it when the packet passed. */
static __always_inline void flow_cache_keep(struct bh_flow_cache_found *found, __u32 generation,
					    const struct bh_ct *ct, __u64 word)
{
	found->generation = generation;
	found->flags = word & BH_CT_FLAGS;
	found->end[0] = ct->end[0];
	found->end[1] = ct->end[1];
	barrier();
	/* If the entry has another connection by now, the ends may be that connection's: the slot
	 * stays invalid. */
	found->jiffy = READ_ONCE(ct->verdict[BH_EGRESS]) == word ? bpf_jiffies64() : 0;
	barrier();
	WRITE_ONCE(found->sequence, found->sequence + 1);
}

/* Makes the slot of a connection invalid. */
static __always_inline void flow_cache_void(const struct bh_ct_key *connection, bool ipv4)
{
	struct bh_flow_cache_found *found;
	union flow_cache_key short_key;
	__u64 *key;

	if (ipv4) {
		short_key.word[0] =
			(__u64)(connection->addr[1][1] >> 32) << 32 | connection->addr[0][1] >> 32;
		short_key.word[1] = *(const __u64 *)connection->port;
		found = flow_cache_slot(&short_key, true, &key);
	} else {
		found = flow_cache_slot((const void *)connection, false, &key);
	}
	if (found)
		WRITE_ONCE(found->jiffy, 0);
}

/* The same for the packet's connection. Call it before the connection's entry changes. */
BPF_GLOBAL int flow_cache_forget(const struct packet *p)
{
	if (p)
		flow_cache_void(&p->key, p->version == 4);
	return 0;
}

#endif
