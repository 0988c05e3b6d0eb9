/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_COUNTER_BPF_H
#define BULKHEAD_MAPS_COUNTER_BPF_H

#include "maps/counter.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct bh_counter);
	__uint(max_entries, BH_REASONS);
} bh_counters SEC(".maps");

#endif
