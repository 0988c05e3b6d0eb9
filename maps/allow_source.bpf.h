/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_ALLOW_SOURCE_BPF_H
#define BULKHEAD_MAPS_ALLOW_SOURCE_BPF_H

#include "maps/allow_source.h"
#include "maps/active_map.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__type(key, struct bh_allow_source_key);
	__type(value, struct bh_allow_source);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bh_allow_source SEC(".maps");
ACTIVE_MAP(allow_source);

#endif
