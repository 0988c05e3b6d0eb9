/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets the scope in a packet's key, which tells links and hooks apart (maps/conntrack.h). */
#ifndef BULKHEAD_KERN_SCOPE_H
#define BULKHEAD_KERN_SCOPE_H

#include "conntrack.h"
#include "link.h"

static __always_inline bool scope_link_local4(__be32 addr)
{
	return !addr || (addr & bpf_htonl(0xffff0000)) == bpf_htonl(0xa9fe0000);
}

static __always_inline bool scope_link_local6(__be64 prefix)
{
	return (prefix & bpf_cpu_to_be64(0xffc0ull << 48)) == bpf_cpu_to_be64(0xfe80ull << 48);
}

/* Returns true if an end's address is valid on its link only. */
static __always_inline bool scope_of_link(const struct packet *p, __u32 end)
{
	if (p->version == 4)
		return scope_link_local4(packet_ipv4(p, end));
	return scope_link_local6(end ? p->key.addr[1][0] : p->key.addr[0][0]);
}

static __always_inline bool scope_is_link(const struct packet *p)
{
	return scope_of_link(p, 0) || scope_of_link(p, 1);
}

static __always_inline void scope_set(struct packet *p, __u16 scope)
{
	p->key.scope = scope;
	p->absent = p->found = false; /* no lookup of this key has been made */
	ct_hash(p);
}

BPF_GLOBAL int scope_by_link(struct packet *p)
{
	if (p)
		scope_set(p, BH_CT_LINK(link_of(p->ifindex)));
	return 0;
}

/* Completes a packet's key: if it has a link-local address, by the link. Returns true if it has
 * one. @hashed: p->hash is that of the key already. */
static __always_inline bool scope_link_hashed(struct packet *p, bool hashed)
{
	if (likely(!scope_is_link(p))) {
		if (!hashed)
			ct_hash(p);
		return false;
	}
	scope_by_link(p);
	return true;
}

static __always_inline bool scope_link(struct packet *p)
{
	return scope_link_hashed(p, false);
}

/* Gives the packet a key of this hook's own, since the entry of its key is of other ends. */
static __always_inline void scope_hook(struct packet *p)
{
	p->reply = false;
	scope_set(p, BH_CT_HOOK(p->ifindex));
}

#endif
