/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_FLOW_CACHE_BPF_H
#define BULKHEAD_MAPS_FLOW_CACHE_BPF_H

#include "maps/flow_cache.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct bh_flow_cache);
	__uint(max_entries, 1);
} bh_flow_cache SEC(".maps");

#endif
