/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What comes to a bridge of endpoints through a port that is none of theirs: it
 * claims no address of this node or its endpoints, and no MAC of those that share
 * the bridge, for whoever does gets what is sent to them; nor does it speak for
 * them by ARP or neighbour discovery.
 */
#ifndef BULKHEAD_KERN_BRIDGE_H
#define BULKHEAD_KERN_BRIDGE_H

#include "neighbour.h"

/* @bridge: that the interface is a port of. */
static __noinline bool bridge_takes_mac(const struct packet *p, __u32 bridge)
{
	struct bh_mac_key key = {.kind = BH_MAC_ENDPOINT};
	struct bh_iface *iface;
	struct end owner = {};
	struct bh_addr addr;
	struct bh_mac *mac;

	__builtin_memcpy(key.mac, p->mac_from, sizeof(key.mac));
	mac = bpf_map_lookup_elem(&bh_macs, &key);
	if (!mac)
		return false;
	addr = mac->ipv4.word[2] ? mac->ipv4 : mac->ipv6;
	if (endpoint_resolve(&addr, p->generation, &owner) || owner.ifindex == p->ifindex)
		return false;
	iface = endpoint_iface(owner.ifindex);
	return iface && iface->bridge == bridge;
}

static __noinline int bridge_speaks_for(const struct packet *p, const struct bh_addr *addr)
{
	struct end end = {};

	return !endpoint_resolve(addr, p->generation, &end) && source_claim_outside(p, &end)
		       ? BH_DROP_NEIGHBOUR
		       : 0;
}

static __noinline int bridge_arp(hook_context *ctx, const struct packet *p)
{
	struct bh_addr sender = {.word[2] = bpf_htonl(0xffff)};
	struct neighbour_arp arp;

	/* What else there is nobody here reads, whatever hardware it names. */
	if (hook_load(ctx, p->l3, &arp, sizeof(arp)) || arp.protocol != bpf_htons(ETH_P_IP) ||
	    arp.hardware_length != 6 || arp.protocol_length != 4)
		return 0;
	__builtin_memcpy(&sender.word[3], arp.sender, 4);
	return sender.word[3] ? bridge_speaks_for(p, &sender) : 0; /* 0: a probe */
}

/* Its source was checked. One who has no address yet asks for the one that it is about to take. */
static __noinline int bridge_discovery(hook_context *ctx, const struct packet *p)
{
	struct bh_addr source, target;

	packet_address(p, p->from, &source);
	if (p->type != ICMP6_NEIGHBOUR_ADVERTISEMENT &&
	    (p->type != ICMP6_NEIGHBOUR_SOLICITATION ||
	     source.word[0] | source.word[1] | source.word[2] | source.word[3]))
		return 0;
	return hook_load(ctx, p->l4 + 8, &target, sizeof(target)) ? 0
								  : bridge_speaks_for(p, &target);
}

/* Returns 0 or the reason to drop. Sources of IP packets are uplink_look()'s. */
static __always_inline int bridge_said(hook_context *ctx, const struct packet *p, __u32 bridge)
{
	if (!p->version && bridge_takes_mac(p, bridge))
		return BH_DROP_CLAIM;
	if (p->class == PACKET_ARP)
		return bridge_arp(ctx, p);
	return p->class == PACKET_NEIGHBOUR ? bridge_discovery(ctx, p) : 0;
}

#endif
