/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_PREFIX_BPF_H
#define BULKHEAD_MAPS_PREFIX_BPF_H

#include "maps/prefix.h"
#include "maps/active_map.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__type(key, struct bh_prefix_key);
	__type(value, struct bh_prefix);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bh_prefixes SEC(".maps");
ACTIVE_MAP(prefixes);

#endif
