/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds out whether every interface of the node that is up has a program at its egress. An
 * interface that came up after `load` has none: by it, an endpoint would reach a Service's backend
 * unjudged. The list is the kernel's own; it is walked once for each change, which the kernel
 * counts.
 */
#ifndef BULKHEAD_KERN_LINKS_H
#define BULKHEAD_KERN_LINKS_H

#include <bpf/bpf_core_read.h>

#include "checksum.h"
#include "endpoint.h"

#define LINKS_IFF_UP 1
#define LINKS_IFF_LOOPBACK 8
#define LINKS_IFF_EBRIDGE 2 /* of priv_flags */
#define LINKS_MAX 8192 /* interfaces; on a node with more, the answer is no */

/* The members of the kernel's types that are read here; the loader relocates their offsets (CO-
 * RE). */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next;
};

struct net {
	unsigned int dev_base_seq; /* counts interfaces that come, go and change their name */
	struct list_head dev_base_head;
};

struct net_device {
	unsigned int flags;
	unsigned long priv_flags : 32; /* the width differs before 6.12 */
	int ifindex;
	struct list_head dev_list;
	struct {
		struct net *net;
	} nd_net;
	void *tcx_egress, *miniq_egress; /* tcx_egress since 6.6, miniq_egress before */
};

struct sk_buff___device {
	struct net_device *dev;
};

#pragma clang attribute pop

struct links_walk {
	const struct list_head *at, *end;
	bool idle; /* an interface without a program is down */
	bool whole; /* the walk came to the end: no interface without a program is up */
};

static __always_inline const void *links_egress(const struct net_device *device)
{
	if (bpf_core_field_exists(device->tcx_egress))
		return BPF_CORE_READ(device, tcx_egress);
	return BPF_CORE_READ(device, miniq_egress);
}

/* Whether an interface is guarded. Its entry in bh_ifaces may be that of a former interface of the
 * same number, so the kernel's hook is checked, too. A packet that leaves by a bridge leaves by one
 * of its ports, which are in the list. */
static __always_inline bool links_is_guarded(const struct net_device *device, __u32 ifindex)
{
	if (BPF_CORE_READ_BITFIELD_PROBED(device, priv_flags) & LINKS_IFF_EBRIDGE)
		return true;
	return bpf_map_lookup_elem(&bh_ifaces, &ifindex) && links_egress(device);
}

static long links_step(__u32 i, void *data)
{
	const struct net_device *device;
	struct links_walk *walk = data;
	const struct list_head *at = walk->at;
	__u32 flags, ifindex;

	(void)i;
	if (at == walk->end || !at) {
		walk->whole = at;
		return 1;
	}
	device = (void *)at - bpf_core_field_offset(struct net_device, dev_list);
	ifindex = BPF_CORE_READ(device, ifindex);
	flags = BPF_CORE_READ(device, flags);
	walk->at = BPF_CORE_READ(at, next);
	if (flags & LINKS_IFF_LOOPBACK || links_is_guarded(device, ifindex))
		return 0;
	walk->idle = true;
	return !!(flags & LINKS_IFF_UP);
}

/* The last list in which every interface was guarded: 1 << 32 | dev_base_seq; 0: none yet. */
static __u64 links_known;

/* Reads the count by copies: before 6.2 a program may not access the sk_buff directly. Not inline,
 * for the stack. */
static __noinline __u64 links_count_copied(struct __sk_buff *skb)
{
	const struct sk_buff___device *buffer = (void *)skb;

	return 1ull << 32 | BPF_CORE_READ(buffer, dev, nd_net.net, dev_base_seq);
}

/* Whether every interface was guarded at the last walk, and the list is still the same. */
static __always_inline bool links_stay_guarded(struct __sk_buff *skb)
{
	const struct sk_buff___device *buffer;

	if (!kern_ctx)
		return READ_ONCE(links_known) == links_count_copied(skb);
	buffer = bpf_cast_to_kern_ctx(skb);
	return READ_ONCE(links_known) == (1ull << 32 | buffer->dev->nd_net.net->dev_base_seq);
}

/* Returns whether every interface is guarded. If the list changes during the walk, its count does,
 * too. */
BPF_GLOBAL int links_are_guarded(struct __sk_buff *skb)
{
	const struct sk_buff___device *buffer = (void *)skb;
	const struct net *net = BPF_CORE_READ(buffer, dev, nd_net.net);
	__u64 count = 1ull << 32 | BPF_CORE_READ(net, dev_base_seq);
	const struct list_head *head;
	struct links_walk walk = {};

	if (likely(READ_ONCE(links_known) == count))
		return true;
	head = (void *)net + bpf_core_field_offset(struct net, dev_base_head);
	walk.end = head;
	walk.at = BPF_CORE_READ(head, next);
	bpf_loop(LINKS_MAX, links_step, &walk, 0);
	if (walk.whole && !walk.idle)
		WRITE_ONCE(links_known, count);
	return walk.whole;
}

#endif
