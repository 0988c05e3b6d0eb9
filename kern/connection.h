/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evaluates a packet that is of no open, allowed connection: finds its ends, asks their policies at
 * the active generation, and writes the entry of the connection. Functions return an enum
 * bh_reason.
 */
#ifndef BULKHEAD_KERN_CONNECTION_H
#define BULKHEAD_KERN_CONNECTION_H

#include "verdict_cache.h"
#include "conntrack.h"
#include "event_records.h"
#include "flow_cache.h"
#include "local.h"
#include "policy_lookup.h"
#include "resolver.h"
#include "service.h"
#include "anti_spoofing.h"

/* A connection in its original direction, as found from one of its packets. */
struct connection {
	struct bh_cached found;
	__u16 initiator; /* end of the key */
	__u16 flags; /* BH_CT_NODE, BH_CT_BY_INGRESS */
};

/* Internal reason: the entry is of other ends than the packet's at this hook. Evaluate again by a
 * key of this hook's own. */
#define CONNECTION_OF_OTHERS BH_REASONS

/* Internal reason: ask the kernel's conntrack about the packet (netfilter.h), then evaluate
 * again. */
#define CONNECTION_ASKS (BH_REASONS + 1)

/* Internal reason: ask the kernel's routes whether the destination is the node's (local.h), then
 * evaluate again. */
#define CONNECTION_ASKS_ROUTE (BH_REASONS + 2)

/* Internal reason: find out whether every interface is guarded (links.h), then evaluate again. */
#define CONNECTION_ASKS_LINKS (BH_REASONS + 3)
/* Internal reason: ask whether a domain name allows the flow (domain.h), then evaluate again. */
#define CONNECTION_ASKS_NAMES (BH_REASONS + 4)
_Static_assert(CONNECTION_ASKS_NAMES < 64, "bh_cached.reason");

#define CONNECTION_ROUTE_TICKS 4 /* how long an answer of the routes counts: about a second */

/* By enum bh_direction: [BH_EGRESS] is the initiator. */
struct ends {
	struct end end[2];
};

/* Identifies a peer on a bridge or with a link-local address by its MAC, if no map knows its
 * address. On a bridge the node's MAC does not identify the node, which forwards packets that come
 * to its MAC. */
static __always_inline int connection_peer_mac(const struct packet *p, bool is_sender, bool bridged,
					       struct end *end)
{
	struct bh_mac_key key = {.kind = BH_MAC_ENDPOINT};
	struct bh_mac *mac;
	int reason;

	__builtin_memcpy(key.mac, is_sender ? p->mac_from : p->mac_to, sizeof(key.mac));
	mac = bpf_map_lookup_elem(&bh_macs, &key);
	if (mac) {
		reason = endpoint_of(mac->ifindex, p->version, p->generation, end);
		end->flags |= END_BY_MAC;
		return reason;
	}
	/* Link-local traffic is not routed: at the other end of a link that is no bridge there is
	 * only the node. */
	if (!bridged)
		end->flags |= END_NODE;
	return 0;
}

/* Takes the endpoint of this hook's interface for the owner of an address that is link-local, a
 * group's or unknown. */
static __always_inline int connection_own(const struct packet *p, struct end *end)
{
	int reason = endpoint_of(p->ifindex, p->version, p->generation, end);

	if (end->ifindex != p->ifindex &&
	    !(end->flags & END_COVERING_PREFIX && end->covering_prefix == p->ifindex))
		end->assignment = 0;
	end->flags = END_ENDPOINT | END_BY_HOOK;
	end->ifindex = p->ifindex;
	return reason;
}

static __always_inline int connection_peer(const struct packet *p, const struct bh_addr *addr,
					   bool is_sender, struct end *end)
{
	struct bh_iface *iface = endpoint_iface(p->ifindex);
	bool bridged, link_local = endpoint_link_local(addr);

	if (!iface)
		return BH_DROP_INTERFACE;
	bridged = iface->flags & BH_IFACE_L2 && !(link_local && is_sender && !p->ingress);
	return bridged || link_local ? connection_peer_mac(p, is_sender, bridged, end) : 0;
}

/* Handles an address at this hook's end that is not the endpoint's. If the address is another
 * endpoint's, the key stands for that endpoint's connection at all other hooks, and this hook needs
 * a key of its own. */
static __always_inline int connection_foreign(const struct packet *p, struct end *own)
{
	if (own->flags & END_ENDPOINT && !BH_CT_IS_HOOK(p->key.scope))
		return CONNECTION_OF_OTHERS;
	return connection_own(p, own);
}

/* Finds the owners of the packet's two addresses, and checks that the sender may use the source
 * address. */
BPF_GLOBAL int connection_resolve(const struct packet *p, __u32 initiator, struct ends *ends)
{
	struct end *own, *peer;
	const struct bh_addr *addr;
	__u32 own_end, services;
	bool sending;
	int reason;

	if (!p || !ends)
		return BH_DROP_MAPS;
	sending = p->hook == BH_HOOK_FROM_ENDPOINT;
	own_end = sending ? p->from : !p->from;
	own = own_end == initiator ? &ends->end[1] : &ends->end[0];
	peer = own_end == initiator ? &ends->end[0] : &ends->end[1];
	addr = packet_address_at(p, own_end);
	reason = endpoint_resolve(addr, p->generation, own);
	if (!reason && !endpoint_counts_as_prefix(p, own, peer)) {
		if (sending)
			reason = spoofing_check(p, own);
		if (!reason && own->ifindex != p->ifindex)
			reason = connection_foreign(p, own);
	}
	if (reason)
		return reason;
	addr = packet_address_at(p, !own_end);
	reason = endpoint_resolve(addr, p->generation, peer);
	services = sending ? 0 : peer->flags & END_SERVICES;
	if (!reason && !(peer->flags & END_ENDPOINT))
		reason = connection_peer(p, addr, !sending, peer);
	/* The reply of a neighbour on the bridge, which the bridge has translated back. */
	peer->flags |= services;
	if (!reason && !sending)
		reason = spoofing_claim(p, peer);
	return reason;
}

/* Returns true if the node sent the packet: the node made it, with one of its addresses, or the
 * endpoint sent it and the node put its own address into it. */
static __always_inline bool connection_from_node(const struct packet *p, const struct end *source)
{
	if (p->hook == BH_HOOK_TO_ENDPOINT && p->local == LOCAL_HERE)
		return !(source->flags & END_ENDPOINT);
	return p->hook == BH_HOOK_TO_ENDPOINT && source->flags & END_NODE &&
	       (!p->ingress || p->ingress == p->ifindex);
}

static __always_inline __u32 connection_point(const struct packet *p, __u32 initiator)
{
	return bh_point(p->protocol, bpf_ntohs(packet_port(p, !initiator)));
}

static __noinline bool connection_audited(__u32 ifindex)
{
	struct bh_iface *iface = endpoint_iface(ifindex);

	return iface && iface->flags & BH_IFACE_AUDIT;
}

/* Returns true if an endpoint reaches its own node despite this answer of its policy: only Admin
 * and Baseline rules can deny that. */
static __always_inline bool connection_node_exempt(int reason, __u32 verdict)
{
	return reason == BH_DROP_UNASSIGNED ||
	       (reason == BH_DROP_EGRESS && bh_verdict_tier(verdict) != BH_TIER_ADMIN &&
		bh_verdict_tier(verdict) != BH_TIER_BASELINE);
}

/* Returns true if policy denies an end the connection, and does not only audit: the policies that
 * would deny are enforced. The end itself may be in audit. */
static __always_inline bool connection_denied(const struct bh_cached *found, __u32 role)
{
	return found->denied[role] && !bh_verdict_allow(found->verdict[role]);
}

/* Changes the answer of an endpoint's policy about its own node as connection_node_exempt() says.
 * Audited NetworkPolicies would not deny that either. Returns 0 or the reason to drop. */
static __always_inline int connection_to_node(int reason, __u32 *verdict)
{
	__u32 audit = bh_verdict_audit(*verdict);
	bool exempt = connection_node_exempt(reason, *verdict);

	if (exempt && audit && audit != 1 + BH_TIER_NETWORK_POLICY)
		*verdict |= BH_VERDICT_ALLOW;
	else if (exempt || (!reason && audit == 1 + BH_TIER_NETWORK_POLICY))
		*verdict = bh_verdict(true, BH_TIER_DEFAULT, 0);
	return exempt ? 0 : reason;
}

/* Notes the answer of one end's policy. @to_node: the other end is the node. Not inline, for the
 * stack. */
static __noinline int connection_note(struct bh_cached *found, __u32 role, int reason,
				      __u32 ifindex, __u32 to_node)
{
	__u32 *verdict = role ? &found->verdict[1] : &found->verdict[0];
	bool audited = false;

	if (!reason && !bh_verdict_allow(*verdict))
		reason = role ? BH_DROP_EGRESS : BH_DROP_INGRESS;
	if (to_node)
		reason = connection_to_node(reason, verdict);
	/* The packet passes, and counts as one that policy would deny. */
	if (!reason && unlikely(bh_verdict_audit(*verdict))) {
		reason = role ? BH_DROP_EGRESS : BH_DROP_INGRESS;
		audited = true;
	}
	found->flags |= role ? BH_CACHED_SAY(1) : BH_CACHED_SAY(0);
	if (audited || (reason && connection_audited(ifindex)))
		found->flags |= role ? BH_CACHED_AUDIT(1) : BH_CACHED_AUDIT(0);
	if (role)
		found->denied[1] = reason;
	else
		found->denied[0] = reason;
	return 0;
}

/* Asks the policy of one end, if that is an endpoint of this node and the other end is not the same
 * endpoint. */
static __always_inline void connection_ask(const struct packet *p, const struct ends *ends,
					   __u32 point, __u32 role, struct bh_cached *found)
{
	const struct end *subject = role ? &ends->end[1] : &ends->end[0];
	const struct end *peer = role ? &ends->end[0] : &ends->end[1];
	__u32 *verdict = role ? &found->verdict[1] : &found->verdict[0];
	int reason;

	if (!p->generation || !subject->ifindex || subject->ifindex == peer->ifindex)
		return;
	*verdict = 0;
	reason = policy_verdict(subject, peer, role, point, verdict);
	connection_note(found, role, reason, subject->ifindex,
			role == BH_EGRESS && peer->flags & END_NODE);
}

/* Bits of bh_cached.end[BH_EGRESS].proven. */
#define END_OF_NODE 1
#define END_CONFINED 2
#define END_NAMES 4 /* domain names that the initiator has learned may allow the flow */
#define END_SERVED 8 /* the initiator's address may be a Service's */
#define END_ISOLATED 16 /* TCP of an endpoint that a policy isolates, with END_OF_NODE */

/* Notes that names may allow what the initiator's policy denies. Not inline, for the stack. */
static __noinline void connection_mark_names(const struct end *subject, struct bh_cached *found)
{
	struct bh_segment *segment = policy_segment(subject->assignment);

	if (segment && segment->flags & BH_SEGMENT_DOMAINS &&
	    found->denied[BH_EGRESS] == BH_DROP_EGRESS)
		found->end[BH_EGRESS].proven |= END_NAMES;
}

static __always_inline void connection_end(const struct end *end, struct bh_ct_end *as)
{
	as->ifindex = end->ifindex;
	__builtin_memcpy(as->mac, end->mac, sizeof(as->mac));
}

static __always_inline bool connection_can_ask(const struct packet *p)
{
	return kernel_conntrack && !p->told &&
	       (p->protocol == IPPROTO_TCP || p->protocol == IPPROTO_UDP);
}

static __always_inline void connection_ask_both(const struct packet *p, const struct ends *ends,
						__u32 point, struct bh_cached *found)
{
	connection_ask(p, ends, point, BH_EGRESS, found);
	connection_ask(p, ends, point, BH_INGRESS, found);
}

/* Removes the answers of policy. */
static __always_inline void connection_unasked(struct bh_cached *found)
{
	found->flags &= BH_CACHED_SERVICE;
	found->verdict[0] = found->verdict[1] = 0;
	found->denied[0] = found->denied[1] = 0;
	found->end[BH_EGRESS].proven &= ~END_NAMES;
}

/* Finds the endpoint of this hook as connection_resolve() does. It is isolated while it is added or
 * deleted. */
static __noinline int connection_here(const struct packet *p, __u32 end, struct end *own)
{
	if (endpoint_resolve(packet_address_at(p, end), p->generation, own))
		return BH_DROP_MAPS;
	if (likely(own->ifindex == p->ifindex))
		return 0;
	if (endpoint_of(p->ifindex, p->version, p->generation, own))
		return BH_DROP_MAPS;
	if (own->ifindex != p->ifindex)
		own->assignment = 0;
	own->flags = END_ENDPOINT;
	own->ifindex = p->ifindex;
	return 0;
}

/* Finds the owner of an end's address before or after the node's translation. @which: the end.
 * Returns the port there, and in found->reason why the packet drops; 0: the kernel told nothing.
 * Not inline, for the stack. */
static __noinline __u32 connection_translated_owner(const struct packet *p, __u32 initiator,
						    __u32 which, struct end *end,
						    struct bh_cached *found)
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
static __noinline bool connection_by_ingress(const struct packet *p, const struct bh_cached *found,
					     struct end *end)
{
	struct bh_iface *iface;

	if (!translation_is_silent(p) || p->hook != BH_HOOK_TO_ENDPOINT ||
	    connection_denied(found, BH_INGRESS))
		return false;
	iface = endpoint_iface(p->ingress);
	return iface && iface->flags & BH_IFACE_ENDPOINT &&
	       !endpoint_of(p->ingress, p->version, p->generation, end);
}

/*
 * Evaluates a connection from the node's address that may be masqueraded (a NodePort, for example).
 * The kernel knows the true initiator; policy is asked about the true initiator.
 */
BPF_GLOBAL int connection_unmasquerade(const struct packet *p, __u32 initiator,
				       struct bh_cached *found)
{
	struct ends ends = {};

	if (!p || !found)
		return 0;
	if (!connection_translated_owner(p, initiator, initiator, &ends.end[BH_EGRESS], found)) {
		if (connection_can_ask(p))
			found->reason = CONNECTION_ASKS;
		if (found->reason || !connection_by_ingress(p, found, &ends.end[BH_EGRESS]))
			return 0;
	}
	if (!found->reason)
		found->reason = connection_here(p, !initiator, &ends.end[BH_INGRESS]);
	if (found->reason)
		return 0;
	connection_unasked(found);
	connection_ask_both(p, &ends, connection_point(p, initiator), found);
	/* A TCP reply opens no connection, and shows only the node's address: unless the kernel
	 * told the true initiator, the node stays the end. */
	if (p->told > TOLD_NOTHING || p->protocol != IPPROTO_TCP)
		connection_end(&ends.end[BH_EGRESS], &found->end[BH_EGRESS]);
	return 0;
}

/* Notes that an end has an address of this node. */
static __always_inline void connection_mark_node(struct bh_cached *found)
{
	found->end[BH_EGRESS].proven |= END_OF_NODE;
}

/* Returns true if a policy may deny in that direction. An endpoint without a segment is isolated.
 */
static __always_inline bool connection_isolates(struct bh_segment *segment, __u32 direction)
{
	return !segment || (segment->flags & BH_SEGMENT_POLICY(direction & 1) &&
			    !(segment->flags & BH_SEGMENT_AUDITED(direction & 1)));
}

/* Notes that an end has an address of this node, and a policy isolates the endpoint of this hook.
 * The kernel cannot be asked to whom the node forwards SCTP of the endpoint: such a packet must not
 * leave the node. */
static __noinline void connection_mark_isolated(const struct packet *p, const struct end *own,
						struct bh_cached *found)
{
	struct bh_segment *segment = policy_segment(own->assignment);
	bool egress = connection_isolates(segment, BH_EGRESS);

	if (p->protocol == IPPROTO_SCTP && p->hook == BH_HOOK_FROM_ENDPOINT && egress)
		found->end[BH_EGRESS].proven |= END_CONFINED;
	if (p->protocol == IPPROTO_TCP && (egress || connection_isolates(segment, BH_INGRESS)))
		found->end[BH_EGRESS].proven |= END_ISOLATED;
}

/* Returns true if the packet must not leave the node: an endpoint calls the node, or replies to
 * it. */
static __always_inline bool connection_is_confined(const struct packet *p,
						   const struct connection *c)
{
	return c->found.end[BH_EGRESS].proven & END_CONFINED &&
	       !(c->found.flags & BH_CACHED_SERVICE) &&
	       (p->from == c->initiator || c->flags & BH_CT_NODE);
}

/* Returns true if an end has an address of this node, behind which others may be. */
static __always_inline bool connection_is_nodes(const struct connection *c)
{
	return c->found.end[BH_EGRESS].proven & (END_OF_NODE | END_CONFINED);
}

#define NO_POINT 0xffffffffu

/* Returns true if no hook can evaluate both directions of a call to a Service whose backend is not
 * known here, and a policy isolates the caller: nobody tells to which call an SCTP packet from the
 * Service's address is the reply, or whether one to a NodePort is a reply itself. */
static __always_inline bool connection_is_untold(const struct packet *p, struct bh_segment *caller)
{
	return p->protocol == IPPROTO_SCTP &&
	       (connection_isolates(caller, BH_EGRESS) || connection_isolates(caller, BH_INGRESS));
}

/*
 * Evaluates a call to a Service whose backend is not known yet. It passes here and is evaluated at
 * the hook where the packet has the backend's address, unless an interface has no hook. Returns 0
 * or the reason to drop.
 */
static __noinline int connection_shows(const struct packet *p, const struct end *caller)
{
	struct bh_segment *segment = policy_segment(caller->assignment);

	if (connection_is_untold(p, segment))
		return BH_DROP_BACKEND;
	if (!connection_isolates(segment, BH_EGRESS))
		return 0;
	if (!p->links)
		return CONNECTION_ASKS_LINKS;
	return p->links == LINKS_STRAY ? BH_DROP_UNHOOKED : 0;
}

/*
 * Evaluates a packet to an address that may be a Service's (BH_CACHED_SERVICE): by the backend that
 * the kernel names, or by all backends if they are the same to policy.
 */
BPF_GLOBAL int connection_service(const struct packet *p, __u32 initiator, struct bh_cached *found)
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
	connection_unasked(found);
	found->end[BH_INGRESS] = (struct bh_ct_end){};
	found->reason = connection_here(p, initiator, &ends.end[BH_EGRESS]);
	if ((at && at->flags & BH_SERVICE_CLOSED) ||
	    (ends.end[BH_INGRESS].flags & END_NODE &&
	     connection_is_untold(p, policy_segment(ends.end[BH_EGRESS].assignment))))
		found->reason = BH_DROP_BACKEND;
	if (found->reason)
		return 0;
	point = service_shared(p, at, &ends.end[BH_EGRESS], &ends.end[BH_INGRESS]) ? at->point
										   : NO_POINT;
	port = connection_translated_owner(p, initiator, !initiator, &ends.end[BH_INGRESS], found);
	if (port)
		point = bh_point(p->protocol, port);
	if (point != NO_POINT)
		connection_ask_both(p, &ends, point, found);
	else
		found->reason = connection_shows(p, &ends.end[BH_EGRESS]);
	return 0;
}

/*
 * Evaluates a call to a Service that may end at this node itself, where no hook is: the Service's
 * address, or a backend's, is the node's. The caller's policy may deny it by `nodes` or `networks`.
 * If policy does not deny it, the call counts as unjudged: the hook where the backend's address
 * shows evaluates and counts it.
 */
BPF_GLOBAL int connection_service_node(const struct packet *p, __u32 initiator,
				       struct bh_cached *found)
{
	struct ends ends = {};
	struct bh_service_at *at;
	__u32 point;

	if (!p || !found)
		return 0;
	connection_unasked(found);
	found->reason = endpoint_resolve(packet_address_at(p, !initiator), p->generation,
					 &ends.end[BH_INGRESS]);
	at = service_find(p, !initiator, ends.end[BH_INGRESS].flags);
	point = connection_point(p, initiator);
	if (at && at->own_point) {
		point = at->own_point - 1;
		found->reason = endpoint_resolve(&at->own, p->generation, &ends.end[BH_INGRESS]);
	}
	if (found->reason || !(ends.end[BH_INGRESS].flags & END_NODE))
		return 0;
	found->reason = connection_here(p, initiator, &ends.end[BH_EGRESS]);
	connection_ask(p, &ends, point, BH_EGRESS, found);
	if (!connection_denied(found, BH_EGRESS))
		connection_unasked(found);
	return 0;
}

/* Identifies a peer by the link-local address that it holds, whatever the frame's MAC is. */
static __always_inline int connection_holder(const struct packet *p, __u32 holder, struct end *peer)
{
	struct bh_iface *iface = endpoint_iface(holder);
	int reason;

	if (!iface)
		return BH_DROP_INTERFACE;
	reason =
		endpoint_of(holder, endpoint_no_address(&iface->ipv6) ? 4 : 6, p->generation, peer);
	return reason || p->hook == BH_HOOK_FROM_ENDPOINT ? reason : spoofing_claim(p, peer);
}

/* Finds the node for policy. A node without a name stays what its address is. Not inline, for the
 * stack. */
static __noinline int connection_node(const struct packet *p, struct end *node)
{
	return endpoint_node(p->ifindex, p->version, p->generation, 0, node);
}

/* Finds the owners of link-local addresses, after connection_resolve() and spoofing_link(). Not
 * inline, for the stack. */
static __noinline int connection_links(const struct packet *p, __u32 initiator, struct ends *ends)
{
	__u32 own_end = p->hook == BH_HOOK_FROM_ENDPOINT ? p->from : !p->from, holder;
	const struct bh_addr *addr = packet_address_at(p, own_end);
	struct end *peer;
	int reason;

	if (endpoint_link_local(addr) && !BH_CT_IS_HOOK(p->key.scope) && link_has_owner(p, addr))
		return CONNECTION_OF_OTHERS;
	addr = packet_address_at(p, !own_end);
	peer = own_end == initiator ? &ends->end[0] : &ends->end[1];
	if (!endpoint_link_local(addr))
		return 0;
	holder = link_holder(p, addr);
	if (holder && holder != LINK_NODE)
		return connection_holder(p, holder, peer);
	if (!holder && !(peer->flags & END_NODE))
		return 0;
	reason = connection_node(p, peer);
	peer->flags |= END_NODE;
	return reason;
}

/* Whether to ask the kernel's routes whether the destination is the node's. */
static __always_inline bool connection_may_be_local(const struct packet *p,
						    const struct bh_cached *found)
{
	return p->hook == BH_HOOK_FROM_ENDPOINT && !found->end[BH_INGRESS].ifindex &&
	       !p->key.scope && found->flags & BH_CACHED_SAY(BH_EGRESS) &&
	       !(found->flags & (BH_CACHED_SERVICE | BH_CACHED_TO_NODE)) && !packet_is_group(p);
}

/*
 * Evaluates a packet to an address that the node got after the maps were written. Policy is asked
 * about the address and about the node, since rules by `nodes` do not know the address.
 */
BPF_GLOBAL int connection_is_local(const struct packet *p, __u32 initiator, struct bh_cached *found)
{
	struct ends ends = {};

	if (!p || !found)
		return 0;
	found->reason = endpoint_resolve(packet_address_at(p, !initiator), p->generation,
					 &ends.end[BH_INGRESS]);
	if (found->reason || ends.end[BH_INGRESS].flags)
		return 0;
	found->reason = connection_here(p, initiator, &ends.end[BH_EGRESS]);
	if (found->reason || !policy_has(&ends.end[BH_EGRESS], BH_EGRESS))
		return 0;
	found->end[BH_INGRESS].proven = (__u16)p->now | 1;
	if (!p->local)
		found->reason = CONNECTION_ASKS_ROUTE;
	if (p->local != LOCAL_HERE)
		return 0;
	if (connection_denied(found, BH_EGRESS) &&
	    !connection_node_exempt(found->denied[BH_EGRESS], found->verdict[BH_EGRESS]))
		return 0;
	connection_unasked(found);
	found->flags |= BH_CACHED_TO_NODE;
	connection_mark_node(found);
	connection_mark_isolated(p, &ends.end[BH_EGRESS], found);
	found->reason = connection_node(p, &ends.end[BH_INGRESS]);
	ends.end[BH_INGRESS].flags |= END_NODE;
	connection_ask(p, &ends, connection_point(p, initiator), BH_EGRESS, found);
	return 0;
}

/* Notes that any MAC is right in the first packet of an endpoint whose MAC is not known
 * (anti_spoofing.h), unless the endpoint is on a bridge. Not inline, for the stack. */
static __noinline void connection_learns(struct bh_ct_end *end)
{
	__u32 changes = packet_changes();
	struct bh_iface *iface = endpoint_iface(end->ifindex);

	if (!(changes & 1) && iface && !iface->bridge &&
	    !(iface->flags & (BH_IFACE_MAC | BH_IFACE_L2)))
		ct_learns_from(end, changes);
}

/* Finds the ends and their verdicts in the maps, when the verdict cache does not have them. */
BPF_GLOBAL int connection_lookup(const struct packet *p, __u32 initiator, struct bh_cached *found)
{
	struct ends ends = {};

	if (!p || !found)
		return 0;
	*found = (struct bh_cached){.reason = connection_resolve(p, initiator, &ends)};
	if (!found->reason)
		found->reason = spoofing_link(p);
	if (!found->reason && unlikely(p->key.scope && p->version == 6))
		found->reason = connection_links(p, initiator, &ends);
	if (found->reason)
		return 0;
	connection_ask_both(p, &ends, connection_point(p, initiator), found);
	if (found->denied[BH_EGRESS])
		connection_mark_names(&ends.end[BH_EGRESS], found);
	if (connection_from_node(p, &ends.end[BH_EGRESS]))
		found->flags |= BH_CACHED_NODE;
	if (ends.end[BH_INGRESS].flags & END_SERVICES)
		found->flags |= BH_CACHED_SERVICE;
	if (ends.end[BH_EGRESS].flags & END_SERVICES)
		found->end[BH_EGRESS].proven |= END_SERVED;
	if (ends.end[BH_EGRESS].flags & END_NODE ||
	    (p->local == LOCAL_HERE && p->hook == BH_HOOK_FROM_ENDPOINT && p->from != initiator))
		found->flags |= BH_CACHED_MASK;
	if (ends.end[BH_INGRESS].flags & END_NODE)
		found->flags |= BH_CACHED_TO_NODE;
	found->by_mac = !!((ends.end[0].flags | ends.end[1].flags) & END_BY_MAC);
	found->by_hook = !!((ends.end[0].flags | ends.end[1].flags) & END_BY_HOOK);
	connection_end(&ends.end[0], &found->end[0]);
	connection_end(&ends.end[1], &found->end[1]);
	if (found->flags & (BH_CACHED_MASK | BH_CACHED_TO_NODE))
		connection_mark_node(found);
	if (ends.end[BH_INGRESS].ifindex && !spoofing_mac_known(ends.end[BH_INGRESS].mac))
		connection_learns(&found->end[BH_INGRESS]);
	if (found->end[BH_EGRESS].proven & END_OF_NODE)
		connection_mark_isolated(
			p,
			(p->hook == BH_HOOK_FROM_ENDPOINT) == (p->from == initiator) ? &ends.end[1]
										     : &ends.end[0],
			found);
	return 0;
}

/* Returns all that connection_lookup() and connection_translated() read besides the packet's
 * addresses, interfaces and hook. */
static __always_inline __u32 connection_context(const struct packet *p, const struct connection *c)
{
	return connection_point(p, c->initiator) |
	       (p->from == c->initiator ? 0 : BH_VERDICT_CACHE_REPLY) |
	       (unlikely(c->flags & BH_CT_NODE) ? BH_VERDICT_CACHE_NODE : 0) |
	       (unlikely(spoofing_asks_dhcp(p)) ? BH_VERDICT_CACHE_DHCP : 0) |
	       (unlikely(BH_CT_IS_HOOK(p->key.scope)) ? BH_VERDICT_CACHE_HERE : 0) |
	       (unlikely(p->hook == BH_HOOK_TO_ENDPOINT && p->local) ? BH_VERDICT_CACHE_LOCAL : 0);
}

/* Returns the endpoint at one end of the key, as found for this packet. */
static __always_inline const struct bh_ct_end *connection_at(const struct connection *c, __u32 end)
{
	return c->initiator == end ? &c->found.end[BH_EGRESS] : &c->found.end[BH_INGRESS];
}

/* Evaluates packets that the node translates: before the translation, or after it. */
static __always_inline void connection_translated(const struct packet *p, struct connection *c)
{
	struct bh_cached *found = &c->found;
	__u32 initiator = c->initiator;
	bool calls = (p->hook == BH_HOOK_FROM_ENDPOINT) == (p->from == initiator);

	if (!calls)
		found->flags &= ~BH_CACHED_SERVICE;
	if (found->flags & BH_CACHED_SERVICE)
		connection_service(p, initiator, found);
	/* The backend is not known, and policy does not deny all of the backends. */
	if (found->flags & BH_CACHED_SERVICE && p->told <= TOLD_NOTHING && !found->reason &&
	    !connection_denied(found, BH_EGRESS) && !connection_denied(found, BH_INGRESS))
		connection_service_node(p, initiator, found);
	if (calls && !found->reason && connection_may_be_local(p, found))
		connection_is_local(p, initiator, found);
	/* A connection that the node opened, or an endpoint to itself, is not masqueraded. */
	if (found->flags & BH_CACHED_MASK && !(found->flags & BH_CACHED_NODE) &&
	    !(c->flags & BH_CT_NODE) && !calls)
		connection_unmasquerade(p, initiator, found);
}

/* Returns the tag of the connection words. */
static __always_inline __u32 connection_tag(const struct packet *p, const struct connection *c)
{
	return bh_ct_bound(ct_tag(p), connection_at(c, 0)->ifindex, connection_at(c, 1)->ifindex);
}

/* Returns true if the cached answer depends on an answer of the kernel's routes that is too old. */
static __always_inline bool connection_is_old(const struct packet *p, const struct bh_cached *found)
{
	__u16 asked = found->end[BH_INGRESS].proven;

	return unlikely(asked) && (__u16)(p->now - asked) > CONNECTION_ROUTE_TICKS;
}

/* Lets a domain name allow the flow, or asks for the names. Not inline, for the stack. */
static __noinline int connection_by_name(struct packet *p, struct connection *c)
{
	struct bh_cached *found = &c->found;

	if (!p->named) {
		p->verdict[BH_EGRESS] = found->end[BH_EGRESS].ifindex;
		p->calls = c->initiator;
		found->reason = CONNECTION_ASKS_NAMES;
	} else if (p->named == NAMED_ALLOWS) {
		found->verdict[BH_EGRESS] = p->verdict[BH_EGRESS];
		found->flags &= ~BH_CACHED_AUDIT(1);
		if (unlikely(bh_verdict_audit(p->verdict[BH_EGRESS])))
			found->flags |= BH_CACHED_AUDIT(1);
		else
			found->denied[BH_EGRESS] = 0;
	}
	return found->reason;
}

/*
 * Lets a domain name that the initiator has learned allow what policy denies by the address alone.
 * The names of an address change at any time, so the verdict cache does not have their answer.
 */
static __always_inline int connection_name(struct packet *p, struct connection *c)
{
	if (likely(!(c->found.end[BH_EGRESS].proven & END_NAMES)) || c->found.reason ||
	    c->found.flags & BH_CACHED_SERVICE)
		return c->found.reason;
	return connection_by_name(p, c);
}

/* Fills c->found. @c has the initiator and, for a connection that has an entry, the flags. Returns
 * 0 or the reason to drop the packet. */
static __always_inline int connection_find(const struct packet *p, struct connection *c)
{
	__u32 changes = verdict_cache_changes(p), about = connection_context(p, c);

	/* The cache serves many connections. An answer of the kernel is about one connection, or
	 * about this moment. */
	if (p->told || !verdict_cache_find(p, changes, about, &c->found) ||
	    connection_is_old(p, &c->found)) {
		connection_lookup(p, c->initiator, &c->found);
		connection_translated(p, c);
		if (!p->told && !p->links && c->found.reason < BH_REASONS)
			/* `about` again: 6.1 has no room on the stack to keep it */
			verdict_cache_keep(p, changes, connection_context(p, c), &c->found);
	}
	return c->found.reason;
}

/* Returns true if an end's policy evaluates the connection. The ingress policy does not evaluate
 * what the node opens. */
static __always_inline bool connection_has_policy(const struct connection *c, __u32 role)
{
	return c->found.flags & BH_CACHED_SAY(role) &&
	       !(role == BH_INGRESS && c->flags & BH_CT_NODE);
}

/* Completes the event with the verdicts of ends that another packet, or another hook, has
 * evaluated. Their rules were counted then. */
static __always_inline void connection_recall(struct packet *p, const struct connection *c)
{
	if (!p->verdict[0] && connection_has_policy(c, 0))
		p->verdict[0] = c->found.verdict[0];
	if (!p->verdict[1] && connection_has_policy(c, 1))
		p->verdict[1] = c->found.verdict[1];
}

/* Returns true if the next packet of the same addresses and ports may be another initiator's: UDP
 * has no SYN, a SYN of SCTP is a datagram here, and what the kernel has forgotten, a TCP segment
 * without SYN begins anew. What comes from a Service's address by SCTP may be a reply. */
static __always_inline bool connection_keeps_asking(const struct packet *p,
						    const struct connection *c)
{
	if (p->protocol == IPPROTO_SCTP)
		return (connection_is_nodes(c) || c->found.end[BH_EGRESS].proven & END_SERVED) &&
		       !(c->found.flags & BH_CACHED_SERVICE);
	if (p->protocol == IPPROTO_TCP)
		return kernel_conntrack && c->found.end[BH_EGRESS].proven & END_ISOLATED;
	return kernel_conntrack && p->protocol == IPPROTO_UDP && connection_is_nodes(c);
}

/* Evaluates one end. Returns 0 or the reason to drop, and sets the connection word. */
static __always_inline int connection_evaluate(struct packet *p, const struct connection *c,
					       __u32 role, __u64 *word)
{
	__u32 flags = c->flags | BH_CT_ALLOW | (c->initiator ? BH_CT_INITIATOR : 0);
	int reason = 0;

	if (c->found.end[0].ifindex && c->found.end[1].ifindex)
		flags |= BH_CT_LOCAL;
	if (c->found.flags & BH_CACHED_SERVICE)
		flags |= BH_CT_SERVICE;
	if (c->found.by_mac)
		flags |= BH_CT_BY_MAC;
	if (connection_keeps_asking(p, c))
		flags |= BH_CT_ASKS;
	if (resolver_is(p, !c->initiator))
		flags |= BH_CT_DNS;
	if (connection_has_policy(c, role)) {
		reason = c->found.denied[role];
		p->verdict[role] = c->found.verdict[role];
		events_rule(c->found.verdict[role]);
	}
	if (reason && c->found.flags & BH_CACHED_AUDIT(role)) {
		packet_audited(p, reason);
		flags |= BH_CT_AUDIT;
		reason = 0;
	}
	if (reason) {
		p->enforced = true;
		flags &= ~BH_CT_ALLOW;
	}
	*word = bh_ct_word(p->generation, connection_tag(p, c), flags);
	return reason;
}

/* Returns true if this hook evaluates the ingress of a connection that opens, and not the
 * destination's own hook. */
static __always_inline bool connection_ends_here(const struct packet *p, const struct connection *c)
{
	__u32 ifindex = c->found.end[BH_INGRESS].ifindex;

	return p->hook != BH_HOOK_FROM_ENDPOINT || !ifindex || ifindex == p->ifindex;
}

static __always_inline bool connection_refuses(const struct connection *c, __u32 role)
{
	return connection_has_policy(c, role) && c->found.denied[role] &&
	       !(c->found.flags & BH_CACHED_AUDIT(role));
}

/*
 * Returns true if the kernel's conntrack says that the other end than @initiator opened the
 * connection. What an endpoint sends to the node is the reply to a call in the node's name only if
 * the caller's address is another one: the node is always reached.
 */
static __always_inline bool connection_is_reversed(const struct packet *p, __u32 initiator)
{
	if (p->told == TOLD_ORIGINAL)
		return p->from != initiator;
	return p->told == TOLD_REPLY && p->from == initiator &&
	       (p->hook != BH_HOOK_FROM_ENDPOINT || translation_masks(p));
}

/* Returns true if an endpoint replies to a caller who is behind an address of the node, and is not
 * the node, or receives what such a caller sends. */
static __noinline bool connection_serves_another(const struct packet *p)
{
	bool calls = p->told == TOLD_ORIGINAL && p->hook == BH_HOOK_TO_ENDPOINT && p->ingress &&
		     p->ingress != p->ifindex;
	__u32 caller_end = calls ? p->from : !p->from;
	struct end caller = {};
	struct bh_addr addr;

	if (!calls &&
	    (p->hook != BH_HOOK_FROM_ENDPOINT || p->told != TOLD_REPLY || !translation_masks(p)))
		return false;
	if (!translation_address(p, caller_end, caller_end, &addr))
		return false;
	return !local_is_loopback(p, &addr) &&
	       (endpoint_resolve(&addr, p->generation, &caller) || !(caller.flags & END_NODE));
}

/* Returns true if the kernel's conntrack names another initiator than the entry whose word it is:
 * the other end, or somebody behind the address of the node, which has opened the connection. */
static __always_inline bool connection_is_anothers(const struct packet *p, __u64 word)
{
	return word & BH_CT_ASKS && (connection_is_reversed(p, !!(word & BH_CT_INITIATOR)) ||
				     (word & BH_CT_NODE && connection_serves_another(p)));
}

/* Returns true if the packet may be, to the kernel, the reply to a call that policy denied: an
 * endpoint sends it to the node, or receives it from a Service's address. */
static __always_inline bool connection_may_be_reversed(const struct packet *p,
						       const struct connection *c)
{
	if (p->hook == BH_HOOK_FROM_ENDPOINT)
		return connection_is_nodes(c);
	return c->found.end[BH_EGRESS].proven & END_SERVED && !(c->found.flags & BH_CACHED_NODE);
}

/* Finds the ends of the connection that the packet would open. Returns true if it may not open:
 * then no entry is searched for. If the kernel calls the packet a reply, the call is evaluated, and
 * the packet opens nothing. */
static __always_inline bool connection_closed(struct packet *p, struct connection *c)
{
	c->initiator = connection_is_reversed(p, p->from) ? !p->from : p->from;
	c->flags = 0;
	if (connection_find(p, c) || connection_name(p, c) || c->initiator != p->from)
		return true;
	if (connection_may_be_reversed(p, c) && connection_can_ask(p)) {
		c->found.reason = CONNECTION_ASKS;
		return true;
	}
	c->flags = c->found.flags & BH_CACHED_NODE ? BH_CT_NODE : 0;
	return connection_refuses(c, BH_EGRESS) ||
	       (connection_ends_here(p, c) && connection_refuses(c, BH_INGRESS));
}

/* Evaluates the connection that connection_closed() found. Returns 0 or the reason to drop, and
 * sets the words. */
static __always_inline int connection_open(struct packet *p, const struct connection *c,
					   __u64 word[2])
{
	int reason = c->found.reason;

	if (!reason)
		reason = connection_evaluate(p, c, BH_EGRESS, &word[BH_EGRESS]);
	if (reason)
		return reason;
	p->confined = connection_is_confined(p, c);
	word[BH_INGRESS] = 0;
	if (connection_ends_here(p, c))
		return connection_evaluate(p, c, BH_INGRESS, &word[BH_INGRESS]);
	p->uncounted = true;
	return 0;
}

/* Evaluates the packet as connection_open() does, and keeps nothing of it. */
static __always_inline int connection_without_entry(struct packet *p, const struct connection *c)
{
	__u64 word[2];

	return connection_open(p, c, word);
}

/* Returns the share that a connection counts in: the initiator's if that is an endpoint or the
 * node, else the responder's. */
static __always_inline __u32 connection_share(const struct connection *c)
{
	if (c->found.end[BH_EGRESS].ifindex)
		return c->found.end[BH_EGRESS].ifindex;
	return c->flags & BH_CT_NODE ? BH_SHARE_NODE : c->found.end[BH_INGRESS].ifindex;
}

/* Returns the fate of a new connection for which the table has no room. Datagrams to and from the
 * node pass without an entry, each evaluated by itself; all else drops. */
static __always_inline int connection_without(const struct packet *p, const struct connection *c)
{
	return p->protocol != IPPROTO_TCP &&
			       (c->flags & BH_CT_NODE || c->found.flags & BH_CACHED_TO_NODE)
		       ? BH_PASS_NEW
		       : BH_DROP_SHARE;
}

struct words {
	__u64 word[2]; /* by enum bh_direction */
};

/* Evaluates a connection that may open, as connection_open() does. Returns BH_PASS_NEW or the
 * reason to drop. */
BPF_GLOBAL int connection_new(struct packet *p, const struct connection *c, struct words *words)
{
	int reason;

	if (!p || !c || !words)
		return BH_DROP_MAPS;
	reason = connection_open(p, c, words->word);
	return reason ? reason : BH_PASS_NEW;
}

/* Fills the slot that the packet's new connection has claimed. */
BPF_GLOBAL int connection_fill(const struct packet *p, const struct connection *c,
			       const struct words *words, __u32 place, __u32 state)
{
	struct bh_ct *ct = table_slot(place);

	if (!p || !c || !words || !ct)
		return 0;
	ct->verdict[0] = words->word[0];
	ct->verdict[1] = words->word[1];
	ct->end[0] = *connection_at(c, 0);
	ct->end[1] = *connection_at(c, 1);
	ct->end[0].proven = ct->end[1].proven = 0;
	ct->number[0] = ct->number[1] = 0;
	ct->answer = 0;
	ct->seen = p->now;
	if (p->hook == BH_HOOK_FROM_ENDPOINT)
		ct_set_source(ct, p);
	if (p->protocol == IPPROTO_TCP && state & BH_CT_HALF)
		WRITE_ONCE(*(p->from ? &ct->number[1] : &ct->number[0]), p->sequence);
	ct_commit(p, place, state);
	return 0;
}

/* Makes an entry of a connection that connection_new() has let open. @flags: of bh_ct.payer.
 * Returns false if the table has no place. */
static __always_inline bool connection_insert(const struct packet *p, const struct connection *c,
					      const struct words *words, __u32 state, __u32 flags)
{
	__u32 place = ct_claim(p, connection_share(c) | flags);

	if (place)
		connection_fill(p, c, words, place, state);
	return place;
}

/* Updates the state by a TCP segment. A RST or two FINs shorten the life of the entry; a segment
 * that cannot follow a true RST or FIN restores it. */
static __always_inline void connection_touch_tcp(const struct packet *p, struct bh_ct *ct)
{
	__u32 state = READ_ONCE(ct->state), set = 0, clear = BH_CT_DENIED | BH_CT_LOOK;

	if (!(p->tcp_flags & TCP_RST))
		clear |= BH_CT_RST;
	else if (state & BH_CT_HALF || ct_resets(p, ct))
		set = BH_CT_RST;
	if (p->tcp_flags & TCP_FIN)
		set |= BH_CT_FIN(p->from);
	else if (p->payload)
		clear |= BH_CT_FIN(p->from);
	ct_state(p, ct, set, clear);
	if (!(state & BH_CT_HALF) && (p->tcp_flags & (TCP_ACK | TCP_RST | TCP_SYN)) == TCP_ACK)
		ct_acknowledge(ct, p->from, p->acknowledged);
}

static __always_inline void connection_touch_datagram(const struct packet *p, struct bh_ct *ct)
{
	ct_state(p, ct, 0, BH_CT_DENIED | BH_CT_LOOK);
	ct_exchange(ct, ct_bound(p, ct->end), READ_ONCE(ct->state),
		    ct_sender(p, READ_ONCE(ct->verdict[BH_EGRESS])));
}

/* Updates age and state of a live entry by a packet. */
static __always_inline void connection_touch(const struct packet *p, struct bh_ct *ct)
{
	if (p->class != PACKET_FLOW)
		return;
	if (p->protocol == IPPROTO_TCP)
		connection_touch_tcp(p, ct);
	else
		connection_touch_datagram(p, ct);
	if (READ_ONCE(ct->seen) != p->now)
		WRITE_ONCE(ct->seen, p->now);
}

/* Notes in the entry that policy now denies a connection that it allowed before. */
static __always_inline void connection_deny(const struct packet *p, struct bh_ct *ct)
{
	if (READ_ONCE(ct->state) & BH_CT_DENIED)
		return;
	WRITE_ONCE(ct->seen, p->now);
	ct_state(p, ct, BH_CT_DENIED, 0);
}

/* Returns true if the endpoint at this hook is the initiator: nobody else is behind its address,
 * and conntrack has said who opened the connection before the entry is used (flow_is_of()). */
static __always_inline bool connection_is_own(const struct packet *p, const struct connection *c)
{
	return (p->hook == BH_HOOK_FROM_ENDPOINT) == (p->from == c->initiator);
}

/*
 * Returns 0 or the reason for which one end denies: by its stored word or, if that is not valid and
 * this hook @evaluates for that end, by a new evaluation.
 */
static __always_inline int connection_word(struct packet *p, struct bh_ct *ct,
					   const struct connection *c, __u32 role, bool evaluates)
{
	__u64 *stored = role ? &ct->verdict[1] : &ct->verdict[0];
	__u64 word = READ_ONCE(*stored), now = 0;
	int reason;

	if ((!(word & BH_CT_ASKS) || connection_is_own(p, c)) &&
	    (word & ~(__u64)BH_CT_FLAGS) == bh_ct_word(p->generation, connection_tag(p, c), 0)) {
		reason = role == BH_EGRESS ? BH_DROP_EGRESS : BH_DROP_INGRESS;
		if (!(word & BH_CT_ALLOW)) {
			p->enforced = true;
			return reason;
		}
		if (word & BH_CT_AUDIT)
			packet_audited(p, reason);
		return 0;
	}
	if (!evaluates)
		return 0;
	reason = connection_evaluate(p, c, role, &now);
	if (!reason || word)
		__sync_val_compare_and_swap(stored, word, now);
	/* An end that has never allowed the connection cannot end it now. */
	if (reason && word)
		connection_deny(p, ct);
	return reason;
}

/* Like connection_word(), for an end that may be evaluated at its own hook only: then *@whole
 * becomes false. */
static __always_inline int connection_side(struct packet *p, struct bh_ct *ct,
					   const struct connection *c, __u32 role, bool moved,
					   bool *whole)
{
	__u32 sender = p->reply ? BH_INGRESS : BH_EGRESS;
	bool evaluates =
		p->hook != BH_HOOK_FROM_ENDPOINT || role == sender || !c->found.end[role].ifindex;

	*whole &= evaluates;
	return connection_word(p, ct, c, role, evaluates || moved);
}

static __always_inline bool connection_moved(const struct bh_ct *ct, const struct connection *c)
{
	return ct->end[0].ifindex != connection_at(c, 0)->ifindex ||
	       ct->end[1].ifindex != connection_at(c, 1)->ifindex;
}

/* Returns true if an entry with other interfaces is another connection's: it was evaluated at the
 * active generation, or an end was identified by MAC or hook. Else the endpoint has moved. */
static __always_inline bool connection_is_others(const struct packet *p, const struct bh_ct *ct,
						 const struct connection *c)
{
	if (c->found.by_mac || c->found.by_hook || READ_ONCE(ct->verdict[BH_EGRESS]) & BH_CT_BY_MAC)
		return true;
	return p->generation && (bh_ct_generation(READ_ONCE(ct->verdict[0])) == p->generation ||
				 bh_ct_generation(READ_ONCE(ct->verdict[1])) == p->generation);
}

/*
 * Evaluates an ICMP error about a connection that the responder's hook has not let in yet. Of such
 * a connection only the initiator's packets were sent. The error changes nothing in the entry: its
 * words say which ends the connection itself has passed.
 */
static __always_inline int connection_early_error(struct packet *p, const struct connection *c)
{
	return p->reply ? connection_without_entry(p, c) : BH_DROP_UNRELATED;
}

/* Continues connection_again() after @c is found. */
BPF_GLOBAL int connection_go_on(struct packet *p, struct bh_ct *ct, struct connection *c)
{
	bool whole = true, opens, moved;
	int reason;

	if (!p || !ct || !c)
		return BH_DROP_MAPS;
	p->lives = READ_ONCE(ct->verdict[BH_EGRESS]) & BH_CT_ALLOW;
	reason = connection_name(p, c);
	if (reason)
		return reason;
	moved = connection_moved(ct, c);
	if (moved && connection_is_others(p, ct, c))
		return CONNECTION_OF_OTHERS;
	flow_cache_forget(p);
	opens = !READ_ONCE(ct->verdict[BH_INGRESS]);
	if (opens && p->class == PACKET_ICMP_ERROR)
		return connection_early_error(p, c);
	if (p->hook == BH_HOOK_TO_ENDPOINT && !p->reply && c->flags &&
	    !(c->found.flags & BH_CACHED_NODE))
		return BH_DROP_CLAIM;
	/* A change of policy has added, removed or moved an endpoint: both ends are evaluated
	 * again. */
	if (moved) {
		ct->end[0] = *connection_at(c, 0);
		ct->end[1] = *connection_at(c, 1);
		ct->end[0].proven = ct->end[1].proven = 0;
	}
	/* Written out: the verifier of 6.1 refuses a loop around these calls ("back-edge"). */
	reason = connection_side(p, ct, c, BH_EGRESS, moved, &whole);
	if (!reason)
		reason = connection_side(p, ct, c, BH_INGRESS, moved, &whole);
	if (event_rate && (reason || (whole && (opens || p->audit))))
		connection_recall(p, c);
	if (reason)
		return reason;
	p->confined = connection_is_confined(p, c);
	if (whole || !(READ_ONCE(ct->state) & BH_CT_DENIED))
		connection_touch(p, ct);
	if (!whole)
		p->uncounted = true;
	if (p->hook == BH_HOOK_FROM_ENDPOINT)
		ct_set_source(ct, p);
	return opens ? BH_PASS_NEW : BH_PASS_ESTABLISHED;
}

/* Returns true if both ends have allowed the connection at the active generation, at the same
 * interfaces. */
static __always_inline bool connection_unchanged(const struct packet *p, const struct bh_ct *ct,
						 __u64 *word)
{
	const struct ct_sight at = {p->hook, p->from, p->ifindex, p->ingress, p->mac_from};

	return ct_allowed(ct, bh_ct_word(p->generation, ct_tag(p), BH_CT_ALLOW), word) &&
	       ct_ends_match(ct->end, *word, &at) && !ct_is_anybody(p, ct) &&
	       !(READ_ONCE(ct->state) & BH_CT_DENIED);
}

/*
 * Evaluates again a connection to a Service's address, by its backend, which only the kernel knows.
 * If the kernel knows none, the caller's packet will get another backend and be evaluated there. A
 * reply then belongs to no evaluated connection and drops, unless this node made it.
 */
static __always_inline int connection_backend(const struct packet *p)
{
	if (connection_can_ask(p))
		return CONNECTION_ASKS;
	return p->reply && p->told != TOLD_REPLY && p->ingress ? BH_DROP_BACKEND : 0;
}

/* Returns true if the packet is a reply to a masqueraded initiator whom the kernel does not tell,
 * after a change of policy. Only the initiator's next packet tells, by the interface by which it
 * comes in. */
static __noinline bool connection_is_masked_reply(const struct packet *p, const struct bh_ct *ct)
{
	__u64 word = READ_ONCE(ct->verdict[BH_EGRESS]);

	return p->reply && p->protocol == IPPROTO_TCP && translation_is_silent(p) &&
	       !(word & BH_CT_NODE) && bh_ct_generation(word) != p->generation;
}

/* Returns true if the kernel may by now have chosen another backend for a call that was allowed,
 * beyond an interface without a hook. False where every interface is known to have a hook. */
static __always_inline bool connection_may_change_backend(const struct packet *p, __u64 word)
{
	return p->hook == BH_HOOK_FROM_ENDPOINT && word & BH_CT_SERVICE &&
	       p->links != LINKS_GUARDED;
}

/* Evaluates such a call by the backend that it has now. Not inline, for the stack. */
static __noinline int connection_evaluate_backend(struct packet *p, const struct connection *c)
{
	return connection_refuses(c, BH_EGRESS) ? connection_without_entry(p, c) : 0;
}

/* Returns true if the packet is a reply to a call by a Service's address, and the last packet of
 * the call was dropped where its backend showed (doubt.h). */
static __always_inline bool connection_is_doubted(const struct packet *p, const struct bh_ct *ct)
{
	return p->reply && p->hook == BH_HOOK_TO_ENDPOINT &&
	       unlikely(READ_ONCE(ct->state) & BH_CT_BACKEND);
}

/* Evaluates the call of such a reply by the backend that the kernel has named. A denial keeps
 * nothing: the kernel may choose another backend. Not inline, for the stack. */
static __noinline int connection_doubted(struct packet *p, struct bh_ct *ct,
					 const struct connection *c)
{
	if (connection_refuses(c, BH_EGRESS) || connection_refuses(c, BH_INGRESS))
		return connection_without_entry(p, c);
	ct_state(p, ct, 0, BH_CT_BACKEND);
	return 0;
}

/* Returns true if the packet is a RST of a caller whose last packet was dropped where its backend
 * showed. The kernel forgets the call by the RST, and tells nothing at the hook that would drop
 * it. */
static __always_inline bool connection_resets_doubted(const struct packet *p,
						      const struct bh_ct *ct)
{
	return p->protocol == IPPROTO_TCP && p->tcp_flags & TCP_RST && !p->reply &&
	       p->hook == BH_HOOK_FROM_ENDPOINT && READ_ONCE(ct->state) & BH_CT_BACKEND;
}

/* Returns true if the packet may be one that must not leave the node: the entry does not say so. */
static __always_inline bool connection_may_be_confined(const struct packet *p)
{
	return p->protocol == IPPROTO_SCTP && p->hook == BH_HOOK_FROM_ENDPOINT;
}

/* Evaluates a packet whose entry does not say all, after @c is found. Returns 0, a reason to drop,
 * or CONNECTION_ASKS. Not inline, for the stack. */
static __noinline int connection_unsure(struct packet *p, struct bh_ct *ct,
					const struct connection *c)
{
	int reason = 0;

	if (c->found.flags & BH_CACHED_SERVICE)
		reason = connection_backend(p);
	if (!reason && c->found.flags & BH_CACHED_MASK && connection_is_masked_reply(p, ct))
		reason = BH_DROP_BACKEND;
	if (!reason && p->links == LINKS_STRAY)
		reason = connection_evaluate_backend(p, c);
	if (!reason && connection_is_doubted(p, ct))
		reason = connection_doubted(p, ct, c);
	return reason;
}

/* Passes a packet whose entry says all. Returns CONNECTION_ASKS_LINKS where that depends on the
 * interfaces; 0: the packet is to be evaluated. Not inline, for the stack. */
static __noinline int connection_plain(struct packet *p, struct bh_ct *ct)
{
	__u64 word;

	if (!connection_unchanged(p, ct, &word) || connection_is_doubted(p, ct) ||
	    connection_may_be_confined(p))
		return 0;
	if (connection_may_change_backend(p, word))
		return p->links ? 0 : CONNECTION_ASKS_LINKS;
	if (!(READ_ONCE(ct->state) & BH_CT_HALF)) /* a half-open one is in no slot yet */
		flow_cache_forget(p);
	connection_touch(p, ct);
	p->uncounted = p->hook == BH_HOOK_FROM_ENDPOINT && word & BH_CT_LOCAL;
	return BH_PASS_ESTABLISHED;
}

/*
 * Evaluates a packet of a connection that has an entry, in either direction. If its words are of
 * another generation, evaluates both ends again, in the connection's original direction. Evaluates
 * a call to a Service by its present backend while an interface has no hook.
 */
BPF_GLOBAL int connection_again(struct packet *p, struct bh_ct *ct)
{
	struct connection c;
	__u64 word;
	int reason;

	if (!p || !ct)
		return BH_DROP_MAPS;
	word = READ_ONCE(ct->verdict[BH_EGRESS]);
	p->reply = ct_sender(p, word) == BH_INGRESS;
	reason = connection_resets_doubted(p, ct) ? BH_DROP_BACKEND : connection_plain(p, ct);
	if (reason)
		return reason;
	c.initiator = !!(word & BH_CT_INITIATOR);
	c.flags = word & BH_CT_NODE;
	if (word & BH_CT_ASKS && connection_can_ask(p))
		return CONNECTION_ASKS;
	reason = connection_find(p, &c);
	if (!reason)
		reason = connection_unsure(p, ct, &c);
	return reason ? reason : connection_go_on(p, ct, &c);
}

#endif
