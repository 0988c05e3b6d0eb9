// SPDX-License-Identifier: GPL-2.0-only
/* Bulkhead's parser alone, to tell its share of the cost. */
#include "skb.h"
#include "parse.h"

char LICENSE[] SEC("license") = "GPL";

SEC("tc")
int parser_tc(struct __sk_buff *skb)
{
	struct packet p = {};

	return parse_packet(skb, &p) || p.class != PACKET_FLOW ? 77 : -1;
}
