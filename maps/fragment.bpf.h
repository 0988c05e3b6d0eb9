/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_FRAGMENT_BPF_H
#define BULKHEAD_MAPS_FRAGMENT_BPF_H

#include "maps/fragment.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct bh_fragment_key);
	__type(value, struct bh_fragment);
	__uint(max_entries, 16384);
} bh_fragments SEC(".maps");

#endif
