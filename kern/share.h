/* SPDX-License-Identifier: GPL-2.0-only */
/* How much of the table of connections each endpoint holds (maps/share.h). */
#ifndef BULKHEAD_KERN_SHARE_H
#define BULKHEAD_KERN_SHARE_H

#include "tunables.h"
#include "maps/share.bpf.h"

static __always_inline struct bh_share_total *share_total(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&bh_share_total, &zero);
}

static __always_inline struct bh_share *share_of(__u32 payer)
{
	__u32 ifindex = payer & ~BH_SHARE_INWARD;

	return bpf_map_lookup_elem(&bh_shares, &ifindex);
}

/* Whether one who has @own may have one more, of @room in all of which @used are taken. */
static __always_inline bool share_allows(__u32 own, __u32 used, __u32 room)
{
	return used < room && own < room - used;
}

/* Not on the stack: that is short. */
static const struct bh_share share_none;

/* Counts one connection more, half-open or not. Returns false where it is beyond the share. */
static __always_inline bool share_take(__u32 payer, bool half)
{
	__u32 role = payer & BH_SHARE_INWARD ? BH_INGRESS : BH_EGRESS;
	struct bh_share_total *total = share_total();
	struct bh_share *share = share_of(payer);

	if (!share) {
		__u32 ifindex = payer & ~BH_SHARE_INWARD;

		bpf_map_update_elem(&bh_shares, &ifindex, &share_none, BPF_NOEXIST);
		share = share_of(payer);
	}
	if (!total || !share)
		return false;
	if (!share_allows(READ_ONCE(share->used[role]), READ_ONCE(total->used), ct_room) ||
	    (half &&
	     !share_allows(READ_ONCE(share->half[role]), READ_ONCE(total->half), half_open))) {
		__sync_fetch_and_add(&share->refused[role], 1);
		return false;
	}
	__sync_fetch_and_add(&total->used, 1);
	__sync_fetch_and_add(&share->used[role], 1);
	if (half) {
		__sync_fetch_and_add(&total->half, 1);
		__sync_fetch_and_add(&share->half[role], 1);
	}
	return true;
}

/* One that was half-open is so no longer. */
static __always_inline void share_give_half(__u32 payer)
{
	__u32 role = payer & BH_SHARE_INWARD ? BH_INGRESS : BH_EGRESS;
	struct bh_share_total *total = share_total();
	struct bh_share *share = share_of(payer);

	if (total)
		__sync_fetch_and_add(&total->half, -1);
	if (share)
		__sync_fetch_and_add(&share->half[role], -1);
}

/* One is gone. */
static __always_inline void share_give(__u32 payer, bool half)
{
	__u32 role = payer & BH_SHARE_INWARD ? BH_INGRESS : BH_EGRESS;
	struct bh_share_total *total = share_total();
	struct bh_share *share = payer ? share_of(payer) : NULL;

	if (total)
		__sync_fetch_and_add(&total->used, -1);
	if (share)
		__sync_fetch_and_add(&share->used[role], -1);
	if (half)
		share_give_half(payer);
}

#endif
