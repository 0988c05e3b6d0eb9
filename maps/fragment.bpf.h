/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_FRAGMENT_BPF_H
#define BULKHEAD_MAPS_FRAGMENT_BPF_H

#include "maps/fragment.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct bh_fragments);
	__uint(max_entries, BH_FRAGMENT_BUCKETS);
} bh_fragments SEC(".maps");

#endif
