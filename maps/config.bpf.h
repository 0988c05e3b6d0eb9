/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_CONFIG_BPF_H
#define BULKHEAD_MAPS_CONFIG_BPF_H

#include "maps/config.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct bh_config);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
} bh_config SEC(".maps");

#endif
