/* SPDX-License-Identifier: GPL-2.0-only */
/* Whose an address is, and which segment it is in at the generation in force. */
#ifndef BULKHEAD_KERN_ENDPOINT_H
#define BULKHEAD_KERN_ENDPOINT_H

#include "packet.h"
#include "maps/endpoint.bpf.h"
#include "maps/iface.bpf.h"
#include "maps/mac.bpf.h"
#include "maps/prefix.bpf.h"

#define END_ENDPOINT (1u << 0)
#define END_NODE (1u << 1) /* an address of this node */
#define END_COVER (1u << 2) /* an endpoint's that is about to come, or has just gone */
#define END_SERVICE (1u << 3) /* a Service's address, at every port */
#define END_PORTS (1u << 4) /* at the ports that bh_services has */
#define END_BY_MAC (1u << 5) /* who it is, the frame's MAC says, and no address */
#define END_BY_HOOK (1u << 6) /* or the hook, at whose interface the frame is */
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
	__u8 mac[6]; /* of an endpoint, all 0: not known */
	__u8 pad[2];
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
	endpoint = bpf_map_lookup_elem(&bh_endpoints, &key.addr);
	if (endpoint) {
		end->assignment = bh_assignment_at(READ_ONCE(endpoint->assignment[0]),
						   READ_ONCE(endpoint->assignment[1]), generation);
		end->flags = END_ENDPOINT;
		end->ifindex = endpoint->ifindex;
		if (bh_assignment_is_cover(end->assignment)) {
			end->assignment &= ~((__u64)BH_VARIATION_COVER << BH_SLOT_BITS);
			end->flags = END_COVER;
			end->ifindex = 0;
		}
		__builtin_memcpy(end->mac, endpoint->mac, sizeof(end->mac) + sizeof(end->pad));
		return 0;
	}
	prefix = bpf_map_lookup_elem(&bh_prefixes, &key);
	if (!prefix)
		return BH_DROP_MAPS;
	end->assignment = bh_assignment_at(READ_ONCE(prefix->assignment[0]),
					   READ_ONCE(prefix->assignment[1]), generation);
	end->flags = END_OF_PREFIX(bh_prefix_flags(prefix->flags, prefix->turn, generation));
	end->ifindex = 0;
	__builtin_memset(end->mac, 0, sizeof(end->mac) + sizeof(end->pad));
	return 0;
}

/*
 * Whether @end, whose address it is, is about to be the endpoint of this interface, or just was: to
 * its own hooks too it is what its cover is, until the one store that says otherwise to them all.
 */
static __always_inline bool endpoint_is_cover(const struct end *end, const struct bh_addr *addr,
					      __u32 ifindex)
{
	struct bh_endpoint *endpoint;
	struct bh_addr key = *addr;

	if (!(end->flags & END_COVER))
		return false;
	endpoint = bpf_map_lookup_elem(&bh_endpoints, &key);
	return endpoint && endpoint->ifindex == ifindex;
}

static __always_inline struct bh_iface *endpoint_iface(__u32 ifindex)
{
	return bpf_map_lookup_elem(&bh_ifaces, &ifindex);
}

static __always_inline bool endpoint_link_local(const struct bh_addr *addr)
{
	return (addr->word[0] & bpf_htonl(0xffc00000)) == bpf_htonl(0xfe800000);
}

#endif
