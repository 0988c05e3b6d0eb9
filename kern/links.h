/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds out whether the node's packets show their addresses and ports to a program where they leave
 * the node. Else an endpoint would reach a Service's backend without a verdict. Two things hide
 * them:
 *
 * - an interface that came up after `load`, and has no program at its egress. The list is the
 * kernel's own; it is walked once for each change, which the kernel counts;
 * - an outgoing IPsec policy: the kernel encrypts what it takes before that comes to the egress of
 * an interface. The kernel counts these policies; which packets they take is not asked.
 */
#ifndef BULKHEAD_KERN_LINKS_H
#define BULKHEAD_KERN_LINKS_H

#include <bpf/bpf_core_read.h>

#include "endpoint.h"
#include "skb.h"
#include "tunables.h"

#define LINKS_IFF_UP 1
#define LINKS_IFF_LOOPBACK 8
#define LINKS_IFF_EBRIDGE 2 /* of priv_flags */
#define LINKS_MAX 8192 /* interfaces; on a node with more, the answer is no */
#define LINKS_XFRM_OUT 1 /* of policy_count */
#define LINKS_SHOW (1ull << 32) /* beside a dev_base_seq: no IPsec policy hides packets */

/* The members of the kernel's types that are read here; the loader relocates their offsets (CO-
 * RE). */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next;
};

struct netns_xfrm {
	unsigned int policy_count[2]; /* by direction; those of sockets are elsewhere */
};

struct net {
	/* counts interfaces that come, go and change their name; never 0 */
	unsigned int dev_base_seq;
	struct list_head dev_base_head;
	struct netns_xfrm xfrm; /* with CONFIG_XFRM */
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

/* Returns true if an interface is guarded. Its entry in bh_ifaces may be that of a former interface
 * of the same number, so the kernel's hook is checked, too. A packet that leaves by a bridge leaves
 * by one of its ports, which are in the list. */
static __always_inline bool links_is_guarded(const struct net_device *device, __u32 ifindex)
{
	if (BPF_CORE_READ_BITFIELD_PROBED(device, priv_flags) & LINKS_IFF_EBRIDGE)
		return true;
	return active_lookup(&at_ifaces, &ifindex) && links_egress(device);
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

/* LINKS_SHOW and the dev_base_seq of the last list in which every interface was guarded; 0: none
 * yet. */
static __u64 links_known;

/* Returns the present dev_base_seq, with LINKS_SHOW unless an IPsec policy may hide packets. */
static __always_inline __u64 links_state(const struct net *net)
{
	__u64 state = BPF_CORE_READ(net, dev_base_seq);

	if (bpf_core_field_exists(net->xfrm) &&
	    BPF_CORE_READ(net, xfrm.policy_count[LINKS_XFRM_OUT]))
		return state;
	return state | LINKS_SHOW;
}

/* Reads the state by copies: before 6.2 a program may not access the sk_buff directly. Not inline,
 * for the stack. */
static __noinline __u64 links_state_copied(struct __sk_buff *skb)
{
	const struct sk_buff___device *buffer = (void *)skb;

	return links_state(BPF_CORE_READ(buffer, dev, nd_net.net));
}

/* Returns true if every interface was guarded at the last walk, the list is still the same, and no
 * IPsec policy may hide packets. */
static __always_inline bool links_are_still_guarded(struct __sk_buff *skb)
{
	const struct sk_buff___device *buffer;
	const struct net *net;

	if (!kern_ctx)
		return READ_ONCE(links_known) == links_state_copied(skb);
	buffer = bpf_cast_to_kern_ctx(skb);
	net = buffer->dev->nd_net.net;
	if (bpf_core_field_exists(net->xfrm) && net->xfrm.policy_count[LINKS_XFRM_OUT])
		return false;
	return READ_ONCE(links_known) == (LINKS_SHOW | net->dev_base_seq);
}

/* Returns true if every packet shows its addresses to a program where it leaves the node. If the
 * list changes during the walk, its count does, too. */
BPF_GLOBAL int links_are_guarded(struct __sk_buff *skb)
{
	const struct sk_buff___device *buffer = (void *)skb;
	const struct net *net = BPF_CORE_READ(buffer, dev, nd_net.net);
	__u64 state = links_state(net);
	const struct list_head *head;
	struct links_walk walk = {};

	if (!(state & LINKS_SHOW))
		return false;
	if (likely(READ_ONCE(links_known) == state))
		return true;
	head = (void *)net + bpf_core_field_offset(struct net, dev_base_head);
	walk.end = head;
	walk.at = BPF_CORE_READ(head, next);
	bpf_loop(LINKS_MAX, links_step, &walk, 0);
	if (walk.whole && !walk.idle)
		WRITE_ONCE(links_known, state);
	return walk.whole;
}

#endif
