/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_CLAIM_BPF_H
#define BULKHEAD_MAPS_CLAIM_BPF_H

#include "maps/claim.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct bh_link_local_key);
	__type(value, struct bh_claim);
	__uint(max_entries, 16384);
} bh_claims SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, __u32);
	__type(value, struct bh_claimer);
	__uint(max_entries, 4096);
} bh_claimers SEC(".maps");

#endif
