/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_variations: how a variation of a segment resolves the segment's port
 * names. Pin name `variations`. HASH. Variation IDs count per segment from 1;
 * variation 0 stands for "no names" and has no entry (resolution 0). Two
 * segments that give the same names the same numbers share a resolution.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/variations
 */
#ifndef BULKHEAD_MAPS_VARIATION_H
#define BULKHEAD_MAPS_VARIATION_H

#include "maps/types.h"

struct bh_variation_key {
	__u32 segment; /* bh_segment.id */
	__u32 variation;
};
_Static_assert(sizeof(struct bh_variation_key) == 8, "struct bh_variation_key");

struct bh_variation {
	__u32 resolution;
};
_Static_assert(sizeof(struct bh_variation) == 4, "struct bh_variation");

#endif
