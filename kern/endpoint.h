/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the owner of an address, and its segment at the active generation. */
#ifndef BULKHEAD_KERN_ENDPOINT_H
#define BULKHEAD_KERN_ENDPOINT_H

#include "packet.h"
#include "maps/allow_source.bpf.h"
#include "maps/endpoint.bpf.h"
#include "maps/iface.bpf.h"
#include "maps/mac.bpf.h"
#include "maps/prefix.bpf.h"

#define END_ENDPOINT (1u << 0)
#define END_NODE (1u << 1) /* an address of this node */
#define END_COVERING_PREFIX (1u << 2) /* an endpoint's that is being added, or was just deleted */
#define END_SERVICE (1u << 3) /* a Service's address, with every port */
#define END_PORTS (1u << 4) /* a Service's address with the ports that bh_services has */
#define END_BY_MAC (1u << 5) /* the frame's MAC identifies the end, and no address */
#define END_BY_HOOK (1u << 6) /* the hook's interface identifies the end, and no address */
#define END_SERVICES (END_SERVICE | END_PORTS)

/* The flags of bh_prefixes, one bit above. */
#define END_OF_PREFIX(flags) ((flags) << 1)
_Static_assert(END_OF_PREFIX(BH_PREFIX_NODE) == END_NODE, "END_NODE");
_Static_assert(END_OF_PREFIX(BH_PREFIX_SERVICE) == END_SERVICE, "END_SERVICE");
_Static_assert(END_OF_PREFIX(BH_PREFIX_PORTS) == END_PORTS, "END_PORTS");

struct end {
	__u64 assignment; /* 0: none yet */
	__u32 flags; /* END_* */
	__u32 ifindex; /* host side of an endpoint of this node, else 0 */
	union {
		__u8 mac[6]; /* of an endpoint, all 0: not known */
		__u32 covering_prefix; /* of END_COVERING_PREFIX: the endpoint's interface */
		__u64 whole;
	};
};

/* Returns 0, or BH_DROP_MAPS. */
BPF_GLOBAL int endpoint_resolve(const struct bh_addr *addr, __u32 generation, struct end *end)
{
	struct bh_prefix_key key = {.length = 128};
	struct bh_endpoint *endpoint;
	struct bh_prefix *prefix;

	if (!addr || !end)
		return BH_DROP_MAPS;
	key.addr = *addr;
	endpoint = active_lookup(&at_endpoints, &key.addr);
	if (endpoint) {
		end->assignment = bh_assignment_at(READ_ONCE(endpoint->assignment[0]),
						   READ_ONCE(endpoint->assignment[1]), generation);
		end->flags = END_ENDPOINT;
		end->ifindex = endpoint->ifindex;
		if (bh_assignment_is_cover(end->assignment)) {
			end->assignment &= ~((__u64)BH_VARIATION_COVER << BH_SLOT_BITS);
			end->flags = END_COVERING_PREFIX;
			end->ifindex = 0;
			end->covering_prefix = endpoint->ifindex;
			return 0;
		}
		__builtin_memcpy(end->mac, endpoint->mac, sizeof(end->mac));
		return 0;
	}
	prefix = active_lookup(&at_prefixes, &key);
	if (!prefix)
		return BH_DROP_MAPS;
	end->assignment = bh_assignment_at(READ_ONCE(prefix->assignment[0]),
					   READ_ONCE(prefix->assignment[1]), generation);
	end->flags = END_OF_PREFIX(bh_prefix_flags(prefix->flags, prefix->turn, generation));
	end->ifindex = 0;
	end->whole = 0;
	return 0;
}

/* For each packet that leaves, and for functions behind which the stack has no room for one more.
 */
static __always_inline struct bh_iface *endpoint_iface_inline(__u32 ifindex)
{
	return active_lookup(&at_ifaces, &ifindex);
}

/* Not inline: the verifier replaces each lookup by instructions of its own, and copies what it
 * knows of the whole program as that grows. At forty places that was a fifth of a first load. */
static __noinline struct bh_iface *endpoint_iface(__u32 ifindex)
{
	return endpoint_iface_inline(ifindex);
}

/* Returns true if an interface is known and in audit. Not inline, as endpoint_iface(). */
static __noinline bool endpoint_in_audit(__u32 ifindex)
{
	struct bh_iface *iface = endpoint_iface_inline(ifindex);

	return iface && iface->flags & BH_IFACE_AUDIT;
}

/*
 * Finds the node for policy, by the addresses that its Node object names: those of the node's MAC
 * at an endpoint's interface. Returns 0 or a reason. @unnamed: what to return if no map has them.
 */
static __always_inline int endpoint_node(__u32 ifindex, __u32 version, __u32 generation,
					 int unnamed, struct end *node)
{
	struct bh_mac_key key = {.kind = BH_MAC_NODE};
	struct bh_iface *iface = endpoint_iface(ifindex);
	struct bh_mac *mac;

	if (!iface)
		return BH_DROP_INTERFACE;
	__builtin_memcpy(key.mac, iface->node_mac, sizeof(key.mac));
	mac = active_lookup(&at_macs, &key);
	return mac ? endpoint_resolve(version == 4 ? &mac->ipv4 : &mac->ipv6, generation, node)
		   : unnamed;
}

static __always_inline bool endpoint_no_address(const struct bh_addr *addr)
{
	return !(addr->word[0] | addr->word[1] | addr->word[2] | addr->word[3]);
}

/*
 * Finds the endpoint at an interface, by the address of that IP version in bh_ifaces. While the
 * endpoint gets other addresses, one of the two there may not be active: then by the other one.
 * Returns 0 or a reason; the endpoint is active if end->ifindex is the interface.
 */
BPF_GLOBAL int endpoint_of(__u32 ifindex, __u32 version, __u32 generation, struct end *end)
{
	const struct bh_addr *own, *other;
	struct bh_iface *iface;
	int reason;

	if (!end)
		return BH_DROP_MAPS;
	iface = endpoint_iface(ifindex);
	if (!iface)
		return BH_DROP_INTERFACE;
	own = version == 4 ? &iface->ipv4 : &iface->ipv6;
	other = version == 4 ? &iface->ipv6 : &iface->ipv4;
	reason = endpoint_resolve(own, generation, end);
	if (likely(reason || end->ifindex == ifindex || endpoint_no_address(own)))
		return reason;
	reason = endpoint_resolve(other, generation, end);
	return reason || end->ifindex == ifindex ? reason : endpoint_resolve(own, generation, end);
}

/*
 * Returns true if an address of the packet, which resolves to @end, is that of an endpoint of this
 * interface that is being added, or was just deleted. Until the commit its hooks, too, evaluate it
 * as the prefix that covers it. Not so if another address of the endpoint is active: then *@other
 * is that one.
 */
static __always_inline bool endpoint_counts_as_prefix(const struct packet *p, const struct end *end,
						      struct end *other)
{
	return unlikely(end->flags & END_COVERING_PREFIX) && end->covering_prefix == p->ifindex &&
	       !endpoint_of(p->ifindex, p->version, p->generation, other) &&
	       other->ifindex != p->ifindex;
}

static __always_inline bool endpoint_link_local(const struct bh_addr *addr)
{
	return (addr->word[0] & bpf_htonl(0xffc00000)) == bpf_htonl(0xfe800000);
}

/* Returns true if the endpoint at an interface may send from a foreign address (`allow-source`). */
static __always_inline bool endpoint_allows_source(__u32 ifindex, const struct bh_addr *addr)
{
	struct bh_allow_source_key key = {
		.length = 160, .ifindex = bpf_htonl(ifindex), .addr = *addr};

	return active_lookup(&at_allow_source, &key);
}

#endif
