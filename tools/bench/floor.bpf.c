// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs that Bulkhead's are measured against: they return at once, or parse only, or
 * parse and find their 5-tuple, or parse and insert it. The rotate_* programs turn one packet
 * into many flows: they write the next ports into the packet and call the program under test.
 */
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "kern/base.h"
#include "tools/bench/floor.h"

char LICENSE[] SEC("license") = "GPL";

struct floor_rotation rotation;

struct key4 {
	__be32 addr[2];
	/* both ports in one word: two halves written one by one are slow to read as a whole */
	__be32 ports;
	__u32 protocol;
};

struct key6 {
	__be32 addr[2][4];
	__be32 ports;
	__u32 protocol;
};

/* A value as large as that of Bulkhead's map. */
struct value {
	__u64 word[6];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct key4);
	__type(value, struct value);
	__uint(max_entries, 131072);
} flows4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__type(key, struct key6);
	__type(value, struct value);
	__uint(max_entries, 131072);
} flows6 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, 1);
} target_tc SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, 1);
} target_xdp SEC(".maps");

enum what { PARSE, FIND, INSERT, TRACK };

/* Where connections are tracked, both directions of a flow have one key. */
static __always_inline bool is_back(__be32 source, __be32 destination, enum what what)
{
	return what == TRACK && source > destination;
}

static __always_inline int floor_flow(void *map, const void *key, enum what what)
{
	struct value value = {};

	if (what == INSERT)
		return !bpf_map_update_elem(map, key, &value, BPF_ANY);
	if (bpf_map_lookup_elem(map, key))
		return 1;
	return what == TRACK && !bpf_map_update_elem(map, key, &value, BPF_ANY);
}

static __always_inline int floor4(void *l3, void *end, enum what what)
{
	struct iphdr *ip = l3;
	struct key4 key;
	__be32 *ports;
	bool back;

	if ((void *)(ip + 1) > end)
		return 0;
	ports = l3 + ip->ihl * 4;
	if ((void *)(ports + 1) > end)
		return 0;
	back = is_back(ip->saddr, ip->daddr, what);
	key.addr[0] = back ? ip->daddr : ip->saddr;
	key.addr[1] = back ? ip->saddr : ip->daddr;
	key.ports = back ? *ports << 16 | *ports >> 16 : *ports;
	key.protocol = ip->protocol;
	return what == PARSE ? key.ports != 0 : floor_flow(&flows4, &key, what);
}

static __always_inline int floor6(void *l3, void *end, enum what what)
{
	struct ipv6hdr *ip = l3;
	struct key6 key;
	__be32 *ports = (void *)(ip + 1);
	bool back;

	if ((void *)(ports + 1) > end)
		return 0;
	back = is_back(ip->saddr.in6_u.u6_addr32[3], ip->daddr.in6_u.u6_addr32[3], what);
	__builtin_memcpy(key.addr[0], back ? &ip->daddr : &ip->saddr, sizeof(key.addr[0]));
	__builtin_memcpy(key.addr[1], back ? &ip->saddr : &ip->daddr, sizeof(key.addr[1]));
	key.ports = back ? *ports << 16 | *ports >> 16 : *ports;
	key.protocol = ip->nexthdr;
	return what == PARSE ? key.ports != 0 : floor_flow(&flows6, &key, what);
}

static __always_inline int floor_packet(void *data, void *end, enum what what)
{
	struct ethhdr *eth = data;

	if ((void *)(eth + 1) > end)
		return 0;
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		return floor4(eth + 1, end, what);
	return eth->h_proto == bpf_htons(ETH_P_IPV6) ? floor6(eth + 1, end, what) : 0;
}

/* Returns a value that the measurement checks: a miss is a failure. */
#define FLOOR_PROGRAMS(name, what)                                                              \
	SEC("tc")                                                                               \
	int name##_tc(struct __sk_buff *skb)                                                    \
	{                                                                                       \
		return floor_packet((void *)(long)skb->data, (void *)(long)skb->data_end, what) \
			       ? FLOOR_TC_DONE                                                  \
			       : FLOOR_FAILED;                                                  \
	}                                                                                       \
	SEC("xdp.frags")                                                                        \
	int name##_xdp(struct xdp_md *md)                                                       \
	{                                                                                       \
		return floor_packet((void *)(long)md->data, (void *)(long)md->data_end, what)   \
			       ? XDP_PASS                                                       \
			       : FLOOR_FAILED;                                                  \
	}

FLOOR_PROGRAMS(parse, PARSE)
FLOOR_PROGRAMS(find, FIND)
FLOOR_PROGRAMS(insert, INSERT)
FLOOR_PROGRAMS(track, TRACK)

/* The floor on a wire, where packets of other traffic come as well. */
SEC("tc")
int wire_tc(struct __sk_buff *skb)
{
	floor_packet((void *)(long)skb->data, (void *)(long)skb->data_end, TRACK);
	return FLOOR_TC_DONE;
}

SEC("tc")
int return_tc(struct __sk_buff *skb __attribute__((unused)))
{
	return FLOOR_TC_DONE;
}

SEC("xdp.frags")
int return_xdp(struct xdp_md *md __attribute__((unused)))
{
	return XDP_PASS;
}

static __always_inline void rotate(void *data, void *end)
{
	__be32 *ports = data + (rotation.ports_at & 127);
	__u32 source = rotation.source, destination = rotation.destination;

	if ((void *)(ports + 1) > end)
		return;
	*ports = bpf_htonl(rotation.back ? destination << 16 | source : source << 16 | destination);
	rotation.source += rotation.step;
	if (rotation.source >= rotation.source_end) {
		rotation.source -= rotation.source_end - FLOOR_SOURCE;
		if (++rotation.destination == rotation.destination_end)
			rotation.destination = rotation.destination_first;
	}
}

SEC("tc")
int rotate_tc(struct __sk_buff *skb)
{
	rotate((void *)(long)skb->data, (void *)(long)skb->data_end);
	bpf_tail_call(skb, &target_tc, 0);
	return FLOOR_FAILED;
}

SEC("xdp.frags")
int rotate_xdp(struct xdp_md *md)
{
	rotate((void *)(long)md->data, (void *)(long)md->data_end);
	bpf_tail_call(md, &target_xdp, 0);
	return FLOOR_FAILED;
}
