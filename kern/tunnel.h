/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drops packets that an endpoint encapsulates to its own node, unless `encapsulation` is set. The
 * node would unpack them, and the inner packet would come from the tunnel device, with any address.
 * Policy about the outer packet does not matter.
 */
#ifndef BULKHEAD_KERN_TUNNEL_H
#define BULKHEAD_KERN_TUNNEL_H

#include "local.h"
#include "tunables.h"
#include "maps/tunnel.bpf.h"

static __always_inline bool tunnel_is(const struct packet *p)
{
	__u32 port = bpf_ntohs(p->port[1]);

	switch (p->protocol) {
	case IPPROTO_IPIP:
	case IPPROTO_IPV6:
	case IPPROTO_GRE:
	case IPPROTO_MPLS:
		return true;
	case IPPROTO_UDP:
		return bpf_map_lookup_elem(&bh_tunnels, &port);
	}
	return false;
}

/* Whether a packet that encapsulates another goes to the node of the endpoint that sent it. */
BPF_GLOBAL int tunnel_to_node(struct __sk_buff *skb, const struct packet *p)
{
	struct end end = {};
	struct bh_addr addr;

	if (!p)
		return true;
	packet_address(p, !p->from, &addr);
	if (endpoint_resolve(&addr, p->generation, &end) || end.flags & END_NODE)
		return true;
	return !(end.flags & END_ENDPOINT) && local_stays(skb, p, &addr);
}

static __always_inline bool tunnel_drops(struct __sk_buff *skb, const struct packet *p)
{
	return !encapsulation && p->hook == BH_HOOK_FROM_ENDPOINT && tunnel_is(p) &&
	       tunnel_to_node(skb, p);
}

#endif
