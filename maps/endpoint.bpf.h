/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_ENDPOINT_BPF_H
#define BULKHEAD_MAPS_ENDPOINT_BPF_H

#include "maps/endpoint.h"
#include "maps/active_map.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct bh_addr);
	__type(value, struct bh_endpoint);
	__uint(max_entries, 1024);
} bh_endpoints SEC(".maps");
ACTIVE_MAP(endpoints);

#endif
