/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_segments: each segment's classes and port lists, as a subject and as a peer. Pin name
 * `segments`. ARRAY, index the slot of an assignment word; slot 0 is never used. The loader writes
 * a slot before anything refers to the slot, and never changes it while anything does.
 *
 * The verdict of subject S in direction D about peer P takes at most two lookups:
 *   1. S.own[D] and bh_pairs has (S.own[D], P.own): that port list;
 *   2. S.common[D] and bh_pairs has (S.common[D], P.common): that port list;
 *   3. S.fallback[D][P is external].
 * Peers whose `own` is equal are the same to all rules of S. Peers whose `common` is equal are the
 * same to the cluster's broad rules (admin tiers, CIDRs); segments with the same broad rules share
 * their pairs.
 *
 *   bpftool map lookup pinned /sys/fs/bpf/bulkhead/segments key 1 0 0 0
 */
#ifndef BULKHEAD_MAPS_SEGMENT_H
#define BULKHEAD_MAPS_SEGMENT_H

#include "maps/types.h"

/* Addresses that are no endpoint's: without a policy; or, with one, as what a subject is evaluated
 * by a name (domain.h). */
#define BH_SEGMENT_EXTERNAL (1u << 0)
#define BH_SEGMENT_POLICY(direction) (2u << (direction)) /* a policy selects it there */
/* All policies that select it there are only audited (maps/types.h). */
#define BH_SEGMENT_AUDITED(direction) (8u << (direction))
#define BH_SEGMENT_DOMAINS (1u << 5) /* egress rules of it use domain names (domain.h) */

struct bh_segment {
	__u32 id; /* never reused; 0: the slot is free */
	__u32 flags;
	__u32 peer_own, peer_common; /* as a peer */
	__u32 own[2], common[2]; /* as a subject, by direction; 0: no pairs */
	struct bh_ports_ref fallback[2][2]; /* by direction; [1] where the peer is external */
};
_Static_assert(sizeof(struct bh_segment) == 64, "struct bh_segment");

#endif
