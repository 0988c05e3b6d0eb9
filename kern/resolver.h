/* SPDX-License-Identifier: GPL-2.0-only */
/* Which connections go to a resolver (maps/dns.h). */
#ifndef BULKHEAD_KERN_RESOLVER_H
#define BULKHEAD_KERN_RESOLVER_H

#include "packet.h"
#include "maps/dns.bpf.h"

static __noinline bool resolver_has(const struct packet *p, __u32 end)
{
	struct bh_addr addr;

	packet_address(p, end, &addr);
	return active_lookup(&at_resolvers, &addr);
}

/* Returns true if that end of the packet's connection is a resolver. */
static __always_inline bool resolver_is(const struct packet *p, __u32 end)
{
	return unlikely(packet_port(p, end) == bpf_htons(BH_DNS_PORT)) &&
	       (p->protocol == IPPROTO_UDP || p->protocol == IPPROTO_TCP) && resolver_has(p, end);
}

#endif
