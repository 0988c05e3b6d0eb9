/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_CACHE_BPF_H
#define BULKHEAD_MAPS_CACHE_BPF_H

#include "maps/verdict_cache.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct bh_verdict_cache);
	__uint(max_entries, BH_VERDICT_CACHE_SLOTS);
} bh_verdicts SEC(".maps");

#endif
