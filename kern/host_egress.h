/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host egress hook: TC egress of uplinks, tunnels and all other interfaces that are no
 * endpoint's. An endpoint's packet was evaluated at the endpoint's own hook, unless it went to a
 * Service's address; here it has the addresses after the node's translation. A packet of an allowed
 * connection between these addresses passes. Any other is evaluated by the sender's egress policy
 * towards the address and port that it has now.
 */
#ifndef BULKHEAD_KERN_HOST_EGRESS_H
#define BULKHEAD_KERN_HOST_EGRESS_H

#include "connection_again.h"
#include "domain.h"
#include "doubt.h"
#include "fragment.h"
#include "icmp.h"
#include "local.h"
#include "netfilter.h"
#include "scope.h"
#include "tcp.h"

/* Returns true if the packet may be an IPv6 fragment that the kernel made: such a fragment has lost
 * the interface by which it came in. Other extension headers may stand before its own. */
static __always_inline bool host_egress_is_fragment(struct __sk_buff *skb)
{
	const __u8 *data = hook_data(skb);

	if (likely(skb->protocol != bpf_htons(ETH_P_IPV6)) || !hook_is_lost(skb))
		return false;
	if ((void *)(data + ETH_HLEN + sizeof(struct ipv6hdr)) > hook_end(skb))
		return true;
	/* The frame may have an Ethernet header, or not. */
	return parse_is_extension(data[ETH_HLEN + 6]) || parse_is_extension(data[6]);
}

/* Returns true if no endpoint sent the packet: the node made it, or it came in by an interface that
 * brings no packets of endpoints. */
static __always_inline bool host_egress_is_foreign(struct __sk_buff *skb)
{
	struct bh_iface *iface;

	if (likely(!skb->ingress_ifindex))
		return !host_egress_is_fragment(skb);
	iface = endpoint_iface_inline(skb->ingress_ifindex);
	return iface && !(iface->flags & (BH_IFACE_ENDPOINT | BH_IFACE_VIA));
}

#define HOST_EGRESS_NOBODY 0xfffffffeu /* in the place of an interface */

/* Words of connections that never leave the node. */
#define HOST_EGRESS_STAYS (BH_CT_LOCAL | BH_CT_NODE | BH_CT_TO_NODE)

/* Returns true if the frame of an endpoint's leaves by another port of the endpoint's bridge. */
static __noinline bool host_egress_is_bridged(__u32 ingress)
{
	struct bh_iface *iface = endpoint_iface(ingress);

	return iface && iface->flags & BH_IFACE_ENDPOINT && iface->bridge;
}

/* Returns the owner of the address of an end, @of, that the maps know: the interface of an endpoint
 * of this node, or LINK_NODE. 0: neither; HOST_EGRESS_NOBODY: nor anybody else. */
static __noinline __u32 host_egress_owner_of(const struct packet *p, __u32 of)
{
	struct end end = {};
	struct bh_addr addr;

	packet_address(p, of, &addr);
	if (endpoint_link_local(&addr))
		return link_holder(p, &addr);
	if (endpoint_resolve(&addr, p->generation, &end))
		return 0;
	if (end.ifindex)
		return end.ifindex;
	return end.flags & END_NODE ? LINK_NODE : end.flags ? 0 : HOST_EGRESS_NOBODY;
}

/* Returns true if the node has got the destination address after the maps were written. Not inline,
 * for the stack. */
static __noinline bool host_egress_is_late(struct __sk_buff *skb, const struct packet *p)
{
	return !packet_is_group(p) && local_called(skb, p);
}

/* Returns true if the frame is one that host_egress_is_bridged() would see, but for netfilter at
 * the bridge: it has joined the endpoint's fragments, and made new ones that have lost the
 * interface.
 */
static __noinline bool host_egress_is_joined(struct __sk_buff *skb, const struct packet *p)
{
	struct bh_mac_key key = {.kind = BH_MAC_ENDPOINT};
	struct bh_iface *port = endpoint_iface(p->ifindex), *from;
	struct bh_mac *mac;

	if (!(p->flags & PACKET_FRAGMENT_HEADER) || !hook_is_lost(skb) || !port || !port->bridge)
		return false;
	__builtin_memcpy(key.mac, p->mac_from, sizeof(key.mac));
	mac = active_lookup(&at_macs, &key);
	from = endpoint_iface(mac ? mac->ifindex : host_egress_owner_of(p, p->from));
	return from && from->flags & BH_IFACE_ENDPOINT && from->bridge == port->bridge;
}

/* Returns true if the port of a bridge leads to another interface of this node. */
static __noinline bool host_egress_is_inside(const struct packet *p)
{
	struct bh_iface *port = endpoint_iface(p->ifindex);

	return port && port->flags & BH_IFACE_OTHER;
}

/*
 * Returns true if an endpoint's frame leads by its MAC to a host on the bridge, and by its address
 * to an endpoint of this node or to the node itself: policy was asked about those. A bridge floods
 * a frame with the MAC of an endpoint of its own that was silent for long. It keeps those with a
 * MAC that the node has there. It floods those with a MAC that an endpoint or the node has
 * elsewhere, and whoever listens at a port would get them; but a port may lead there.
 */
static __noinline bool host_egress_strays(struct __sk_buff *skb, const struct packet *p)
{
	struct bh_mac_key key = {};
	struct bh_mac *mac;
	__u32 owner;

	if (!host_egress_is_bridged(p->ingress) && likely(!host_egress_is_joined(skb, p)))
		return false;
	owner = host_egress_owner_of(p, !p->from);
	if (owner == HOST_EGRESS_NOBODY)
		owner = host_egress_is_late(skb, p) ? LINK_NODE : 0;
	if (!owner)
		return false;
	key.kind = owner == LINK_NODE ? BH_MAC_NODE : BH_MAC_ENDPOINT;
	__builtin_memcpy(key.mac, p->mac_to, sizeof(key.mac));
	mac = active_lookup(&at_macs, &key);
	if (!mac || (mac->ifindex && mac->ifindex != owner))
		return true;
	return (owner == LINK_NODE || link_of(owner) != link_of(p->ifindex)) &&
	       !host_egress_is_inside(p);
}

/* Returns true if the frame has no Ethernet header. A MAC may begin with the same bits as an IP
 * header, so the interface decides. */
static __always_inline bool host_egress_has_no_ethernet(struct __sk_buff *skb)
{
	const __u8 *data = hook_data(skb);
	struct bh_iface *iface;

	if ((void *)(data + 1) > hook_end(skb) || (*data >> 4 != 4 && *data >> 4 != 6))
		return false;
	iface = endpoint_iface(skb->ifindex);
	return iface && iface->flags & BH_IFACE_BARE;
}

/* Returns true if the packet is a RST without data: the refusal of a call, which conntrack has
 * removed from its table. */
static __always_inline bool host_egress_refuses(const struct packet *p)
{
	return p->tcp_flags & TCP_RST && !p->payload;
}

/* Returns true if the node's address may be masquerading about which the kernel tells nothing, and
 * not that of a Service which replies from the node's address. */
static __always_inline bool host_egress_is_masked(const struct packet *p, const struct end *node)
{
	if (translation_is_silent(p))
		return !service_has(p, p->from, node->flags);
	return p->told == TOLD_NOTHING && translation_is_tracked(p);
}

/* Returns true if the packet has the node's address and came in by a bridge of endpoints, and the
 * kernel, which can be asked, does not tell which of them sent it. */
static __noinline bool host_egress_is_nobodys(const struct packet *p, const struct end *node)
{
	struct bh_iface *iface = endpoint_iface(p->ingress);

	return iface && !(iface->flags & BH_IFACE_ENDPOINT) && iface->flags & BH_IFACE_VIA &&
	       node->flags & END_NODE && !translation_is_silent(p) &&
	       host_egress_is_masked(p, node);
}

/* Finds the endpoint of this node that has an address, or may send from it. Returns false if there
 * is none. */
BPF_GLOBAL __u32 host_egress_find_endpoint(const struct packet *p, struct bh_addr *addr,
					   struct end *end)
{
	struct bh_iface *iface;

	if (!p || !addr || !end)
		return 0;
	if (endpoint_resolve(addr, p->generation, end) || end->ifindex)
		return end->ifindex;
	iface = endpoint_iface(p->ingress);
	if (!iface || !(iface->flags & BH_IFACE_ENDPOINT) ||
	    (end->flags & END_NODE && !host_egress_is_masked(p, end)))
		return false;
	if (!(end->flags & END_NODE) && !endpoint_link_local(addr) &&
	    !(iface->flags & BH_IFACE_ALLOW_SOURCE && endpoint_allows_source(p->ingress, addr)))
		return false;
	if (endpoint_of(p->ingress, p->version, p->generation, end))
		return false;
	end->ifindex = p->ingress;
	return true;
}

/* Finds the sender of the packet: by its source before the node's translation if the kernel told
 * that, else by the present one. */
static __always_inline bool host_egress_find_sender(const struct packet *p, struct end *sender)
{
	struct bh_addr addr;

	if (!translation_address(p, p->from, p->from, &addr))
		packet_address(p, p->from, &addr);
	return host_egress_find_endpoint(p, &addr, sender);
}

/* Returns true if the packet's present source address is not that of its sender, so that only the
 * interface by which the packet came in tells this endpoint's packets from another's. */
static __noinline bool host_egress_hides(const struct packet *p, __u32 sender)
{
	struct end now = {};
	struct bh_addr addr;

	packet_address(p, p->from, &addr);
	return endpoint_resolve(&addr, p->generation, &now) || now.ifindex != sender;
}

/* Another hook evaluates the packet, or no hook has to. */
#define HOST_EGRESS_PASSES (-1)

/* Evaluates the call to which the packet is the reply, as the kernel's conntrack has it. Returns 0
 * or a reason to drop. */
static __noinline int host_egress_call(const struct packet *p, struct bh_cached *found)
{
	struct ends ends = {};
	struct bh_addr addr;
	__u32 port;

	packet_address(p, !p->from, &addr);
	if (endpoint_resolve(&addr, p->generation, &ends.end[BH_EGRESS]))
		return BH_DROP_MAPS;
	/* The hook of an endpoint of this node evaluates for both. */
	if (ends.end[BH_EGRESS].ifindex)
		return HOST_EGRESS_PASSES;
	found->end[BH_INGRESS].ifindex = p->ingress;
	found->by_hook = 1;
	if (!translation_address(p, !p->from, !p->from, &addr))
		return BH_DROP_SENDER;
	if (endpoint_resolve(&addr, p->generation, &ends.end[BH_EGRESS]))
		return BH_DROP_MAPS;
	port = translation_address(p, !p->from, p->from, &addr);
	if (endpoint_resolve(&addr, p->generation, &ends.end[BH_INGRESS]))
		return BH_DROP_MAPS;
	if (!(ends.end[BH_EGRESS].flags & END_NODE))
		policy_ask(p, &ends, bh_point(p->protocol, port), BH_INGRESS, found);
	return 0;
}

/* Finds the ends and asks the sender's policy. Returns 0, a reason to drop, or HOST_EGRESS_PASSES.
 */
BPF_GLOBAL int host_egress_look(const struct packet *p, struct bh_cached *found)
{
	struct ends ends = {};
	struct bh_addr addr;

	if (!p || !found)
		return BH_DROP_MAPS;
	*found = (struct bh_cached){};
	if (!host_egress_find_sender(p, &ends.end[BH_EGRESS]))
		return host_egress_is_nobodys(p, &ends.end[BH_EGRESS]) ? BH_DROP_SENDER
								       : HOST_EGRESS_PASSES;
	packet_address(p, !p->from, &addr);
	if (endpoint_resolve(&addr, p->generation, &ends.end[BH_INGRESS]))
		return BH_DROP_MAPS;
	/* The hook of an endpoint of this node evaluates for both. */
	if (ends.end[BH_INGRESS].ifindex)
		return HOST_EGRESS_PASSES;
	if (service_is(p, !p->from, ends.end[BH_INGRESS].flags))
		return BH_DROP_UNTRANSLATED;
	policy_ask(p, &ends, policy_point(p, p->from), BH_EGRESS, found);
	if (found->denied[BH_EGRESS])
		policy_mark_names(&ends.end[BH_EGRESS], found);
	owner_copy(&ends.end[BH_EGRESS], &found->end[BH_EGRESS]);
	found->by_hook = host_egress_hides(p, ends.end[BH_EGRESS].ifindex);
	return 0;
}

/* Returns true if the segment may open a connection, or makes the kernel forget the one that it
 * translates by. Then no former answer of the kernel is about it. */
static __always_inline bool host_egress_may_open(const struct packet *p)
{
	return parse_is_syn(p) || p->tcp_flags & TCP_RST;
}

/* Returns true if the segment opens a connection of the responder's own: by a Service an endpoint
 * may call who has called it, from the same port. */
static __always_inline bool host_egress_calls_back(const struct packet *p, __u64 word)
{
	return parse_is_syn(p) && ct_sender(p, word) == BH_INGRESS;
}

/* Returns true if the entry is of a connection that both ends allow. */
static __always_inline bool host_egress_allowed(const struct packet *p, const struct bh_ct *ct)
{
	const struct ct_sight at = {.hook = BH_HOOK_LEAVE, .from = p->from, .ingress = p->ingress};
	__u64 word;

	/* A resolver's answers are read where their endpoint gets them, not here. */
	return ct_agrees(ct, bh_ct_word(p->generation, ct_tag(p), BH_CT_ALLOW),
			 CT_VARIES | BH_CT_DNS, &word) &&
	       ct_ends_match(ct->end, word, &at) && !(word & BH_CT_SERVICE) &&
	       !(word & BH_CT_BY_INGRESS && host_egress_may_open(p)) &&
	       !host_egress_calls_back(p, word) && !(READ_ONCE(ct->state) & BH_CT_DENIED);
}

/* Updates the entry. One FIN closes an entry of this hook, which the other end's FIN does not pass.
 * An untranslated connection's entry is the sender's own hook's, which both FINs pass. */
static __always_inline void host_egress_touch(const struct packet *p, struct bh_ct *ct)
{
	connection_touch(p, ct);
	if (p->tcp_flags & TCP_FIN && READ_ONCE(ct->payer) & BH_CT_LEAVES)
		ct_state(p, ct, BH_CT_FINS, 0);
}

/* Returns the endpoint's interface by which the packet came in; 0: it came in by another one. */
static __always_inline __u32 host_egress_endpoint(const struct packet *p)
{
	struct bh_iface *iface = endpoint_iface(p->ingress);

	return iface && iface->flags & BH_IFACE_ENDPOINT ? p->ingress : 0;
}

/* Returns true if the entry of the connection could serve a packet of this kind: the sender's
 * address, or the interface by which the packet came in, names the sender. UDP has no SYN, so a
 * reply's ports may be another caller's by the next packet. */
static __always_inline bool host_egress_is_bound(const struct packet *p, const struct connection *c)
{
	if (!c->flags)
		return true;
	return p->ingress == connection_at(c, p->from)->ifindex && host_egress_endpoint(p) &&
	       !(p->reply && p->protocol == IPPROTO_UDP);
}

/* Returns true if the packet makes an entry. A SYN makes none here: its sender's own hook watches
 * the handshake, and the next packet makes the entry. Nor does a RST, after which nothing comes, or
 * an unsolicited ICMP reply. */
static __always_inline bool host_egress_is_kept(const struct packet *p, const struct connection *c)
{
	struct icmp_query query;

	if (p->class != PACKET_FLOW || p->tcp_flags & (TCP_SYN | TCP_RST) ||
	    !host_egress_is_bound(p, c))
		return false;
	if (p->protocol != IPPROTO_ICMP && p->protocol != IPPROTO_ICMPV6)
		return true;
	query = icmp_query(p->protocol, p->type);
	return !query.type || query.asks;
}

static __noinline int host_egress_open(struct packet *p, const struct connection *c, bool keep)
{
	struct words words;
	int reason = connection_new(p, c, &words);

	if (!bh_reason_drops(reason) && keep)
		connection_insert(p, c, &words, 0, BH_CT_LEAVES);
	return reason;
}

/* Evaluates a packet that host_egress_known() did not pass. Returns an enum bh_reason. */
BPF_GLOBAL int host_egress_evaluate(struct packet *p)
{
	struct connection c = {};
	struct bh_ct *ct;
	int reason;

	if (!p)
		return BH_DROP_MAPS;
	reason = p->told == TOLD_REPLY ? host_egress_call(p, &c.found)
				       : host_egress_look(p, &c.found);
	if (reason)
		return reason == HOST_EGRESS_PASSES ? BH_PASS_OPEN : reason;
	p->reply = p->told == TOLD_REPLY;
	c.initiator = p->reply ? !p->from : p->from;
	c.flags = c.found.by_hook ? BH_CT_BY_INGRESS : 0;
	ct = ct_find(p);
	p->lives = ct && READ_ONCE(ct->verdict[BH_EGRESS]) & BH_CT_ALLOW;
	reason = connection_name(p, &c);
	if (reason)
		return reason;
	if (!ct)
		return host_egress_open(p, &c, host_egress_is_kept(p, &c));
	if (!!(READ_ONCE(ct->verdict[BH_EGRESS]) & BH_CT_INITIATOR) == c.initiator) {
		reason = connection_go_on(p, ct, &c);
		if (likely(reason != CONNECTION_OF_OTHERS))
			return reason;
	}
	return host_egress_open(p, &c, false);
}

/* Returns true if the packet may answer a SYN that waits beside the former connection of the same
 * ports. */
static __always_inline bool host_egress_may_answer(const struct packet *p)
{
	if (likely(p->protocol != IPPROTO_TCP))
		return false;
	return p->class == PACKET_ICMP_ERROR || p->tcp_flags & TCP_RST ||
	       (p->tcp_flags & (TCP_SYN | TCP_ACK)) == (TCP_SYN | TCP_ACK);
}

/* Returns true if the packet may answer such a SYN, and both ends allow its connection. The
 * sender's own hook has updated that entry. */
static __always_inline bool host_egress_answers(struct packet *p)
{
	struct bh_ct *waiting = host_egress_may_answer(p) ? ct_find_waiting(p) : NULL;

	return waiting && host_egress_allowed(p, waiting);
}

/* Returns true if the packet is of a connection that has an entry and that both ends allow. If so,
 * updates the entry, or removes that of a call which the packet refuses. */
BPF_GLOBAL int host_egress_known(struct packet *p)
{
	struct bh_ct *ct;

	if (!p)
		return false;
	ct = p->absent ? NULL : ct_find(p);
	if (host_egress_answers(p))
		return true;
	if (!ct || !host_egress_allowed(p, ct))
		return false;
	host_egress_touch(p, ct);
	if (unlikely(host_egress_refuses(p)) && tcp_is_half(ct) && tcp_ends(p, ct))
		table_remove(table_key(p));
	return true;
}

static __always_inline int host_egress_flow(struct __sk_buff *skb, struct packet *p)
{
	int reason;

	if (host_egress_known(p))
		return BH_PASS_ESTABLISHED;
	p->told = netfilter_ask(skb, p);
	if (p->told == TOLD_NOTHING && host_egress_refuses(p))
		p->told = netfilter_ask_removed(skb, p);
	reason = host_egress_evaluate(p);
	if (likely(reason != CONNECTION_ASKS_NAMES))
		return reason;
	p->named = domain_ask(p);
	return host_egress_evaluate(p);
}

/* Returns true if an endpoint may have sent a packet that has no ports, or is malformed. */
static __noinline bool host_egress_may_be_endpoints(const struct packet *p)
{
	struct bh_iface *iface = endpoint_iface(p->ingress);
	struct end sender = {};

	return (iface && iface->flags & (BH_IFACE_ENDPOINT | BH_IFACE_VIA)) ||
	       host_egress_find_sender(p, &sender);
}

static __always_inline int host_egress_class(struct __sk_buff *skb, struct packet *p)
{
	int reason;

	switch (p->class) {
	case PACKET_FLOW:
		scope_link(p);
		reason = host_egress_flow(skb, p);
		if (p->flags & PACKET_MORE_FRAGMENTS && !bh_reason_drops(reason))
			fragment_remember(p);
		return reason;
	case PACKET_FRAGMENT:
		return host_egress_may_be_endpoints(p) ? fragment_follow(p) : BH_PASS_OPEN;
	case PACKET_ICMP_ERROR:
		if (!host_egress_may_be_endpoints(p))
			return BH_PASS_OPEN;
		reason = icmp_read_quoted(skb, p);
		if (reason)
			return reason;
		icmp_turn(p);
		return host_egress_flow(skb, p);
	}
	return BH_PASS_OPEN;
}

/* Returns true if the sender is in audit. */
static __noinline bool host_egress_audited(const struct packet *p)
{
	struct bh_iface *iface = endpoint_iface(p->ingress);
	struct end sender = {};

	if (iface && iface->flags & BH_IFACE_ENDPOINT)
		return iface->flags & BH_IFACE_AUDIT;
	return host_egress_find_sender(p, &sender) && endpoint_in_audit(sender.ifindex);
}

/* Counts and reports drops, and connections that open by a Service's address. Returns true if the
 * packet passes. */
static __noinline bool host_egress_finish(struct packet *p, int reason)
{
	bool audit = false;

	if (!p->generation)
		return true;
	if (!bh_reason_drops(reason) && p->audit) {
		reason = p->audit;
		audit = true;
	}
	if (bh_reason_drops(reason)) {
		audit = audit || host_egress_audited(p);
		if (!audit)
			doubt_call(p);
		events_drop(p, reason, audit, host_egress_endpoint(p));
		return audit;
	}
	if (reason == BH_PASS_NEW && p->told == TOLD_ORIGINAL)
		events_opened(p);
	return true;
}

#endif
