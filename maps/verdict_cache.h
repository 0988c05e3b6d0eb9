/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_verdicts: what was found for the last packets of a kind: who their ends are and
 * what the policies of both say. Pin name `verdicts`. PERCPU_ARRAY, index a hash of
 * the key, one entry a slot. The programs write it, nobody else does; a miss costs
 * the lookups that it saves. An entry counts while the whole key is the packet's:
 *
 * - all that those lookups depend on is in the key, or in the maps that the
 *   command writes. Those it changes between two steps of bh_config.changes, and
 *   the key has both the generation and the step. While it changes them, and at
 *   generation 0, nothing is read here or kept;
 * - so a change by hand (`bpftool map update`) may not be seen until the next
 *   `load`.
 *
 * A slot is this CPU's alone, and programs stay on theirs. Where a packet can come
 * in the middle of another (PREEMPT_RT, a test run), `sequence` makes of a read or
 * a write that was interrupted none at all.
 *
 * 1,024 slots take 116 KB for each CPU. What one pair sends at one hook takes one
 * for each port that it asks for, whatever the other port is. Of packets to 64
 * such at random 97 % are found, of 256 88 %, of 1,024 62 % and of 4,096 24 %.
 *
 *   bpftool map lookup pinned /sys/fs/bpf/bulkhead/verdicts key 1 0 0 0
 */
#ifndef BULKHEAD_MAPS_VERDICT_CACHE_H
#define BULKHEAD_MAPS_VERDICT_CACHE_H

#include "maps/conntrack.h"

#define BH_VERDICT_CACHE_BITS 10 /* of a hash of the key, the index */
#define BH_VERDICT_CACHE_SLOTS (1u << BH_VERDICT_CACHE_BITS)

struct bh_verdict_cache_key {
	__u64 addr[4]; /* as in the key of the connection: IPv6 two each, IPv4 both in the first */
	__u8 mac_to[8], mac_from[8]; /* six bytes each, and 0 */
	__u32 generation;
	__u32 changes; /* of bh_config */
	__u32 ifindex; /* whose hook this is */
	__u32 ingress; /* where the packet came in */
	__u32 about; /* what is asked: a point of the number line, and flags */
	__u32 pad;
};
_Static_assert(sizeof(struct bh_verdict_cache_key) == 72, "struct bh_verdict_cache_key");

/* Flags of `about`. */
#define BH_VERDICT_CACHE_HOOK(hook) ((__u32)(hook) << 18) /* enum bh_hook */
#define BH_VERDICT_CACHE_FROM (1u << 21) /* the higher address sent it */
#define BH_VERDICT_CACHE_REPLY (1u << 22) /* the connection's responder did */
#define BH_VERDICT_CACHE_IPV6 (1u << 23)
#define BH_VERDICT_CACHE_DHCP (1u << 24) /* asks for an address */
#define BH_VERDICT_CACHE_HERE (1u << 25) /* of a connection that is this hook's own: BH_CT_HOOK */
#define BH_VERDICT_CACHE_LOCAL (1u << 26) /* made on the node, as the kernel's routes say */
_Static_assert(BH_POINT_OTHER < BH_VERDICT_CACHE_HOOK(1), "bh_verdict_cache_key.about");

/* Who the ends are and what their policies say; by enum bh_direction, [BH_EGRESS] opened it. Where
 * that hangs on what the kernel's routes say, end[BH_INGRESS].proven is the tick when they said it.
 */
struct bh_cached {
	struct bh_ct_end end[2];
	__u32 verdict[2]; /* verdict words; 0: that end has no say, or no answer */
	__u8 denied[2]; /* enum bh_reason, 0: not denied by that end */
	__u8 reason : 6; /* enum bh_reason, why no such packet may be; 0: the rest says */
	__u8 by_mac : 1; /* an end is who the frame's MAC says: END_BY_MAC */
	__u8 by_hook : 1; /* or at whose interface it is: END_BY_HOOK */
	__u8 flags; /* BH_CACHED_* */
};
_Static_assert(sizeof(struct bh_cached) == 36, "struct bh_cached");

#define BH_CACHED_SAY(direction) (1u << (direction)) /* that end's policy has a say */
#define BH_CACHED_AUDIT(direction) (4u << (direction)) /* that end is only audited */
#define BH_CACHED_NODE (1u << 4) /* the initiator is this node itself */
#define BH_CACHED_SERVICE (1u << 5) /* the responder's address is a Service's */
#define BH_CACHED_MASK (1u << 6) /* the initiator's is this node's, whoever it is */
#define BH_CACHED_TO_NODE (1u << 7) /* it goes to an address of this node */

struct bh_verdict_cache {
	struct bh_verdict_cache_key key;
	struct bh_cached found;
	__u32 sequence; /* odd while a program writes the slot */
};
_Static_assert(sizeof(struct bh_verdict_cache) == 112, "struct bh_verdict_cache");

#endif
