/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_verdicts: a cache of recent flows: the endpoints at both ends and the verdicts of both
 * policies. Pin name `verdicts`. PERCPU_ARRAY, index a hash of the key, one entry a slot. Only the
 * programs write it. A miss costs the lookups that a hit saves. An entry is valid while its whole
 * key is the packet's:
 *
 * - All that the lookups depend on is in the key, or in maps that the command
 *   writes. The command changes these between two steps of bh_config.changes, and
 *   the key has both the generation and the step. During a change, and at
 *   generation 0, programs neither read nor write the cache.
 * - So a change by hand (`bpftool map update`) may take effect only at the next
 *   `load`.
 *
 * A slot belongs to one CPU, and programs do not migrate. If one packet can interrupt another
 * (PREEMPT_RT, a test run), `sequence` voids reads and writes that were interrupted.
 *
 * Senders of new flows fill the slots, and a flow replaces another one of the same slot. A flow
 * that loses its slot costs the lookups once more, and nothing else.
 *
 * 1,024 slots take 116 KB for each CPU. The flows of one pair of addresses at one hook take a slot
 * for each destination port, whatever the source port is. Of packets to 64 such slots at random 97
 * % hit, to 256 88 %, to 1,024 62 % and to 4,096 24 %.
 *
 *   bpftool map lookup pinned /sys/fs/bpf/bulkhead/verdicts key 1 0 0 0
 */
#ifndef BULKHEAD_MAPS_VERDICT_CACHE_H
#define BULKHEAD_MAPS_VERDICT_CACHE_H

#include "maps/conntrack.h"

#define BH_VERDICT_CACHE_BITS 10 /* bits of the key's hash that are the index */
#define BH_VERDICT_CACHE_SLOTS (1u << BH_VERDICT_CACHE_BITS)

struct bh_verdict_cache_key {
	/* of the connection's key: two for each IPv6 address, both IPv4 addresses in the first */
	__u64 addr[4];
	__u8 mac_to[8], mac_from[8]; /* six bytes each, and 0 */
	__u32 generation;
	__u32 changes; /* of bh_config */
	__u32 ifindex; /* the interface of this hook */
	__u32 ingress; /* the interface by which the packet came in */
	__u32 about; /* the question: a point of the number line, and flags */
	__u32 pad;
};
_Static_assert(sizeof(struct bh_verdict_cache_key) == 72, "struct bh_verdict_cache_key");

/* Flags of `about`. The bits below are for a point: room for 60 protocols with ports. */
#define BH_VERDICT_CACHE_HOOK(hook) ((__u32)(hook) << 22) /* enum bh_hook */
#define BH_VERDICT_CACHE_FROM (1u << 25) /* the higher address sent it */
#define BH_VERDICT_CACHE_REPLY (1u << 26) /* the connection's responder sent it */
#define BH_VERDICT_CACHE_IPV6 (1u << 27)
#define BH_VERDICT_CACHE_DHCP (1u << 28) /* a DHCP request */
#define BH_VERDICT_CACHE_HERE (1u << 29) /* the hook has an entry of its own: BH_CT_HOOK */
#define BH_VERDICT_CACHE_LOCAL (1u << 30) /* the node made the packet, by the kernel's routes */
#define BH_VERDICT_CACHE_NODE (1u << 31) /* the entry says that the node opened the connection */
_Static_assert(BH_POINT_OTHER < BH_VERDICT_CACHE_HOOK(1), "bh_verdict_cache_key.about");

/* The endpoints at both ends, and the verdicts of their policies. Arrays are by enum bh_direction:
 * [BH_EGRESS] opened the connection. If the entry depends on the kernel's routes,
 * end[BH_INGRESS].proven is the tick of the last look at them. end[BH_EGRESS].proven has the bits
 * of kern/policy_ask.h. */
struct bh_cached {
	struct bh_ct_end end[2];
	__u32 verdict[2]; /* verdict words; 0: that end's policy does not apply, or was not asked */
	__u8 denied[2]; /* enum bh_reason; 0: that end does not deny */
	__u8 reason : 6; /* enum bh_reason: why no such packet can be valid; 0: the rest says */
	__u8 by_mac : 1; /* an end was identified by the frame's MAC: END_BY_MAC */
	__u8 by_hook : 1; /* an end was identified by its interface: END_BY_HOOK */
	__u8 flags; /* BH_CACHED_* */
};
_Static_assert(sizeof(struct bh_cached) == 36, "struct bh_cached");

#define BH_CACHED_SAY(direction) (1u << (direction)) /* that end's policy applies */
#define BH_CACHED_AUDIT(direction) (4u << (direction)) /* that end is in audit */
#define BH_CACHED_NODE (1u << 4) /* the initiator is this node itself */
#define BH_CACHED_SERVICE (1u << 5) /* the responder's address is a Service's */
#define BH_CACHED_MASK (1u << 6) /* the initiator has this node's address, or is behind it */
#define BH_CACHED_TO_NODE (1u << 7) /* the packet goes to an address of this node */

struct bh_verdict_cache {
	struct bh_verdict_cache_key key;
	struct bh_cached found;
	__u32 sequence; /* odd while a program writes the slot */
};
_Static_assert(sizeof(struct bh_verdict_cache) == 112, "struct bh_verdict_cache");

#endif
