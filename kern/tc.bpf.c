/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The programs at TC hooks. tc_from_endpoint and tc_to_endpoint are at the host side of an
 * endpoint's interface: ingress for packets that the endpoint sends, egress for packets that it
 * receives. tc_uplink is at an uplink that takes no XDP program, and at other ports of an
 * endpoint's bridge. tc_leave is at the egress of all other interfaces. sk_node is at no
 * interface, but in the node's network namespace.
 */
#include "build.h"
#include "skb.h"
#include "ask_kernel.h"
#include "audit.h"
#include "confine.h"
#include "datagram.h"
#include "denial.h"
#include "dns.h"
#include "doubt.h"
#include "fragment.h"
#include "icmp.h"
#include "host_egress.h"
#include "neighbour.h"
#include "fast_path.h"
#include "redirect.h"
#include "socket.h"
#include "garbage_collector.h"
#include "tcp.h"
#include "tunnel.h"
#include "uplink.h"
#include "verifier.h"

#define TC_PASS -1 /* TC_ACT_UNSPEC, TCX_NEXT: the next program runs */
#define TC_DROP 2 /* TC_ACT_SHOT, TCX_DROP */

char LICENSE[] SEC("license") = "GPL";

#define TC_TRANSPORT 128u /* bytes to pull, from the start of the transport header on */

/*
 * Headers are read in place. If a part of them is in the fragments of the skb, this pulls that part
 * into the linear data, and the caller parses the packet again.
 */
static __noinline bool tc_pulls(struct __sk_buff *skb, struct packet *p)
{
	__u32 want = p->l4 + TC_TRANSPORT;

	if (hook_end(skb) - hook_data(skb) >= skb->len ||
	    bpf_skb_pull_data(skb, want < skb->len ? want : skb->len))
		return false;
	parse_begins_again(p);
	return true;
}

/* Not inline: the frame of a hook has no room for the variables of the parser. */
BPF_GLOBAL int tc_parse(struct __sk_buff *skb, struct packet *p)
{
	return p ? parse_packet(skb, p) : BH_DROP_TRUNCATED;
}

BPF_GLOBAL int tc_parse_bare(struct __sk_buff *skb, struct packet *p)
{
	return p ? parse_bare_packet(skb, p) : BH_DROP_TRUNCATED;
}

static __noinline int tc_pull(struct __sk_buff *skb, struct packet *p)
{
	return tc_pulls(skb, p) ? tc_parse(skb, p) : BH_DROP_TRUNCATED;
}

static __always_inline int tc_flow_once(struct packet *p)
{
	return p->protocol == IPPROTO_TCP ? tcp_packet(p) : datagram_packet(p);
}

/* The same, after the kernel was asked. Few packets come so far. */
static __always_inline int tc_flow_again(struct packet *p)
{
	return p->protocol == IPPROTO_TCP ? tcp_packet(p) : datagram_packet_again(p);
}

static __always_inline int tc_flow(struct __sk_buff *skb, struct packet *p)
{
	int reason = tc_flow_once(p);

	/* An evaluation may need an answer of the kernel first, another key, or the names that an
	 * endpoint has learned (ask_kernel.h). A packet is evaluated four times at most. */
#pragma unroll
	for (int asked = 0; asked < 3; asked++) {
		if (likely(reason < BH_REASONS))
			return reason;
		ask_kernel(skb, p, reason);
		reason = tc_flow_again(p);
	}
	if (likely(reason < BH_REASONS))
		return reason;
	if (p->protocol == IPPROTO_TCP)
		return BH_DROP_NO_CONNECTION;
	reason = datagram_open(p);
	if (likely(reason != CONNECTION_ASKS_NAMES))
		return reason;
	/* Policy's answer by the address holds if names would have to be asked again. Nothing else
	 * is asked for here. */
	p->named = NAMED_NO_MORE;
	return datagram_open(p);
}

/* Makes neighbour discovery or MLD a packet of a connection, as other ICMPv6 is. */
static __noinline void tc_as_flow(struct packet *p)
{
	p->class = PACKET_FLOW;
	parse_icmp_kind(p);
	scope_link(p);
}

static __always_inline int tc_class(struct __sk_buff *skb, struct packet *p)
{
	int reason;

	if (unlikely(p->class == PACKET_NEIGHBOUR)) {
		reason = neighbour_packet(skb, p);
		if (reason != NEIGHBOUR_IS_FLOW)
			return reason;
		tc_as_flow(p);
	}
	switch (p->class) {
	case PACKET_FLOW:
		if (unlikely(p->hook == BH_HOOK_TO_ENDPOINT && !p->ingress))
			p->local = local_sent(skb, p) ? LOCAL_HERE : 0;
		if (unlikely(tunnel_drops(skb, p)))
			reason = BH_DROP_TUNNEL;
		else
			reason = tc_flow(skb, p);
		/* A first fragment that passes by audit only is not remembered: the later fragments
		 * find no first one, and pass by audit as well. */
		if (p->flags & PACKET_MORE_FRAGMENTS && !bh_reason_drops(reason) &&
		    !(p->audit && audit_here(p)))
			fragment_remember(p);
		return reason;
	case PACKET_FRAGMENT:
		return fragment_follow(p);
	case PACKET_ICMP_ERROR:
		return icmp_error(skb, p);
	case PACKET_ARP:
		return neighbour_arp(skb, p);
	}
	return BH_DROP_NOT_IP;
}

/* Counts and reports the packet by @reason. Returns the action for the kernel. */
static __always_inline int tc_finish(struct __sk_buff *skb, struct packet *p, __u32 reason)
{
	if (bh_reason_drops(reason)) {
		if (!audit_here(p)) {
			if (!doubt_at_endpoint(skb, p) && p->enforced)
				denial_keep(skb, p, reason);
			events_drop(p, reason, false, 0);
			return TC_DROP;
		}
		packet_audited(p, reason);
		p->uncounted = audit_hand_on(skb, p);
	}
	confine_mark(skb, p);
	if (p->uncounted)
		return TC_PASS;
	if (p->audit) {
		events_drop(p, p->audit, true, 0);
		audit_counted(skb, p);
		return TC_PASS;
	}
	events_count(reason, p->length, events_direction(p->hook), false);
	if (reason == BH_PASS_NEW)
		events_opened(p);
	return TC_PASS;
}

/* Evaluates a packet that is not of an open, allowed connection. @hook: a constant. */
static __always_inline int tc_evaluate(struct __sk_buff *skb, struct packet *p, __u32 hook,
				       int reason)
{
	gc_begins();
	if (!reason)
		reason = tc_class(skb, p);
	if (!p->generation && bh_reason_drops(reason))
		reason = BH_PASS_OPEN;
	reason = tc_finish(skb, p, reason);
	if (reason == TC_PASS)
		dns_read_packet(skb, p, hook);
	return reason;
}

/* Passes a packet of an open connection. @from: the end of the key that sent it; @word: the
 * initiator's connection word. */
static __always_inline int tc_pass_open(struct __sk_buff *skb, __u32 hook, struct bh_ct *ct,
					__u64 word, __u32 from)
{
	if (word & BH_CT_LOCAL && hook == BH_HOOK_FROM_ENDPOINT)
		return redirect ? redirect_packet(skb, ct, from) : TC_PASS;
	if (redirect && word & BH_CT_LOCAL)
		redirect_confirm(ct, from);
	events_count(BH_PASS_ESTABLISHED, skb->len, events_direction(hook), false);
	return TC_PASS;
}

/* Passes a segment of a handshake. Like that of an open connection, the destination's hook counts
 * it. */
static __always_inline int tc_pass_handshake(struct __sk_buff *skb, __u32 hook, __u64 word)
{
	if (!(word & BH_CT_LOCAL && hook == BH_HOOK_FROM_ENDPOINT))
		events_count(BH_PASS_ESTABLISHED, skb->len, events_direction(hook), false);
	return TC_PASS;
}

#define TC_UNKNOWN 255 /* no verdict yet */

/* Returns true if an open call to a Service may have got another backend, beyond an interface
 * without a hook. */
static __always_inline bool tc_may_change_backend(struct __sk_buff *skb, __u32 hook, __u64 word)
{
	return hook == BH_HOOK_FROM_ENDPOINT && unlikely(word & BH_CT_SERVICE) &&
	       unlikely(!links_are_still_guarded(skb));
}

/* Passes a packet of an open connection that has a form which the fast path does not take. Else
 * returns TC_UNKNOWN. */
static __noinline int tc_pass_parsed(struct __sk_buff *skb, struct packet *p)
{
	__u64 word;
	struct bh_ct *ct = ct_established(p, &word);

	if (!ct || tc_may_change_backend(skb, p->hook, word))
		return TC_UNKNOWN;
	return tc_pass_open(skb, p->hook, ct, word, p->from);
}

/* Handles a packet that the fast path did not pass. */
static __always_inline int tc_slow_path(struct __sk_buff *skb, const struct fast_path *path,
					struct packet *p)
{
	bool searched = fast_path_has_searched(path), hashed = path->at != FAST_PATH_UNSEARCHED;
	bool plain; /* the packet is as the fast path takes it, so that path's answers hold */
	int reason, verdict;

	*p = (struct packet){
		.hash = hashed ? table_key(p)->hash : 0, /* of the fast path */
		.hook = path->hook,
		.generation = path->generation,
		.now = ct_now(),
		.ifindex = skb->ifindex,
		.ingress = skb->ingress_ifindex,
		.absent = !path->at,
		.found = searched && path->at,
		.at = searched && path->at ? path->at : packet_changes(),
		.audit = audit_handed_on(skb, path->hook),
	};
	reason = tc_parse(skb, p);
	plain = !reason && fast_path_takes(p);
	hashed = hashed && plain;
	if (unlikely(reason == BH_DROP_TRUNCATED))
		reason = tc_pull(skb, p);
	if (unlikely(p->flags & PACKET_FRAGMENT_HEADER) && hook_is_lost(skb))
		p->ingress = INGRESS_LOST;
	if (!reason &&
	    checksum_is_outside(skb, p->class == PACKET_FRAGMENT ? 0 : p->l4, p->protocol))
		reason = BH_DROP_CHECKSUM;
	if (!reason && unlikely(confine_breaks(skb, p)))
		reason = BH_DROP_SENDER;
	if (scope_link_hashed(p, hashed))
		plain = false;
	if (p->tcp_flags & TCP_SYN)
		table_fetch_free(table_key(p));
	if (!plain && !reason && p->class == PACKET_FLOW && !(p->flags & PACKET_MORE_FRAGMENTS) &&
	    !(p->tcp_flags & (TCP_SYN | TCP_FIN | TCP_RST))) {
		verdict = tc_pass_parsed(skb, p);
		if (verdict != TC_UNKNOWN)
			return verdict;
	}
	return tc_evaluate(skb, p, path->hook, reason);
}

static __always_inline int tc_hook(struct __sk_buff *skb, __u32 hook)
{
	struct packet p; /* the fast path uses the same bytes for its key, to save stack */
	struct fast_path path = {.ctx = skb, .hook = hook, .key = (void *)&p};

	if (likely(fast_path_packet(&path)) && !tc_may_change_backend(skb, hook, path.word))
		return tc_pass_open(skb, hook, path.ct, path.word, path.from);
	if (fast_path_shakes(&path))
		return tc_pass_handshake(skb, hook, path.word);
	if (denial_may_be_known(&path) && denial_repeats(skb, table_key(&p), hook, path.generation))
		return TC_DROP;
	verifier_room();
	return tc_slow_path(skb, &path, &p);
}

SEC("tc")
int tc_from_endpoint(struct __sk_buff *skb)
{
	return tc_hook(skb, BH_HOOK_FROM_ENDPOINT);
}

SEC("tc")
int tc_to_endpoint(struct __sk_buff *skb)
{
	return tc_hook(skb, BH_HOOK_TO_ENDPOINT);
}

SEC("tc")
int tc_uplink(struct __sk_buff *skb)
{
	struct packet p = {
		.hook = BH_HOOK_UPLINK,
		.generation = packet_generation(),
		.ifindex = skb->ifindex,
		.ingress = skb->ifindex,
	};
	struct bh_iface *iface;
	int reason;

	verifier_room();
	if (!p.generation)
		return TC_PASS;
	iface = endpoint_iface(p.ifindex);
	if (iface && iface->flags & BH_IFACE_PORT)
		p.hook = BH_HOOK_PORT;
	reason = uplink_parse(skb, &p, iface);
	if (unlikely(reason == BH_DROP_TRUNCATED) && tc_pulls(skb, &p))
		reason = uplink_is_bare(iface) ? tc_parse_bare(skb, &p) : tc_parse(skb, &p);
	return uplink_passes(skb, &p, iface, reason) ? TC_PASS : TC_DROP;
}

/* Returns true if the hook of an endpoint in audit has counted the packet, which does not show the
 * endpoint: it came in by a bridge, the node has made it again of fragments, or masquerades its
 * source. An endpoint that writes the mark itself hides nothing: its own hook has counted the
 * packet if it is in audit, and has dropped what policy denies if it is not. Not inline, for the
 * stack. */
static __noinline bool tc_was_counted(struct __sk_buff *skb, struct packet *p)
{
	struct end sender = {};

	if (p->class == PACKET_FLOW)
		p->told = netfilter_ask(skb, p);
	return host_egress_find_sender(p, &sender) && audit_was_counted(skb, sender.ifindex);
}

/* Handles a packet at the host egress hook that is not of an open, allowed connection of the
 * addresses that it has now. */
static __always_inline int tc_leaves(struct __sk_buff *skb, const struct fast_path *path,
				     struct packet *p, bool bare)
{
	int reason;

	*p = (struct packet){
		.hook = BH_HOOK_LEAVE,
		.generation = path->generation,
		.now = ct_now(),
		.ifindex = skb->ifindex,
		.ingress = skb->ingress_ifindex,
	};
	reason = bare ? parse_bare_packet(skb, p) : parse_packet(skb, p);
	if (unlikely(reason == BH_DROP_TRUNCATED) && tc_pulls(skb, p))
		reason = bare ? tc_parse_bare(skb, p) : tc_parse(skb, p);
	if (reason) {
		reason = p->version && host_egress_may_be_endpoints(p) ? reason : BH_PASS_OPEN;
	} else {
		if (unlikely(p->class == PACKET_NEIGHBOUR) && !neighbour_on_link(p, p->ingress))
			tc_as_flow(p);
		if (unlikely(skb->tc_index == AUDIT_COUNTED) && tc_was_counted(skb, p))
			return TC_PASS;
		if (p->version && p->class != PACKET_NEIGHBOUR && host_egress_strays(skb, p))
			reason = BH_DROP_ASTRAY;
		else if (tunnel_leaves(skb, p))
			reason = BH_DROP_TUNNEL;
		else
			reason =
				confine_breaks(skb, p) ? BH_DROP_SENDER : host_egress_class(skb, p);
	}
	return host_egress_finish(p, reason) ? TC_PASS : TC_DROP;
}

SEC("tc")
int tc_leave(struct __sk_buff *skb)
{
	struct packet p; /* the fast path uses these bytes as in tc_hook() */
	struct fast_path path = {.ctx = skb, .hook = BH_HOOK_LEAVE, .key = (void *)&p};
	bool bare;

	if (host_egress_is_foreign(skb))
		return TC_PASS;
	bare = host_egress_has_no_ethernet(skb);
	if (!bare && likely(fast_path_packet(&path) || fast_path_shakes(&path)) &&
	    !(path.word & BH_CT_SERVICE) &&
	    (likely(!(path.word & HOST_EGRESS_STAYS)) ||
	     !host_egress_is_bridged(skb->ingress_ifindex)))
		return TC_PASS;
	verifier_room();
	path.generation = packet_generation();
	if (audit_was_counted(skb, skb->ingress_ifindex))
		return TC_PASS;
	return path.generation ? tc_leaves(skb, &path, &p, bare) : TC_PASS;
}

/* Runs when the node looks for the socket of a packet. */
SEC("sk_lookup")
int sk_node(struct bpf_sk_lookup *ctx)
{
	return socket_drops(ctx) ? SK_DROP : SK_PASS;
}
