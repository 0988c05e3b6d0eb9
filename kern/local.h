/* SPDX-License-Identifier: GPL-2.0-only */
/* Which addresses that no map knows are the node's now: what the kernel's routes say of them. */
#ifndef BULKHEAD_KERN_LOCAL_H
#define BULKHEAD_KERN_LOCAL_H

#include "link.h"

#define AF_INET 2 /* sys/socket.h needs the C library's headers for this machine */
#define AF_INET6 10

/* Whether a packet to the address goes no further than the node: it is the node's own, a group's or
 * a broadcast one, or there is no route to it. */
BPF_GLOBAL int local_stays(struct __sk_buff *skb, const struct packet *p,
			   const struct bh_addr *addr)
{
	struct bpf_fib_lookup fib = {};

	if (!p || !addr)
		return true;
	fib.ifindex = link_of(p->ifindex);
	if (p->version == 4) {
		fib.family = AF_INET;
		fib.ipv4_dst = addr->word[3];
	} else {
		fib.family = AF_INET6;
		__builtin_memcpy(fib.ipv6_dst, addr, sizeof(fib.ipv6_dst));
	}
	return bpf_fib_lookup(skb, &fib, sizeof(fib), 0) == BPF_FIB_LKUP_RET_NOT_FWDED;
}

static __always_inline bool local_is_group(const struct packet *p, const struct bh_addr *addr)
{
	__be32 top = p->version == 4 ? addr->word[3] & bpf_htonl(0xf0000000)
				     : addr->word[0] & bpf_htonl(0xff000000);

	return top == (p->version == 4 ? bpf_htonl(0xe0000000) : bpf_htonl(0xff000000));
}

static __always_inline bool local_is_loopback(const struct packet *p, const struct bh_addr *addr)
{
	if (p->version == 4)
		return (addr->word[3] & bpf_htonl(0xff000000)) == bpf_htonl(0x7f000000);
	return !(addr->word[0] | addr->word[1] | addr->word[2]) && addr->word[3] == bpf_htonl(1);
}

/* At the hook of the endpoint that gets it: whether a packet was made on the node with an address
 * that has come since the maps were written. No node sends by a group's address, or by a
 * loopback one, and a source is no broadcast address. */
BPF_GLOBAL int local_sent(struct __sk_buff *skb, const struct packet *p)
{
	struct end end = {};
	struct bh_addr addr;

	if (!p || p->hook != BH_HOOK_TO_ENDPOINT || p->ingress)
		return false;
	packet_address(p, p->from, &addr);
	return !endpoint_resolve(&addr, p->generation, &end) && !end.flags &&
	       !endpoint_link_local(&addr) && !local_is_group(p, &addr) &&
	       !local_is_loopback(p, &addr) && local_stays(skb, p, &addr);
}

/*
 * At the hook of the endpoint that sends a packet: whether it goes to the node. What has no route
 * may get one later, and then leave the node: where even a far address has none, that is not told
 * from the node's own, and counts as elsewhere. So does a loopback address.
 */
static __always_inline bool local_called(struct __sk_buff *skb, const struct packet *p)
{
	struct bh_addr addr;

	packet_address(p, !p->from, &addr);
	if (local_is_loopback(p, &addr) || !local_stays(skb, p, &addr))
		return false;
	addr = (struct bh_addr){};
	if (p->version == 4)
		addr.word[3] = bpf_htonl(0xf0000001); /* 240.0.0.1 */
	else
		addr.word[0] = bpf_htonl(0x20000000); /* 2000:: */
	return !local_stays(skb, p, &addr);
}

#endif
