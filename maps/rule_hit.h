/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_rule_hits: how often each rule decided. Pin name `rule_hits`. PERCPU_ARRAY, index the rule's
 * ID (verdict words); 0 counts packets that no rule allowed. It counts judgements: one for each
 * connection that opens or is evaluated again, one for each packet denied. If audited policies
 * would deny, the index is the ID of the audit record, which counts for both. Rules beyond the
 * array's end are not counted. Every rule has its own place, so no sender of packets can fill the
 * map.
 *
 *   bpftool map lookup pinned /sys/fs/bpf/bulkhead/rule_hits key 1 0 0 0
 */
#ifndef BULKHEAD_MAPS_RULE_HIT_H
#define BULKHEAD_MAPS_RULE_HIT_H

#include "maps/types.h"

struct bh_rule_hit {
	__u64 count;
};
_Static_assert(sizeof(struct bh_rule_hit) == 8, "struct bh_rule_hit");

/* Input of the program `add_hits`, by which a larger map takes over the counts of a smaller one. */
struct bh_add_hits {
	__u32 rule;
	__u32 pad;
	__u64 count;
};
_Static_assert(sizeof(struct bh_add_hits) == 16, "struct bh_add_hits");

#endif
