/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_VARIATION_BPF_H
#define BULKHEAD_MAPS_VARIATION_BPF_H

#include "maps/variation.h"
#include "maps/active_map.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct bh_variation_key);
	__type(value, struct bh_variation);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bh_variations SEC(".maps");
ACTIVE_MAP(variations);

#endif
