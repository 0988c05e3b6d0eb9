/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_CONNTRACK_BPF_H
#define BULKHEAD_MAPS_CONNTRACK_BPF_H

#include "maps/conntrack.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct bh_ct_key4);
	__type(value, struct bh_ct);
	__uint(max_entries, 131072);
} bh_ct4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct bh_ct_key6);
	__type(value, struct bh_ct);
	__uint(max_entries, 131072);
} bh_ct6 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct bh_ct_key4);
	__type(value, struct bh_half);
	__uint(max_entries, 16384);
} bh_half4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct bh_ct_key6);
	__type(value, struct bh_half);
	__uint(max_entries, 16384);
} bh_half6 SEC(".maps");

#endif
