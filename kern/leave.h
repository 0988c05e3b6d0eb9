/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where packets leave the node: the egress of uplinks, tunnels and whatever else is
 * no endpoint's. What an endpoint sends was judged at its own hook, unless it went
 * to a Service's address; here it has the addresses by which it goes on. A
 * connection that is known by these and allowed passes; any other is judged by them:
 * the sender's egress policy, towards the address and port that are there now.
 */
#ifndef BULKHEAD_KERN_LEAVE_H
#define BULKHEAD_KERN_LEAVE_H

#include "connection.h"
#include "fragment.h"
#include "icmp.h"
#include "netfilter.h"
#include "scope.h"

/* Of a kernel that splits an IPv6 packet a fragment has lost where it came in. */
static __always_inline bool leave_is_fragment(struct __sk_buff *skb)
{
	const __u8 *data = hook_data(skb);

	if (likely(skb->protocol != bpf_htons(ETH_P_IPV6)))
		return false;
	if ((void *)(data + ETH_HLEN + sizeof(struct ipv6hdr)) > hook_end(skb))
		return true;
	/* With an Ethernet header, or without. */
	return data[ETH_HLEN + 6] == IPPROTO_FRAGMENT || data[6] == IPPROTO_FRAGMENT;
}

/* What the node made itself, and what came in by an interface that brings nothing of an endpoint.
 */
static __always_inline bool leave_is_foreign(struct __sk_buff *skb)
{
	struct bh_iface *iface;

	if (likely(!skb->ingress_ifindex))
		return !leave_is_fragment(skb);
	iface = endpoint_iface(skb->ingress_ifindex);
	return iface && !(iface->flags & (BH_IFACE_ENDPOINT | BH_IFACE_VIA));
}

/* A MAC may begin as an IP header does; most do not. */
static __always_inline bool leave_is_bare(struct __sk_buff *skb)
{
	const __u8 *data = hook_data(skb);
	struct bh_iface *iface;

	if ((void *)(data + 1) > hook_end(skb) || (*data >> 4 != 4 && *data >> 4 != 6))
		return false;
	iface = endpoint_iface(skb->ifindex);
	return iface && iface->flags & BH_IFACE_BARE;
}

/* Whether the node's address stands for who has sent the packet in, of which the kernel cannot be
 * asked: unless it is a Service's that answers by the node's. */
static __always_inline bool leave_is_masked(const struct packet *p, const struct end *node)
{
	return translation_is_silent(p) && !service_find(p, p->from, node->flags);
}

/* The endpoint that an address is, or that may send from it; false: none of this node. */
static __noinline bool leave_sender(const struct packet *p, struct bh_addr *addr, struct end *end)
{
	struct bh_allow_source_key key = {.length = 160, .ifindex = bpf_htonl(p->ingress)};
	struct bh_iface *iface;

	if (endpoint_resolve(addr, p->generation, end) || end->ifindex)
		return end->ifindex;
	iface = endpoint_iface(p->ingress);
	if (!iface || !(iface->flags & BH_IFACE_ENDPOINT) ||
	    (end->flags & END_NODE && !leave_is_masked(p, end)))
		return false;
	key.addr = *addr;
	if (!(end->flags & END_NODE) && !endpoint_link_local(addr) &&
	    !(iface->flags & BH_IFACE_ALLOW_SOURCE && bpf_map_lookup_elem(&bh_allow_source, &key)))
		return false;
	if (endpoint_of(p->ingress, p->version, p->generation, end))
		return false;
	end->ifindex = p->ingress;
	return true;
}

/* The one whose @sender the packet is: as it was made, if the kernel knows, else as it is. */
static __always_inline bool leave_from(const struct packet *p, struct end *sender)
{
	struct bh_addr addr;

	if (!translation_address(p, p->from, p->from, &addr))
		packet_address(p, p->from, &addr);
	return leave_sender(p, &addr, sender);
}

/* Another hook judges the packet, or none has to. */
#define LEAVE_PASSES (-1)

/* Who the ends are, and what the sender's policy says. Returns 0, a reason to drop, or
 * LEAVE_PASSES. */
BPF_GLOBAL int leave_look(const struct packet *p, struct bh_cached *found)
{
	struct ends ends = {};
	struct bh_addr addr;

	if (!p || !found)
		return BH_DROP_MAPS;
	*found = (struct bh_cached){};
	if (p->told == TOLD_REPLY) {
		found->end[BH_INGRESS].ifindex = p->ingress;
		return 0;
	}
	if (!leave_from(p, &ends.end[BH_EGRESS]))
		return LEAVE_PASSES;
	packet_address(p, !p->from, &addr);
	if (endpoint_resolve(&addr, p->generation, &ends.end[BH_INGRESS]))
		return BH_DROP_MAPS;
	/* The hook of an endpoint of this node judges for both. */
	if (ends.end[BH_INGRESS].ifindex)
		return LEAVE_PASSES;
	if (service_is(p, !p->from, ends.end[BH_INGRESS].flags))
		return BH_DROP_UNTRANSLATED;
	connection_ask(p, &ends, connection_point(p, p->from), BH_EGRESS, found);
	connection_end(&ends.end[BH_EGRESS], &found->end[BH_EGRESS]);
	return 0;
}

/* Whether the entry is of a connection that both ends allow. */
static __always_inline bool leave_allowed(const struct packet *p, const struct bh_ct *ct)
{
	const struct ct_sight at = {.hook = BH_HOOK_LEAVE, .from = p->from};
	__u64 word;

	return ct_allowed(ct, bh_ct_word(p->generation, ct_tag(p), BH_CT_ALLOW), &word) &&
	       ct_ends_match(ct->end, word, &at) && !(word & BH_CT_SERVICE) &&
	       !(READ_ONCE(ct->state) & BH_CT_DENIED);
}

/* The other side's FIN does not come by here. */
static __always_inline void leave_touch(const struct packet *p, struct bh_ct *ct)
{
	connection_touch(p, ct);
	if (p->class == PACKET_FLOW && p->protocol == IPPROTO_TCP && p->tcp_flags & TCP_FIN)
		ct_state(ct, BH_CT_FINS, 0);
}

/* A SYN opens nothing here: who sends it is held to a handshake at its own hook, and once that is
 * over the connection is known by what comes next. Nor does an answer that nobody asked for. */
static __always_inline bool leave_is_kept(const struct packet *p)
{
	struct icmp_query query;

	if (p->class != PACKET_FLOW || (p->protocol == IPPROTO_TCP && p->tcp_flags & TCP_SYN))
		return false;
	if (p->protocol != IPPROTO_ICMP && p->protocol != IPPROTO_ICMPV6)
		return true;
	query = icmp_query(p->protocol, p->type);
	return !query.type || query.asks;
}

static __noinline int leave_new(struct packet *p, const struct connection *c, bool keep)
{
	struct bh_ct new;
	int reason = connection_new(p, c, &new);

	if (!bh_reason_drops(reason) && keep)
		ct_insert(p, &new);
	return reason;
}

/* Judges what leave_known() did not settle. Returns an enum bh_reason. */
BPF_GLOBAL int leave_judge(struct packet *p)
{
	struct connection c = {};
	struct bh_ct *ct;
	int reason;

	if (!p)
		return BH_DROP_MAPS;
	reason = leave_look(p, &c.found);
	if (reason)
		return reason == LEAVE_PASSES ? BH_PASS_OPEN : reason;
	p->reply = p->told == TOLD_REPLY;
	c.initiator = p->reply ? !p->from : p->from;
	ct = ct_find(p);
	if (!ct)
		return leave_new(p, &c, leave_is_kept(p));
	if (!!(READ_ONCE(ct->verdict[BH_EGRESS]) & BH_CT_INITIATOR) == c.initiator) {
		reason = connection_go_on(p, ct, &c);
		if (likely(reason != CONNECTION_OF_OTHERS))
			return reason;
	}
	return leave_new(p, &c, false);
}

/* Whether it is of a connection that is known here, and either allowed or the other end's to judge:
 * whoever answers has been judged at its own hook. */
BPF_GLOBAL int leave_known(struct packet *p)
{
	struct bh_ct *ct;

	if (!p)
		return false;
	ct = p->absent ? NULL : ct_find(p);
	if (!ct)
		return false;
	if (leave_allowed(p, ct)) {
		leave_touch(p, ct);
		return true;
	}
	return false;
}

static __always_inline int leave_flow(struct __sk_buff *skb, struct packet *p)
{
	if (leave_known(p))
		return BH_PASS_ESTABLISHED;
	p->told = netfilter_ask(skb, p);
	return leave_judge(p);
}

/* Whether an endpoint may have sent what has no ports, or is malformed. */
static __noinline bool leave_concerns(const struct packet *p)
{
	struct bh_iface *iface = endpoint_iface(p->ingress);
	struct end sender = {};

	return (iface && iface->flags & (BH_IFACE_ENDPOINT | BH_IFACE_VIA)) ||
	       leave_from(p, &sender);
}

static __always_inline int leave_class(struct __sk_buff *skb, struct packet *p)
{
	int reason;

	switch (p->class) {
	case PACKET_FLOW:
		scope_link(p);
		reason = leave_flow(skb, p);
		if (p->flags & PACKET_MORE_FRAGMENTS && !bh_reason_drops(reason))
			fragment_remember(p);
		return reason;
	case PACKET_FRAGMENT:
		return leave_concerns(p) ? fragment_follow(p) : BH_PASS_OPEN;
	case PACKET_ICMP_ERROR:
		if (!leave_concerns(p))
			return BH_PASS_OPEN;
		reason = icmp_quoted(skb, p);
		if (reason)
			return reason;
		icmp_turn(p);
		return leave_flow(skb, p);
	}
	return BH_PASS_OPEN;
}

/* Whether whoever sent it is only audited. */
static __noinline bool leave_audited(const struct packet *p)
{
	struct bh_iface *iface = endpoint_iface(p->ingress);
	struct end sender = {};

	if (iface && iface->flags & BH_IFACE_ENDPOINT)
		return iface->flags & BH_IFACE_AUDIT;
	return leave_from(p, &sender) && connection_audited(&sender);
}

/* The interface of the endpoint that it came in by; 0: of none. */
static __always_inline __u32 leave_owner(const struct packet *p)
{
	struct bh_iface *iface = endpoint_iface(p->ingress);

	return iface && iface->flags & BH_IFACE_ENDPOINT ? p->ingress : 0;
}

/* Counts and reports what does not pass, or opens by a Service's address. Returns whether it
 * passes. */
static __noinline bool leave_settle(struct packet *p, int reason)
{
	bool audit = false;

	if (!p->generation)
		return true;
	if (!bh_reason_drops(reason) && p->audit) {
		reason = p->audit;
		audit = true;
	}
	if (bh_reason_drops(reason)) {
		audit = audit || leave_audited(p);
		events_drop(p, reason, audit, leave_owner(p));
		return audit;
	}
	if (reason == BH_PASS_NEW && p->told == TOLD_ORIGINAL)
		events_opened(p);
	return true;
}

#endif
