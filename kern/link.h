/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owners of MACs and link-local addresses on a link. A link is a bridge, or the wire between the
 * node and one endpoint. An endpoint owns its MAC and the address that is made of it (RFC 4291,
 * appendix A); the node also owns its addresses on the link. Any other link-local address belongs
 * to the first one that claims it (claim.h).
 */
#ifndef BULKHEAD_KERN_LINK_H
#define BULKHEAD_KERN_LINK_H

#include "claim.h"
#include "endpoint.h"
#include "maps/link_local.bpf.h"

#define LINK_NODE 0xffffffffu /* in the place of an endpoint's interface */

/* Returns the link of an interface: its bridge, or itself. */
static __always_inline __u32 link_of(__u32 ifindex)
{
	struct bh_iface *iface = endpoint_iface_inline(ifindex);

	return iface && iface->bridge ? iface->bridge : ifindex;
}

/* Returns the owner of a MAC on the link if that is not the sender of the packet: an endpoint's
 * interface, or LINK_NODE. 0: no other owner is known. */
static __noinline __u32 link_owner(const struct packet *p, const __u8 mac[6], __u32 link)
{
	struct bh_mac_key key = {.kind = BH_MAC_ENDPOINT};
	struct bh_iface *iface;
	struct bh_mac *known;

	__builtin_memcpy(key.mac, mac, sizeof(key.mac));
	known = active_lookup(&at_macs, &key);
	if (!known) {
		key.kind = BH_MAC_NODE;
		return active_lookup(&at_macs, &key) ? LINK_NODE : 0;
	}
	if (known->ifindex == p->ifindex)
		return 0;
	iface = endpoint_iface_inline(known->ifindex);
	return iface && iface->bridge == link ? known->ifindex : 0;
}

/* Returns true if the packet has the MAC of another owner on its bridge that is not in audit. */
BPF_GLOBAL int link_hijacks(const struct packet *p, __u32 bridge)
{
	__u32 owner;

	if (!p || !bridge)
		return false;
	owner = link_owner(p, p->mac_from, bridge);
	return owner && !endpoint_in_audit(owner);
}

/* Finds the MAC of which a link-local address was made. Returns false if it is of another form. */
static __always_inline bool link_eui64(const struct bh_addr *addr, __u8 mac[6])
{
	const __u8 *id = (const __u8 *)&addr->word[2];

	if (addr->word[0] != bpf_htonl(0xfe800000) || addr->word[1] || id[3] != 0xff ||
	    id[4] != 0xfe)
		return false;
	mac[0] = id[0] ^ 2;
	mac[1] = id[1];
	mac[2] = id[2];
	mac[3] = id[5];
	mac[4] = id[6];
	mac[5] = id[7];
	return true;
}

static __always_inline bool link_is_mac_of(const struct bh_iface *iface, const __u8 mac[6])
{
	return iface && iface->flags & BH_IFACE_MAC && iface->mac[0] == mac[0] &&
	       iface->mac[1] == mac[1] && iface->mac[2] == mac[2] && iface->mac[3] == mac[3] &&
	       iface->mac[4] == mac[4] && iface->mac[5] == mac[5];
}

/* Returns the owner of a link-local address on the packet's link, as link_owner() does: the node,
 * the owner of the MAC of which it is made, or the one that has claimed it. */
BPF_GLOBAL __u32 link_holder(const struct packet *p, const struct bh_addr *addr)
{
	struct bh_link_local_key key = {};
	__u32 holder = 0;
	__u8 mac[6];

	if (!p || !addr)
		return LINK_NODE;
	key.link = link_of(p->ifindex);
	key.addr = *addr;
	if (active_lookup(&at_link_locals, &key))
		return LINK_NODE;
	if (link_eui64(&key.addr, mac)) {
		if (link_is_mac_of(endpoint_iface_inline(p->ifindex), mac))
			return 0;
		holder = link_owner(p, mac, key.link);
	}
	if (!holder)
		holder = claim_holder(&key, BH_IFACE_ENDPOINT);
	return holder == p->ifindex ? 0 : holder;
}

/* Returns true if the interface of this hook may speak for a link-local address of its link: no
 * other interface owns the address. Claims it for the interface. */
BPF_GLOBAL int link_claim(const struct packet *p, const struct bh_addr *addr)
{
	struct bh_link_local_key key = {};
	__u32 holder;

	if (!p || !addr || link_holder(p, addr))
		return false;
	key.link = link_of(p->ifindex);
	key.addr = *addr;
	if (key.link == p->ifindex) /* the link has no third host */
		return true;
	holder = claim_holder(&key, BH_IFACE_UPLINK);
	if (holder && holder != p->ifindex)
		return p->hook == BH_HOOK_UPLINK;
	return claim_add(p->ifindex, &key);
}

#endif
