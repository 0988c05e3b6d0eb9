// SPDX-License-Identifier: GPL-2.0-only
/*
 * The baseline for an established flow: it finds the 5-tuple among the connections, and both ends
 * have allowed the connection at the active generation. It does not check lengths, fragments,
 * flags, the sender's interface, whose entry it is or how old, and it counts nothing.
 */
#pragma clang diagnostic ignored "-Wunused-function"

#include "skb.h"
#include "conntrack_table.h"
#include "tools/bench/floor.h"

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

char LICENSE[] SEC("license") = "GPL";

/* Returns the part of a key behind the addresses, in the order of its ends. */
static __always_inline __u64 before_rest(const __u32 *ports, __u8 protocol, bool swapped)
{
	return (__u64)protocol << 32 | (swapped ? *ports << 16 | *ports >> 16 : *ports);
}

static __always_inline bool before_allowed(const struct bh_ct *ct)
{
	__u64 want = (__u64)packet_generation() << 32 | BH_CT_ALLOW;
	const __u64 asked = ~0ull << 32 | BH_CT_ALLOW;

	return ct &&
	       !(((READ_ONCE(ct->verdict[0]) ^ want) | (READ_ONCE(ct->verdict[1]) ^ want)) & asked);
}

static __always_inline bool before_ipv4(const struct iphdr *ip, const void *end)
{
	bool swapped = ip->saddr > ip->daddr;
	const __u32 *ports = (void *)ip + ip->ihl * 4;
	struct table_key key = {};

	if ((void *)(ports + 1) > end)
		return false;
	key.word[1] = parse_mapped(swapped ? ip->daddr : ip->saddr);
	key.word[3] = parse_mapped(swapped ? ip->saddr : ip->daddr);
	key.word[4] = before_rest(ports, ip->protocol, swapped);
	table_hash(&key);
	return before_allowed(table_find(&key));
}

static __always_inline bool before_ipv6(const struct ipv6hdr *ip, const void *end)
{
	const __be64 *source = (void *)&ip->saddr, *destination = (void *)&ip->daddr;
	bool swapped = source[0] > destination[0] ||
		       (source[0] == destination[0] && source[1] > destination[1]);
	const __be64 *lower = swapped ? destination : source;
	const __be64 *upper = swapped ? source : destination;
	const __u32 *ports = (void *)(ip + 1);
	struct table_key key;

	if ((void *)(ports + 1) > end)
		return false;
	key.word[0] = lower[0];
	key.word[1] = lower[1];
	key.word[2] = upper[0];
	key.word[3] = upper[1];
	key.word[4] = before_rest(ports, ip->nexthdr, swapped);
	table_hash(&key);
	return before_allowed(table_find(&key));
}

SEC("tc")
int before_tc(struct __sk_buff *skb)
{
	const struct ethhdr *eth = hook_data(skb);
	const void *end = hook_end(skb), *l3 = eth + 1;
	bool allowed = false;

	if (l3 + sizeof(struct ipv6hdr) > end)
		return FLOOR_FAILED;
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		allowed = before_ipv4(l3, end);
	else if (eth->h_proto == bpf_htons(ETH_P_IPV6))
		allowed = before_ipv6(l3, end);
	return allowed ? FLOOR_TC_DONE : FLOOR_FAILED;
}
