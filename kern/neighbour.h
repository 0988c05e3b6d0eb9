/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ARP, IPv6 neighbour discovery and MLD. Isolation does not concern them on the sender's link; to
 * any other destination they are ICMPv6 as any other. But an endpoint may not speak for another's
 * address, nor as a router, and no such packet may come from beyond the link (RFC 4861, RFC 6980,
 * RFC 3810).
 */
#ifndef BULKHEAD_KERN_NEIGHBOUR_H
#define BULKHEAD_KERN_NEIGHBOUR_H

#include "parse.h"
#include "anti_spoofing.h"

#define NEIGHBOUR_OPTIONS 4 /* options in a message, at most */
#define NEIGHBOUR_SOURCE_MAC 1
#define NEIGHBOUR_TARGET_MAC 2

/* Internal reason: the packet is not the link's own. Policy decides, as about other ICMPv6. */
#define NEIGHBOUR_IS_FLOW BH_REASONS

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

/* Returns true if the endpoint of this hook may speak for an address. Claims a link-local one for
 * it. */
static __noinline bool neighbour_owns(const struct packet *p, const struct bh_addr *addr)
{
	struct bh_endpoint *endpoint = active_lookup(&at_endpoints, addr);

	return (endpoint && endpoint->ifindex == p->ifindex) ||
	       (endpoint_link_local(addr) && link_claim(p, addr)) ||
	       endpoint_allows_source(p->ifindex, addr);
}

/* Checks that the frame has the endpoint's own MAC. */
static __always_inline int neighbour_frame(const struct packet *p)
{
	struct bh_iface *iface = endpoint_iface(p->ifindex);

	if (!iface)
		return BH_DROP_INTERFACE;
	return spoofing_mac_fits(p, iface) ? 0 : BH_DROP_MAC;
}

/* Returns true if only a router may send the message. The node is the endpoints' only router. */
static __always_inline bool neighbour_routes(const struct packet *p)
{
	return p->type == ICMP6_ROUTER_ADVERTISEMENT || p->type == ICMP6_REDIRECT;
}

/* Returns true for neighbour discovery, false for MLD. */
static __always_inline bool neighbour_is_discovery(const struct packet *p)
{
	return p->type >= ICMP6_ROUTER_SOLICITATION && p->type <= ICMP6_REDIRECT;
}

/* Returns true if no router forwards a packet with this address: a group of the link for neighbour
 * discovery (ff02::/16), every group for MLD, whose hop limit is 1, or a link-local address. */
static __always_inline bool neighbour_is_link_local(const struct packet *p,
						    const struct bh_addr *addr)
{
	__be32 mask = neighbour_is_discovery(p) ? bpf_htonl(0xff0f0000) : bpf_htonl(0xff000000);

	return endpoint_link_local(addr) ||
	       (addr->word[0] & mask) == (bpf_htonl(0xff020000) & mask);
}

/* Returns true if MLD has a source that is valid in MLD: a link-local one, or none. A router
 * forwards neither. */
static __always_inline bool neighbour_source_is_link_local(const struct bh_addr *source)
{
	return endpoint_link_local(source) || endpoint_no_address(source);
}

static __always_inline bool neighbour_same_prefix(const struct bh_addr *a, const struct bh_addr *b)
{
	return a->word[0] == b->word[0] && a->word[1] == b->word[1] && a->word[0];
}

/*
 * Returns true if an address is on the bridge of the endpoint that sent the packet: another
 * endpoint there has the address, or the address shares its first 64 bits, the length of an IPv6
 * link's prefix (RFC 4291), with one of the sender's. The node forwards frames that have the node's
 * MAC.
 */
static __always_inline bool neighbour_bridged(const struct packet *p, const struct bh_iface *sender,
					      __u32 owner, const struct bh_addr *addr)
{
	struct bh_mac_key key = {.kind = BH_MAC_NODE};
	struct bh_iface *iface = endpoint_iface(owner);

	if (!sender->bridge)
		return false;
	__builtin_memcpy(key.mac, p->mac_to, sizeof(key.mac));
	if (active_lookup(&at_macs, &key))
		return false;
	if (iface)
		return iface->bridge == sender->bridge;
	return neighbour_same_prefix(addr, &sender->ipv6) ||
	       neighbour_same_prefix(addr, packet_address_at(p, p->from));
}

/* Returns true if the packet of the endpoint at @ifindex goes to the endpoint's link or its node.
 */
BPF_GLOBAL int neighbour_on_link(const struct packet *p, __u32 ifindex)
{
	struct bh_iface *iface;
	struct end end = {};
	struct bh_addr addr;

	if (!p)
		return false;
	packet_address(p, !p->from, &addr);
	if (!neighbour_is_discovery(p) &&
	    !neighbour_source_is_link_local(packet_address_at(p, p->from)))
		return false;
	if (neighbour_is_link_local(p, &addr))
		return true;
	iface = endpoint_iface(ifindex);
	if (!iface || !(iface->flags & BH_IFACE_ENDPOINT) ||
	    endpoint_resolve(&addr, p->generation, &end))
		return false;
	return end.flags & END_NODE || neighbour_bridged(p, iface, end.ifindex, &addr);
}

/* Evaluates a packet to an endpoint. If another endpoint sent the packet, that endpoint's hook has
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
	if (!spoofing_mac_is(p, arp.sender_mac) ||
	    (sender.word[3] && !neighbour_owns(p, &sender))) /* 0: a probe */
		return BH_DROP_NEIGHBOUR;
	return BH_PASS_NEIGHBOUR;
}

/* Returns true if the link-layer addresses in the options from @at on are the frame's source
 * MAC. */
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
		    !spoofing_mac_is(p, option.mac))
			return false;
		at += option.length * 8;
	}
	return at == end;
}

/* Evaluates a message of neighbour discovery that an endpoint sends. */
static __always_inline int neighbour_evaluate(hook_context *ctx, struct packet *p,
					      const struct bh_addr *source)
{
	bool unspecified = endpoint_no_address(source);
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

/* Evaluates neighbour discovery or MLD that an endpoint sends. */
static __always_inline int neighbour_sent(hook_context *ctx, struct packet *p)
{
	int reason = neighbour_frame(p);
	struct bh_addr source;

	if (reason)
		return reason;
	packet_address(p, p->from, &source);
	if (neighbour_is_discovery(p))
		reason = neighbour_evaluate(ctx, p, &source);
	else
		reason = endpoint_no_address(&source) || neighbour_owns(p, &source)
				 ? BH_PASS_NEIGHBOUR
				 : BH_DROP_SOURCE;
	if (reason != BH_PASS_NEIGHBOUR || neighbour_on_link(p, p->ifindex))
		return reason;
	return NEIGHBOUR_IS_FLOW;
}

/* Returns true for MLD to an endpoint that a router may have forwarded: its hop limit of 1 does not
 * prove that the sender is on the link. */
static __always_inline bool neighbour_came_far(const struct packet *p)
{
	return !neighbour_is_discovery(p) &&
	       (!neighbour_source_is_link_local(packet_address_at(p, p->from)) ||
		!neighbour_is_link_local(p, packet_address_at(p, !p->from)));
}

/* Returns an enum bh_reason, or NEIGHBOUR_IS_FLOW. */
BPF_GLOBAL int neighbour_packet(hook_context *ctx, struct packet *p)
{
	__u8 code;

	if (!p)
		return BH_DROP_MAPS;
	if (p->hop_limit != (neighbour_is_discovery(p) ? 255 : 1))
		return BH_DROP_HOP_LIMIT;
	if (p->flags & PACKET_FRAGMENT_HEADER)
		return BH_DROP_NEIGHBOUR;
	if (hook_load(ctx, p->l4 + offsetof(struct icmp_header, code), &code, 1))
		return BH_DROP_TRUNCATED;
	if (code)
		return BH_DROP_TRANSPORT;
	if (p->hook == BH_HOOK_FROM_ENDPOINT)
		return neighbour_sent(ctx, p);
	return neighbour_came_far(p) ? NEIGHBOUR_IS_FLOW : neighbour_arrives(p);
}

#endif
