/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_LINK_LOCAL_BPF_H
#define BULKHEAD_MAPS_LINK_LOCAL_BPF_H

#include "maps/link_local.h"
#include "maps/active_map.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct bh_link_local_key);
	__type(value, struct bh_link_local);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bh_link_locals SEC(".maps");
ACTIVE_MAP(link_locals);

#endif
