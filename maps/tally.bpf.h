/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_TALLY_BPF_H
#define BULKHEAD_MAPS_TALLY_BPF_H

#include "maps/tally.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct bh_tally_key);
	__uint(max_entries, BH_TALLIES);
} bh_tally_keys SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct bh_tally);
	__uint(max_entries, BH_TALLIES);
} bh_tallies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct bh_dropped);
	__uint(max_entries, 4096);
} bh_dropped SEC(".maps");

#endif
