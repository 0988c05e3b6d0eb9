/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_DOMAIN_BPF_H
#define BULKHEAD_MAPS_DOMAIN_BPF_H

#include "maps/domain.h"
#include "maps/active_map.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u64);
	__type(value, struct bh_domain);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bh_domains SEC(".maps");
ACTIVE_MAP(domains);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct bh_domain_key);
	__type(value, struct bh_domain_segment);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bh_by_domain SEC(".maps");
ACTIVE_MAP(by_domain);

#endif
