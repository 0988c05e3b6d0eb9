/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_PAIR_BPF_H
#define BULKHEAD_MAPS_PAIR_BPF_H

#include "maps/pair.h"
#include "maps/active_map.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct bh_pair_key);
	__type(value, struct bh_pair);
	__uint(max_entries, 1024);
} bh_pairs SEC(".maps");
ACTIVE_MAP(pairs);

#endif
