/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evaluates a packet that no entry lets pass, and writes the entry of the connection that the
 * packet opens. Functions return an enum bh_reason, or an internal reason of address_owner.h.
 */
#ifndef BULKHEAD_KERN_CONNECTION_NEW_H
#define BULKHEAD_KERN_CONNECTION_NEW_H

#include "connection.h"
#include "event_records.h"

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

/* Evaluates one end. Returns 0 or the reason to drop, and sets the connection word. Global: the
 * verifier checks it once, not for each end of each way to open a connection. */
BPF_GLOBAL int connection_evaluate(struct packet *p, const struct connection *c, __u32 role,
				   __u64 *word)
{
	__u32 flags;
	int reason = 0;

	if (!p || !c || !word)
		return BH_DROP_MAPS;
	role &= 1;
	flags = c->flags | BH_CT_ALLOW | (c->initiator ? BH_CT_INITIATOR : 0);
	if (c->found.end[0].ifindex && c->found.end[1].ifindex)
		flags |= BH_CT_LOCAL;
	if (c->found.flags & BH_CACHED_SERVICE)
		flags |= BH_CT_SERVICE;
	if (c->found.by_mac)
		flags |= BH_CT_BY_MAC;
	if (c->found.flags & BH_CACHED_TO_NODE)
		flags |= BH_CT_TO_NODE;
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
BPF_GLOBAL __u32 connection_serves_another(const struct packet *p)
{
	struct bh_addr addr = {};
	struct end caller = {};
	__u32 caller_end;
	bool calls;

	if (!p)
		return 0;
	calls = p->told == TOLD_ORIGINAL && p->hook == BH_HOOK_TO_ENDPOINT && p->ingress &&
		p->ingress != p->ifindex;
	caller_end = calls ? p->from : !p->from;
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
	if (connection_resolve(p, c) || connection_name(p, c) || c->initiator != p->from)
		return true;
	if (connection_may_be_reversed(p, c) && nat_can_ask(p)) {
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

/* Evaluates a segment without SYN, or an ICMP error, that is, to the kernel, of another call than
 * the entry's. It opens nothing. Global: the verifier checks it once, not for each caller. */
BPF_GLOBAL int connection_of_another(struct packet *p)
{
	struct connection c;

	if (!p)
		return BH_DROP_MAPS;
	return connection_closed(p, &c) ? connection_without_entry(p, &c) : BH_DROP_NO_CONNECTION;
}

/* Returns the share that a connection counts in: the initiator's if that is an endpoint or the
 * node, else the responder's. What an endpoint sends to itself by a Service has the node's address,
 * and does not count in the node's share, whose floor the endpoint could fill by it. */
static __always_inline __u32 connection_share(const struct packet *p, const struct connection *c)
{
	if (c->found.end[BH_EGRESS].ifindex)
		return c->found.end[BH_EGRESS].ifindex;
	return c->flags & BH_CT_NODE && !p->ingress ? BH_SHARE_NODE
						    : c->found.end[BH_INGRESS].ifindex;
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
	ct_fill(p, place, state);
	return 0;
}

/* Makes an entry of a connection that connection_new() has let open. @flags: of bh_ct.payer.
 * Returns false if the table has no place. */
static __always_inline bool connection_insert(const struct packet *p, const struct connection *c,
					      const struct words *words, __u32 state, __u32 flags)
{
	__u32 place = ct_claim(p, connection_share(p, c) | flags);

	if (!place)
		return false;
	connection_fill(p, c, words, place, state);
	ct_commit(p, place, 0);
	return true;
}

#endif
