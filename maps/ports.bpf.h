/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_PORTS_BPF_H
#define BULKHEAD_MAPS_PORTS_BPF_H

#include "maps/ports.h"
#include "maps/active_map.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct bh_interval);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
} bh_ports SEC(".maps");
ACTIVE_MAP(ports);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct bh_named_key);
	__type(value, struct bh_named);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bh_named SEC(".maps");
ACTIVE_MAP(named);

#endif
