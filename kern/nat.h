/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evaluates packets that the node translates, by the initiator and the backend that stand behind
 * the translated addresses: masquerading, Services, and the node's own addresses. Functions set the
 * reason in struct bh_cached.
 */
#ifndef BULKHEAD_KERN_NAT_H
#define BULKHEAD_KERN_NAT_H

#include "policy_ask.h"
#include "local.h"
#include "service.h"
#include "translation.h"

static __always_inline bool nat_can_ask(const struct packet *p)
{
	return kernel_conntrack && !p->told && translation_is_tracked(p);
}

/* Finds the owner of an end's address before or after the node's translation. @which: the end.
 * Returns the port there, and in found->reason why the packet drops; 0: the kernel told nothing.
 * Not inline, for the stack. */
static __noinline __u32 nat_owner(const struct packet *p, __u32 initiator, __u32 which,
				  struct end *end, struct bh_cached *found)
{
	struct bh_addr addr;
	__u32 port = translation_address(p, initiator, which, &addr);

	if (port)
		found->reason = endpoint_resolve(&addr, p->generation, end);
	return port;
}

/* Finds the endpoint that may stand behind the node's address if the kernel cannot be asked: that
 * of the interface by which the packet came in. Then policy must allow both the node and that
 * endpoint. */
static __noinline bool nat_by_ingress(const struct packet *p, const struct bh_cached *found,
				      struct end *end)
{
	struct bh_iface *iface;

	if (!translation_is_silent(p) || p->hook != BH_HOOK_TO_ENDPOINT ||
	    policy_denied(found, BH_INGRESS))
		return false;
	iface = endpoint_iface(p->ingress);
	return iface && iface->flags & BH_IFACE_ENDPOINT &&
	       !endpoint_of(p->ingress, p->version, p->generation, end);
}

/*
 * Evaluates a connection from the node's address that may be masqueraded (a NodePort, for example).
 * The kernel knows the true initiator; policy is asked about the true initiator.
 */
BPF_GLOBAL int nat_unmasquerade(const struct packet *p, __u32 initiator, struct bh_cached *found)
{
	struct ends ends = {};

	if (!p || !found)
		return 0;
	if (!nat_owner(p, initiator, initiator, &ends.end[BH_EGRESS], found)) {
		if (nat_can_ask(p))
			found->reason = CONNECTION_ASKS;
		if (found->reason || !nat_by_ingress(p, found, &ends.end[BH_EGRESS]))
			return 0;
	}
	if (!found->reason)
		found->reason = owner_here(p, !initiator, &ends.end[BH_INGRESS]);
	if (found->reason)
		return 0;
	policy_unasked(found);
	policy_ask_both(p, &ends, policy_point(p, initiator), found);
	/* A TCP reply opens no connection, and shows only the node's address: unless the kernel
	 * told the true initiator, the node stays the end. */
	if (p->told > TOLD_NOTHING || p->protocol != IPPROTO_TCP)
		owner_copy(&ends.end[BH_EGRESS], &found->end[BH_EGRESS]);
	return 0;
}

#define NO_POINT 0xffffffffu

/* Returns true if no hook can evaluate both directions of a call to a Service whose backend is not
 * known here, and a policy isolates the caller: nobody tells to which call an SCTP packet from the
 * Service's address is the reply, or whether one to a NodePort is a reply itself. */
static __always_inline bool nat_is_untold(const struct packet *p, struct bh_segment *caller)
{
	return p->protocol == IPPROTO_SCTP &&
	       (policy_isolates(caller, BH_EGRESS) || policy_isolates(caller, BH_INGRESS));
}

/*
 * Evaluates a call to a Service whose backend is not known yet. It passes here and is evaluated at
 * the hook where the packet has the backend's address, unless an interface has no hook. Returns 0
 * or the reason to drop.
 */
static __noinline int nat_shows(const struct packet *p, const struct end *caller)
{
	struct bh_segment *segment = policy_segment(caller->assignment);

	if (nat_is_untold(p, segment))
		return BH_DROP_BACKEND;
	if (!policy_isolates(segment, BH_EGRESS))
		return 0;
	if (!p->links)
		return CONNECTION_ASKS_LINKS;
	return p->links == LINKS_STRAY ? BH_DROP_UNHOOKED : 0;
}

/*
 * Evaluates a packet to an address that may be a Service's (BH_CACHED_SERVICE): by the backend that
 * the kernel names, or by all backends if they are the same to policy.
 */
BPF_GLOBAL int nat_service(const struct packet *p, __u32 initiator, struct bh_cached *found)
{
	struct ends ends = {};
	struct bh_service_at *at;
	__u32 port, point;

	if (!p || !found)
		return 0;
	found->reason = endpoint_resolve(packet_address_at(p, !initiator), p->generation,
					 &ends.end[BH_INGRESS]);
	at = service_find(p, !initiator, ends.end[BH_INGRESS].flags);
	if (found->reason || (!at && !(ends.end[BH_INGRESS].flags & END_SERVICE))) {
		found->flags &= ~BH_CACHED_SERVICE;
		return 0;
	}
	policy_unasked(found);
	found->end[BH_INGRESS] = (struct bh_ct_end){};
	found->reason = owner_here(p, initiator, &ends.end[BH_EGRESS]);
	if ((at && at->flags & BH_SERVICE_CLOSED) ||
	    (ends.end[BH_INGRESS].flags & END_NODE &&
	     nat_is_untold(p, policy_segment(ends.end[BH_EGRESS].assignment))))
		found->reason = BH_DROP_BACKEND;
	if (found->reason)
		return 0;
	point = service_shared(p, at, &ends.end[BH_EGRESS], &ends.end[BH_INGRESS]) ? at->point
										   : NO_POINT;
	port = nat_owner(p, initiator, !initiator, &ends.end[BH_INGRESS], found);
	if (port)
		point = bh_point(p->protocol, port);
	if (point != NO_POINT)
		policy_ask_both(p, &ends, point, found);
	else
		found->reason = nat_shows(p, &ends.end[BH_EGRESS]);
	return 0;
}

/*
 * Evaluates a call to a Service that may end at this node itself, where no hook is: the Service's
 * address, or a backend's, is the node's. The caller's policy may deny it by `nodes` or `networks`.
 * If policy does not deny it, the call has no verdict here: the hook where the backend's address
 * shows evaluates and counts it.
 */
BPF_GLOBAL int nat_service_node(const struct packet *p, __u32 initiator, struct bh_cached *found)
{
	struct ends ends = {};
	struct bh_service_at *at;
	__u32 point;

	if (!p || !found)
		return 0;
	policy_unasked(found);
	found->reason = endpoint_resolve(packet_address_at(p, !initiator), p->generation,
					 &ends.end[BH_INGRESS]);
	at = service_find(p, !initiator, ends.end[BH_INGRESS].flags);
	point = policy_point(p, initiator);
	if (at && at->own_point) {
		point = at->own_point - 1;
		found->reason = endpoint_resolve(&at->own, p->generation, &ends.end[BH_INGRESS]);
	}
	if (found->reason || !(ends.end[BH_INGRESS].flags & END_NODE))
		return 0;
	found->reason = owner_here(p, initiator, &ends.end[BH_EGRESS]);
	policy_ask(p, &ends, point, BH_EGRESS, found);
	if (!policy_denied(found, BH_EGRESS))
		policy_unasked(found);
	return 0;
}

/* Returns true if the kernel's routes are to say whether the destination is the node's. */
static __always_inline bool nat_may_be_local(const struct packet *p, const struct bh_cached *found)
{
	return p->hook == BH_HOOK_FROM_ENDPOINT && !found->end[BH_INGRESS].ifindex &&
	       !p->key.scope && found->flags & BH_CACHED_SAY(BH_EGRESS) &&
	       !(found->flags & (BH_CACHED_SERVICE | BH_CACHED_TO_NODE)) && !packet_is_group(p);
}

/*
 * Evaluates a packet to an address that the node got after the maps were written. Policy is asked
 * about the address and about the node, since rules by `nodes` do not know the address.
 */
BPF_GLOBAL int nat_is_local(const struct packet *p, __u32 initiator, struct bh_cached *found)
{
	struct ends ends = {};

	if (!p || !found)
		return 0;
	found->reason = endpoint_resolve(packet_address_at(p, !initiator), p->generation,
					 &ends.end[BH_INGRESS]);
	if (found->reason || ends.end[BH_INGRESS].flags)
		return 0;
	found->reason = owner_here(p, initiator, &ends.end[BH_EGRESS]);
	if (found->reason || !policy_has_egress(&ends.end[BH_EGRESS]))
		return 0;
	found->end[BH_INGRESS].proven = (__u16)p->now | 1;
	if (!p->local)
		found->reason = CONNECTION_ASKS_ROUTE;
	if (p->local != LOCAL_HERE)
		return 0;
	if (policy_denied(found, BH_EGRESS) &&
	    !policy_node_exempt(found->denied[BH_EGRESS], found->verdict[BH_EGRESS]))
		return 0;
	policy_unasked(found);
	found->flags |= BH_CACHED_TO_NODE;
	policy_mark_node(found);
	policy_mark_isolated(p, &ends.end[BH_EGRESS], found);
	found->reason = owner_node(p, &ends.end[BH_INGRESS]);
	ends.end[BH_INGRESS].flags |= END_NODE;
	policy_ask(p, &ends, policy_point(p, initiator), BH_EGRESS, found);
	return 0;
}

#endif
