/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_shares: how much of bh_ct each endpoint holds. Pin name `shares`. HASH, key the ifindex of an
 * endpoint's interface, or BH_SHARE_NODE. bh_share_total: all of them together. Pin name
 * `share_total`. ARRAY of one, BPF_F_MMAPABLE. The programs write both; a miss: it holds nothing.
 *
 * A connection counts in the share of the endpoint that opened it; one from outside, in that of
 * the endpoint that it was opened to, apart from what this one opens; one of TCP that the node
 * opens, in the node's. A share is as large as what is free: whoever holds as many connections as
 * there are free slots opens no more. So one of them can have half of the table, two a third each,
 * and none can have what the others need. The same goes for those that are half-open.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/shares
 */
#ifndef BULKHEAD_MAPS_SHARE_H
#define BULKHEAD_MAPS_SHARE_H

#include "maps/types.h"

#define BH_SHARE_NODE 0x7fffffffu
#define BH_SHARE_INWARD 0x80000000u /* of bh_ct.payer: as the one that was called */

/* By enum bh_direction: [BH_EGRESS] what it opened, [BH_INGRESS] what others opened to it. */
struct bh_share {
	__u32 used[2]; /* connections */
	__u32 half[2]; /* of these, half-open */
	__u64 refused[2]; /* new ones that were beyond it */
};
_Static_assert(sizeof(struct bh_share) == 32, "struct bh_share");

struct bh_share_total {
	__u32 used;
	__u32 half;
};
_Static_assert(sizeof(struct bh_share_total) == 8, "struct bh_share_total");

#endif
