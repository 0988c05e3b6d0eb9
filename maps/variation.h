/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_variations: the resolution of port names that a variation of a segment stands for. Pin name
 * `variations`. HASH. Variation IDs count from 1 in each segment. Variation 0 stands for "no
 * names" and has no entry (resolution 0). Variations of two segments that give the same names
 * the same numbers share a resolution. The loader alone writes the map.
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
