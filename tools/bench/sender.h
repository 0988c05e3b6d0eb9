/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by sender.bpf.c and the code that runs it. */
#ifndef BULKHEAD_TOOLS_BENCH_SENDER_H
#define BULKHEAD_TOOLS_BENCH_SENDER_H

#include <linux/if_ether.h>
#include <linux/ip.h>

/* The headers of each frame. */
struct sender_headers {
	struct ethhdr ethernet;
	struct iphdr ip;
	__be16 port[2]; /* source, destination */
} __attribute__((packed));

/*
 * The frames to send. A frame returns to the sender with the addresses and the TTL of its last
 * hop, so each gets new headers.
 */
struct sender_order {
	__u32 ifindex, flows;
	__u32 back; /* 1: flows differ in the destination's port; 0: in the source's */
	struct sender_headers headers;
};

#endif
