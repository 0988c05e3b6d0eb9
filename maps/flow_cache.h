/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_flow_cache: the connections of this CPU's last packets. Pin name `flow_cache`. PERCPU_ARRAY
 * of one. The programs write it, nobody else does. A packet between two endpoints of
 * a node passes the hooks of both on one CPU, one after the other, and packets come
 * in bursts: so what was found for the last packet of a connection serves the next
 * one without a lookup. A slot's index is a hash of the key.
 *
 * It serves only within the jiffy in which the connection was looked up (1 to 10 ms),
 * at the same generation and for the same key; where the packet comes from and goes
 * is checked each time, by the slot's copy of what the entry has. An entry that is of
 * age in a jiffy is so to its end, and what policy says of it never changes at one
 * generation. What a packet of this CPU does to the entry voids the slot; what one of
 * another CPU does (RST, FIN, a new SYN) is seen a jiffy later at the most.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/flow_cache
 */
#ifndef BULKHEAD_MAPS_FLOW_CACHE_H
#define BULKHEAD_MAPS_FLOW_CACHE_H

#include "maps/conntrack.h"

#define BH_FLOW_CACHE_BITS 6

/* @mix: the words of an IPv4 key together, of an IPv6 key those without prefixes. By the golden
 * ratio, so that ports that follow one another come apart. */
BH_CT_INLINE __u32 bh_flow_cache_index(__u64 mix)
{
	return mix * 0x9e3779b97f4a7c15ull >> (64 - BH_FLOW_CACHE_BITS);
}

struct bh_flow_cache_found {
	__u64 jiffy; /* when it was looked up; 0: void */
	__u32 generation;
	__u32 flags; /* of the initiator's connection word */
	struct bh_ct_end end[2]; /* in the order of the key */
	__u32 sequence; /* odd while a program writes the slot */
	__u32 pad;
};

/* An IPv4 packet's key, shorter. */
struct bh_flow_cache_key4 {
	__be32 addr[2];
	__be16 port[2];
	__u8 protocol;
	__u8 kind;
	__u16 scope;
};
_Static_assert(sizeof(struct bh_flow_cache_key4) == 16, "struct bh_flow_cache_key4");

struct bh_flow_cache4 {
	struct bh_flow_cache_key4 key;
	struct bh_flow_cache_found found;
};
_Static_assert(sizeof(struct bh_flow_cache4) == 64, "struct bh_flow_cache4");

struct bh_flow_cache6 {
	struct bh_ct_key key;
	struct bh_flow_cache_found found;
};
_Static_assert(sizeof(struct bh_flow_cache6) == 88, "struct bh_flow_cache6");

struct bh_flow_cache {
	struct bh_flow_cache4 ipv4[1 << BH_FLOW_CACHE_BITS];
	struct bh_flow_cache6 ipv6[1 << BH_FLOW_CACHE_BITS];
};

#endif
