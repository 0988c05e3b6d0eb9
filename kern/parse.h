/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parser: fills struct packet from a frame. Ethernet with up to two VLAN tags, IPv4 with
 * options, IPv6 with extension headers, TCP, UDP, SCTP, ICMP. Functions return 0 or the enum
 * bh_reason to drop for. A packet whose lengths contradict each other drops.
 */
#ifndef BULKHEAD_KERN_PARSE_H
#define BULKHEAD_KERN_PARSE_H

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include "packet.h"

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04
#define TCP_ACK 0x10

/* linux/icmp.h needs the C library's headers. */
#define ICMP_ECHOREPLY 0
#define ICMP_DEST_UNREACH 3
#define ICMP_SOURCE_QUENCH 4
#define ICMP_REDIRECT 5
#define ICMP_ECHO 8
#define ICMP_TIME_EXCEEDED 11
#define ICMP_PARAMETERPROB 12
#define ICMP_TIMESTAMP 13
#define ICMP_TIMESTAMPREPLY 14
#define ICMP_INFO_REQUEST 15
#define ICMP_INFO_REPLY 16
#define ICMP_ADDRESS 17
#define ICMP_ADDRESSREPLY 18

#define ICMP6_ECHO_REQUEST 128
#define ICMP6_ECHO_REPLY 129
#define ICMP6_MLD_QUERY 130
#define ICMP6_ROUTER_SOLICITATION 133
#define ICMP6_ROUTER_ADVERTISEMENT 134
#define ICMP6_NEIGHBOUR_SOLICITATION 135
#define ICMP6_NEIGHBOUR_ADVERTISEMENT 136
#define ICMP6_REDIRECT 137
#define ICMP6_MLD2_REPORT 143

#define IPV4_OPTIONS 40 /* bytes at most; so also the most options */

#define FRAGMENT_OFFSET 0x1fff
#define FRAGMENT_MORE 0x2000

/* Extension headers that one packet may have; a legal order has at most seven. */
#define PARSE_EXTENSIONS 8

/* How far into a frame a transport header may begin. */
#define PARSE_FAR 0x3fff

/* Not less than the offset of the network header, behind two VLAN tags, as a mask: of a frame that
 * was copied, the verifier wants to see a bound. */
#define PARSE_NETWORK 31

/* Not struct ethhdr, which is packed: clang would read it byte by byte. */
struct ethernet_header {
	__be16 to[3], from[3], type;
};

struct sctp_header {
	__be16 source, dest;
	__be32 tag, checksum;
};

struct icmp_header {
	__u8 type, code;
	__be16 checksum;
	__be16 id, sequence; /* of a query */
};

struct extension_header {
	__u8 next;
	__u8 length; /* in 8 bytes beyond the first 8; authentication: in 4 beyond the first 8 */
	__be16 offset; /* fragment header; of a routing header: type, segments that are left */
	__be32 id;
};

static __always_inline __be64 parse_mapped(__be32 addr)
{
	return (__u64)addr << 32 | bpf_htonl(0xffff);
}

/* Returns the last word of a key: ports and protocol. @ports: in the header's order; @swapped: the
 * key has its ends in the other order. The key is written as one word, since the CPU cannot forward
 * several small stores to one 8-byte load. */
_Static_assert(offsetof(struct bh_ct_key, port) == 32 &&
		       offsetof(struct bh_ct_key, protocol) == 36 &&
		       offsetof(struct bh_ct_key, kind) == 37 &&
		       offsetof(struct bh_ct_key, scope) == 38,
	       "parse_last_word() is the key's last word");
static __always_inline __u64 parse_last_word(__u32 ports, __u8 protocol, bool swapped)
{
	if (swapped)
		ports = ports << 16 | ports >> 16;
	return (__u64)protocol << 32 | ports;
}

static __always_inline void parse_ports(struct packet *p, const void *l4)
{
	*(__u32 *)p->port = *(const __u32 *)l4;
}

static __always_inline void parse_key(struct packet *p, __be64 s0, __be64 s1, __be64 d0, __be64 d1)
{
	__u32 from = s0 > d0 || (s0 == d0 && (s1 > d1 || (s1 == d1 && p->port[0] > p->port[1])));

	p->from = from;
	p->key.addr[0][0] = from ? d0 : s0;
	p->key.addr[0][1] = from ? d1 : s1;
	p->key.addr[1][0] = from ? s0 : d0;
	p->key.addr[1][1] = from ? s1 : d1;
	*(__u64 *)p->key.port = parse_last_word(*(__u32 *)p->port, p->protocol, from);
}

static __always_inline void parse_key4(struct packet *p, __be32 source, __be32 destination)
{
	parse_key(p, 0, parse_mapped(source), 0, parse_mapped(destination));
}

static __always_inline void parse_key6(struct packet *p, const __be64 source[2],
				       const __be64 destination[2])
{
	parse_key(p, source[0], source[1], destination[0], destination[1]);
}

static __always_inline int parse_tcp(struct packet *p, void *l4, void *end)
{
	struct tcphdr *tcp = l4;
	__u32 header;

	if (p->l4_length < sizeof(*tcp))
		return p->flags & PACKET_MORE_FRAGMENTS ? BH_DROP_TINY : BH_DROP_TRUNCATED;
	if ((void *)(tcp + 1) > end)
		return BH_DROP_TRUNCATED;
	header = tcp->doff * 4;
	if (header > p->l4_length)
		return p->flags & PACKET_MORE_FRAGMENTS ? BH_DROP_TINY : BH_DROP_TRANSPORT;
	p->tcp_flags = ((__u8 *)tcp)[13];
	if (header < sizeof(*tcp))
		return BH_DROP_TRANSPORT;
	switch (p->tcp_flags & (TCP_SYN | TCP_FIN | TCP_RST | TCP_ACK)) {
	case 0:
	case TCP_FIN:
	case TCP_SYN | TCP_FIN:
	case TCP_SYN | TCP_RST:
	case TCP_SYN | TCP_FIN | TCP_RST:
	case TCP_SYN | TCP_FIN | TCP_ACK:
	case TCP_SYN | TCP_RST | TCP_ACK:
	case TCP_SYN | TCP_FIN | TCP_RST | TCP_ACK:
		return BH_DROP_TRANSPORT;
	}
	parse_ports(p, tcp);
	p->sequence = bpf_ntohl(tcp->seq);
	p->acknowledged = bpf_ntohl(tcp->ack_seq);
	p->payload = p->l4_length - header;
	return 0;
}

/* Returns true if the packet is a SYN without ACK. */
static __always_inline bool parse_is_syn(const struct packet *p)
{
	return (p->tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN;
}

static __always_inline int parse_udp(struct packet *p, void *l4, void *end)
{
	struct udphdr *udp = l4;
	__u32 length;

	if (p->l4_length < sizeof(*udp))
		return p->flags & PACKET_MORE_FRAGMENTS ? BH_DROP_TINY : BH_DROP_TRUNCATED;
	if ((void *)(udp + 1) > end)
		return BH_DROP_TRUNCATED;
	length = bpf_ntohs(udp->len);
	if (length < sizeof(*udp) || (length > p->l4_length && !(p->flags & PACKET_MORE_FRAGMENTS)))
		return BH_DROP_TRANSPORT;
	parse_ports(p, udp);
	return 0;
}

static __always_inline int parse_sctp(struct packet *p, void *l4, void *end)
{
	struct sctp_header *sctp = l4;

	if (p->l4_length < sizeof(*sctp))
		return p->flags & PACKET_MORE_FRAGMENTS ? BH_DROP_TINY : BH_DROP_TRUNCATED;
	if ((void *)(sctp + 1) > end)
		return BH_DROP_TRUNCATED;
	parse_ports(p, sctp);
	return 0;
}

/* An ICMP message for conntrack: the type of the request, and whether the message is the
 * request. */
struct icmp_query {
	__u8 type; /* of the request; 0: not a query */
	__u8 asks;
};

static __always_inline struct icmp_query icmp_query(__u8 protocol, __u8 type)
{
	if (protocol == IPPROTO_ICMPV6) {
		if (type == ICMP6_ECHO_REQUEST || type == ICMP6_ECHO_REPLY)
			return (struct icmp_query){ICMP6_ECHO_REQUEST - 64,
						   type == ICMP6_ECHO_REQUEST};
		return (struct icmp_query){};
	}
	switch (type) {
	case ICMP_ECHO:
	case ICMP_ECHOREPLY:
		return (struct icmp_query){ICMP_ECHO, type == ICMP_ECHO};
	case ICMP_TIMESTAMP:
	case ICMP_TIMESTAMPREPLY:
		return (struct icmp_query){ICMP_TIMESTAMP, type == ICMP_TIMESTAMP};
	case ICMP_INFO_REQUEST:
	case ICMP_INFO_REPLY:
		return (struct icmp_query){ICMP_INFO_REQUEST, type == ICMP_INFO_REQUEST};
	case ICMP_ADDRESS:
	case ICMP_ADDRESSREPLY:
		return (struct icmp_query){ICMP_ADDRESS, type == ICMP_ADDRESS};
	}
	return (struct icmp_query){};
}

static __always_inline int parse_icmp(struct packet *p, void *l4, void *end)
{
	struct icmp_header *icmp = l4;

	if (p->l4_length < sizeof(*icmp))
		return p->flags & PACKET_MORE_FRAGMENTS ? BH_DROP_TINY : BH_DROP_TRUNCATED;
	if ((void *)(icmp + 1) > end)
		return BH_DROP_TRUNCATED;
	p->type = icmp->type;
	if (p->protocol == IPPROTO_ICMPV6) {
		if (p->type < ICMP6_ECHO_REQUEST)
			p->class = PACKET_ICMP_ERROR;
		else if ((p->type >= ICMP6_MLD_QUERY && p->type <= ICMP6_REDIRECT) ||
			 p->type == ICMP6_MLD2_REPORT)
			p->class = PACKET_NEIGHBOUR;
	} else if (p->type == ICMP_DEST_UNREACH || p->type == ICMP_SOURCE_QUENCH ||
		   p->type == ICMP_REDIRECT || p->type == ICMP_TIME_EXCEEDED ||
		   p->type == ICMP_PARAMETERPROB) {
		p->class = PACKET_ICMP_ERROR;
	}
	if (icmp_query(p->protocol, p->type).type)
		p->port[0] = p->port[1] = icmp->id;
	return 0;
}

/* Sets the kind in the key. Requests of both ends with one identifier are two connections; so are
 * messages of both ends that are no queries. */
static __always_inline void parse_icmp_kind(struct packet *p)
{
	struct icmp_query query = icmp_query(p->protocol, p->type);
	__u32 opener = query.type && !query.asks ? !p->from : p->from;

	p->key.kind = BH_CT_KIND(query.type, opener);
}

/* @l4 is at p->l4. */
static __always_inline int parse_transport(struct packet *p, void *l4, void *end)
{
	switch (p->protocol) {
#define PROTOCOL(name, number, functions, ...) \
	case number:                           \
		return parse_##functions(p, l4, end);
#include "maps/protocols.def"
	case IPPROTO_ICMP:
		return p->version == 4 ? parse_icmp(p, l4, end) : 0;
	case IPPROTO_ICMPV6:
		return p->version == 6 ? parse_icmp(p, l4, end) : 0;
	}
	return 0;
}

/* Returns true if the fragment's length is a multiple of 8, unless it is the last, and it ends
 * within 64 KB. */
static __always_inline bool parse_fragment_fits(const struct packet *p)
{
	return !(p->flags & PACKET_MORE_FRAGMENTS && p->fragment_length % 8) &&
	       p->fragment_at + p->fragment_length <= 0xffff;
}

/* A walk through the options of an IPv4 header. */
struct parse_options {
	hook_context *ctx;
	__u32 at, end;
	int reason;
};

/* Reads one option, for bpf_loop(). */
static long parse_option(__u32 i __attribute__((unused)), struct parse_options *o)
{
	__u8 type, length;

	if (o->at >= o->end)
		return 1;
	if (hook_load(o->ctx, o->at, &type, 1)) {
		o->reason = BH_DROP_TRUNCATED;
		return 1;
	}
	if (type == IPOPT_END)
		return 1;
	if (type == IPOPT_NOP) {
		o->at++;
		return 0;
	}
	if (type == IPOPT_LSRR || type == IPOPT_SSRR)
		o->reason = BH_DROP_SOURCE_ROUTE;
	else if (o->at + 2 > o->end || hook_load(o->ctx, o->at + 1, &length, 1) || length < 2 ||
		 o->at + length > o->end)
		o->reason = BH_DROP_IP;
	if (o->reason)
		return 1;
	o->at += length;
	return 0;
}

/* Drops source routing, whatever the host's settings are. */
BPF_GLOBAL int parse_options(hook_context *ctx, const struct packet *p)
{
	struct parse_options o = {.ctx = ctx};

	if (!p)
		return BH_DROP_IP;
	o.at = p->l3 + sizeof(struct iphdr);
	o.end = p->l4;
	bpf_loop(IPV4_OPTIONS, parse_option, &o, 0);
	return o.reason;
}

static __always_inline int parse_ipv4_header(hook_context *ctx, struct packet *p, struct iphdr *ip,
					     void *end)
{
	__u32 header, total, fragment;
	int reason;

	header = ip->ihl * 4;
	total = bpf_ntohs(ip->tot_len);
	if (!total) { /* BIG TCP, or none; 6.1 takes a header of 20 for within a total of 0 */
		if (p->length - p->l3 <= 0xffff)
			return BH_DROP_IP;
		total = 0xffff;
	}
	if (ip->version != 4 || header < sizeof(*ip) || total < header)
		return BH_DROP_IP;
	if (total > p->length - p->l3)
		return BH_DROP_TRUNCATED;
	p->hop_limit = ip->ttl;
	p->l4 = p->l3 + header;
	p->l4_length = total - header;
	if (unlikely(header > sizeof(*ip))) {
		reason = parse_options(ctx, p);
		if (reason)
			return reason;
	}
	fragment = bpf_ntohs(ip->frag_off);
	if (unlikely(fragment & (FRAGMENT_OFFSET | FRAGMENT_MORE))) {
		p->fragment_id = ip->id;
		p->fragment_at = (fragment & FRAGMENT_OFFSET) * 8;
		p->flags |= fragment & FRAGMENT_MORE ? PACKET_MORE_FRAGMENTS : 0;
		p->fragment_length = p->l4_length;
		if (!parse_fragment_fits(p))
			return BH_DROP_IP;
		if (p->fragment_at) {
			p->class = PACKET_FRAGMENT;
			return 0;
		}
	}
	return parse_transport(p, (void *)ip + header, end);
}

static __always_inline int parse_ipv4(hook_context *ctx, struct packet *p, void *data, void *end)
{
	struct iphdr *ip = data + (p->l3 & PARSE_NETWORK);
	int reason;

	if ((void *)(ip + 1) > end)
		return BH_DROP_TRUNCATED;
	p->version = 4;
	p->protocol = ip->protocol;
	reason = parse_ipv4_header(ctx, p, ip, end);
	parse_key4(p, ip->saddr, ip->daddr);
	return reason;
}

/* Returns true if a routing header leads the packet on from the address that policy sees, whatever
 * the settings of the host there are. What leaves the node has passed its sender's hook, and the
 * node may have put such a header before it. @header: its type, and the segments that are left. */
static __always_inline bool parse_routes_on(const struct packet *p, __be16 header)
{
	return p->hook != BH_HOOK_LEAVE && bpf_ntohs(header) & 0xff;
}

/*
 * Walks the extension headers from p->l4 on. Sets p->protocol, p->l4 and p->l4_length to the header
 * after them.
 */
BPF_GLOBAL int parse_extensions(hook_context *ctx, struct packet *p)
{
	struct extension_header header;
	__u32 at, left, size;

	if (!p)
		return BH_DROP_EXTENSION;
	for (int i = 0; i <= PARSE_EXTENSIONS; i++) {
		switch (p->protocol) {
		case IPPROTO_HOPOPTS:
			if (i)
				return BH_DROP_EXTENSION;
			break;
		case IPPROTO_ROUTING:
		case IPPROTO_DSTOPTS:
		case IPPROTO_FRAGMENT:
		case IPPROTO_AH:
			if (i == PARSE_EXTENSIONS)
				return BH_DROP_EXTENSION;
			break;
		default:
			return 0;
		}
		/* Read again for each header: the verifier would follow the values of each way
		 * through the headers before. */
		at = READ_ONCE(p->l4);
		left = READ_ONCE(p->l4_length);
		if (left < sizeof(header) || hook_load(ctx, at, &header, sizeof(header)))
			return BH_DROP_TRUNCATED;
		size = header.length * 8 + 8;
		if (p->protocol == IPPROTO_ROUTING && parse_routes_on(p, header.offset))
			return BH_DROP_SOURCE_ROUTE;
		if (p->protocol == IPPROTO_AH) {
			size = header.length * 4 + 8;
		} else if (p->protocol == IPPROTO_FRAGMENT) {
			size = sizeof(header);
			if (p->flags & PACKET_FRAGMENT_HEADER)
				return BH_DROP_EXTENSION;
			p->fragment_id = header.id;
			p->fragment_at = bpf_ntohs(header.offset) & 0xfff8;
			p->flags |= PACKET_FRAGMENT_HEADER;
			p->flags |= bpf_ntohs(header.offset) & 1 ? PACKET_MORE_FRAGMENTS : 0;
			p->fragment_length = left - size;
			if (left >= size && !parse_fragment_fits(p))
				return BH_DROP_IP;
		}
		if (size > left || at + size > PARSE_FAR)
			return size > left ? BH_DROP_TRUNCATED : BH_DROP_EXTENSION;
		p->protocol = header.next;
		p->l4 = at + size;
		p->l4_length = left - size;
		if (p->fragment_at) {
			p->class = PACKET_FRAGMENT;
			return 0;
		}
	}
	return BH_DROP_EXTENSION;
}

/* Reads the transport header behind extension headers, wherever in the frame it is. 6.1 wants to
 * see a constant size. */
BPF_GLOBAL int parse_extended(hook_context *ctx, struct packet *p)
{
	struct tcphdr header = {}; /* the longest */
	__u32 length, size;
	long error;

	if (!p)
		return BH_DROP_TRUNCATED;
	length = READ_ONCE(p->l4_length);
	if (length >= sizeof(header)) {
		size = sizeof(header);
		error = hook_load(ctx, p->l4, &header, sizeof(header));
	} else if (length >= sizeof(struct sctp_header)) {
		size = sizeof(struct sctp_header);
		error = hook_load(ctx, p->l4, &header, sizeof(struct sctp_header));
	} else if (length >= sizeof(struct udphdr)) {
		size = sizeof(struct udphdr);
		error = hook_load(ctx, p->l4, &header, sizeof(struct udphdr));
	} else {
		size = error = 0;
	}
	return error ? BH_DROP_TRUNCATED : parse_transport(p, &header, (void *)&header + size);
}

static __always_inline bool parse_is_extension(__u8 protocol)
{
	return protocol == IPPROTO_HOPOPTS || protocol == IPPROTO_ROUTING ||
	       protocol == IPPROTO_DSTOPTS || protocol == IPPROTO_FRAGMENT ||
	       protocol == IPPROTO_AH;
}

static __always_inline int parse_ipv6_header(hook_context *ctx, struct packet *p,
					     struct ipv6hdr *ip)
{
	__u32 length = bpf_ntohs(ip->payload_len), capacity = p->length - p->l3 - sizeof(*ip);

	if (!length && capacity > 0xffff) /* BIG TCP */
		length = 0xffff;
	if (ip->version != 6)
		return BH_DROP_IP;
	if (length > capacity)
		return BH_DROP_TRUNCATED;
	p->hop_limit = ip->hop_limit;
	p->l4 = p->l3 + sizeof(*ip);
	p->l4_length = length;
	return unlikely(parse_is_extension(p->protocol)) ? parse_extensions(ctx, p) : 0;
}

/* Returns true if an IPv6 packet has an IPv4-mapped address. Such an address stands for an IPv4
 * node in a program, and is no source or destination of a packet (RFC 4291, 2.5.5.2; RFC 6890): as
 * a key of the maps it would be the IPv4 endpoint's own. */
static __always_inline bool parse_has_mapped(const __be64 address[4])
{
	const __u32 mapped = bpf_htonl(0xffff);

	return (!address[0] && (__u32)address[1] == mapped) ||
	       (!address[2] && (__u32)address[3] == mapped);
}

static __always_inline int parse_ipv6(hook_context *ctx, struct packet *p, void *data, void *end)
{
	struct ipv6hdr *ip = data + (p->l3 & PARSE_NETWORK);
	__be64 address[4];
	int reason;

	if ((void *)(ip + 1) > end)
		return BH_DROP_TRUNCATED;
	p->version = 6;
	p->protocol = ip->nexthdr;
	__builtin_memcpy(address, &ip->saddr, sizeof(address));
	reason = parse_ipv6_header(ctx, p, ip);
	if (!reason && p->class == PACKET_FLOW)
		reason = unlikely(p->l4 != p->l3 + sizeof(*ip)) ? parse_extended(ctx, p)
								: parse_transport(p, ip + 1, end);
	parse_key6(p, address, address + 2);
	return unlikely(parse_has_mapped(address)) ? BH_DROP_IP : reason;
}

/* Sets p->l3 to the network header, and *@type to its EtherType in network byte order. */
static __always_inline int parse_ethernet(struct packet *p, void *data, void *end, __be16 *type)
{
	struct ethernet_header *eth = data;
	struct {
		__be16 tci, type;
	} *vlan = (void *)(eth + 1);
	__u64 from;

	if ((void *)(eth + 1) > end)
		return BH_DROP_TRUNCATED;
	from = *(__u64 *)eth->from;
	*(__u64 *)&p->l3 = *(__u64 *)eth->to << 16 | sizeof(*eth);
	*(__u64 *)p->mac_from = from & ~(0xffffull << 48);
	*type = from >> 48;
	for (int i = 0; i < 3; i++, vlan++) {
		if (likely(*type != bpf_htons(ETH_P_8021Q) && *type != bpf_htons(ETH_P_8021AD)))
			return 0;
		if ((void *)(vlan + 1) > end)
			return BH_DROP_TRUNCATED;
		*type = vlan->type;
		p->l3 += sizeof(*vlan);
	}
	return BH_DROP_VLAN;
}

/* Parses a frame that begins with its IP header. @data: the frame, or a copy of its first
 * bytes. */
static __always_inline int parse_bare_frame(hook_context *ctx, struct packet *p, void *data,
					    void *end)
{
	struct iphdr *ip = data;

	p->length = hook_length(ctx);
	p->l3 = 0;
	if ((void *)(ip + 1) > end)
		return BH_DROP_TRUNCATED;
	if (ip->version == 4)
		return parse_ipv4(ctx, p, data, end);
	return ip->version == 6 ? parse_ipv6(ctx, p, data, end) : BH_DROP_IP;
}

static __always_inline int parse_bare_packet(hook_context *ctx, struct packet *p)
{
	return parse_bare_frame(ctx, p, hook_data(ctx), hook_end(ctx));
}

/* Parses a frame. @data: the frame, or a copy of its first bytes. */
static __always_inline int parse_frame(hook_context *ctx, struct packet *p, void *data, void *end)
{
	__be16 type;
	int reason;

	p->length = hook_length(ctx);
	reason = parse_ethernet(p, data, end, &type);
	if (reason)
		return reason;
	if (type == bpf_htons(ETH_P_IP)) {
		reason = parse_ipv4(ctx, p, data, end);
	} else if (type == bpf_htons(ETH_P_IPV6)) {
		reason = parse_ipv6(ctx, p, data, end);
	} else {
		p->class = type == bpf_htons(ETH_P_ARP) ? PACKET_ARP : PACKET_OTHER;
		return 0;
	}
	if (!reason && (p->protocol == IPPROTO_ICMP || p->protocol == IPPROTO_ICMPV6) &&
	    p->class == PACKET_FLOW)
		parse_icmp_kind(p);
	return reason;
}

static __always_inline int parse_packet(hook_context *ctx, struct packet *p)
{
	return parse_frame(ctx, p, hook_data(ctx), hook_end(ctx));
}

/* Forgets what was parsed of a frame whose headers were not all in reach. */
static __always_inline void parse_begins_again(struct packet *p)
{
	p->class = PACKET_FLOW;
	p->flags = 0;
	p->fragment_at = 0;
}

#endif
