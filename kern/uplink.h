/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evaluates packets that an uplink brings in, for XDP or TC. The kernel has not undone address
 * translation yet, so this drops only packets that can be evaluated without a connection: malformed
 * ones, those with a source address of this node or its endpoints, and SYNs that policy denies to
 * an endpoint of this node. A packet to another destination passes. At another port of an
 * endpoint's bridge (BH_HOOK_PORT) policy is not asked.
 */
#ifndef BULKHEAD_KERN_UPLINK_H
#define BULKHEAD_KERN_UPLINK_H

#include "bridge.h"
#include "verdict_cache.h"
#include "event_records.h"
#include "parse.h"
#include "policy_lookup.h"
#include "anti_spoofing.h"

/* Returns true if frames of the interface begin with the IP header. */
static __always_inline bool uplink_is_bare(const struct bh_iface *iface)
{
	return iface && iface->flags & BH_IFACE_BARE;
}

static __always_inline int uplink_parse(hook_context *ctx, struct packet *p,
					const struct bh_iface *iface)
{
	return uplink_is_bare(iface) ? parse_bare_packet(ctx, p) : parse_packet(ctx, p);
}

static __always_inline void uplink_ask(const struct packet *p, const struct end *source,
				       const struct end *destination, struct bh_cached *found)
{
	__u32 verdict = 0;
	int reason = policy_verdict(destination, source, BH_INGRESS,
				    BH_POINT_TCP + bpf_ntohs(p->port[1]), &verdict);

	if (!reason && !bh_verdict_allow(verdict))
		reason = BH_DROP_INGRESS;
	found->verdict[BH_INGRESS] = verdict;
	found->denied[BH_INGRESS] = reason;
}

/* Returns true if the source is the node or an endpoint of it, by address or, on a bridge, by MAC.
 * @enforced: endpoints in audit do not count. */
static __noinline bool uplink_claims(const struct packet *p, __u32 bridge, bool enforced,
				     struct end *source)
{
	struct bh_addr addr;
	__u32 owner;

	packet_address(p, p->from, &addr);
	if (!endpoint_resolve(&addr, p->generation, source) && spoofing_claim_outside(p, source) &&
	    !(enforced && endpoint_in_audit(source->ifindex)))
		return true;
	if (!bridge)
		return false;
	owner = link_owner(p, p->mac_from, bridge);
	if (owner && !(enforced && endpoint_in_audit(owner)))
		return true;
	owner = endpoint_link_local(&addr) ? link_holder(p, &addr) : 0;
	return owner && !(enforced && endpoint_in_audit(owner));
}

/* Finds the verdict in the maps. Asks policy for a @syn only. @bridge: the bridge of which the
 * interface is a port; 0: of none. */
BPF_GLOBAL int uplink_look(const struct packet *p, __u32 syn, __u32 bridge, struct bh_cached *found)
{
	struct end source = {}, destination = {};
	struct bh_addr addr;

	if (!p || !found)
		return 0;
	*found = (struct bh_cached){};
	packet_address(p, !p->from, &addr);
	if (endpoint_resolve(&addr, p->generation, &destination))
		return 0;
	found->end[BH_INGRESS].ifindex = destination.ifindex;
	/* The hook of a destination in audit finds the same, counts and reports it. But a forged
	 * source may be an enforced endpoint, to which an endpoint in audit would reply: that drops
	 * here. */
	if (destination.ifindex && endpoint_in_audit(destination.ifindex)) {
		found->flags = BH_CACHED_AUDIT(BH_INGRESS);
		if (!endpoint_in_audit(p->ifindex) && uplink_claims(p, bridge, true, &source))
			found->reason = BH_DROP_CLAIM;
		return 0;
	}
	if (uplink_claims(p, bridge, false, &source))
		found->reason = BH_DROP_CLAIM;
	else if (destination.ifindex && syn)
		uplink_ask(p, &source, &destination, found);
	return 0;
}

/* Returns 0 or the reason to drop. @reason: what the parser returned. */
static __always_inline int uplink_evaluate(struct packet *p, int reason, __u32 bridge, __u32 *owner)
{
	bool syn = p->hook == BH_HOOK_UPLINK && !reason && parse_is_syn(p);
	__u32 about = syn ? BH_POINT_TCP + bpf_ntohs(p->port[1]) : BH_POINT_OTHER;
	__u32 changes = verdict_cache_changes(p);
	struct bh_cached found;

	if (!verdict_cache_find(p, changes, about, &found)) {
		uplink_look(p, syn, bridge, &found);
		verdict_cache_keep(p, changes, about, &found);
	}
	*owner = found.end[BH_INGRESS].ifindex;
	if (found.reason || !*owner || found.flags & BH_CACHED_AUDIT(BH_INGRESS))
		return found.reason;
	if (!syn)
		return reason;
	p->verdict[BH_INGRESS] = found.verdict[BH_INGRESS];
	if (found.denied[BH_INGRESS])
		events_rule(p->verdict[BH_INGRESS]);
	return found.denied[BH_INGRESS];
}

/* Returns true if the packet passes. @reason: what uplink_parse() returned. */
static __always_inline bool uplink_passes(hook_context *ctx, struct packet *p,
					  const struct bh_iface *iface, int reason)
{
	__u32 owner = 0, bridge = iface ? iface->bridge : 0;
	int broken = reason;
	bool audit;

	reason = p->version ? uplink_evaluate(p, reason, bridge, &owner) : 0;
	if (!reason && bridge)
		reason = bridge_evaluate(ctx, p, bridge, broken);
	if (likely(!reason))
		return true;
	audit = !owner && iface && iface->flags & BH_IFACE_AUDIT;
	events_drop(p, reason, audit, owner);
	return audit;
}

#endif
