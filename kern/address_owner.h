/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the owners of a packet's two addresses: an endpoint, the node, or neither; and checks that
 * the sender may use its address. Functions return an enum bh_reason, or an internal reason.
 */
#ifndef BULKHEAD_KERN_ADDRESS_OWNER_H
#define BULKHEAD_KERN_ADDRESS_OWNER_H

#include "anti_spoofing.h"
#include "conntrack.h"
#include "link.h"

/* Internal reasons: what ask_kernel.h is to find out before the packet is evaluated again. */
enum {
	/* nothing, but give the packet a key of this hook's own: the entry is of other ends than
	 * the packet's here */
	CONNECTION_OF_OTHERS = BH_REASONS,
	CONNECTION_ASKS, /* what the kernel's conntrack says of the packet */
	CONNECTION_ASKS_ROUTE, /* if the destination is the node's by the kernel's routes */
	CONNECTION_ASKS_LINKS, /* if every interface is guarded */
	CONNECTION_ASKS_NAMES, /* if a domain name allows the flow */
};
_Static_assert(CONNECTION_ASKS_NAMES < 64, "bh_cached.reason");

/* By enum bh_direction: [BH_EGRESS] is the initiator. */
struct ends {
	struct end end[2];
};

/* Identifies a peer on a bridge or with a link-local address by its MAC, if no map knows its
 * address. On a bridge the node's MAC does not identify the node, which forwards packets that come
 * to its MAC. */
static __always_inline int owner_peer_mac(const struct packet *p, bool is_sender, bool bridged,
					  struct end *end)
{
	struct bh_mac_key key = {.kind = BH_MAC_ENDPOINT};
	struct bh_mac *mac;
	int reason;

	__builtin_memcpy(key.mac, is_sender ? p->mac_from : p->mac_to, sizeof(key.mac));
	mac = active_lookup(&at_macs, &key);
	if (mac) {
		reason = endpoint_of(mac->ifindex, p->version, p->generation, end);
		end->flags |= END_BY_MAC;
		return reason;
	}
	/* Link-local traffic is not routed: at the other end of a link that is no bridge there is
	 * only the node. */
	if (!bridged)
		end->flags |= END_NODE;
	return 0;
}

/* Takes the endpoint of this hook's interface for the owner of an address that is link-local, a
 * group's or unknown. */
static __always_inline int owner_by_hook(const struct packet *p, struct end *end)
{
	int reason = endpoint_of(p->ifindex, p->version, p->generation, end);

	if (end->ifindex != p->ifindex &&
	    !(end->flags & END_COVERING_PREFIX && end->covering_prefix == p->ifindex))
		end->assignment = 0;
	end->flags = END_ENDPOINT | END_BY_HOOK;
	end->ifindex = p->ifindex;
	return reason;
}

static __always_inline int owner_peer(const struct packet *p, const struct bh_addr *addr,
				      bool is_sender, struct end *end)
{
	struct bh_iface *iface = endpoint_iface(p->ifindex);
	bool bridged, link_local = endpoint_link_local(addr);

	if (!iface)
		return BH_DROP_INTERFACE;
	bridged = iface->flags & BH_IFACE_L2 && !(link_local && is_sender && !p->ingress);
	return bridged || link_local ? owner_peer_mac(p, is_sender, bridged, end) : 0;
}

/* Handles an address at this hook's end that is not the endpoint's. If the address is another
 * endpoint's, or the node's (a bridge takes a frame for the node to any MAC), the key stands for
 * that owner's connection at all other hooks, and this hook needs a key of its own. */
static __always_inline int owner_foreign(const struct packet *p, struct end *own)
{
	if (own->flags & (END_ENDPOINT | END_NODE) && !BH_CT_IS_HOOK(p->key.scope))
		return CONNECTION_OF_OTHERS;
	return owner_by_hook(p, own);
}

/* Finds the owners of the packet's two addresses, and checks that the sender may use the source
 * address. */
BPF_GLOBAL int owner_resolve(const struct packet *p, __u32 initiator, struct ends *ends)
{
	struct end *own, *peer;
	const struct bh_addr *addr;
	__u32 own_end, services;
	bool sending;
	int reason;

	if (!p || !ends)
		return BH_DROP_MAPS;
	sending = p->hook == BH_HOOK_FROM_ENDPOINT;
	own_end = sending ? p->from : !p->from;
	own = own_end == initiator ? &ends->end[1] : &ends->end[0];
	peer = own_end == initiator ? &ends->end[0] : &ends->end[1];
	addr = packet_address_at(p, own_end);
	reason = endpoint_resolve(addr, p->generation, own);
	if (!reason && !endpoint_counts_as_prefix(p, own, peer)) {
		if (sending)
			reason = spoofing_check(p, own);
		if (!reason && own->ifindex != p->ifindex)
			reason = owner_foreign(p, own);
	}
	if (reason)
		return reason;
	addr = packet_address_at(p, !own_end);
	reason = endpoint_resolve(addr, p->generation, peer);
	services = sending ? 0 : peer->flags & END_SERVICES;
	if (!reason && !(peer->flags & END_ENDPOINT))
		reason = owner_peer(p, addr, !sending, peer);
	/* The reply of a neighbour on the bridge, which the bridge has translated back. */
	peer->flags |= services;
	if (!reason && !sending)
		reason = spoofing_claim(p, peer);
	return reason;
}

/* Returns true if the node sent the packet: the node made it, with one of its addresses, or the
 * endpoint sent it and the node put its own address into it. */
static __always_inline bool owner_from_node(const struct packet *p, const struct end *source)
{
	if (p->hook == BH_HOOK_TO_ENDPOINT && p->local == LOCAL_HERE)
		return !(source->flags & END_ENDPOINT);
	return p->hook == BH_HOOK_TO_ENDPOINT && source->flags & END_NODE &&
	       (!p->ingress || p->ingress == p->ifindex);
}

static __always_inline void owner_copy(const struct end *end, struct bh_ct_end *as)
{
	as->ifindex = end->ifindex;
	__builtin_memcpy(as->mac, end->mac, sizeof(as->mac));
}

/* Finds the endpoint of this hook as owner_resolve() does. It is isolated while it is added or
 * deleted. */
static __noinline int owner_here(const struct packet *p, __u32 end, struct end *own)
{
	if (endpoint_resolve(packet_address_at(p, end), p->generation, own))
		return BH_DROP_MAPS;
	if (likely(own->ifindex == p->ifindex))
		return 0;
	if (endpoint_of(p->ifindex, p->version, p->generation, own))
		return BH_DROP_MAPS;
	if (own->ifindex != p->ifindex)
		own->assignment = 0;
	own->flags = END_ENDPOINT;
	own->ifindex = p->ifindex;
	return 0;
}

/* Identifies a peer by the link-local address that it holds, whatever the frame's MAC is. */
static __always_inline int owner_holder(const struct packet *p, __u32 holder, struct end *peer)
{
	struct bh_iface *iface = endpoint_iface(holder);
	int reason;

	if (!iface)
		return BH_DROP_INTERFACE;
	reason =
		endpoint_of(holder, endpoint_no_address(&iface->ipv6) ? 4 : 6, p->generation, peer);
	return reason || p->hook == BH_HOOK_FROM_ENDPOINT ? reason : spoofing_claim(p, peer);
}

/* Finds the node for policy. A node without a name stays what its address is. Not inline, for the
 * stack. */
static __noinline int owner_node(const struct packet *p, struct end *node)
{
	return endpoint_node(p->ifindex, p->version, p->generation, 0, node);
}

/* Finds the owners of link-local addresses, after owner_resolve() and spoofing_link(). Not
 * inline, for the stack. */
static __noinline int owner_links(const struct packet *p, __u32 initiator, struct ends *ends)
{
	__u32 own_end = p->hook == BH_HOOK_FROM_ENDPOINT ? p->from : !p->from, holder;
	const struct bh_addr *addr = packet_address_at(p, own_end);
	struct end *peer;
	int reason;

	if (endpoint_link_local(addr) && !BH_CT_IS_HOOK(p->key.scope) && link_holder(p, addr))
		return CONNECTION_OF_OTHERS;
	addr = packet_address_at(p, !own_end);
	peer = own_end == initiator ? &ends->end[0] : &ends->end[1];
	if (!endpoint_link_local(addr))
		return 0;
	holder = link_holder(p, addr);
	if (holder && holder != LINK_NODE)
		return owner_holder(p, holder, peer);
	if (!holder && !(peer->flags & END_NODE))
		return 0;
	reason = owner_node(p, peer);
	peer->flags |= END_NODE;
	return reason;
}

/* Notes that any MAC is right in the first packet of an endpoint whose MAC is not known
 * (anti_spoofing.h), unless the endpoint is on a bridge. Not inline, for the stack. */
static __noinline void owner_learns(struct bh_ct_end *end)
{
	__u32 changes = packet_changes();
	struct bh_iface *iface = endpoint_iface(end->ifindex);

	if (!(changes & 1) && iface && !iface->bridge &&
	    !(iface->flags & (BH_IFACE_MAC | BH_IFACE_L2)))
		ct_learns_from(end, changes);
}

#endif
