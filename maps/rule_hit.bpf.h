/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_RULE_HIT_BPF_H
#define BULKHEAD_MAPS_RULE_HIT_BPF_H

#include "maps/active_map.bpf.h"
#include "maps/rule_hit.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct bh_rule_hit);
	__uint(max_entries, BH_RULE_HITS);
} bh_rule_hits SEC(".maps");
ACTIVE_MAPS(rule_hits, BH_RULE_HITS_PLACES);

#endif
