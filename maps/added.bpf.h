/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_ADDED_BPF_H
#define BULKHEAD_MAPS_ADDED_BPF_H

#include "maps/added.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct bh_addr);
	__type(value, struct bh_added);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bh_added SEC(".maps");

#endif
