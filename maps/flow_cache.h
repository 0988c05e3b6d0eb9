/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_flow_cache: the connections of this CPU's last packets. Pin name `flow_cache`. PERCPU_ARRAY of
 * one. Only the programs write it. A packet between two endpoints of a node passes both their hooks
 * on one CPU, one after the other, and packets come in bursts. So the entry that one packet found
 * serves the connection's next packet without a lookup. A slot's index is a hash of the key.
 *
 * A slot serves only within the jiffy of its lookup (1 to 10 ms), at the same generation and for
 * the same key. The interfaces of the packet are checked each time against the slot's copy of
 * the connection. Within a jiffy no connection times out, and at one generation policy's answer
 * does not change. A packet of this CPU that changes the entry voids the slot. A change by
 * another CPU (RST, FIN, a new SYN) is seen one jiffy later at the latest.
 *
 * Senders of packets of open connections fill the slots, and a connection replaces another one of
 * the same slot. A connection that loses its slot costs one lookup in bh_ct.
 *
 *   bpftool map dump pinned /sys/fs/bpf/bulkhead/flow_cache
 */
#ifndef BULKHEAD_MAPS_FLOW_CACHE_H
#define BULKHEAD_MAPS_FLOW_CACHE_H

#include "maps/conntrack.h"

#define BH_FLOW_CACHE_BITS 6

/* Returns a slot's index. @mix: the words of a key by XOR, of an IPv6 key without the prefixes. The
 * golden ratio spreads consecutive ports. */
BH_CT_INLINE __u32 bh_flow_cache_index(__u64 mix)
{
	return mix * 0x9e3779b97f4a7c15ull >> (64 - BH_FLOW_CACHE_BITS);
}

struct bh_flow_cache_found {
	__u64 jiffy; /* jiffy of the lookup; 0: the slot is void */
	__u32 generation;
	__u32 flags; /* flags of the initiator's connection word */
	struct bh_ct_end end[2]; /* in the key's order */
	__u32 sequence; /* odd while a program writes the slot */
	__u32 pad;
};

/* The short key of an IPv4 packet. */
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
