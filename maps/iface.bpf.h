/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_IFACE_BPF_H
#define BULKHEAD_MAPS_IFACE_BPF_H

#include "maps/iface.h"
#include "maps/active_map.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32);
	__type(value, struct bh_iface);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bh_ifaces SEC(".maps");
ACTIVE_MAP(ifaces);

#endif
