/* SPDX-License-Identifier: GPL-2.0-only */
/* The share of the table of connections that each endpoint holds (maps/share.h). */
#ifndef BULKHEAD_KERN_SHARE_H
#define BULKHEAD_KERN_SHARE_H

#include "tunables.h"
#include "maps/share.bpf.h"

static __always_inline struct bh_share_count *share_total(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&bh_share_total, &zero);
}

static __always_inline struct bh_share *share_of(__u32 payer)
{
	__u32 ifindex = payer & ~BH_SHARE_INWARD;

	return bpf_map_lookup_elem(&bh_shares, &ifindex);
}

/* Whether an endpoint that holds @own of the @used connections may have one more. @room: the limit
 * for all. */
static __always_inline bool share_allows(__u32 own, __u32 used, __u32 room)
{
	return used < room && own < room - used;
}

static __always_inline void share_add(struct bh_share_count *count, __u64 what)
{
	__sync_fetch_and_add((__u64 *)count, what);
}

/* Static, since the stack has no room. */
static const struct bh_share share_none;

/* Counts another connection of the payer. Returns false if it exceeds the share. */
static __always_inline bool share_take(__u32 payer, bool half)
{
	__u32 role = payer & BH_SHARE_INWARD ? BH_INGRESS : BH_EGRESS;
	struct bh_share_count *total = share_total();
	struct bh_share *share = share_of(payer);
	struct bh_share_count *own;

	if (!share) {
		__u32 ifindex = payer & ~BH_SHARE_INWARD;

		bpf_map_update_elem(&bh_shares, &ifindex, &share_none, BPF_NOEXIST);
		share = share_of(payer);
	}
	if (!total || !share)
		return false;
	own = role ? &share->count[1] : &share->count[0];
	if (!share_allows(READ_ONCE(own->used), READ_ONCE(total->used), ct_room) ||
	    (half && !share_allows(READ_ONCE(own->half), READ_ONCE(total->half), half_open))) {
		__sync_fetch_and_add(role ? &share->refused[1] : &share->refused[0], 1);
		return false;
	}
	share_add(total, BH_SHARE_USED + (half ? BH_SHARE_HALF : 0));
	share_add(own, BH_SHARE_USED + (half ? BH_SHARE_HALF : 0));
	return true;
}

/* Subtracts from the total and from the payer's counts. */
static __always_inline void share_sub(__u32 payer, __u64 what)
{
	struct bh_share_count *total = share_total();
	struct bh_share *share = payer ? share_of(payer) : NULL;

	if (total)
		share_add(total, -what);
	if (share)
		share_add(payer & BH_SHARE_INWARD ? &share->count[BH_INGRESS]
						  : &share->count[BH_EGRESS],
			  -what);
}

/* Notes that a connection of the payer is no longer half-open. */
static __always_inline void share_give_half(__u32 payer)
{
	share_sub(payer, BH_SHARE_HALF);
}

/* Notes that a connection of the payer is gone. */
static __always_inline void share_give(__u32 payer, bool half)
{
	share_sub(payer, BH_SHARE_USED + (half ? BH_SHARE_HALF : 0));
}

#endif
