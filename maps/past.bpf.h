/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_PAST_BPF_H
#define BULKHEAD_MAPS_PAST_BPF_H

#include "maps/past.h"
#include "maps/tally.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct bh_past);
	__uint(max_entries, BH_TALLIES);
} bh_past SEC(".maps");

#endif
