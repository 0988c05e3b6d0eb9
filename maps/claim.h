/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owners of link-local addresses that are not made from a known MAC: the interface that claims an
 * address first keeps it (RFC 6620).
 *
 * bh_claims: the interface that first claimed an address on its link. Pin name `claims`. LRU_HASH.
 * An endpoint claims the address that its neighbour discovery names. A router behind an uplink that
 * is a port of the bridge claims the address from which it advertises itself. A hit means that no
 * other endpoint or port of the bridge may send from the address or answer for it. A miss means
 * that nobody claimed it. An entry does not count when its interface is gone or has left the
 * bridge.
 *
 * bh_claimers: the addresses that each interface has claimed. Pin name `claimers`. LRU_HASH, key
 * ifindex. An interface that claims more than BH_CLAIMS addresses gives up the oldest.
 *
 * The programs write both. Any interface of a bridge may fill them, each with BH_CLAIMS addresses
 * at a time, so none pushes out another's: who claims more loses his own oldest one. Routers behind
 * one uplink share that uplink's. Both maps have room for many times the interfaces of a node,
 * since an LRU map sets 128 free entries aside for each CPU, and evicts entries in use when the
 * rest is gone.
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
	struct bh_addr addr[BH_CLAIMS]; /* all 0: free */
	__u32 claims; /* number of claims so far; the next one takes place claims % BH_CLAIMS */
};
_Static_assert(sizeof(struct bh_claimer) == 16 * BH_CLAIMS + 4, "struct bh_claimer");

#endif
