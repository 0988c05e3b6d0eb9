/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_DENIAL_BPF_H
#define BULKHEAD_MAPS_DENIAL_BPF_H

#include "maps/denial.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct bh_denials);
	__uint(max_entries, 1);
} bh_denials SEC(".maps");

#endif
