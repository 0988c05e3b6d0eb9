/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_shares: the number of connections in bh_ct that each endpoint holds. Pin name `shares`.
 * HASH, key the ifindex of an endpoint's interface, or BH_SHARE_NODE. bh_share_total: the sum of
 * all. Pin name `share_total`. ARRAY of one, BPF_F_MMAPABLE. The programs write both. A miss
 * means that the endpoint holds none.
 *
 * A connection counts in the share of the endpoint that opened it. One from outside counts in
 * the share of the endpoint that it was opened to, apart from those that this endpoint opens. A
 * TCP connection that the node opens counts in the node's share. A share is as large as the
 * number of free slots: whoever holds that many connections opens no more. So one endpoint can
 * hold half of the table and two a third each, and the others still find free slots. Half-open
 * connections have shares of their own, by the same rule.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/shares
 */
#ifndef BULKHEAD_MAPS_SHARE_H
#define BULKHEAD_MAPS_SHARE_H

#include "maps/types.h"

#define BH_SHARE_NODE 0x7fffffffu
#define BH_SHARE_INWARD 0x80000000u /* bit of bh_ct.payer: the payer was called */

/* Arrays are by enum bh_direction: [BH_EGRESS] what it opened, [BH_INGRESS] what others opened
 * to it. */
struct bh_share {
	__u32 used[2]; /* connections */
	__u32 half[2]; /* of these, half-open */
	__u64 refused[2]; /* connections that were not opened because the share was used up */
};
_Static_assert(sizeof(struct bh_share) == 32, "struct bh_share");

struct bh_share_total {
	__u32 used;
	__u32 half;
};
_Static_assert(sizeof(struct bh_share_total) == 8, "struct bh_share_total");

#endif
