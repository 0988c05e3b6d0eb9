/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_rule_hits: how often each rule decided. Pin name `rule_hits`. PERCPU_ARRAY, index the rule's
 * ID (verdict words); 0 counts packets that no rule allowed. at_rule_hits, ARRAY_OF_MAPS, has this
 * map at 0, and further maps of the same size for the rules from BH_RULE_HITS on: the kernel wants
 * per-CPU arrays of one size there, so their number grows. It counts judgements: one for each
 * connection that opens or is evaluated again, one for each packet denied. If audited policies
 * would deny, the index is the ID of the audit record, which counts for both. Rules without a
 * map are not counted. Every rule has its own place, so no sender of packets can fill the
 * map. Of IDs from 131,072 on, a rule may have the place of one that a policy had long before, and
 * count on from there.
 *
 *   bpftool map lookup pinned /sys/fs/bpf/bulkhead/rule_hits key 1 0 0 0
 */
#ifndef BULKHEAD_MAPS_RULE_HIT_H
#define BULKHEAD_MAPS_RULE_HIT_H

#include "maps/types.h"

#define BH_RULE_HITS_SHIFT 13
#define BH_RULE_HITS (1u << BH_RULE_HITS_SHIFT) /* rules that a map counts */
#define BH_RULE_HITS_PLACES (BH_RULE_LOCAL >> BH_RULE_HITS_SHIFT)

struct bh_rule_hit {
	__u64 count;
};
_Static_assert(sizeof(struct bh_rule_hit) == 8, "struct bh_rule_hit");

#endif
