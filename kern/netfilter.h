/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Asks the kernel's conntrack about a packet, by a function of nf_conntrack that exists since 5.18.
 * On a kernel without it, the constant `kernel_conntrack` is 0 and the call is not reached.
 */
#ifndef BULKHEAD_KERN_NETFILTER_H
#define BULKHEAD_KERN_NETFILTER_H

#include <bpf/bpf_core_read.h>

#include "skb.h"
#include "translation.h"

/* The members of the kernel's types that are read here; the loader relocates their offsets (CO-
 * RE). */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

union nf_inet_addr {
	__be32 all[4];
};

union nf_conntrack_man_proto {
	__be16 all;
};

struct nf_conntrack_man {
	union nf_inet_addr u3;
	union nf_conntrack_man_proto u;
};

struct nf_conntrack_tuple {
	struct nf_conntrack_man src;
	struct {
		union nf_inet_addr u3;
		union {
			__be16 all;
		} u;
	} dst;
};

struct nf_conntrack_tuple_hash {
	struct nf_conntrack_tuple tuple;
};

struct nf_conn {
	struct nf_conntrack_tuple_hash tuplehash[2]; /* of the original direction, and of replies */
};

struct sk_buff___conntrack {
	unsigned long _nfct; /* address of the packet's struct nf_conn, and NETFILTER_INFO */
};

#pragma clang attribute pop

/* The first 12 bytes of the kernel's structure: 6.1 has no more, and later kernels accept this
 * length. */
struct netfilter_options {
	__s32 netns, error;
	__u8 protocol, direction, reserved[2];
};

struct nf_conn *bpf_skb_ct_lookup(struct __sk_buff *skb, struct bpf_sock_tuple *tuple,
				  __u32 tuple__sz, struct netfilter_options *options,
				  __u32 options__sz) __ksym __weak;
void bpf_ct_release(struct nf_conn *ct) __ksym __weak;

static __always_inline void netfilter_address(struct bh_addr *to, const union nf_inet_addr *from,
					      bool ipv4)
{
	to->word[0] = ipv4 ? 0 : from->all[0];
	to->word[1] = ipv4 ? 0 : from->all[1];
	to->word[2] = ipv4 ? bpf_htonl(0xffff) : from->all[2];
	to->word[3] = ipv4 ? from->all[0] : from->all[3];
}

static __always_inline void netfilter_read(const struct nf_conn *ct, bool ipv4,
					   struct bh_translation *told)
{
	netfilter_address(&told->initiator, &ct->tuplehash[0].tuple.src.u3, ipv4);
	netfilter_address(&told->called, &ct->tuplehash[0].tuple.dst.u3, ipv4);
	netfilter_address(&told->backend, &ct->tuplehash[1].tuple.src.u3, ipv4);
	told->initiator_port = ct->tuplehash[0].tuple.src.u.all;
	told->called_port = ct->tuplehash[0].tuple.dst.u.all;
	told->backend_port = ct->tuplehash[1].tuple.src.u.all;
	told->reply_port = ct->tuplehash[1].tuple.dst.u.all;
}

/*
 * Returns true if the kernel has not translated the packet yet. Its table has the tuples of both
 * directions as they come in, before translation. So a packet that an endpoint has just sent is
 * found by its own tuple, and one that the node forwards by the tuple of its reply.
 */
static __always_inline bool netfilter_is_incoming(const struct packet *p)
{
	return p->hook == BH_HOOK_FROM_ENDPOINT;
}

/* @from: the end of the key that is the tuple's source. */
static __always_inline struct nf_conn *netfilter_find(struct __sk_buff *skb, const struct packet *p,
						      bool from, struct netfilter_options *options)
{
	struct bpf_sock_tuple tuple = {};

	if (p->version == 4) {
		tuple.ipv4.saddr = packet_ipv4(p, from);
		tuple.ipv4.daddr = packet_ipv4(p, !from);
		tuple.ipv4.sport = packet_port(p, from);
		tuple.ipv4.dport = packet_port(p, !from);
		return bpf_skb_ct_lookup(skb, &tuple, sizeof(tuple.ipv4), options,
					 sizeof(*options));
	}
	__builtin_memcpy(tuple.ipv6.saddr, packet_address_at(p, from), 16);
	__builtin_memcpy(tuple.ipv6.daddr, packet_address_at(p, !from), 16);
	tuple.ipv6.sport = packet_port(p, from);
	tuple.ipv6.dport = packet_port(p, !from);
	return bpf_skb_ct_lookup(skb, &tuple, sizeof(tuple.ipv6), options, sizeof(*options));
}

#define NETFILTER_INFO 7ul /* bits of _nfct: enum ip_conntrack_info, the packet's part */
#define NETFILTER_REPLY 3 /* IP_CT_ESTABLISHED_REPLY; IP_CT_RELATED_REPLY follows */

/* Returns _nfct of the packet; 0: conntrack has not seen it. */
static __always_inline unsigned long netfilter_nfct(struct __sk_buff *ctx)
{
	struct sk_buff___conntrack *skb = (void *)ctx;
	unsigned long nfct = 0;

	if (!bpf_core_field_exists(skb->_nfct))
		return 0;
	if (kern_ctx) {
		skb = bpf_cast_to_kern_ctx(ctx);
		nfct = skb->_nfct;
	} else {
		bpf_core_read(&nfct, sizeof(nfct), &skb->_nfct);
	}
	return nfct;
}

/* Returns the entry that conntrack has found for the packet itself; NULL: conntrack has not seen
 * it, or is not to track it. */
static __always_inline struct nf_conn *netfilter_own(struct __sk_buff *ctx)
{
	return (void *)(netfilter_nfct(ctx) & ~NETFILTER_INFO);
}

/*
 * Returns true if the initiator of the packet's connection called the very address and port to
 * which the packet goes, by the packet's own entry: so the node has not translated a call. Costs
 * less than netfilter_ask(). False also for a reply, and if the packet has no entry.
 */
static __always_inline bool netfilter_is_as_called(struct __sk_buff *skb, const struct packet *p)
{
	const struct bh_addr *to = packet_address_at(p, !p->from);
	const struct nf_conn *ct = netfilter_own(skb);
	union nf_inet_addr at = {};
	struct bh_addr called;
	__be16 port = 0;

	if (!ct)
		return false;
	bpf_core_read(&port, sizeof(port), &ct->tuplehash[0].tuple.dst.u.all);
	bpf_core_read(&at, sizeof(at), &ct->tuplehash[0].tuple.dst.u3);
	netfilter_address(&called, &at, p->version == 4);
	return port == packet_port(p, !p->from) && called.word[3] == to->word[3] &&
	       called.word[2] == to->word[2] && called.word[1] == to->word[1] &&
	       called.word[0] == to->word[0];
}

/*
 * Answers as netfilter_ask() does by the packet's own entry, which conntrack has removed from its
 * table: the packet is the RST that refuses the call.
 */
BPF_GLOBAL int netfilter_ask_removed(struct __sk_buff *skb, const struct packet *p)
{
	unsigned long nfct = netfilter_nfct(skb), info = nfct & NETFILTER_INFO;
	const struct nf_conn *ct = (void *)(nfct & ~NETFILTER_INFO);
	struct bh_translation *told;
	union nf_inet_addr at[3] = {};
	__u32 zero = 0;

	told = bpf_map_lookup_elem(&bh_translation, &zero);
	if (!p || !told || !kernel_conntrack || !ct || info > NETFILTER_REPLY + 1)
		return TOLD_NOTHING;
	bpf_core_read(&at[0], sizeof(at[0]), &ct->tuplehash[0].tuple.src.u3);
	bpf_core_read(&at[1], sizeof(at[1]), &ct->tuplehash[0].tuple.dst.u3);
	bpf_core_read(&at[2], sizeof(at[2]), &ct->tuplehash[1].tuple.src.u3);
	netfilter_address(&told->initiator, &at[0], p->version == 4);
	netfilter_address(&told->called, &at[1], p->version == 4);
	netfilter_address(&told->backend, &at[2], p->version == 4);
	bpf_core_read(&told->initiator_port, sizeof(__be16), &ct->tuplehash[0].tuple.src.u.all);
	bpf_core_read(&told->called_port, sizeof(__be16), &ct->tuplehash[0].tuple.dst.u.all);
	bpf_core_read(&told->backend_port, sizeof(__be16), &ct->tuplehash[1].tuple.src.u.all);
	bpf_core_read(&told->reply_port, sizeof(__be16), &ct->tuplehash[1].tuple.dst.u.all);
	told->packet = translation_packet(p);
	return info < NETFILTER_REPLY ? TOLD_ORIGINAL : TOLD_REPLY;
}

/* Writes the kernel's answer to bh_translation. Returns the value for the packet's `told`. */
BPF_GLOBAL int netfilter_ask(struct __sk_buff *skb, const struct packet *p)
{
	struct netfilter_options options = {.netns = -1};
	struct bh_translation *told;
	__u32 zero = 0, from;
	struct nf_conn *ct;

	if (!p || !kernel_conntrack || !translation_is_tracked(p))
		return TOLD_NOTHING;
	told = bpf_map_lookup_elem(&bh_translation, &zero);
	if (!told)
		return TOLD_NOTHING;
	told->packet = 0;
	options.protocol = p->protocol;
	from = netfilter_is_incoming(p) ? p->from : !p->from;
	ct = netfilter_find(skb, p, from, &options);
	if (!ct)
		return TOLD_NOTHING;
	netfilter_read(ct, p->version == 4, told);
	bpf_ct_release(ct);
	told->packet = translation_packet(p);
	return (options.direction == 0) == netfilter_is_incoming(p) ? TOLD_ORIGINAL : TOLD_REPLY;
}

#endif
