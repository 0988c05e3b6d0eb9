/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_MAC_BPF_H
#define BULKHEAD_MAPS_MAC_BPF_H

#include "maps/mac.h"
#include "maps/active_map.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct bh_mac_key);
	__type(value, struct bh_mac);
	__uint(max_entries, 2048);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bh_macs SEC(".maps");
ACTIVE_MAP(macs);

#endif
