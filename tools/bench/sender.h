/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by sender.bpf.c and who runs it. */
#ifndef BULKHEAD_TOOLS_BENCH_SENDER_H
#define BULKHEAD_TOOLS_BENCH_SENDER_H

#include <linux/if_ether.h>
#include <linux/ip.h>

/* How each frame begins. */
struct sender_headers {
	struct ethhdr ethernet;
	struct iphdr ip;
	__be16 port[2]; /* source, destination */
} __attribute__((packed));

/*
 * What is sent. A frame comes back to the sender with the addresses and the TTL
 * of its last hop, so each gets its headers anew.
 */
struct sender_order {
	__u32 ifindex, flows;
	__u32 back; /* flows differ in their destination's port, else in their source's */
	struct sender_headers headers;
};

#endif
