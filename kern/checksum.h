/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checks where the kernel will write a checksum that it has yet to complete (CHECKSUM_PARTIAL). It
 * does so after all hooks, at an offset that the sender has chosen. Anywhere but in the packet's
 * own transport header it would change bytes that policy has read. Only a packet that a tunnel
 * device has encapsulated may have its checksum in the payload.
 */
#ifndef BULKHEAD_KERN_CHECKSUM_H
#define BULKHEAD_KERN_CHECKSUM_H

#include <bpf/bpf_core_read.h>

#include "parse.h"
#include "skb.h"
#include "tunables.h"

#define CHECKSUM_PARTIAL 3

/* The members of the kernel's sk_buff that are read here. */
struct sk_buff {
	__u8 ip_summed : 2;
	__u8 encapsulation : 1;
	__u16 csum_start; /* offset from `head` */
	__u16 csum_offset; /* offset from csum_start */
	unsigned char *head, *data;
} __attribute__((preserve_access_index));

/* Where the kernel will complete a packet's checksum. */
struct checksum {
	bool partial, encapsulated;
	/* offsets in the frame: of the first byte that is summed, of the checksum */
	__u32 start, at;
};

/* Reads the sk_buff by copies: before 6.2 a program may not access it directly. */
static __always_inline void checksum_copy(struct __sk_buff *ctx, struct checksum *c)
{
	struct sk_buff *skb = (void *)ctx;
	unsigned char *head = NULL, *data = NULL;
	__u16 start = 0, offset = 0;

	c->partial = BPF_CORE_READ_BITFIELD_PROBED(skb, ip_summed) == CHECKSUM_PARTIAL;
	if (!c->partial)
		return;
	c->encapsulated = BPF_CORE_READ_BITFIELD_PROBED(skb, encapsulation);
	bpf_core_read(&start, sizeof(start), &skb->csum_start);
	bpf_core_read(&offset, sizeof(offset), &skb->csum_offset);
	bpf_core_read(&head, sizeof(head), &skb->head);
	bpf_core_read(&data, sizeof(data), &skb->data);
	c->start = start - (__u32)(data - head);
	c->at = c->start + offset;
}

static __always_inline void checksum_read(struct __sk_buff *ctx, struct checksum *c)
{
	struct sk_buff *skb;

	if (!kern_ctx) {
		checksum_copy(ctx, c);
		return;
	}
	skb = bpf_cast_to_kern_ctx(ctx);
	c->partial = BPF_CORE_READ_BITFIELD(skb, ip_summed) == CHECKSUM_PARTIAL;
	if (likely(!c->partial))
		return;
	c->encapsulated = BPF_CORE_READ_BITFIELD(skb, encapsulation);
	c->start = skb->csum_start - (__u32)((__u64)skb->data - (__u64)skb->head);
	c->at = c->start + skb->csum_offset;
}

/* Returns the offset of the checksum in a transport header; 0: it has none that the kernel
 * completes. */
static __always_inline __u32 checksum_of(__u8 protocol)
{
	switch (protocol) {
#define PROTOCOL(name, number, functions, checksum) \
	case number:                                \
		return checksum;
#include "maps/protocols.def"
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return 2;
	}
	return 0;
}

/* Returns true if the kernel will write a checksum outside of the packet's own transport header.
 * @l4: offset of that header; 0: there is none. */
BPF_GLOBAL int checksum_misplaced(struct __sk_buff *ctx, __u32 l4, __u32 protocol)
{
	struct checksum c = {};
	__u32 own = checksum_of(protocol);

	checksum_read(ctx, &c);
	if (likely(!c.partial))
		return false;
	if (l4 && own && c.start == l4 && c.at == l4 + own)
		return false;
	return !(c.encapsulated && l4 && c.start >= l4 + 8 && c.at >= c.start);
}

/* The same, without a call for most packets. */
static __always_inline bool checksum_is_outside(struct __sk_buff *ctx, __u32 l4, __u32 protocol)
{
	struct sk_buff *skb;

	if (kern_ctx) {
		skb = bpf_cast_to_kern_ctx(ctx);
		if (likely(BPF_CORE_READ_BITFIELD(skb, ip_summed) != CHECKSUM_PARTIAL))
			return false;
	}
	return checksum_misplaced(ctx, l4, protocol);
}

#endif
