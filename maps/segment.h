/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_segments: what policy knows of each segment, as a subject and as a peer.
 * Pin name `segments`. ARRAY, index the slot of an assignment word; slot 0 is
 * never used. The loader writes a slot before anything refers to it and never
 * changes it while anything does.
 *
 * Verdict of subject S in direction D about peer P, at most two lookups:
 *   1. S.own[D] and bh_pairs has (S.own[D], P.own): that port list;
 *   2. S.common[D] and bh_pairs has (S.common[D], P.common): that port list;
 *   3. S.fallback[D][P is external].
 * `own` tells apart all that the rules of S tell apart; `common` only what the
 * cluster's broad rules do (admin tiers, CIDRs), so that segments with those
 * rules in common share their pairs.
 *
 *   bpftool map lookup pinned /sys/fs/bpf/bulkhead/segments key 1 0 0 0
 */
#ifndef BULKHEAD_MAPS_SEGMENT_H
#define BULKHEAD_MAPS_SEGMENT_H

#include "maps/types.h"

#define BH_SEGMENT_EXTERNAL (1u << 0) /* addresses without an endpoint: no policy of its own */
#define BH_SEGMENT_POLICY(direction) (2u << (direction)) /* some rule selects it there */

struct bh_segment {
	__u32 id; /* never reused; 0: the slot is free */
	__u32 flags;
	__u32 peer_own, peer_common; /* as a peer */
	__u32 own[2], common[2]; /* as a subject, by direction; 0: no pairs */
	struct bh_ports_ref fallback[2][2]; /* by direction; [1]: the peer is external */
};
_Static_assert(sizeof(struct bh_segment) == 64, "struct bh_segment");

#endif
