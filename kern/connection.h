/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What becomes of a packet that ct_established() did not settle: who its ends
 * are, what their policies say at the generation in force, and what conntrack
 * is to remember. Functions return an enum bh_reason.
 */
#ifndef BULKHEAD_KERN_CONNECTION_H
#define BULKHEAD_KERN_CONNECTION_H

#include "verdict_cache.h"
#include "conntrack.h"
#include "events.h"
#include "flow_cache.h"
#include "policy.h"
#include "service.h"
#include "anti_spoofing.h"

/* A connection in its original direction, as a packet of it shows it. */
struct connection {
	struct bh_cached found;
	__u16 initiator; /* end of the key */
	__u16 flags; /* BH_CT_NODE */
};

/* Internal: the entry is of other ends than the packet's at this hook. */
#define CONNECTION_OF_OTHERS BH_REASONS

/* Internal: once more, when the kernel's conntrack was asked about the packet (netfilter.h). */
#define CONNECTION_ASKS (BH_REASONS + 1)

/* Internal: once more, when the kernel's routes were asked whose the destination is (local.h). */
#define CONNECTION_ASKS_ROUTE (BH_REASONS + 2)

/* Internal: once more, when it is known whether every interface is guarded (links.h). */
#define CONNECTION_ASKS_LINKS (BH_REASONS + 3)
_Static_assert(CONNECTION_ASKS_LINKS < 64, "bh_cached.reason");

#define CONNECTION_ROUTE_TICKS 4 /* how long the answer counts: about a second */

/* By enum bh_direction, [BH_EGRESS] opened the connection. */
struct ends {
	struct end end[2];
};

/* Bridged and link-local peers whom no address names are who their MAC says. The node also sends on
 * what comes to its MAC on a bridge: there only its own addresses are the node's. */
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
	/* Link-local traffic is not routed: beyond a link that is no bridge there is only the node.
	 */
	if (!bridged)
		end->flags |= END_NODE;
	return 0;
}

/* Link-local, multicast or foreign addresses: the endpoint of the interface answers for them. */
static __always_inline int connection_own(const struct packet *p, struct end *end)
{
	int reason = endpoint_of(p->ifindex, p->version, p->generation, end);

	if (end->ifindex != p->ifindex && !(end->flags & END_COVER && end->cover == p->ifindex))
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

/* The address at this hook's end is none of the endpoint's. Of another's, the key is that one's
 * connection everywhere else. */
static __always_inline int connection_foreign(const struct packet *p, struct end *own)
{
	if (own->flags & END_ENDPOINT && !BH_CT_IS_HOOK(p->key.scope))
		return CONNECTION_OF_OTHERS;
	return connection_own(p, own);
}

/* Whose the packet's two addresses are; that its source may send it. */
BPF_GLOBAL int connection_resolve(const struct packet *p, __u32 initiator, struct ends *ends)
{
	struct end *own, *peer;
	const struct bh_addr *addr;
	__u32 own_end;
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
	if (!reason && !endpoint_is_cover(p, own, peer)) {
		if (sending)
			reason = spoofing_check(p, own);
		if (!reason && own->ifindex != p->ifindex)
			reason = connection_foreign(p, own);
	}
	if (reason)
		return reason;
	addr = packet_address_at(p, !own_end);
	reason = endpoint_resolve(addr, p->generation, peer);
	if (!reason && !(peer->flags & END_ENDPOINT))
		reason = connection_peer(p, addr, !sending, peer);
	if (!reason && !sending)
		reason = spoofing_claim(p, peer);
	return reason;
}

/* The node sent this: made here, with its address; or the endpoint's own, come back with it. */
static __always_inline bool connection_from_node(const struct packet *p, const struct end *source)
{
	if (p->hook == BH_HOOK_TO_ENDPOINT && p->local == LOCAL_HERE)
		return !(source->flags & END_ENDPOINT);
	return p->hook == BH_HOOK_TO_ENDPOINT && source->flags & END_NODE &&
	       (!p->ingress || p->ingress == p->ifindex);
}

static __always_inline __u32 connection_point_at(const struct packet *p, __u32 port)
{
	switch (p->protocol) {
	case IPPROTO_TCP:
		return BH_POINT_TCP + port;
	case IPPROTO_UDP:
		return BH_POINT_UDP + port;
	case IPPROTO_SCTP:
		return BH_POINT_SCTP + port;
	}
	return BH_POINT_OTHER;
}

static __always_inline __u32 connection_point(const struct packet *p, __u32 initiator)
{
	return connection_point_at(p, bpf_ntohs(packet_port(p, !initiator)));
}

static __noinline bool connection_audited(const struct end *end)
{
	struct bh_iface *iface = endpoint_iface(end->ifindex);

	return iface && iface->flags & BH_IFACE_AUDIT;
}

/* An endpoint reaches its own node whatever NetworkPolicies say. */
static __always_inline bool connection_node_exempt(int reason, __u32 verdict)
{
	return reason == BH_DROP_UNASSIGNED ||
	       (reason == BH_DROP_EGRESS && bh_verdict_tier(verdict) != BH_TIER_ADMIN &&
		bh_verdict_tier(verdict) != BH_TIER_BASELINE);
}

/* Asks the policy of one end, where it has a say: of an endpoint of this node, towards another than
 * itself. */
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
	if (!reason && !bh_verdict_allow(*verdict))
		reason = role == BH_EGRESS ? BH_DROP_EGRESS : BH_DROP_INGRESS;
	if (role == BH_EGRESS && peer->flags & END_NODE &&
	    connection_node_exempt(reason, *verdict)) {
		*verdict = bh_verdict(true, BH_TIER_DEFAULT, 0);
		reason = 0;
	}
	found->flags |= BH_CACHED_SAY(role);
	if (reason && connection_audited(subject))
		found->flags |= BH_CACHED_AUDIT(role);
	found->denied[role] = reason;
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

/* Forgets what policy said. */
static __always_inline void connection_unasked(struct bh_cached *found)
{
	found->flags &= BH_CACHED_SERVICE;
	found->verdict[0] = found->verdict[1] = 0;
	found->denied[0] = found->denied[1] = 0;
}

/* The endpoint of this hook, as connection_resolve() finds it; isolated while it comes or goes. */
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

/* Who stands behind one @which of the connection's ends, where the kernel has translated it.
 * Returns that one's port, and in *@found why it may not be; 0: nothing is known. By itself, for
 * the stack. */
static __noinline __u32 connection_told(const struct packet *p, __u32 initiator, __u32 which,
					struct end *end, struct bh_cached *found)
{
	struct bh_addr addr;
	__u32 port = translation_address(p, initiator, which, &addr);

	if (port)
		found->reason = endpoint_resolve(&addr, p->generation, end);
	return port;
}

/* Where the kernel cannot be asked, the endpoint of the interface that the packet came in by may
 * not do what the node may not, nor the node what that endpoint may not. */
static __noinline bool connection_by_ingress(const struct packet *p, const struct bh_cached *found,
					     struct end *end)
{
	struct bh_iface *iface;

	if (!translation_is_silent(p) || p->hook != BH_HOOK_TO_ENDPOINT ||
	    found->denied[BH_INGRESS])
		return false;
	iface = endpoint_iface(p->ingress);
	return iface && iface->flags & BH_IFACE_ENDPOINT &&
	       !endpoint_of(p->ingress, p->version, p->generation, end);
}

/*
 * The node's address may stand for who made the connection: a NodePort, or another way of
 * masquerading. The kernel knows who it is, and policy is asked about that one.
 */
BPF_GLOBAL int connection_unmask(const struct packet *p, __u32 initiator, struct bh_cached *found)
{
	struct ends ends = {};

	if (!p || !found)
		return 0;
	if (!connection_told(p, initiator, initiator, &ends.end[BH_EGRESS], found)) {
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
	/* An answer of TCP opens nothing, and shows the node alone: unless the kernel tells whose
	 * it is, the node stays the end. */
	if (p->told > TOLD_NOTHING || p->protocol != IPPROTO_TCP)
		connection_end(&ends.end[BH_EGRESS], &found->end[BH_EGRESS]);
	return 0;
}

#define NO_POINT 0xffffffffu

/*
 * Nothing tells which backend an endpoint calls, so it is judged where the backend shows: unless
 * that is beyond an interface that has no hook yet. Returns 0 or why the call does not pass.
 */
static __noinline int connection_shows(const struct packet *p, const struct end *caller)
{
	struct bh_segment *segment = policy_segment(caller->assignment);

	if (segment && !(segment->flags & BH_SEGMENT_POLICY(BH_EGRESS)))
		return 0;
	if (!p->links)
		return CONNECTION_ASKS_LINKS;
	return p->links == LINKS_STRAY ? BH_DROP_UNHOOKED : 0;
}

/*
 * An endpoint calls what may be a Service's address (BH_CACHED_SERVICE): what policy says of the
 * backend that the kernel names, else of all backends, where they are the same to it.
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
	if (at && at->flags & BH_SERVICE_CLOSED)
		found->reason = BH_DROP_BACKEND;
	if (found->reason)
		return 0;
	point = service_shared(p, at, &ends.end[BH_EGRESS], &ends.end[BH_INGRESS]) ? at->point
										   : NO_POINT;
	port = connection_told(p, initiator, !initiator, &ends.end[BH_INGRESS], found);
	if (port)
		point = connection_point_at(p, port);
	if (point != NO_POINT)
		connection_ask_both(p, &ends, point, found);
	else
		found->reason = connection_shows(p, &ends.end[BH_EGRESS]);
	return 0;
}

/*
 * What may end on this node itself, where no hook is: a Service's own address, where it is the
 * node's, or a backend that is. The caller's policy may deny it, by `nodes` or `networks`. Where
 * nothing does, no end has had a say yet: it is judged, and counted, where the backend shows.
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
	if (!found->denied[BH_EGRESS])
		connection_unasked(found);
	return 0;
}

/* The endpoint whose link-local address it is, whatever the frame's MAC says. */
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

/* The node, as those of its addresses are that its Node object names. By itself, for the stack. */
static __noinline int connection_node(const struct packet *p, struct end *node)
{
	struct bh_mac_key key = {.kind = BH_MAC_NODE};
	struct bh_iface *iface = endpoint_iface(p->ifindex);
	struct bh_mac *mac;

	if (!iface)
		return BH_DROP_INTERFACE;
	__builtin_memcpy(key.mac, iface->node_mac, sizeof(key.mac));
	mac = bpf_map_lookup_elem(&bh_macs, &key);
	return mac ? endpoint_resolve(p->version == 4 ? &mac->ipv4 : &mac->ipv6, p->generation,
				      node)
		   : 0;
}

/* What connection_resolve() and spoofing_link() leave: link-local addresses that are known to be
 * somebody's on the link. By itself, for the stack. */
static __noinline int connection_links(const struct packet *p, __u32 initiator, struct ends *ends)
{
	__u32 own_end = p->hook == BH_HOOK_FROM_ENDPOINT ? p->from : !p->from, holder;
	const struct bh_addr *addr = packet_address_at(p, own_end);
	struct end *peer;
	int reason;

	if (endpoint_link_local(addr) && !BH_CT_IS_HOOK(p->key.scope) && link_taken(p, addr))
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

/* Whether the destination may be the node's. */
static __always_inline bool connection_may_stay(const struct packet *p,
						const struct bh_cached *found)
{
	return p->hook == BH_HOOK_FROM_ENDPOINT && !found->end[BH_INGRESS].ifindex &&
	       !p->key.scope && found->flags & BH_CACHED_SAY(BH_EGRESS) &&
	       !(found->flags & (BH_CACHED_SERVICE | BH_CACHED_TO_NODE)) && !packet_is_group(p);
}

/*
 * An endpoint calls an address that is the node's, and has come since the maps were written: policy
 * is asked of the address and, since rules by `nodes` do not know it, of the node.
 */
BPF_GLOBAL int connection_stays(const struct packet *p, __u32 initiator, struct bh_cached *found)
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
	if (found->denied[BH_EGRESS] &&
	    !connection_node_exempt(found->denied[BH_EGRESS], found->verdict[BH_EGRESS]))
		return 0;
	connection_unasked(found);
	found->flags |= BH_CACHED_TO_NODE;
	found->reason = connection_node(p, &ends.end[BH_INGRESS]);
	ends.end[BH_INGRESS].flags |= END_NODE;
	connection_ask(p, &ends, connection_point(p, initiator), BH_EGRESS, found);
	return 0;
}

/* Finds out, from the maps that the command writes, what is not in the cache. */
BPF_GLOBAL int connection_look(const struct packet *p, __u32 initiator, struct bh_cached *found)
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
	if (connection_from_node(p, &ends.end[BH_EGRESS]))
		found->flags |= BH_CACHED_NODE;
	if (ends.end[BH_INGRESS].flags & END_SERVICES)
		found->flags |= BH_CACHED_SERVICE;
	if (ends.end[BH_EGRESS].flags & END_NODE)
		found->flags |= BH_CACHED_MASK;
	if (ends.end[BH_INGRESS].flags & END_NODE)
		found->flags |= BH_CACHED_TO_NODE;
	found->by_mac = !!((ends.end[0].flags | ends.end[1].flags) & END_BY_MAC);
	found->by_hook = !!((ends.end[0].flags | ends.end[1].flags) & END_BY_HOOK);
	connection_end(&ends.end[0], &found->end[0]);
	connection_end(&ends.end[1], &found->end[1]);
	return 0;
}

static __always_inline __u32 connection_about(const struct packet *p, __u32 initiator)
{
	return connection_point(p, initiator) |
	       (p->from == initiator ? 0 : BH_VERDICT_CACHE_REPLY) |
	       (unlikely(spoofing_asks_dhcp(p)) ? BH_VERDICT_CACHE_DHCP : 0) |
	       (unlikely(BH_CT_IS_HOOK(p->key.scope)) ? BH_VERDICT_CACHE_HERE : 0) |
	       (unlikely(p->hook == BH_HOOK_TO_ENDPOINT && p->local) ? BH_VERDICT_CACHE_LOCAL : 0);
}

/* The endpoint at one end of the key, as the packet shows it. */
static __always_inline const struct bh_ct_end *connection_at(const struct connection *c, __u32 end)
{
	return c->initiator == end ? &c->found.end[BH_EGRESS] : &c->found.end[BH_INGRESS];
}

/* What the node translates is not yet what it will be, or no longer what it was. */
static __always_inline void connection_translated(const struct packet *p, struct connection *c)
{
	struct bh_cached *found = &c->found;
	__u32 initiator = c->initiator;
	bool calls = (p->hook == BH_HOOK_FROM_ENDPOINT) == (p->from == initiator);

	if (!calls)
		found->flags &= ~BH_CACHED_SERVICE;
	if (found->flags & BH_CACHED_SERVICE)
		connection_service(p, initiator, found);
	/* As it was asked: neither by its backend, nor denied whatever that is. */
	if (found->flags & BH_CACHED_SERVICE && p->told <= TOLD_NOTHING && !found->reason &&
	    !found->denied[BH_EGRESS] && !found->denied[BH_INGRESS])
		connection_service_node(p, initiator, found);
	if (calls && !found->reason && connection_may_stay(p, found))
		connection_stays(p, initiator, found);
	/* What the node itself has opened, or an endpoint to itself, is in nobody's place. */
	if (found->flags & BH_CACHED_MASK && !(found->flags & BH_CACHED_NODE) &&
	    !(c->flags & BH_CT_NODE) && !calls)
		connection_unmask(p, initiator, found);
}

/* The tag of words about it. */
static __always_inline __u32 connection_tag(const struct packet *p, const struct connection *c)
{
	return bh_ct_bound(ct_tag(p), connection_at(c, 0)->ifindex, connection_at(c, 1)->ifindex);
}

/* Whether what was kept hangs on what the kernel's routes said a while ago. */
static __always_inline bool connection_is_old(const struct packet *p, const struct bh_cached *found)
{
	__u16 asked = found->end[BH_INGRESS].proven;

	return unlikely(asked) && (__u16)(p->now - asked) > CONNECTION_ROUTE_TICKS;
}

/* Fills c->found; c->flags: of a connection that is known. Returns 0 or why such a packet may not
 * be. */
static __always_inline int connection_find(const struct packet *p, struct connection *c)
{
	__u32 changes = verdict_cache_changes(p), about = connection_about(p, c->initiator);

	/* The cache serves many connections; the kernel's answer is of one alone, or of now. */
	if (p->told || !verdict_cache_find(p, changes, about, &c->found) ||
	    connection_is_old(p, &c->found)) {
		connection_look(p, c->initiator, &c->found);
		connection_translated(p, c);
		if (!p->told && !p->links && c->found.reason < BH_REASONS)
			verdict_cache_keep(p, changes, about, &c->found);
	}
	return c->found.reason;
}

/* Nothing that the node itself opens is asked for at its destination. */
static __always_inline bool connection_has_say(const struct connection *c, __u32 role)
{
	return c->found.flags & BH_CACHED_SAY(role) &&
	       !(role == BH_INGRESS && c->flags & BH_CT_NODE);
}

/* For the event: what the ends said that were judged at another packet, or another hook. Their
 * rules were counted then. */
static __always_inline void connection_recall(struct packet *p, const struct connection *c)
{
	if (!p->verdict[0] && connection_has_say(c, 0))
		p->verdict[0] = c->found.verdict[0];
	if (!p->verdict[1] && connection_has_say(c, 1))
		p->verdict[1] = c->found.verdict[1];
}

/* Judges one end. Returns 0 or why it is denied, and the connection word. */
static __always_inline int connection_judge(struct packet *p, const struct connection *c,
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
	if (connection_has_say(c, role)) {
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

/* Whether the ingress of a connection that opens is judged at this hook, and not at its own. */
static __always_inline bool connection_ends_here(const struct packet *p, const struct connection *c)
{
	__u32 ifindex = c->found.end[BH_INGRESS].ifindex;

	return p->hook != BH_HOOK_FROM_ENDPOINT || !ifindex || ifindex == p->ifindex;
}

static __always_inline bool connection_refuses(const struct connection *c, __u32 role)
{
	return connection_has_say(c, role) && c->found.denied[role] &&
	       !(c->found.flags & BH_CACHED_AUDIT(role));
}

/* Finds what the packet would open, and whether it may not, so that no entry need be asked for. */
static __always_inline bool connection_closed(const struct packet *p, struct connection *c)
{
	c->initiator = p->from;
	c->flags = 0;
	if (connection_find(p, c))
		return true;
	c->flags = c->found.flags & BH_CACHED_NODE ? BH_CT_NODE : 0;
	return connection_refuses(c, BH_EGRESS) ||
	       (connection_ends_here(p, c) && connection_refuses(c, BH_INGRESS));
}

/* Judges what connection_closed() found. Returns 0 or why it may not open, and the words. */
static __always_inline int connection_open(struct packet *p, const struct connection *c,
					   __u64 word[2])
{
	int reason = c->found.reason;

	if (!reason)
		reason = connection_judge(p, c, BH_EGRESS, &word[BH_EGRESS]);
	if (reason)
		return reason;
	word[BH_INGRESS] = 0;
	if (connection_ends_here(p, c))
		return connection_judge(p, c, BH_INGRESS, &word[BH_INGRESS]);
	p->uncounted = true;
	return 0;
}

static __always_inline int connection_drop(struct packet *p, const struct connection *c)
{
	__u64 word[2];

	return connection_open(p, c, word);
}

/* The share that a connection counts in: the caller's; of TCP from the node, the node's; else the
 * called endpoint's inward one. */
static __always_inline __u32 connection_payer(const struct packet *p, const struct connection *c)
{
	if (c->found.end[BH_EGRESS].ifindex)
		return c->found.end[BH_EGRESS].ifindex;
	if (c->flags & BH_CT_NODE && p->protocol == IPPROTO_TCP)
		return BH_SHARE_NODE;
	return c->found.end[BH_INGRESS].ifindex | BH_SHARE_INWARD;
}

/* A new connection that no entry was to be had for: only to the node and from it may it go on
 * without one, each of its packets judged by itself. */
static __always_inline int connection_without(const struct packet *p, const struct connection *c)
{
	return p->protocol != IPPROTO_TCP &&
			       (c->flags & BH_CT_NODE || c->found.flags & BH_CACHED_TO_NODE)
		       ? BH_PASS_NEW
		       : BH_DROP_SHARE;
}

/* Fills the entry of what is not closed. Returns BH_PASS_NEW. */
BPF_GLOBAL int connection_new(struct packet *p, const struct connection *c, struct bh_ct *ct)
{
	int reason;

	if (!p || !c || !ct)
		return BH_DROP_MAPS;
	reason = connection_open(p, c, ct->verdict);
	if (reason)
		return reason;
	ct->end[0] = *connection_at(c, 0);
	ct->end[1] = *connection_at(c, 1);
	ct->end[0].proven = ct->end[1].proven = 0;
	ct->number[0] = ct->number[1] = 0;
	ct->payer = connection_payer(p, c);
	ct->answer = 0;
	if (p->hook == BH_HOOK_FROM_ENDPOINT)
		ct_comes_from(ct, p);
	ct->seen = p->now;
	ct->state = 0;
	return BH_PASS_NEW;
}

/* What a TCP segment does to the state: RST and FIN shorten its life, and what could not follow a
 * true one restores it. */
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
	ct_state(ct, set, clear);
	if (!(state & BH_CT_HALF) && (p->tcp_flags & (TCP_ACK | TCP_RST | TCP_SYN)) == TCP_ACK)
		ct_acknowledge(ct, p->from, p->acknowledged);
}

/* What a packet of a live entry does to its age and state. */
static __always_inline void connection_touch(const struct packet *p, struct bh_ct *ct)
{
	if (p->class != PACKET_FLOW)
		return;
	if (p->protocol == IPPROTO_TCP)
		connection_touch_tcp(p, ct);
	else
		ct_state(ct, 0, BH_CT_DENIED | BH_CT_LOOK);
	if (READ_ONCE(ct->seen) != p->now)
		WRITE_ONCE(ct->seen, p->now);
}

/* Notes that a connection which was allowed is so no longer, from now on. */
static __always_inline void connection_deny(const struct packet *p, struct bh_ct *ct)
{
	if (READ_ONCE(ct->state) & BH_CT_DENIED)
		return;
	WRITE_ONCE(ct->seen, p->now);
	ct_state(ct, BH_CT_DENIED, 0);
}

/*
 * One end's word, as it stands or, where this hook @judges for that end, anew.
 * Returns 0 or why that end denies.
 */
static __always_inline int connection_word(struct packet *p, struct bh_ct *ct,
					   const struct connection *c, __u32 role, bool judges)
{
	__u64 *stored = role ? &ct->verdict[1] : &ct->verdict[0];
	__u64 word = READ_ONCE(*stored), now = 0;
	int reason;

	if ((word & ~(__u64)BH_CT_FLAGS) == bh_ct_word(p->generation, connection_tag(p, c), 0)) {
		reason = role == BH_EGRESS ? BH_DROP_EGRESS : BH_DROP_INGRESS;
		if (!(word & BH_CT_ALLOW)) {
			p->enforced = true;
			return reason;
		}
		if (word & BH_CT_AUDIT)
			packet_audited(p, reason);
		return 0;
	}
	if (!judges)
		return 0;
	reason = connection_judge(p, c, role, &now);
	if (!reason || word)
		__sync_val_compare_and_swap(stored, word, now);
	/* What an end has never consented to was no connection that it could now deny. */
	if (reason && word)
		connection_deny(p, ct);
	return reason;
}

/* The same where @role may be the other end's: then its own hook judges it, and @whole is false. */
static __always_inline int connection_side(struct packet *p, struct bh_ct *ct,
					   const struct connection *c, __u32 role, bool moved,
					   bool *whole)
{
	__u32 sender = p->reply ? BH_INGRESS : BH_EGRESS;
	bool judges =
		p->hook != BH_HOOK_FROM_ENDPOINT || role == sender || !c->found.end[role].ifindex;

	*whole &= judges;
	return connection_word(p, ct, c, role, judges || moved);
}

static __always_inline bool connection_moved(const struct bh_ct *ct, const struct connection *c)
{
	return ct->end[0].ifindex != connection_at(c, 0)->ifindex ||
	       ct->end[1].ifindex != connection_at(c, 1)->ifindex;
}

/* Whether the entry is of other ends: what policy says of these at the generation in force stands
 * in it, or a frame has said who they are. Endpoints whose address is known come and go. */
static __always_inline bool connection_is_others(const struct packet *p, const struct bh_ct *ct,
						 const struct connection *c)
{
	if (c->found.by_mac || c->found.by_hook || READ_ONCE(ct->verdict[BH_EGRESS]) & BH_CT_BY_MAC)
		return true;
	return p->generation && (bh_ct_generation(READ_ONCE(ct->verdict[0])) == p->generation ||
				 bh_ct_generation(READ_ONCE(ct->verdict[1])) == p->generation);
}

/* The rest of connection_again(), for which @c is found. */
BPF_GLOBAL int connection_go_on(struct packet *p, struct bh_ct *ct, const struct connection *c)
{
	bool whole = true, opens, moved;
	int reason;

	if (!p || !ct || !c)
		return BH_DROP_MAPS;
	moved = connection_moved(ct, c);
	if (moved && connection_is_others(p, ct, c))
		return CONNECTION_OF_OTHERS;
	flow_cache_forget(p);
	opens = !READ_ONCE(ct->verdict[BH_INGRESS]);
	if (p->hook == BH_HOOK_TO_ENDPOINT && !p->reply && c->flags &&
	    !(c->found.flags & BH_CACHED_NODE))
		return BH_DROP_CLAIM;
	/* An endpoint has come, gone or moved by a change of policy: both ends are judged again. */
	if (moved) {
		ct->end[0] = *connection_at(c, 0);
		ct->end[1] = *connection_at(c, 1);
	}
	/* No loop: 6.1 refuses one that comes back to behind a call ("back-edge"). */
	reason = connection_side(p, ct, c, BH_EGRESS, moved, &whole);
	if (!reason)
		reason = connection_side(p, ct, c, BH_INGRESS, moved, &whole);
	if (event_rate && (reason || (whole && (opens || p->audit))))
		connection_recall(p, c);
	if (reason)
		return reason;
	if (whole || !(READ_ONCE(ct->state) & BH_CT_DENIED))
		connection_touch(p, ct);
	if (!whole)
		p->uncounted = true;
	if (p->hook == BH_HOOK_FROM_ENDPOINT)
		ct_comes_from(ct, p);
	return opens ? BH_PASS_NEW : BH_PASS_ESTABLISHED;
}

/* Whether both ends have allowed it at the generation in force, and are where they were then. */
static __always_inline bool connection_unchanged(const struct packet *p, const struct bh_ct *ct,
						 __u64 *word)
{
	const struct ct_sight at = {p->hook, p->from, p->ifindex, p->ingress, p->mac_from};

	return ct_allowed(ct, bh_ct_word(p->generation, ct_tag(p), BH_CT_ALLOW), word) &&
	       ct_ends_match(ct->end, *word, &at) && !ct_is_anybody(p, ct) &&
	       !(READ_ONCE(ct->state) & BH_CT_DENIED);
}

/*
 * A connection to a Service's address that is to be judged again: by its backend, of which only the
 * kernel knows. Where that knows none, the caller's packet will have another, and be judged by
 * that; a reply is of none that anyone has judged, unless this node itself made it.
 */
static __always_inline int connection_backend(const struct packet *p)
{
	if (connection_can_ask(p))
		return CONNECTION_ASKS;
	return p->reply && p->told != TOLD_REPLY && p->ingress ? BH_DROP_BACKEND : 0;
}

/* Whether the packet answers somebody in whose place the node is, of whom nothing tells, after a
 * change of policy: only that one's next packet does, by the interface that it comes in by. */
static __noinline bool connection_is_masked_reply(const struct packet *p, const struct bh_ct *ct)
{
	__u64 word = READ_ONCE(ct->verdict[BH_EGRESS]);

	return p->reply && p->protocol == IPPROTO_TCP && translation_is_silent(p) &&
	       !(word & BH_CT_NODE) && bh_ct_generation(word) != p->generation;
}

/* Whether the kernel may by now choose another backend for a call that was allowed, beyond an
 * interface without a hook: as far as is known. */
static __always_inline bool connection_may_stray(const struct packet *p, __u64 word)
{
	return p->hook == BH_HOOK_FROM_ENDPOINT && word & BH_CT_SERVICE &&
	       p->links != LINKS_GUARDED;
}

/* What policy says of the backend that such a call has now. By itself, for the stack. */
static __noinline int connection_strays(struct packet *p, const struct connection *c)
{
	return connection_refuses(c, BH_EGRESS) ? connection_drop(p, c) : 0;
}

/*
 * A packet of a connection that has an entry, in either direction. Words of
 * another generation are judged again, in the connection's original direction; and calls to a
 * Service, while an interface has no hook, by the backend that they have now.
 */
BPF_GLOBAL int connection_again(struct packet *p, struct bh_ct *ct)
{
	struct connection c;
	bool unchanged;
	__u64 word;
	int reason;

	if (!p || !ct)
		return BH_DROP_MAPS;
	unchanged = connection_unchanged(p, ct, &word);
	if (unchanged && connection_may_stray(p, word)) {
		if (!p->links)
			return CONNECTION_ASKS_LINKS;
		unchanged = false;
	}
	if (unchanged) {
		if (!(READ_ONCE(ct->state) & BH_CT_HALF)) /* else it is in no slot yet */
			flow_cache_forget(p);
		connection_touch(p, ct);
		p->uncounted = p->hook == BH_HOOK_FROM_ENDPOINT && word & BH_CT_LOCAL;
		return BH_PASS_ESTABLISHED;
	}
	c.initiator = !!(word & BH_CT_INITIATOR);
	c.flags = word & BH_CT_NODE;
	p->reply = ct_sender(p, word) == BH_INGRESS;
	reason = connection_find(p, &c);
	if (!reason && c.found.flags & BH_CACHED_SERVICE)
		reason = connection_backend(p);
	if (!reason && c.found.flags & BH_CACHED_MASK && connection_is_masked_reply(p, ct))
		reason = BH_DROP_BACKEND;
	if (!reason && p->links == LINKS_STRAY)
		reason = connection_strays(p, &c);
	return reason ? reason : connection_go_on(p, ct, &c);
}

#endif
