/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Input of the program `forget`, which voids the connections of addresses (conntrack.h) whose
 * endpoint has been deleted. To map the table takes the command longer than a program needs to walk
 * through the table. The loader runs it (BPF_PROG_RUN); it returns 0 and sets `forgotten`.
 */
#ifndef BULKHEAD_MAPS_FORGET_H
#define BULKHEAD_MAPS_FORGET_H

#include "maps/conntrack.h"

#define BH_FORGET_ADDRESSES 8 /* in one walk */

struct bh_forget {
	/* The unused ones at the end repeat one of the others. */
	struct bh_addr addr[BH_FORGET_ADDRESSES];
	__u32 forgotten; /* connections that were voided; output */
	__u32 end;
};
_Static_assert(sizeof(struct bh_forget) == 136, "struct bh_forget");

/* Returns 0 if all slots of the bucket are free. */
BH_CT_INLINE __u64 bh_forget_any(const struct bh_ct_bucket *bucket)
{
	const volatile __u64 *pair = (const void *)bucket->tag;
	__u64 any = 0;

	for (int i = 0; i < BH_CT_SLOTS / 2; i++)
		any |= pair[i];
	return any;
}

BH_CT_INLINE __u32 bh_forget_is(const volatile struct bh_ct_key *key, const struct bh_addr *addr)
{
	const __be64 *word = (const __be64 *)addr;

	return (key->addr[0][0] == word[0] && key->addr[0][1] == word[1]) ||
	       (key->addr[1][0] == word[0] && key->addr[1][1] == word[1]);
}

BH_CT_INLINE __u32 bh_forget_has(const struct bh_forget *forget,
				 const volatile struct bh_ct_key *key)
{
	for (int i = 0; i < BH_FORGET_ADDRESSES; i++)
		if (bh_forget_is(key, &forget->addr[i]))
			return 1;
	return 0;
}

/* Reads a connection word. No later read moves above it. */
BH_CT_INLINE __u64 bh_forget_word(__u64 *word)
{
	return __sync_fetch_and_add(word, 0);
}

/*
 * Voids the connection of a slot, whose tag was @was before the caller read the key: no packet
 * finds the connection any more, and the garbage collector frees it. The words are read between two
 * looks at the tag: a program that fills the slot anew stores the words of the other connection
 * before its key, and makes the slot busy before both. If the slot has another connection by the
 * time of the swap, its word is another one. Returns the number of connections.
 */
BH_CT_INLINE __u32 bh_forget_void(const __u32 *tag, __u32 was, struct bh_ct_slot *slot)
{
	__u64 *word = slot->ct.verdict, egress, ingress;

	egress = bh_forget_word(&word[BH_EGRESS]);
	ingress = bh_forget_word(&word[BH_INGRESS]);
	/* a proposed tag may have become the final one */
	if ((*(const volatile __u32 *)tag ^ was) & BH_CT_TAG_OF_KEY ||
	    __sync_val_compare_and_swap(&word[BH_EGRESS], egress, 0) != egress)
		return 0;
	__sync_val_compare_and_swap(&word[BH_INGRESS], ingress, 0);
	return 1;
}

/* Voids the connection of a slot if one of its ends has one of the addresses. */
BH_CT_INLINE __u32 bh_forget_slot(const struct bh_forget *forget, const __u32 *tag,
				  struct bh_ct_slot *slot)
{
	__u32 was = *(const volatile __u32 *)tag;

	if (!bh_ct_is_filled(was) || !bh_forget_has(forget, &slot->key))
		return 0;
	return bh_forget_void(tag, was, slot);
}

#endif
