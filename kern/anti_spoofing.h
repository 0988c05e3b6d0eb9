/* SPDX-License-Identifier: GPL-2.0-only */
/* An endpoint sends only as itself, and nothing else sends as an endpoint of this node. */
#ifndef BULKHEAD_KERN_ANTI_SPOOFING_H
#define BULKHEAD_KERN_ANTI_SPOOFING_H

#include <linux/in.h>

#include "link.h"

#define DHCP_SERVER 67
#define DHCP_CLIENT 68

static __always_inline bool spoofing_mac_is(const struct packet *p, const __u8 mac[6])
{
	const __u8 *from = p->mac_from;

	return from[0] == mac[0] && from[1] == mac[1] && from[2] == mac[2] && from[3] == mac[3] &&
	       from[4] == mac[4] && from[5] == mac[5];
}

static __always_inline bool spoofing_mac_known(const __u8 mac[6])
{
	return mac[0] | mac[1] | mac[2] | mac[3] | mac[4] | mac[5];
}

/* Returns true if a DHCP client that has no address yet asks for one. */
static __always_inline bool spoofing_asks_dhcp(const struct packet *p)
{
	return p->version == 4 && !packet_ipv4(p, p->from) && p->protocol == IPPROTO_UDP &&
	       p->port[0] == bpf_htons(DHCP_CLIENT) && p->port[1] == bpf_htons(DHCP_SERVER);
}

BPF_GLOBAL int spoofing_exception(const struct packet *p, const struct end *source)
{
	struct bh_iface *iface = p ? endpoint_iface(p->ifindex) : NULL;
	struct bh_addr addr;

	if (!iface || !source)
		return BH_DROP_INTERFACE;
	if (iface->flags & BH_IFACE_MAC && !spoofing_mac_is(p, iface->mac))
		return BH_DROP_MAC;
	if (source->ifindex == p->ifindex)
		return spoofing_mac_known(source->mac) && !spoofing_mac_is(p, source->mac)
			       ? BH_DROP_MAC
			       : 0;
	packet_address(p, p->from, &addr);
	if (endpoint_link_local(&addr) || spoofing_asks_dhcp(p))
		return 0;
	if (iface->flags & BH_IFACE_ALLOW_SOURCE && endpoint_allows_source(p->ifindex, &addr))
		return 0;
	return BH_DROP_SOURCE;
}

/* Checks the source address and the MAC of a packet at the hook of the endpoint that sent it.
 * @source: the owner of the address. */
static __always_inline int spoofing_check(const struct packet *p, const struct end *source)
{
	if (likely(source->ifindex == p->ifindex && spoofing_mac_is(p, source->mac)))
		return 0;
	return spoofing_exception(p, source);
}

/* Returns true if the endpoint's packet has the endpoint's own MAC. If the endpoint's MAC is not
 * known, every MAC counts as its own but those of others on its bridge. */
static __always_inline bool spoofing_mac_fits(const struct packet *p, const struct bh_iface *iface)
{
	if (iface->flags & BH_IFACE_MAC)
		return spoofing_mac_is(p, iface->mac);
	return !iface->bridge || !link_owner(p, p->mac_from, iface->bridge);
}

/* Checks, after spoofing_check(), that the MAC and the link-local address of the sender are not
 * another's on its link. Not part of spoofing_check(), since the stack below owner_resolve()
 * has no room. */
BPF_GLOBAL int spoofing_link(const struct packet *p)
{
	struct bh_iface *iface;
	struct bh_addr addr;

	if (!p || p->hook != BH_HOOK_FROM_ENDPOINT)
		return 0;
	iface = endpoint_iface(p->ifindex);
	if (!iface)
		return BH_DROP_INTERFACE;
	if (!spoofing_mac_fits(p, iface))
		return BH_DROP_MAC;
	packet_address(p, p->from, &addr);
	return endpoint_link_local(&addr) && link_holder(p, &addr) ? BH_DROP_SOURCE : 0;
}

/*
 * Checks a source address at the receiver's hook and at uplinks. A packet from an address of
 * another endpoint of this node must have come in by that endpoint's interface, or by the bridge
 * through which the node reaches it, or the node must have made it. At the receiver's hook, the
 * node's address is not checked: the node may have put it in place of another one (masquerading),
 * and it counts as the node's for policy only.
 */
static __always_inline int spoofing_claim(const struct packet *p, const struct end *source)
{
	struct bh_iface *iface;

	if (!source->ifindex || !p->ingress || p->ingress == INGRESS_LOST ||
	    source->ifindex == p->ingress)
		return 0;
	iface = endpoint_iface(source->ifindex);
	return iface && iface->via == p->ingress ? 0 : BH_DROP_CLAIM;
}

static __always_inline bool spoofing_claim_outside(const struct packet *p, const struct end *source)
{
	return spoofing_claim(p, source) || source->flags & END_NODE;
}

#endif
