/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_SHARE_BPF_H
#define BULKHEAD_MAPS_SHARE_BPF_H

#include "maps/share.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32);
	__type(value, struct bh_share);
	__uint(max_entries, 8192);
} bh_shares SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct bh_share_total);
	__uint(max_entries, 1);
} bh_share_total SEC(".maps");

#endif
