/* SPDX-License-Identifier: GPL-2.0-only */
/* ICMP errors. They pass to the end whose packet they quote, if that packet has a live
 * connection. */
#ifndef BULKHEAD_KERN_ICMP_H
#define BULKHEAD_KERN_ICMP_H

#include "connection_again.h"
#include "ask_kernel.h"

#define ICMP_QUOTE 8 /* where the quoted packet begins */

/* The first bytes of any transport header that conntrack knows. */
struct icmp_quoted {
	union {
		__be16 port[2];
		struct icmp_header icmp;
	};
};

static __always_inline int icmp_quoted_ports(hook_context *ctx, struct packet *p)
{
	struct icmp_quoted quoted = {};

	p->port[0] = p->port[1] = 0;
	switch (p->protocol) {
#define PROTOCOL(name, number, ...) case number:
#include "maps/protocols.def"
		if (hook_load(ctx, p->l4, &quoted, sizeof(quoted)))
			return BH_DROP_TRUNCATED;
		p->port[0] = quoted.port[0];
		p->port[1] = quoted.port[1];
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		if (hook_load(ctx, p->l4, &quoted, sizeof(quoted)))
			return BH_DROP_TRUNCATED;
		p->type = quoted.icmp.type;
		if (icmp_query(p->protocol, p->type).type)
			p->port[0] = p->port[1] = quoted.icmp.id;
		break;
	}
	return 0;
}

static __always_inline int icmp_quoted_ipv4(hook_context *ctx, struct packet *p)
{
	struct iphdr ip;
	int reason;

	if (hook_load(ctx, p->l4 + ICMP_QUOTE, &ip, sizeof(ip)))
		return BH_DROP_TRUNCATED;
	if (ip.version != 4 || ip.ihl < 5)
		return BH_DROP_TRANSPORT;
	if (bpf_ntohs(ip.frag_off) & FRAGMENT_OFFSET)
		return BH_DROP_UNRELATED;
	/* An error goes to the sender of the packet that it quotes. */
	if (ip.saddr != packet_ipv4(p, !p->from))
		return BH_DROP_UNRELATED;
	p->protocol = ip.protocol;
	p->l4 += ICMP_QUOTE + ip.ihl * 4;
	reason = icmp_quoted_ports(ctx, p);
	if (!reason)
		parse_key4(p, ip.saddr, ip.daddr);
	return reason;
}

static __always_inline int icmp_quoted_ipv6(hook_context *ctx, struct packet *p)
{
	struct ipv6hdr ip;
	__be64 address[4];
	int reason;

	if (hook_load(ctx, p->l4 + ICMP_QUOTE, &ip, sizeof(ip)))
		return BH_DROP_TRUNCATED;
	__builtin_memcpy(address, &ip.saddr, sizeof(address));
	if (ip.version != 6)
		return BH_DROP_TRANSPORT;
	if (address[0] != (p->from ? p->key.addr[0][0] : p->key.addr[1][0]) ||
	    address[1] != (p->from ? p->key.addr[0][1] : p->key.addr[1][1]))
		return BH_DROP_UNRELATED;
	p->protocol = ip.nexthdr;
	p->l4 += ICMP_QUOTE + sizeof(ip);
	p->l4_length -= ICMP_QUOTE + sizeof(ip);
	reason = parse_is_extension(p->protocol) ? parse_extensions(ctx, p) : 0;
	if (!reason && p->fragment_at)
		reason = BH_DROP_UNRELATED;
	if (!reason)
		reason = icmp_quoted_ports(ctx, p);
	if (!reason)
		parse_key6(p, address, address + 2);
	return reason;
}

/* Checks the source of the error itself. */
static __noinline int icmp_check_source(const struct packet *p)
{
	struct end source = {};
	struct bh_addr addr;
	int reason;

	if (p->hook != BH_HOOK_FROM_ENDPOINT)
		return 0;
	if (p->version == 4 && p->type == ICMP_REDIRECT)
		return BH_DROP_ROUTER;
	packet_address(p, p->from, &addr);
	reason = endpoint_resolve(&addr, p->generation, &source);
	if (!reason)
		reason = spoofing_check(p, &source);
	return reason ? reason : spoofing_link(p);
}

/* Fills @p with the quoted packet. Returns 0 or the reason to drop the error. */
BPF_GLOBAL int icmp_read_quoted(hook_context *ctx, struct packet *p)
{
	int reason;

	if (!p)
		return BH_DROP_MAPS;
	reason = icmp_check_source(p);
	if (reason)
		return reason;
	return p->version == 4 ? icmp_quoted_ipv4(ctx, p) : icmp_quoted_ipv6(ctx, p);
}

/* Turns the direction of @p from the quoted packet's to the error's, which goes the other way. */
BPF_GLOBAL int icmp_turn(struct packet *p)
{
	__be16 port;

	if (!p)
		return 0;
	port = p->port[0];
	p->port[0] = p->port[1];
	p->port[1] = port;
	if (p->protocol == IPPROTO_ICMP || p->protocol == IPPROTO_ICMPV6)
		parse_icmp_kind(p);
	p->from = !p->from;
	scope_link(p);
	return 0;
}

/* Returns true if the error is about SCTP that an endpoint has sent to its node, and the node has
 * not made the error. Nobody else sees such a packet, unless a masqueraded caller is behind the
 * node's address, about whom the kernel cannot be asked. */
static __always_inline bool icmp_is_untold(const struct packet *p, __u64 word)
{
	return p->protocol == IPPROTO_SCTP && p->hook == BH_HOOK_TO_ENDPOINT &&
	       word & BH_CT_TO_NODE && ct_sender(p, word) == BH_INGRESS && p->ingress &&
	       p->ingress != p->ifindex;
}

/* Evaluates the connection of the quoted packet at the active generation. A SYN may wait beside a
 * connection whose entry is gone by now. Returns an enum bh_reason. */
BPF_GLOBAL int icmp_connection(struct packet *p)
{
	struct bh_ct *ct = p ? ct_find(p) : NULL;
	__u64 word;
	int reason;

	if (!p)
		return BH_DROP_MAPS;
	if (!ct && p->protocol == IPPROTO_TCP)
		ct = ct_find_waiting(p);
	word = ct ? READ_ONCE(ct->verdict[BH_EGRESS]) : 0;
	if (!ct || icmp_is_untold(p, word)) {
		/* its event has the port that the quoted packet was sent to */
		p->reply = 1;
		return BH_DROP_UNRELATED;
	}
	if (unlikely(p->told) && connection_is_anothers(p, word))
		reason = connection_of_another(p);
	else
		reason = connection_again(p, ct);
	return bh_reason_drops(reason) ? reason : BH_PASS_RELATED;
}

/* Returns an enum bh_reason. */
static __always_inline int icmp_error(hook_context *ctx, struct packet *p)
{
	int reason = icmp_read_quoted(ctx, p);

	if (reason)
		return reason;
	icmp_turn(p);
	reason = icmp_connection(p);
	if (unlikely(reason >= BH_REASONS)) {
		ask_kernel(ctx, p, reason);
		reason = icmp_connection(p);
	}
	if (unlikely(reason >= BH_REASONS)) {
		ask_kernel(ctx, p, reason);
		reason = icmp_connection(p);
	}
	return reason >= BH_REASONS ? BH_DROP_UNRELATED : reason;
}

#endif
