/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What becomes of a packet that ct_established() did not settle: who its ends
 * are, what their policies say at the generation in force, and what conntrack
 * is to remember. Functions return an enum bh_reason.
 */
#ifndef BULKHEAD_KERN_CONNECTION_H
#define BULKHEAD_KERN_CONNECTION_H

#include "conntrack.h"
#include "events.h"
#include "policy.h"
#include "source.h"

/* A connection in its original direction; ends by enum bh_direction, [BH_EGRESS] opened it. */
struct connection {
	struct end end[2];
	__u32 initiator; /* end of the key */
	__u32 flags; /* BH_CT_NODE */
};

/* Bridged and link-local peers are who their MAC says. */
static __always_inline int connection_peer_mac(const struct packet *p, bool is_sender, bool bridged,
					       bool link_local, struct end *end)
{
	struct bh_mac_key key = {.kind = BH_MAC_ENDPOINT};
	struct bh_mac *mac;

	__builtin_memcpy(key.mac, is_sender ? p->mac_from : p->mac_to, sizeof(key.mac));
	mac = bpf_map_lookup_elem(&bh_macs, &key);
	if (!mac && link_local) {
		key.kind = BH_MAC_NODE;
		mac = bpf_map_lookup_elem(&bh_macs, &key);
	}
	if (mac)
		return endpoint_resolve(p->version == 4 ? &mac->ipv4 : &mac->ipv6, p->generation,
					end);
	/* Link-local traffic is not routed: beyond a link that is no bridge there is only the node.
	 */
	if (!bridged)
		end->flags |= END_NODE;
	return 0;
}

/* Link-local, multicast or foreign addresses: the endpoint of the interface answers for them. */
static __always_inline int connection_own(const struct packet *p, struct end *end)
{
	struct bh_iface *iface = endpoint_iface(p->ifindex);
	int reason;

	if (!iface)
		return BH_DROP_INTERFACE;
	reason =
		endpoint_resolve(p->version == 4 ? &iface->ipv4 : &iface->ipv6, p->generation, end);
	if (end->ifindex != p->ifindex &&
	    !endpoint_is_cover(end, p->version == 4 ? &iface->ipv4 : &iface->ipv6, p->ifindex))
		end->assignment = 0;
	end->flags = END_ENDPOINT;
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
	bridged = iface->flags & BH_IFACE_L2;
	return bridged || link_local ? connection_peer_mac(p, is_sender, bridged, link_local, end)
				     : 0;
}

/* Whose the packet's two addresses are; that its source may send it. */
CHECKED_ALONE int connection_resolve(const struct packet *p, struct connection *c)
{
	struct end *own, *peer;
	struct bh_addr addr;
	__u32 own_end;
	bool sending;
	int reason;

	if (!p || !c)
		return BH_DROP_MAPS;
	sending = p->hook == BH_HOOK_FROM_ENDPOINT;
	own_end = sending ? p->from : !p->from;
	own = own_end == c->initiator ? &c->end[1] : &c->end[0];
	peer = own_end == c->initiator ? &c->end[0] : &c->end[1];
	packet_address(p, own_end, &addr);
	reason = endpoint_resolve(&addr, p->generation, own);
	if (!reason && !endpoint_is_cover(own, &addr, p->ifindex)) {
		if (sending)
			reason = source_check(p, own);
		if (!reason && own->ifindex != p->ifindex)
			reason = connection_own(p, own);
	}
	if (reason)
		return reason;
	packet_address(p, !own_end, &addr);
	reason = endpoint_resolve(&addr, p->generation, peer);
	if (!reason && !(peer->flags & END_ENDPOINT))
		reason = connection_peer(p, &addr, !sending, peer);
	if (!reason && !sending)
		reason = source_claim(p, peer);
	return reason;
}

/* The node sent this: made here, with its address; or the endpoint's own, come back with it. */
static __always_inline bool connection_from_node(const struct packet *p, const struct end *source)
{
	return p->hook == BH_HOOK_TO_ENDPOINT && source->flags & END_NODE &&
	       (!p->ingress || p->ingress == p->ifindex);
}

static __always_inline __u32 connection_point(const struct packet *p, __u32 initiator)
{
	__u32 port = bpf_ntohs(packet_port(p, !initiator));

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

static __always_inline bool connection_audited(const struct end *end)
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

/* Whether the policy of one end has a say: of an endpoint of this node, towards another than itself. */
static __always_inline bool connection_has_say(const struct packet *p, const struct connection *c,
					       __u32 role)
{
	const struct end *subject = role ? &c->end[1] : &c->end[0];
	const struct end *peer = role ? &c->end[0] : &c->end[1];

	return p->generation && subject->ifindex && subject->ifindex != peer->ifindex &&
	       !(role == BH_INGRESS && c->flags & BH_CT_NODE);
}

/* Asks the policy of one end that has a say. */
static __always_inline int connection_ask(struct packet *p, const struct connection *c, __u32 role)
{
	const struct end *subject = role ? &c->end[1] : &c->end[0];
	const struct end *peer = role ? &c->end[0] : &c->end[1];
	__u32 verdict = 0;
	int reason =
		policy_verdict(subject, peer, role, connection_point(p, c->initiator), &verdict);

	if (!reason && !bh_verdict_allow(verdict))
		reason = role == BH_EGRESS ? BH_DROP_EGRESS : BH_DROP_INGRESS;
	if (role == BH_EGRESS && peer->flags & END_NODE &&
	    connection_node_exempt(reason, verdict)) {
		verdict = bh_verdict(true, BH_TIER_DEFAULT, 0);
		reason = 0;
	}
	if (role)
		p->verdict[1] = verdict;
	else
		p->verdict[0] = verdict;
	return reason;
}

/* For the event: what the ends said that were judged at another packet, or another hook. Their
 * rules were counted then. */
CHECKED_ALONE int connection_recall(struct packet *p, const struct connection *c)
{
	if (!p || !c)
		return 0;
	if (!p->verdict[BH_EGRESS] && connection_has_say(p, c, BH_EGRESS))
		connection_ask(p, c, BH_EGRESS);
	if (!p->verdict[BH_INGRESS] && connection_has_say(p, c, BH_INGRESS))
		connection_ask(p, c, BH_INGRESS);
	return 0;
}

/* Judges one end. Returns 0 or why it is denied, and the connection word. */
CHECKED_ALONE int connection_judge(struct packet *p, const struct connection *c, __u32 role,
				   __u64 *word)
{
	const struct end *subject, *peer;
	__u32 flags;
	int reason = 0;

	if (!p || !c || !word)
		return BH_DROP_MAPS;
	subject = role ? &c->end[1] : &c->end[0];
	peer = role ? &c->end[0] : &c->end[1];
	flags = c->flags | BH_CT_ALLOW | (c->initiator ? BH_CT_INITIATOR : 0);
	if (subject->ifindex && peer->ifindex)
		flags |= BH_CT_LOCAL;
	if (connection_has_say(p, c, role)) {
		reason = connection_ask(p, c, role);
		events_rule(role ? p->verdict[1] : p->verdict[0]);
	}
	if (reason && connection_audited(subject)) {
		p->audit = reason;
		flags |= BH_CT_AUDIT;
		reason = 0;
	}
	if (reason) {
		p->enforced = true;
		flags &= ~BH_CT_ALLOW;
	}
	*word = bh_ct_word(p->generation, ct_tag(p), flags);
	return reason;
}

static __always_inline void connection_end(struct bh_ct_end *to, const struct end *end)
{
	to->ifindex = end->ifindex;
	__builtin_memcpy(to->mac, end->mac, sizeof(to->mac));
}

/* Fills the entry of a connection that this packet opens. Returns 0 or why it may not. */
CHECKED_ALONE int connection_new(struct packet *p, struct bh_ct *ct)
{
	struct connection c = {};
	int reason;

	if (!p || !ct)
		return BH_DROP_MAPS;
	c.initiator = p->from;
	reason = connection_resolve(p, &c);
	if (reason)
		return reason;
	if (connection_from_node(p, &c.end[BH_EGRESS]))
		c.flags = BH_CT_NODE;
	reason = connection_judge(p, &c, BH_EGRESS, &ct->verdict[BH_EGRESS]);
	if (reason)
		return reason;
	if (p->hook == BH_HOOK_TO_ENDPOINT || !c.end[BH_INGRESS].ifindex ||
	    c.end[BH_INGRESS].ifindex == p->ifindex) {
		reason = connection_judge(p, &c, BH_INGRESS, &ct->verdict[BH_INGRESS]);
		if (reason)
			return reason;
	} else {
		p->uncounted = true;
	}
	connection_end(p->from ? &ct->end[1] : &ct->end[0], &c.end[BH_EGRESS]);
	connection_end(p->from ? &ct->end[0] : &ct->end[1], &c.end[BH_INGRESS]);
	if (p->hook == BH_HOOK_FROM_ENDPOINT)
		ct_comes_from(ct, p);
	ct->seen = p->now;
	ct->state = 0;
	return BH_PASS_NEW;
}

/* What a packet of a live entry does to its age and state. */
static __always_inline void connection_touch(const struct packet *p, struct bh_ct *ct)
{
	__u32 state = READ_ONCE(ct->state), next = state & ~BH_CT_DENIED;

	if (p->class != PACKET_FLOW)
		return;
	if (p->protocol == IPPROTO_TCP) {
		/* RST and FIN shorten its life; what could not follow a true one restores it. */
		if (p->tcp_flags & TCP_RST)
			next |= BH_CT_RST;
		else
			next &= ~BH_CT_RST;
		if (p->tcp_flags & TCP_FIN)
			next |= BH_CT_FIN(p->from);
		else if (p->payload)
			next &= ~BH_CT_FIN(p->from);
	}
	if (next != state)
		WRITE_ONCE(ct->state, next);
	if (READ_ONCE(ct->seen) != p->now)
		WRITE_ONCE(ct->seen, p->now);
}

/* Notes that a connection which was allowed is so no longer, from now on. */
static __always_inline void connection_deny(const struct packet *p, struct bh_ct *ct)
{
	__u32 state = READ_ONCE(ct->state);

	if (state & BH_CT_DENIED)
		return;
	WRITE_ONCE(ct->seen, p->now);
	WRITE_ONCE(ct->state, state | BH_CT_DENIED);
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

	if (ct_fresh(p, word)) {
		reason = role == BH_EGRESS ? BH_DROP_EGRESS : BH_DROP_INGRESS;
		if (!(word & BH_CT_ALLOW)) {
			p->enforced = true;
			return reason;
		}
		if (word & BH_CT_AUDIT)
			p->audit = reason;
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
					   const struct connection *c, __u32 role, bool *whole)
{
	__u32 sender = p->reply ? BH_INGRESS : BH_EGRESS;
	bool judges = p->hook == BH_HOOK_TO_ENDPOINT || role == sender || !c->end[role].ifindex;

	*whole &= judges;
	return connection_word(p, ct, c, role, judges);
}

/*
 * A packet of a connection that has an entry, in either direction. Words of
 * another generation are judged again, in the connection's original direction.
 */
CHECKED_ALONE int connection_again(struct packet *p, struct bh_ct *ct)
{
	struct connection c = {};
	bool whole = true, opens;
	__u32 sender;
	__u64 word;
	int reason;

	if (!p || !ct)
		return BH_DROP_MAPS;
	word = READ_ONCE(ct->verdict[BH_EGRESS]);
	c.initiator = !!(word & BH_CT_INITIATOR);
	c.flags = word & BH_CT_NODE;
	sender = ct_sender(p, word);
	opens = !READ_ONCE(ct->verdict[BH_INGRESS]);
	p->reply = sender == BH_INGRESS;
	reason = connection_resolve(p, &c);
	if (reason)
		return reason;
	if (p->hook == BH_HOOK_TO_ENDPOINT && sender == BH_EGRESS && c.flags &&
	    !connection_from_node(p, &c.end[BH_EGRESS]))
		return BH_DROP_CLAIM;
	/* No loop: 6.1 refuses one that comes back to behind a call ("back-edge"). */
	reason = connection_side(p, ct, &c, BH_EGRESS, &whole);
	if (!reason)
		reason = connection_side(p, ct, &c, BH_INGRESS, &whole);
	if (event_rate && (reason || (whole && (opens || p->audit))))
		connection_recall(p, &c);
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

#endif
