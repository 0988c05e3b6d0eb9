/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checks frames that come to a bridge of endpoints through another port. They may not have an
 * address of this node or its endpoints, nor a MAC of an endpoint on the bridge: else the bridge
 * would send that endpoint's frames to this port. Nor may they speak for these addresses by ARP or
 * neighbour discovery.
 */
#ifndef BULKHEAD_KERN_BRIDGE_H
#define BULKHEAD_KERN_BRIDGE_H

#include "neighbour.h"

static __noinline int bridge_check_speaker(const struct packet *p, const struct bh_addr *addr)
{
	struct end end = {};

	if (!endpoint_resolve(addr, p->generation, &end) && spoofing_claim_outside(p, &end))
		return BH_DROP_NEIGHBOUR;
	return endpoint_link_local(addr) && link_holder(p, addr) ? BH_DROP_NEIGHBOUR : 0;
}

static __noinline int bridge_arp(hook_context *ctx, const struct packet *p)
{
	struct bh_addr sender = {.word[2] = bpf_htonl(0xffff)};
	struct neighbour_arp arp;

	/* Hosts on the bridge ignore all other ARP packets. */
	if (hook_load(ctx, p->l3, &arp, sizeof(arp)) || arp.protocol != bpf_htons(ETH_P_IP) ||
	    arp.hardware_length != 6 || arp.protocol_length != 4)
		return 0;
	__builtin_memcpy(&sender.word[3], arp.sender, 4);
	return sender.word[3] ? bridge_check_speaker(p, &sender) : 0; /* 0: a probe */
}

/*
 * Checks neighbour discovery whose source address was checked. A host without an address asks for
 * the one that it is about to take. The node's own router may be behind an uplink: its
 * advertisements pass here, and endpoints' hooks drop them.
 */
static __noinline int bridge_discovery(hook_context *ctx, const struct packet *p)
{
	struct bh_addr source, target;

	if (p->flags & PACKET_FRAGMENT_HEADER) /* RFC 6980 */
		return BH_DROP_NEIGHBOUR;
	if (p->hook == BH_HOOK_PORT && neighbour_routes(p))
		return BH_DROP_ROUTER;
	packet_address(p, p->from, &source);
	if (p->type == ICMP6_ROUTER_ADVERTISEMENT && endpoint_link_local(&source))
		link_claim(p, &source);
	if (p->type != ICMP6_NEIGHBOUR_ADVERTISEMENT &&
	    (p->type != ICMP6_NEIGHBOUR_SOLICITATION || !endpoint_no_address(&source)))
		return 0;
	return hook_load(ctx, p->l4 + 8, &target, sizeof(target))
		       ? 0
		       : bridge_check_speaker(p, &target);
}

/* Returns true if the header behind the extension headers could not be read, and may be neighbour
 * discovery's. */
static __always_inline bool bridge_hides(const struct packet *p, int broken)
{
	return p->version == 6 && p->l4 &&
	       (broken == BH_DROP_EXTENSION || broken == BH_DROP_TINY ||
		broken == BH_DROP_TRUNCATED);
}

/* Returns 0 or the reason to drop. @broken: what the parser returned. uplink_look() checks the
 * sources of IP packets. */
static __always_inline int bridge_evaluate(hook_context *ctx, const struct packet *p, __u32 bridge,
					   int broken)
{
	if (!p->version && link_owner(p, p->mac_from, bridge))
		return BH_DROP_CLAIM;
	if (bridge_hides(p, broken))
		return broken;
	if (p->class == PACKET_ARP)
		return bridge_arp(ctx, p);
	return p->class == PACKET_NEIGHBOUR ? bridge_discovery(ctx, p) : 0;
}

#endif
