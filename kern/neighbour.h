/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ARP, IPv6 neighbour discovery and MLD. Isolation does not concern them. But an endpoint may not
 * speak for another's address, nor as a router, and no such packet may come from beyond the link
 * (RFC 4861, RFC 6980, RFC 3810).
 */
#ifndef BULKHEAD_KERN_NEIGHBOUR_H
#define BULKHEAD_KERN_NEIGHBOUR_H

#include "parse.h"
#include "anti_spoofing.h"

#define NEIGHBOUR_OPTIONS 4 /* options in a message, at most */
#define NEIGHBOUR_SOURCE_MAC 1
#define NEIGHBOUR_TARGET_MAC 2

struct neighbour_arp {
	__be16 hardware, protocol;
	__u8 hardware_length, protocol_length;
	__be16 operation;
	__u8 sender_mac[6];
	__u8 sender[4];
	__u8 target_mac[6];
	__u8 target[4];
} __attribute__((packed));

struct neighbour_option {
	__u8 type;
	__u8 length; /* in 8 bytes */
	__u8 mac[6];
};

/* Whether the endpoint of this hook may speak for an address. Claims a link-local one for it. */
static __noinline bool neighbour_owns(const struct packet *p, const struct bh_addr *addr)
{
	struct bh_allow_source_key key = {.length = 160, .ifindex = bpf_htonl(p->ifindex)};
	struct bh_endpoint *endpoint;

	key.addr = *addr;
	endpoint = bpf_map_lookup_elem(&bh_endpoints, &key.addr);
	return (endpoint && endpoint->ifindex == p->ifindex) ||
	       (endpoint_link_local(addr) && link_claim(p, addr)) ||
	       bpf_map_lookup_elem(&bh_allow_source, &key);
}

/* Checks that the frame has the endpoint's own MAC. */
static __always_inline int neighbour_frame(const struct packet *p)
{
	struct bh_iface *iface = endpoint_iface(p->ifindex);

	if (!iface)
		return BH_DROP_INTERFACE;
	return source_mac_fits(p, iface) ? 0 : BH_DROP_MAC;
}

/* Whether only a router may send the message. The node is the endpoints' only router. */
static __always_inline bool neighbour_routes(const struct packet *p)
{
	return p->type == ICMP6_ROUTER_ADVERTISEMENT || p->type == ICMP6_REDIRECT;
}

/* Judges a packet to an endpoint. If another endpoint sent the packet, that endpoint's hook has
 * counted it. */
static __always_inline int neighbour_arrives(struct packet *p)
{
	struct bh_iface *iface = endpoint_iface(p->ingress);

	if (p->ingress && neighbour_routes(p))
		return BH_DROP_ROUTER;
	p->uncounted = iface && iface->flags & BH_IFACE_ENDPOINT && !p->audit;
	return BH_PASS_NEIGHBOUR;
}

/* Returns an enum bh_reason. */
BPF_GLOBAL int neighbour_arp(hook_context *ctx, struct packet *p)
{
	struct bh_addr sender = {.word[2] = bpf_htonl(0xffff)};
	struct neighbour_arp arp;
	int reason;

	if (!p)
		return BH_DROP_MAPS;
	if (hook_load(ctx, p->l3, &arp, sizeof(arp)))
		return BH_DROP_TRUNCATED;
	if (arp.hardware != bpf_htons(1) || arp.protocol != bpf_htons(ETH_P_IP) ||
	    arp.hardware_length != 6 || arp.protocol_length != 4)
		return BH_DROP_NEIGHBOUR;
	if (p->hook != BH_HOOK_FROM_ENDPOINT)
		return neighbour_arrives(p);
	reason = neighbour_frame(p);
	if (reason)
		return reason;
	__builtin_memcpy(&sender.word[3], arp.sender, 4);
	if (!source_mac_is(p, arp.sender_mac) ||
	    (sender.word[3] && !neighbour_owns(p, &sender))) /* 0: a probe */
		return BH_DROP_NEIGHBOUR;
	return BH_PASS_NEIGHBOUR;
}

/* Whether the link-layer addresses in the options from @at on are the frame's source MAC. */
static __always_inline bool neighbour_options(hook_context *ctx, const struct packet *p, __u32 at)
{
	struct neighbour_option option;
	__u32 end = p->l4 + p->l4_length;

	for (int i = 0; i < NEIGHBOUR_OPTIONS; i++) {
		if (at + sizeof(option) > end)
			return at == end;
		if (hook_load(ctx, at, &option, sizeof(option)) || !option.length)
			return false;
		if ((option.type == NEIGHBOUR_SOURCE_MAC || option.type == NEIGHBOUR_TARGET_MAC) &&
		    !source_mac_is(p, option.mac))
			return false;
		at += option.length * 8;
	}
	return at == end;
}

/* Judges a message of neighbour discovery that an endpoint sends. */
static __always_inline int neighbour_said(hook_context *ctx, struct packet *p,
					  const struct bh_addr *source)
{
	bool unspecified = !(source->word[0] | source->word[1] | source->word[2] | source->word[3]);
	struct bh_addr target;

	if (neighbour_routes(p))
		return BH_DROP_ROUTER;
	if (!unspecified && !neighbour_owns(p, source))
		return BH_DROP_SOURCE;
	if (p->type == ICMP6_ROUTER_SOLICITATION)
		return neighbour_options(ctx, p, p->l4 + 8) ? BH_PASS_NEIGHBOUR : BH_DROP_NEIGHBOUR;
	if (p->l4_length < 24 || hook_load(ctx, p->l4 + 8, &target, sizeof(target)))
		return BH_DROP_TRUNCATED;
	/* A solicitation may ask for any address; one without a source asks for the sender's
	 * own. */
	if ((p->type == ICMP6_NEIGHBOUR_ADVERTISEMENT || unspecified) &&
	    !neighbour_owns(p, &target))
		return BH_DROP_NEIGHBOUR;
	return neighbour_options(ctx, p, p->l4 + 24) ? BH_PASS_NEIGHBOUR : BH_DROP_NEIGHBOUR;
}

/* Returns an enum bh_reason. */
BPF_GLOBAL int neighbour_packet(hook_context *ctx, struct packet *p)
{
	bool discovery;
	struct bh_addr source;
	int reason;

	if (!p)
		return BH_DROP_MAPS;
	discovery = p->type >= ICMP6_ROUTER_SOLICITATION && p->type <= ICMP6_REDIRECT;
	if (p->hop_limit != (discovery ? 255 : 1))
		return BH_DROP_HOP_LIMIT;
	if (p->flags & PACKET_FRAGMENT_HEADER)
		return BH_DROP_NEIGHBOUR;
	if (p->hook != BH_HOOK_FROM_ENDPOINT)
		return neighbour_arrives(p);
	reason = neighbour_frame(p);
	if (reason)
		return reason;
	packet_address(p, p->from, &source);
	if (discovery)
		return neighbour_said(ctx, p, &source);
	if ((source.word[0] | source.word[1] | source.word[2] | source.word[3]) &&
	    !neighbour_owns(p, &source))
		return BH_DROP_SOURCE;
	return BH_PASS_NEIGHBOUR;
}

#endif
