/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_SERVICE_BPF_H
#define BULKHEAD_MAPS_SERVICE_BPF_H

#include "maps/service.h"
#include "maps/active_map.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct bh_service_key);
	__type(value, struct bh_service);
	__uint(max_entries, 1024);
} bh_services SEC(".maps");
ACTIVE_MAP(services);

#endif
