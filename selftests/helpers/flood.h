/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by flood.bpf.c and flood.c. */
#ifndef BULKHEAD_SELFTESTS_FLOOD_H
#define BULKHEAD_SELFTESTS_FLOOD_H

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>

union flood_segment {
	struct tcphdr tcp;
	struct udphdr udp;
} __attribute__((packed));

/* A frame as long as the longest; bytes behind the IP packet are padding. */
struct flood_frame {
	struct ethhdr ethernet;
	union {
		struct {
			struct iphdr ip;
			union flood_segment segment;
		} __attribute__((packed)) v4;
		struct {
			struct ipv6hdr ip;
			union flood_segment segment;
		} __attribute__((packed)) v6;
	};
} __attribute__((packed));

/*
 * The frame to send. Each copy has a source of its own: the bits of @mask in the address's last
 * word, the port, and of TCP the sequence number are random. These fields and the checksums are 0
 * in @frame.
 */
struct flood_order {
	__u32 ifindex;
	__u32 v6, tcp; /* 0 or 1 */
	/* of the last word of the source address: its other bits; its random bits */
	__be32 base, mask;
	__u32 ip_sum, l4_sum; /* sums of the frame's other 16-bit words, as the CPU reads them */
	struct flood_frame frame;
};

#endif
