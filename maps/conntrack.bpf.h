/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_CONNTRACK_BPF_H
#define BULKHEAD_MAPS_CONNTRACK_BPF_H

#include "maps/conntrack.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct bh_ct_group);
	__uint(max_entries, BH_CT_GROUPS(BH_CT_CONNECTIONS));
} bh_ct SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct bh_ct_sweeper);
	__uint(max_entries, 1);
} bh_ct_sweeper SEC(".maps");

#endif
