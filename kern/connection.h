/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds a connection in its original direction, as one of its packets shows it: its ends, and the
 * verdicts of their policies at the active generation. Functions return an enum bh_reason, or an
 * internal reason of address_owner.h.
 */
#ifndef BULKHEAD_KERN_CONNECTION_H
#define BULKHEAD_KERN_CONNECTION_H

#include "nat.h"
#include "resolver.h"
#include "verdict_cache.h"

/* A connection in its original direction, as found from one of its packets. */
struct connection {
	struct bh_cached found;
	__u16 initiator; /* end of the key */
	__u16 flags; /* BH_CT_NODE, BH_CT_BY_INGRESS */
};

#define CONNECTION_ROUTE_TICKS 4 /* how long an answer of the routes counts: about a second */

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

/* Returns true if the packet came in by an interface of endpoints, with an address that none of
 * them may send from: the node may have put it there, and have got it after the maps were written.
 */
static __noinline bool connection_hides(const struct packet *p, const struct end *source)
{
	struct bh_iface *iface;
	struct bh_addr addr;

	if (p->hook != BH_HOOK_TO_ENDPOINT || source->flags & END_ENDPOINT ||
	    p->ingress == p->ifindex)
		return false;
	iface = endpoint_iface(p->ingress);
	if (!iface || !(iface->flags & (BH_IFACE_ENDPOINT | BH_IFACE_VIA)))
		return false;
	packet_address(p, p->from, &addr);
	return !(iface->flags & BH_IFACE_ALLOW_SOURCE && endpoint_allows_source(p->ingress, &addr));
}

/* Finds the ends and their verdicts in the maps, when the verdict cache does not have them. */
BPF_GLOBAL int connection_lookup(const struct packet *p, __u32 initiator, struct bh_cached *found)
{
	struct ends ends = {};

	if (!p || !found)
		return 0;
	*found = (struct bh_cached){.reason = owner_resolve(p, initiator, &ends)};
	if (!found->reason)
		found->reason = spoofing_link(p);
	if (!found->reason && unlikely(p->key.scope && p->version == 6))
		found->reason = owner_links(p, initiator, &ends);
	if (found->reason)
		return 0;
	policy_ask_both(p, &ends, policy_point(p, initiator), found);
	if (found->denied[BH_EGRESS])
		policy_mark_names(&ends.end[BH_EGRESS], found);
	if (owner_from_node(p, &ends.end[BH_EGRESS]))
		found->flags |= BH_CACHED_NODE;
	if (ends.end[BH_INGRESS].flags & END_SERVICES)
		found->flags |= BH_CACHED_SERVICE;
	if (ends.end[BH_EGRESS].flags & END_SERVICES)
		found->end[BH_EGRESS].proven |= END_SERVED;
	if (ends.end[BH_EGRESS].flags & END_NODE ||
	    (p->local == LOCAL_HERE && p->hook == BH_HOOK_FROM_ENDPOINT && p->from != initiator))
		found->flags |= BH_CACHED_MASK;
	if (p->from == initiator && connection_hides(p, &ends.end[BH_EGRESS]))
		found->flags |= BH_CACHED_MASK;
	if (ends.end[BH_INGRESS].flags & END_NODE)
		found->flags |= BH_CACHED_TO_NODE;
	found->by_mac = !!((ends.end[0].flags | ends.end[1].flags) & END_BY_MAC);
	found->by_hook = !!((ends.end[0].flags | ends.end[1].flags) & END_BY_HOOK);
	owner_copy(&ends.end[0], &found->end[0]);
	owner_copy(&ends.end[1], &found->end[1]);
	if (found->flags & (BH_CACHED_MASK | BH_CACHED_TO_NODE))
		policy_mark_node(found);
	if (ends.end[BH_INGRESS].ifindex && !spoofing_mac_known(ends.end[BH_INGRESS].mac))
		owner_learns(&found->end[BH_INGRESS]);
	if (found->end[BH_EGRESS].proven & END_OF_NODE)
		policy_mark_isolated(p,
				     (p->hook == BH_HOOK_FROM_ENDPOINT) == (p->from == initiator)
					     ? &ends.end[1]
					     : &ends.end[0],
				     found);
	return 0;
}

/* Returns all that connection_lookup() and connection_translated() read besides the packet's
 * addresses, interfaces and hook. */
static __always_inline __u32 connection_context(const struct packet *p, const struct connection *c)
{
	return policy_point(p, c->initiator) |
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
		nat_service(p, initiator, found);
	/* The backend is not known, and policy does not deny all of the backends. */
	if (found->flags & BH_CACHED_SERVICE && p->told <= TOLD_NOTHING && !found->reason &&
	    !policy_denied(found, BH_EGRESS) && !policy_denied(found, BH_INGRESS))
		nat_service_node(p, initiator, found);
	if (calls && !found->reason && nat_may_be_local(p, found))
		nat_is_local(p, initiator, found);
	/* A connection that the node opened, or an endpoint to itself, is not masqueraded. */
	if (found->flags & BH_CACHED_MASK && !(found->flags & BH_CACHED_NODE) &&
	    !(c->flags & BH_CT_NODE) && !calls)
		nat_unmasquerade(p, initiator, found);
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

/* Lets a domain name allow the flow, or asks for the names. Another CPU may have removed the entry
 * for whose initiator they were asked: then the packet's sender is the initiator, and the peer's
 * names say nothing about it. Not inline, for the stack. */
static __noinline int connection_by_name(struct packet *p, struct connection *c)
{
	struct bh_cached *found = &c->found;

	if (!p->named || (p->named < NAMED_NO_MORE && p->calls != c->initiator)) {
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

#define CONNECTION_NO_GATEWAY 2 /* no role */

/*
 * Returns the role of the packet's sender if the packet is to a client of this hook's endpoint,
 * which is a gateway: it may send from the client's address (`allow-source`), which is no
 * endpoint's. The sender, an endpoint of this node, knows the client by the address: its policy has
 * no say here, where the gateway stands for the client. Else returns CONNECTION_NO_GATEWAY.
 */
BPF_GLOBAL __u32 connection_to_client(const struct packet *p, struct connection *c)
{
	struct bh_addr client;
	__u32 role;

	if (!p || !c || p->hook != BH_HOOK_TO_ENDPOINT || !p->ingress)
		return CONNECTION_NO_GATEWAY;
	role = p->from == c->initiator ? BH_EGRESS : BH_INGRESS;
	packet_address(p, !p->from, &client);
	if ((role ? c->found.end[1].ifindex : c->found.end[0].ifindex) != p->ingress ||
	    !endpoint_allows_source(p->ifindex, &client))
		return CONNECTION_NO_GATEWAY;
	c->found.flags &= ~(BH_CACHED_SAY(role) | BH_CACHED_AUDIT(role));
	c->found.end[BH_EGRESS].proven &= ~END_NAMES;
	if (role)
		c->found.denied[1] = 0;
	else
		c->found.denied[0] = 0;
	return role;
}

/* Fills c->found. @c has the initiator and, for a connection that has an entry, the flags. Returns
 * 0 or the reason to drop the packet. */
static __always_inline int connection_resolve(const struct packet *p, struct connection *c)
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
	if (unlikely(c->found.by_hook))
		connection_to_client(p, c);
	return c->found.reason;
}

/* Returns true if an end's policy evaluates the connection. The ingress policy does not evaluate
 * what the node opens. */
static __always_inline bool connection_has_policy(const struct connection *c, __u32 role)
{
	return c->found.flags & BH_CACHED_SAY(role) &&
	       !(role == BH_INGRESS && c->flags & BH_CT_NODE);
}

#endif
