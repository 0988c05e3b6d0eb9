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

/* One addition of 8 bytes changes both numbers. */
struct bh_share_count {
	__u32 used; /* connections */
	__u32 half; /* of these, half-open */
} __attribute__((aligned(8)));

#define BH_SHARE_USED 1ull
#define BH_SHARE_HALF (1ull << 32)
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "BH_SHARE_HALF");

/* Arrays are by enum bh_direction: [BH_EGRESS] connections that the endpoint opened, [BH_INGRESS]
 * connections that others opened to it. */
struct bh_share {
	struct bh_share_count count[2];
	__u64 refused[2]; /* connections that were not opened because the share was used up */
};
_Static_assert(sizeof(struct bh_share) == 32, "struct bh_share");

_Static_assert(sizeof(struct bh_share_count) == 8, "struct bh_share_count");

#endif
