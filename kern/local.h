/* SPDX-License-Identifier: GPL-2.0-only */
/* Asks the kernel's routes which addresses, that no map has, are the node's now. */
#ifndef BULKHEAD_KERN_LOCAL_H
#define BULKHEAD_KERN_LOCAL_H

#include "link.h"

#define AF_INET 2 /* sys/socket.h needs the C library's headers for this machine */
#define AF_INET6 10

/* Returns true if the node does not forward packets to the address: it is the node's own, a group's
 * or a broadcast one, or there is no route to it. */
BPF_GLOBAL int local_is_delivered(struct __sk_buff *skb, const struct packet *p,
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

/* Returns true if the node made the packet, which is at its receiver's hook, with an address that
 * the node got after the maps were written. A node does not send from a group's, a broadcast or a
 * loopback address. */
BPF_GLOBAL int local_sent(struct __sk_buff *skb, const struct packet *p)
{
	struct end end = {};
	struct bh_addr addr;

	if (!p)
		return false;
	packet_address(p, p->from, &addr);
	return !endpoint_resolve(&addr, p->generation, &end) && !end.flags &&
	       !endpoint_link_local(&addr) && !local_is_group(p, &addr) &&
	       !local_is_loopback(p, &addr) && local_is_delivered(skb, p, &addr);
}

/*
 * Returns true if the packet goes to the node. The kernel gives one answer for the node's addresses
 * and for those without a route. A destination without a route may get one later,
 * so if a far address has no route either, the answer is no. It is also no for a loopback address.
 */
static __always_inline bool local_called(struct __sk_buff *skb, const struct packet *p)
{
	struct bh_addr addr;

	packet_address(p, !p->from, &addr);
	if (local_is_loopback(p, &addr) || !local_is_delivered(skb, p, &addr))
		return false;
	addr = (struct bh_addr){};
	if (p->version == 4)
		addr.word[3] = bpf_htonl(0xf0000001); /* 240.0.0.1 */
	else
		addr.word[0] = bpf_htonl(0x20000000); /* 2000:: */
	return !local_is_delivered(skb, p, &addr);
}

#endif
