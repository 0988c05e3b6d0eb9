/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_TUNNEL_BPF_H
#define BULKHEAD_MAPS_TUNNEL_BPF_H

#include "maps/tunnel.h"
#include "maps/active_map.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct bh_tunnel_key);
	__type(value, struct bh_tunnel);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bh_tunnels SEC(".maps");
ACTIVE_MAP(tunnels);

#endif
