/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Link-local addresses that are not made of a known MAC: whoever on a bridge first says that one is
 * his keeps it (RFC 6620).
 *
 * bh_claims: by which interface an address was first spoken for, on its link. Pin name `claims`.
 * LRU_HASH. An endpoint claims what neighbour discovery names as its own; a router behind an uplink
 * that is a port of the bridge, the address by which it advertises itself. A hit means that no
 * other endpoint or port of that bridge may send from the address or speak for it. A miss: nobody
 * has. An entry of an interface that has gone, or is no longer on that bridge, counts for nothing.
 *
 * bh_claimers: what each interface has claimed. Pin name `claimers`. LRU_HASH, key ifindex. Who
 * claims more than BH_CLAIMS addresses gives up the oldest.
 *
 * The programs write both.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/claims
 */
#ifndef BULKHEAD_MAPS_CLAIM_H
#define BULKHEAD_MAPS_CLAIM_H

#include "maps/link_local.h"
#include "maps/types.h"

#define BH_CLAIMS 8 /* a power of two */

struct bh_claim {
	__u32 ifindex;
};
_Static_assert(sizeof(struct bh_claim) == 4, "struct bh_claim");

struct bh_claimer {
	struct bh_addr addr[BH_CLAIMS]; /* all 0: none yet */
	__u32 claims; /* so far; the next is number claims % BH_CLAIMS */
};
_Static_assert(sizeof(struct bh_claimer) == 16 * BH_CLAIMS + 4, "struct bh_claimer");

#endif
