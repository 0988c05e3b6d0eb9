/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who is who on a link, which is a bridge, or the wire between the node and one
 * endpoint: whose a MAC is, and whose a link-local address. An endpoint is known by
 * its MAC and by the address that is made of it (RFC 4291, appendix A), the node
 * also by the addresses that it has there. Any other link-local address is its who
 * claims it first (claim.h).
 */
#ifndef BULKHEAD_KERN_LINK_H
#define BULKHEAD_KERN_LINK_H

#include "claim.h"
#include "endpoint.h"
#include "maps/link_local.bpf.h"

#define LINK_NODE 0xffffffffu /* in the place of an endpoint's interface */

/* The link that an interface is on. */
static __always_inline __u32 link_of(__u32 ifindex)
{
	struct bh_iface *iface = endpoint_iface(ifindex);

	return iface && iface->bridge ? iface->bridge : ifindex;
}

/* Who, other than the sender of the packet, has this MAC on the link: an endpoint's interface,
 * LINK_NODE, or 0: nobody that is known. */
static __noinline __u32 link_owner(const struct packet *p, const __u8 mac[6], __u32 link)
{
	struct bh_mac_key key = {.kind = BH_MAC_ENDPOINT};
	struct bh_iface *iface;
	struct bh_mac *known;

	__builtin_memcpy(key.mac, mac, sizeof(key.mac));
	known = bpf_map_lookup_elem(&bh_macs, &key);
	if (!known) {
		key.kind = BH_MAC_NODE;
		return bpf_map_lookup_elem(&bh_macs, &key) ? LINK_NODE : 0;
	}
	if (known->ifindex == p->ifindex)
		return 0;
	iface = endpoint_iface(known->ifindex);
	return iface && iface->bridge == link ? known->ifindex : 0;
}

/* Whether an interface is there, and nothing is enforced at it. */
static __always_inline bool link_audited(__u32 ifindex)
{
	struct bh_iface *iface = endpoint_iface(ifindex);

	return iface && iface->flags & BH_IFACE_AUDIT;
}

/* Whether a packet has come by the MAC of another on its bridge, who is not only audited. */
BPF_GLOBAL int link_hijacks(const struct packet *p, __u32 bridge)
{
	__u32 owner;

	if (!p || !bridge)
		return false;
	owner = link_owner(p, p->mac_from, bridge);
	return owner && !link_audited(owner);
}

/* The MAC that an interface identifier was made of. */
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

/* Who, other than the sender of the packet, has a link-local address on its link, as link_owner()
 * says: the node, who has the MAC that it is made of, or who has claimed it. */
BPF_GLOBAL __u32 link_holder(const struct packet *p, const struct bh_addr *addr)
{
	struct bh_link_local_key key = {};
	__u32 holder = 0;
	__u8 mac[6];

	if (!p || !addr)
		return LINK_NODE;
	key.link = link_of(p->ifindex);
	key.addr = *addr;
	if (bpf_map_lookup_elem(&bh_link_locals, &key))
		return LINK_NODE;
	if (link_eui64(&key.addr, mac)) {
		if (link_is_mac_of(endpoint_iface(p->ifindex), mac))
			return 0;
		holder = link_owner(p, mac, key.link);
	}
	if (!holder)
		holder = claim_holder(&key, BH_IFACE_ENDPOINT);
	return holder == p->ifindex ? 0 : holder;
}

/* Whether the interface of this hook may speak for a link-local address of its link: nobody else
 * has it, and from now on this one. */
BPF_GLOBAL int link_claim(const struct packet *p, const struct bh_addr *addr)
{
	struct bh_link_local_key key = {};
	__u32 holder;

	if (!p || !addr || link_holder(p, addr))
		return false;
	key.link = link_of(p->ifindex);
	key.addr = *addr;
	if (key.link == p->ifindex) /* on the wire there is nobody but the node */
		return true;
	holder = claim_holder(&key, BH_IFACE_UPLINK);
	if (holder && holder != p->ifindex)
		return p->hook == BH_HOOK_UPLINK;
	return claim_take(p->ifindex, &key);
}

static __always_inline bool link_taken(const struct packet *p, const struct bh_addr *addr)
{
	return link_holder(p, addr);
}

#endif
