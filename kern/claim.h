/* SPDX-License-Identifier: GPL-2.0-only */
/* Claims of link-local addresses that are not made of a known MAC (maps/claim.h). */
#ifndef BULKHEAD_KERN_CLAIM_H
#define BULKHEAD_KERN_CLAIM_H

#include "endpoint.h"
#include "maps/claim.bpf.h"

/* Returns the interface that has claimed an address on a link, if it is still there and has one of
 * @roles. Else 0. */
static __always_inline __u32 claim_holder(const struct bh_link_local_key *key, __u32 roles)
{
	struct bh_claim *claim = bpf_map_lookup_elem(&bh_claims, key);
	__u32 ifindex = claim ? READ_ONCE(claim->ifindex) : 0;
	struct bh_iface *iface = ifindex ? endpoint_iface(ifindex) : NULL;

	return iface && iface->bridge == key->link && iface->flags & roles ? ifindex : 0;
}

/* Static, since the stack has no room. */
static const struct bh_claimer claimer_none;

static __noinline struct bh_claimer *claim_claimer(__u32 ifindex)
{
	struct bh_claimer *claimer = bpf_map_lookup_elem(&bh_claimers, &ifindex);

	if (claimer)
		return claimer;
	bpf_map_update_elem(&bh_claimers, &ifindex, &claimer_none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&bh_claimers, &ifindex);
}

/* Returns true if an address is one of the last that an interface has claimed. */
static __always_inline bool claim_is_among(const struct bh_claimer *claimer,
					   const struct bh_addr *addr)
{
	for (int i = 0; i < BH_CLAIMS; i++)
		if (claimer->addr[i].word[2] == addr->word[2] &&
		    claimer->addr[i].word[3] == addr->word[3] &&
		    claimer->addr[i].word[0] == addr->word[0])
			return true;
	return false;
}

/* Notes an interface's claim, and deletes its oldest one if it has too many. */
static __noinline void claim_note(__u32 ifindex, const struct bh_link_local_key *key)
{
	struct bh_claimer *claimer = claim_claimer(ifindex);
	struct bh_link_local_key oldest = {.link = key->link};
	struct bh_addr *place;

	if (!claimer)
		return;
	place = &claimer->addr[__sync_fetch_and_add(&claimer->claims, 1) & (BH_CLAIMS - 1)];
	oldest.addr = *place;
	*place = key->addr;
	if (claim_holder(&oldest, BH_IFACE_ROLES) == ifindex &&
	    !claim_is_among(claimer, &oldest.addr))
		bpf_map_delete_elem(&bh_claims, &oldest);
}

/* Claims an address, which no other interface has, for an interface. Returns true if the address is
 * the interface's now. */
static __noinline bool claim_add(__u32 ifindex, const struct bh_link_local_key *key)
{
	struct bh_claim claim = {ifindex};
	struct bh_claim *there = bpf_map_lookup_elem(&bh_claims, key);

	if (there && READ_ONCE(there->ifindex) == ifindex)
		return true;
	if (there) /* the interface of that claim has gone */
		bpf_map_delete_elem(&bh_claims, key);
	if (bpf_map_update_elem(&bh_claims, key, &claim, BPF_NOEXIST))
		return false;
	claim_note(ifindex, key);
	return true;
}

#endif
