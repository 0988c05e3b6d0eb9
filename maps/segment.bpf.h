/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_SEGMENT_BPF_H
#define BULKHEAD_MAPS_SEGMENT_BPF_H

#include "maps/segment.h"
#include "maps/active_map.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct bh_segment);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
} bh_segments SEC(".maps");
ACTIVE_MAP(segments);

#endif
