/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an uplink may bring in, for XDP and, where that has no place, for TC. The
 * kernel has undone no address translation yet, so it drops only what needs no
 * connection to be sure: what is malformed or claims an address of ours, and SYNs
 * that policy denies to an endpoint of this node. What is for none of them passes
 * untouched.
 */
#ifndef BULKHEAD_KERN_UPLINK_H
#define BULKHEAD_KERN_UPLINK_H

#include "events.h"
#include "parse.h"
#include "policy.h"

static __always_inline int uplink_parse(hook_context *ctx, struct packet *p,
					const struct bh_iface *iface)
{
	return iface && iface->flags & BH_IFACE_BARE ? parse_bare(ctx, p) : parse_packet(ctx, p);
}

static __always_inline int uplink_syn(struct packet *p, const struct end *source,
				      const struct end *destination)
{
	int reason = policy_verdict(destination, source, BH_INGRESS,
				    BH_POINT_TCP + bpf_ntohs(p->port[1]), &p->verdict[BH_INGRESS]);

	if (!reason && !bh_verdict_allow(p->verdict[BH_INGRESS]))
		reason = BH_DROP_INGRESS;
	if (reason)
		events_rule(p->verdict[BH_INGRESS]);
	return reason;
}

static __always_inline bool uplink_audited(__u32 ifindex)
{
	struct bh_iface *iface = endpoint_iface(ifindex);

	return iface && iface->flags & BH_IFACE_AUDIT;
}

/* Returns 0 or the reason to drop; @reason: what the parser found. */
static __noinline int uplink_judge(struct packet *p, int reason, __u32 *owner)
{
	struct end source = {}, destination = {};
	struct bh_addr addr;

	packet_address(p, !p->from, &addr);
	if (endpoint_resolve(&addr, p->generation, &destination))
		return 0;
	*owner = destination.ifindex;
	/* Its own hook finds the same, and counts and reports it there. */
	if (*owner && uplink_audited(*owner))
		return 0;
	packet_address(p, p->from, &addr);
	if (!endpoint_resolve(&addr, p->generation, &source) &&
	    (source.ifindex || source.flags & END_NODE))
		return BH_DROP_CLAIM;
	if (!destination.ifindex)
		return 0;
	if (reason || p->class != PACKET_FLOW || p->protocol != IPPROTO_TCP ||
	    (p->tcp_flags & (TCP_SYN | TCP_ACK)) != TCP_SYN)
		return reason;
	return uplink_syn(p, &source, &destination);
}

/* Whether the packet goes on; @reason: what uplink_parse() found. */
static __always_inline bool uplink_passes(struct packet *p, const struct bh_iface *iface,
					  int reason)
{
	__u32 owner = 0;
	bool audit;

	if (!p->version)
		return true;
	reason = uplink_judge(p, reason, &owner);
	if (likely(!reason))
		return true;
	audit = !owner && iface && iface->flags & BH_IFACE_AUDIT;
	events_count(reason, p->length, audit);
	events_emit(p, reason, audit);
	return audit;
}

#endif
