/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_MAPS_DNS_BPF_H
#define BULKHEAD_MAPS_DNS_BPF_H

#include "maps/dns.h"
#include "maps/active_map.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct bh_addr);
	__type(value, struct bh_resolver);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bh_resolvers SEC(".maps");
ACTIVE_MAP(resolvers);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct bh_question_key);
	__type(value, struct bh_questions);
	__uint(max_entries, BH_LEARNERS *BH_QUESTION_BUCKETS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bh_questions SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct bh_question_key);
	__type(value, struct bh_streams);
	__uint(max_entries, BH_LEARNERS *BH_STREAM_BUCKETS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bh_streams SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct bh_question_key);
	__type(value, struct bh_carry);
	__uint(max_entries, BH_LEARNERS *BH_CARRIES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bh_carries SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct bh_learned_key);
	__type(value, struct bh_learned);
	__uint(max_entries, BH_LEARNERS *BH_LEARNED_SHARE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bh_learned SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, struct bh_learned_place);
	__type(value, struct bh_learned_at);
	__uint(max_entries, BH_LEARNERS *BH_LEARNED_SHARE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
} bh_learn_order SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, __u32);
	__type(value, struct bh_learner);
	__uint(max_entries, BH_LEARNERS);
} bh_learners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, __u64);
	__uint(max_entries, BH_DNS_RESULT_COUNT);
} bh_dns_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, __u32);
	__type(value, struct bh_dns_work);
	__uint(max_entries, 1);
} bh_dns_work SEC(".maps");

#endif
