// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sends raw frames out of an interface that no socket would send.
 *
 *   frame [-n COUNT] [-t VLAN]... [-l LINEAR] [-s PORT] [-p] [-x HEADERS]
 *         [-r TYPE:ADDRESS] [-c START:OFFSET] INTERFACE FROM-MAC TO-MAC KIND
 *
 * -s: the source port of UDP, 40000 where none is given. -p: it goes up from 1024 with every
 * other frame, that of `syn` in the address's place. -l: the kernel has only so many bytes of
 * the frame in one piece (14 at least), the others in pages; for that, it is made longer than a
 * page by what belongs to no packet. -x: so many
 * destination options headers before the rest of an IPv6 packet. -r: an IPv4 option with a source
 * route by one address: of type 131, loose, or 137, strict. -c: the kernel is to complete a
 * checksum, of the frame's bytes from START on, OFFSET bytes behind that. KIND is one of
 *
 *   udp SOURCE DESTINATION PORT
 *
 *   syn SOURCE DESTINATION PORT           of COUNT, each has a source of its own: the last 16 bits
 *                                         of the address and the port go up
 *
 *   tcp SOURCE DESTINATION PORT FLAGS NUMBER
 *                                         a segment without data; FLAGS and NUMBER are hexadecimal
 *
 *   data SOURCE DESTINATION PORT FLAGS NUMBER
 *                                         the same segment with one byte of data
 *
 *   sctp SOURCE DESTINATION PORT          an INIT
 *
 *   short SOURCE DESTINATION PORT         UDP that says to be shorter than its own header
 *
 *   first SOURCE DESTINATION PORT ID      the first fragment of a UDP datagram; with -p, ID goes up
 *                                         with each frame
 *
 *   rest SOURCE DESTINATION ID            its last one, with a gap between, so that nobody joins
 *                                         them
 *
 *   uneven SOURCE DESTINATION PORT ID     of each three, the fragments of one UDP datagram over
 * IPv6. The first is short and has a hop-by-hop header: a node that joins them cannot part them as
 * they were, and makes new ones
 *
 *   uneven-init SOURCE DESTINATION PORT ID
 *                                         the same of an INIT of SCTP
 *
 *   too-big SOURCE DESTINATION PEER PORT  fragmentation needed, or packet too big, about UDP from
 *                                         DESTINATION to PORT of PEER
 *
 *   arp MAC ADDRESS                       ARP: that MAC has that address
 *
 *   nd SOURCE DESTINATION MAC ADDRESS     an unasked neighbour advertisement that says so
 *
 *   dad SOURCE DESTINATION ADDRESS        a neighbour solicitation for it; from ::, duplicate
 * address detection
 *
 *   ra SOURCE DESTINATION                 a router advertisement
 *
 *   redirect SOURCE DESTINATION MAC PEER  an ICMPv6 redirect: PEER is on the link, at that MAC
 *
 *   icmp6 SOURCE DESTINATION TYPE CODE HOPS
 *                                         ICMPv6 with that hop limit, about SOURCE (but TYPE 133),
 *                                         with 62 bytes in an option of neighbour discovery
 *
 *   written SOURCE DESTINATION PORT LATER UDP to PORT, such that the sum from there on, written
 * over it
 *                                         (-c 36:0, over IPv6 -c 56:0), is LATER, and fits it
 *
 *   tunnel SOURCE DESTINATION HOW INNER-SOURCE INNER-DESTINATION PORT
 *                                         UDP within IP (HOW: ip), GRE (gre), UDP (fou:PORT),
 *                                         GUE (gue:PORT), VXLAN
 *                                         (vxlan:PORT:VNI:INNER-TO-MAC) or L2TPv3 over IP
 *                                         (l2tp:SESSION:INNER-TO-MAC)
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "selftests/helpers/lib/helper.h"

#define BATCH 64
#define MAX_FRAME 1600
#define PAGED_FRAME 6000 /* more than a page, including the kernel's headroom */
#define MAX_TAGS 4
#define FIRST_BYTES 64 /* payload of a first fragment, with the UDP header */

struct address {
	bool v6;
	uint8_t byte[16];
};

struct frame {
	uint8_t byte[MAX_FRAME];
	size_t length;
	uint32_t number; /* how many frames came before this one */
};

static uint16_t source_port = 40000;
static bool ports; /* -p */
static int extensions;
static uint8_t route_type;
static struct virtio_net_hdr completes;
static char **words; /* the arguments after KIND */
static struct address source, destination, route;

static _Noreturn void usage(const char *what)
{
	fprintf(stderr, "frame: %s\n", what);
	exit(2);
}

static struct address parse_address(const char *text)
{
	struct address address = {.v6 = strchr(text, ':')};

	if (inet_pton(address.v6 ? AF_INET6 : AF_INET, text, address.byte) != 1)
		usage(text);
	return address;
}

static void parse_mac(const char *text, uint8_t mac[6])
{
	if (sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", mac, mac + 1, mac + 2, mac + 3, mac + 4,
		   mac + 5) != 6)
		usage(text);
}

static void put(struct frame *f, const void *bytes, size_t n)
{
	if (f->length + n > MAX_FRAME)
		usage("too long");
	memcpy(f->byte + f->length, bytes, n);
	f->length += n;
}

static void put8(struct frame *f, uint8_t value)
{
	put(f, &value, 1);
}

static void put16(struct frame *f, uint16_t value)
{
	put(f, &(uint16_t){htons(value)}, 2);
}

static void put32(struct frame *f, uint32_t value)
{
	put(f, &(uint32_t){htonl(value)}, 4);
}

static void put_checksum(struct frame *f, size_t at, uint16_t sum)
{
	memcpy(f->byte + at, &(uint16_t){htons(~sum)}, sizeof(sum));
}

/* Writes the checksum at @at of the transport header that begins at @l4. */
static void put_transport_checksum(struct frame *f, size_t l4, size_t at, uint8_t protocol)
{
	size_t size = source.v6 ? 16 : 4, length = f->length - l4;
	uint32_t total = protocol == IPPROTO_ICMP ? 0 : protocol + length;

	if (protocol != IPPROTO_ICMP) {
		total = helper_sum(source.byte, size, total);
		total = helper_sum(route_type ? route.byte : destination.byte, size, total);
	}
	put_checksum(f, l4 + at, helper_sum(f->byte + l4, length, total));
}

static void put_extensions(struct frame *f, uint8_t protocol)
{
	for (int i = 0; i < extensions; i++) {
		put8(f, i < extensions - 1 ? IPPROTO_DSTOPTS : protocol);
		put8(f, 0);
		put16(f, 0x0104); /* padding */
		put32(f, 0);
	}
}

/* Writes a route with one address, the pointer, and an end of options. */
static void put_route(struct frame *f)
{
	put8(f, route_type);
	put16(f, 7 << 8 | 4);
	put(f, route.byte, 4);
	put8(f, 0);
}

/* Writes the header of an IP packet with @length bytes of payload; @at is the fragment offset. */
static void put_ip(struct frame *f, const struct address *from, const struct address *to,
		   uint8_t protocol, size_t length, int id, size_t at, bool more)
{
	size_t ip = f->length, options = route_type ? 8 : 0;
	uint8_t first = id < 0 ? protocol : IPPROTO_FRAGMENT;

	if (from->v6) {
		put32(f, 6u << 28);
		put16(f, length + (id < 0 ? 0 : 8) + 8 * extensions);
		put8(f, extensions ? IPPROTO_DSTOPTS : first);
		put8(f, protocol == IPPROTO_ICMPV6 ? 255 : 64);
		put(f, from->byte, 16);
		put(f, to->byte, 16);
		put_extensions(f, first);
		if (id >= 0) {
			put16(f, protocol << 8);
			put16(f, at | more);
			put32(f, id);
		}
		return;
	}
	put16(f, 0x4500 + (options / 4 << 8));
	put16(f, 20 + options + length);
	put16(f, id < 0 ? 0 : id);
	put16(f, at / 8 | (more ? 0x2000 : 0));
	put8(f, 64);
	put8(f, protocol);
	put16(f, 0);
	put(f, from->byte, 4);
	put(f, to->byte, 4);
	if (options)
		put_route(f);
	put_checksum(f, ip + 10, helper_sum(f->byte + ip, 20 + options, 0));
}

static void put_udp(struct frame *f, uint16_t port, size_t length)
{
	put16(f, source_port);
	put16(f, port);
	put16(f, length);
	put16(f, 0); /* no checksum, as IPv4 allows */
}

static void put_zeros(struct frame *f, size_t n)
{
	while (n--)
		put8(f, 0);
}

static void udp(struct frame *f)
{
	size_t l4;

	put_ip(f, &source, &destination, IPPROTO_UDP, 16, -1, 0, false);
	l4 = f->length;
	put_udp(f, atoi(words[2]), 16);
	put_zeros(f, 8);
	put_transport_checksum(f, l4, 6, IPPROTO_UDP);
}

static void shorter(struct frame *f)
{
	put_ip(f, &source, &destination, IPPROTO_UDP, 16, -1, 0, false);
	put_udp(f, atoi(words[2]), 7);
	put_zeros(f, 8);
}

static void first(struct frame *f)
{
	put_ip(f, &source, &destination, IPPROTO_UDP, FIRST_BYTES,
	       atoi(words[3]) + (ports ? f->number : 0), 0, true);
	put_udp(f, atoi(words[2]), 3 * FIRST_BYTES);
	put_zeros(f, FIRST_BYTES - 8);
}

static void rest(struct frame *f)
{
	put_ip(f, &source, &destination, IPPROTO_UDP, FIRST_BYTES, atoi(words[2]), 2 * FIRST_BYTES,
	       false);
	put_zeros(f, FIRST_BYTES);
}

static void syn(struct frame *f)
{
	uint8_t *last = source.byte + (source.v6 ? 14 : 2);
	size_t l4;

	if (!ports) {
		last[0] = f->number >> 8;
		last[1] = f->number;
	}
	put_ip(f, &source, &destination, IPPROTO_TCP, 20, -1, 0, false);
	l4 = f->length;
	put16(f, ports ? source_port : 1024 + (f->number >> 16));
	put16(f, atoi(words[2]));
	put32(f, f->number * 2654435761u); /* an arbitrary number */
	put32(f, 0);
	put16(f, 0x5002);
	put16(f, 65535);
	put32(f, 0);
	put_transport_checksum(f, l4, 16, IPPROTO_TCP);
}

static void segment(struct frame *f, size_t data)
{
	size_t l4;

	put_ip(f, &source, &destination, IPPROTO_TCP, 20 + data, -1, 0, false);
	l4 = f->length;
	put16(f, source_port);
	put16(f, atoi(words[2]));
	put32(f, strtoul(words[4], NULL, 16));
	put32(f, 0);
	put16(f, 0x5000 | strtoul(words[3], NULL, 16));
	put16(f, 65535);
	put32(f, 0);
	while (data--)
		put8(f, '.');
	put_transport_checksum(f, l4, 16, IPPROTO_TCP);
}

static void tcp(struct frame *f)
{
	segment(f, 0);
}

static void data(struct frame *f)
{
	segment(f, 1);
}

/* CRC-32C; SCTP stores its lowest byte first. */
static uint32_t crc32c(const uint8_t *byte, size_t n)
{
	uint32_t crc = ~0u;

	while (n--) {
		crc ^= *byte++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return __builtin_bswap32(~crc);
}

#define SCTP_HEADER 12

/* Writes the header and an INIT of so many bytes, up to its last field. The checksum is 0. */
static void put_init(struct frame *f, size_t length)
{
	put16(f, source_port);
	put16(f, atoi(words[2]));
	put_zeros(f, 8); /* verification tag 0; the place of the checksum */
	put32(f, 1 << 24 | length);
	put32(f, 1 + f->number);
	put32(f, 65536);
	put32(f, 1 << 16 | 1);
	put32(f, 1);
}

static void sctp(struct frame *f)
{
	struct frame sum = {.length = 0};
	size_t l4;

	put_ip(f, &source, &destination, IPPROTO_SCTP, 32, -1, 0, false);
	l4 = f->length;
	put_init(f, 20);
	put32(&sum, crc32c(f->byte + l4, 32));
	memcpy(f->byte + l4 + 8, sum.byte, 4);
}

/* Bytes of the three fragments, and of the header that only the first one has. */
#define UNEVEN_FIRST 400
#define UNEVEN_NEXT 1448
#define UNEVEN_LAST 52
#define UNEVEN_HEADER 32

#define UNEVEN_WHOLE (UNEVEN_FIRST + UNEVEN_NEXT + UNEVEN_LAST)

/* Zeros follow the header that each of the two writes. */
static void uneven_udp(struct frame *f)
{
	uint32_t sum = IPPROTO_UDP + UNEVEN_WHOLE;
	size_t l4 = f->length;

	put_udp(f, atoi(words[2]), UNEVEN_WHOLE);
	sum = helper_sum(source.byte, 16, helper_sum(destination.byte, 16, sum));
	put_checksum(f, l4 + 6, helper_sum(f->byte + l4, 8, sum));
}

static void uneven_sctp(struct frame *f)
{
	uint8_t whole[UNEVEN_WHOLE] = {};
	struct frame sum = {.length = 0};
	size_t l4 = f->length;

	put_init(f, UNEVEN_WHOLE - SCTP_HEADER);
	memcpy(whole, f->byte + l4, f->length - l4);
	put32(&sum, crc32c(whole, UNEVEN_WHOLE));
	memcpy(f->byte + l4 + 8, sum.byte, 4);
}

static void put_uneven(struct frame *f, uint8_t protocol, void (*put_header)(struct frame *f))
{
	static const size_t lengths[] = {UNEVEN_FIRST, UNEVEN_NEXT, UNEVEN_LAST};
	static const size_t begins[] = {0, UNEVEN_FIRST, UNEVEN_FIRST + UNEVEN_NEXT};
	const size_t part = f->number % 3;
	/* An option that a host skips if it does not know it: padding may have 7 bytes. */
	uint8_t options[UNEVEN_HEADER] = {IPPROTO_FRAGMENT, UNEVEN_HEADER / 8 - 1, 0x1e,
					  UNEVEN_HEADER - 4};
	size_t l3 = f->length, l4;

	put_ip(f, &source, &destination, protocol, lengths[part], atoi(words[3]), begins[part],
	       part < 2);
	l4 = f->length;
	if (!part)
		put_header(f);
	put_zeros(f, lengths[part] - (f->length - l4));
	if (part)
		return;
	put_zeros(f, UNEVEN_HEADER);
	memmove(f->byte + l3 + 40 + UNEVEN_HEADER, f->byte + l3 + 40,
		f->length - l3 - 40 - UNEVEN_HEADER);
	memcpy(f->byte + l3 + 40, options, UNEVEN_HEADER);
	f->byte[l3 + 5] += UNEVEN_HEADER;
	f->byte[l3 + 4] += f->byte[l3 + 5] < UNEVEN_HEADER;
	f->byte[l3 + 6] = IPPROTO_HOPOPTS;
}

static void uneven(struct frame *f)
{
	put_uneven(f, IPPROTO_UDP, uneven_udp);
}

static void uneven_init(struct frame *f)
{
	put_uneven(f, IPPROTO_SCTP, uneven_sctp);
}

static void too_big(struct frame *f)
{
	struct address peer = parse_address(words[2]);
	size_t l4, quoted = (source.v6 ? 40 : 20) + 16;
	uint8_t protocol = source.v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;

	put_ip(f, &source, &destination, protocol, 8 + quoted, -1, 0, false);
	l4 = f->length;
	put16(f, source.v6 ? 0x0200 : 0x0304);
	put16(f, 0);
	put32(f, 1280); /* the MTU, with the 16 bits that IPv4 leaves unused */
	put_ip(f, &destination, &peer, IPPROTO_UDP, 16, -1, 0, false);
	put_udp(f, atoi(words[3]), 16);
	put_zeros(f, 8);
	put_transport_checksum(f, l4, 2, protocol);
}

static void arp(struct frame *f)
{
	uint8_t mac[6];

	parse_mac(words[0], mac);
	put16(f, 1);
	put16(f, ETH_P_IP);
	put16(f, 6 << 8 | 4);
	put16(f, 2);
	put(f, mac, 6);
	put(f, source.byte, 4);
	put(f, mac, 6);
	put(f, source.byte, 4);
}

static void nd(struct frame *f)
{
	struct address target = parse_address(words[3]);
	uint8_t mac[6];
	size_t l4;

	parse_mac(words[2], mac);
	put_ip(f, &source, &destination, IPPROTO_ICMPV6, 32, -1, 0, false);
	l4 = f->length;
	put16(f, 136 << 8);
	put16(f, 0);
	put32(f, 1u << 29); /* the override flag */
	put(f, target.byte, 16);
	put16(f, 2 << 8 | 1);
	put(f, mac, 6);
	put_transport_checksum(f, l4, 2, IPPROTO_ICMPV6);
}

static void dad(struct frame *f)
{
	struct address target = parse_address(words[2]);
	size_t l4;

	put_ip(f, &source, &destination, IPPROTO_ICMPV6, 24, -1, 0, false);
	l4 = f->length;
	put16(f, 135 << 8);
	put16(f, 0);
	put32(f, 0);
	put(f, target.byte, 16);
	put_transport_checksum(f, l4, 2, IPPROTO_ICMPV6);
}

static void ra(struct frame *f)
{
	size_t l4;

	put_ip(f, &source, &destination, IPPROTO_ICMPV6, 16, -1, 0, false);
	l4 = f->length;
	put16(f, 134 << 8);
	put16(f, 0);
	put32(f, 64 << 24 | 1800); /* hop limit 64; router lifetime 1,800 s */
	put32(f, 0);
	put32(f, 0);
	put_transport_checksum(f, l4, 2, IPPROTO_ICMPV6);
}

static void redirect(struct frame *f)
{
	struct address peer = parse_address(words[3]);
	uint8_t mac[6];
	size_t l4;

	parse_mac(words[2], mac);
	put_ip(f, &source, &destination, IPPROTO_ICMPV6, 48, -1, 0, false);
	l4 = f->length;
	put16(f, 137 << 8);
	put16(f, 0);
	put32(f, 0);
	put(f, peer.byte, 16);
	put(f, peer.byte, 16);
	put16(f, 2 << 8 | 1);
	put(f, mac, 6);
	put_transport_checksum(f, l4, 2, IPPROTO_ICMPV6);
}

static void icmp6(struct frame *f)
{
	size_t l3 = f->length, l4, head = atoi(words[2]) == 133 ? 8 : 24;

	put_ip(f, &source, &destination, IPPROTO_ICMPV6, head + 64, -1, 0, false);
	f->byte[l3 + 7] = atoi(words[4]);
	l4 = f->length;
	put8(f, atoi(words[2]));
	put8(f, atoi(words[3]));
	put_zeros(f, 6);
	put(f, source.byte, head - 8);
	put16(f, 14 << 8 | 8); /* a nonce */
	put_zeros(f, 62);
	put_transport_checksum(f, l4, 2, IPPROTO_ICMPV6);
}

/* Writes the encapsulation between the outer headers and the inner packet. */
static void put_between(struct frame *inner, const char *how, uint16_t ethertype)
{
	unsigned port, vni;
	uint8_t mac[6];
	char text[18];

	if (sscanf(how, "l2tp:%u:%17s", &vni, text) == 2) {
		parse_mac(text, mac);
		put32(inner, vni);
		put32(inner, 0); /* the sublayer */
		put(inner, mac, 6);
		put(inner, (uint8_t[6]){2, 0, 0, 0, 9, 9}, 6);
		put16(inner, ethertype);
	} else if (!strcmp(how, "gre")) {
		put16(inner, 0);
		put16(inner, ethertype);
	} else if (!strncmp(how, "gue:", 4)) {
		put32(inner, (ethertype == ETH_P_IPV6 ? IPPROTO_IPV6 : IPPROTO_IPIP) << 16);
	} else if (sscanf(how, "vxlan:%u:%u:%17s", &port, &vni, text) == 3) {
		parse_mac(text, mac);
		put32(inner, 0x08000000);
		put32(inner, vni << 8);
		put(inner, mac, 6);
		put(inner, (uint8_t[6]){2, 0, 0, 0, 9, 9}, 6);
		put16(inner, ethertype);
	}
}

static void tunnel(struct frame *f)
{
	struct address outer[2] = {source, destination};
	struct frame inner = {};
	const char *how = words[2];
	uint8_t protocol = IPPROTO_UDP;
	size_t l4;

	source = parse_address(words[3]);
	destination = parse_address(words[4]);
	put_between(&inner, how, source.v6 ? ETH_P_IPV6 : ETH_P_IP);
	put_ip(&inner, &source, &destination, IPPROTO_UDP, 16, -1, 0, false);
	l4 = inner.length;
	put_udp(&inner, atoi(words[5]), 16);
	put_zeros(&inner, 8);
	put_transport_checksum(&inner, l4, 6, IPPROTO_UDP);
	if (!strcmp(how, "ip"))
		protocol = source.v6 ? IPPROTO_IPV6 : IPPROTO_IPIP;
	else if (!strcmp(how, "gre"))
		protocol = IPPROTO_GRE;
	else if (!strncmp(how, "l2tp:", 5))
		protocol = 115;
	source = outer[0];
	destination = outer[1];
	put_ip(f, &source, &destination, protocol, inner.length + (protocol == IPPROTO_UDP ? 8 : 0),
	       -1, 0, false);
	l4 = f->length;
	if (protocol == IPPROTO_UDP)
		put_udp(f, atoi(strchr(how, ':') + 1), 8 + inner.length);
	put(f, inner.byte, inner.length);
	if (protocol == IPPROTO_UDP)
		put_transport_checksum(f, l4, 6, IPPROTO_UDP);
}

/* Chooses the source port that makes the checksum come out. */
static void written(struct frame *f)
{
	uint16_t port = htons(atoi(words[2])), later = htons(atoi(words[3])), result;
	size_t l4, length = f->length;

	for (source_port = 1; source_port; source_port++) {
		f->length = length;
		put_ip(f, &source, &destination, IPPROTO_UDP, 16, -1, 0, false);
		l4 = f->length;
		put_udp(f, ntohs(later), 16);
		put_zeros(f, 8);
		put_transport_checksum(f, l4, 6, IPPROTO_UDP);
		memcpy(f->byte + l4 + 2, &port, 2);
		put_checksum(f, l4 + 2, helper_sum(f->byte + l4 + 2, 14, 0));
		memcpy(&result, f->byte + l4 + 2, 2);
		memcpy(f->byte + l4 + 2, &port, 2);
		if (result == later)
			return;
	}
	usage("no such sum");
}

static const struct kind {
	const char *name;
	int words;
	int source; /* index of the source address; in IP, the destination follows */
	void (*build)(struct frame *f);
} kinds[] = {
	{"udp", 3, 0, udp},
	{"sctp", 3, 0, sctp},
	{"short", 3, 0, shorter},
	{"syn", 3, 0, syn},
	{"first", 4, 0, first},
	{"rest", 3, 0, rest},
	{"arp", 2, 1, arp},
	{"nd", 4, 0, nd},
	{"too-big", 4, 0, too_big},
	{"dad", 3, 0, dad},
	{"ra", 2, 0, ra},
	{"tunnel", 6, 0, tunnel},
	{"redirect", 4, 0, redirect},
	{"written", 4, 0, written},
	{"tcp", 5, 0, tcp},
	{"data", 5, 0, data},
	{"icmp6", 5, 0, icmp6},
	{"uneven", 4, 0, uneven},
	{"uneven-init", 4, 0, uneven_init},
};

static const struct kind *parse_kind(int argc, char **argv)
{
	const struct kind *kind = kinds;

	while (kind < kinds + sizeof(kinds) / sizeof(*kinds) && strcmp(kind->name, argv[0]))
		kind++;
	if (kind == kinds + sizeof(kinds) / sizeof(*kinds) || argc != 1 + kind->words)
		usage(argv[0]);
	words = argv + 1;
	source = parse_address(words[kind->source]);
	if (!kind->source)
		destination = parse_address(words[1]);
	return kind;
}

static int open_interface(const char *name, bool headed)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_ifindex = if_nametoindex(name)};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    (headed && setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &(int){1}, sizeof(int)))) {
		perror(name);
		exit(2);
	}
	return fd;
}

/*
 * @head is the MACs and VLAN tags of every frame. A vnet header `completes` precedes it, if it is
 * set.
 */
static void send_all(int fd, const struct frame *head, const struct kind *kind, uint32_t count)
{
	static const uint8_t rest[PAGED_FRAME];
	static struct frame frames[BATCH];
	const bool paged = completes.hdr_len, headed = paged || completes.flags;
	struct mmsghdr messages[BATCH] = {};
	struct iovec parts[BATCH][3];
	uint32_t n;
	int sent;

	for (uint32_t at = 0; at < count; at += n) {
		n = count - at < BATCH ? count - at : BATCH;
		for (uint32_t i = 0; i < n; i++) {
			frames[i] = *head;
			put16(frames + i, kind->build == arp ? ETH_P_ARP
					  : source.v6	     ? ETH_P_IPV6
							     : ETH_P_IP);
			frames[i].number = at + i;
			if (ports)
				source_port = 1024 + (at + i) / 2 % 60000;
			kind->build(frames + i);
			parts[i][0] = (struct iovec){&completes, sizeof(completes)};
			parts[i][1] = (struct iovec){frames[i].byte, frames[i].length};
			parts[i][2] = (struct iovec){(void *)rest, PAGED_FRAME - frames[i].length};
			messages[i].msg_hdr = (struct msghdr){
				.msg_iov = parts[i] + !headed,
				.msg_iovlen = paged ? 3 : 1 + headed,
			};
		}
		sent = sendmmsg(fd, messages, n, 0);
		/*
		 * ENOBUFS: the frame was dropped on its way out, as the test wants or by a full
		 * queue. A frame that failed after others is sent once more.
		 */
		if (sent < 0 && errno != ENOBUFS) {
			perror("sendmmsg");
			exit(2);
		}
		/* Lets the receiver on this CPU empty its queue before the queue is full. */
		if (sent == (int)n)
			sched_yield();
		else
			usleep(1000);
		n = sent < 0 ? 1 : sent;
	}
}

/* "NUMBER:REST" */
static const char *parse_pair(const char *text, unsigned *number)
{
	char *end;

	*number = strtoul(text, &end, 10);
	if (*end != ':')
		usage(text);
	return end + 1;
}

static void parse_completes(const char *text)
{
	unsigned start;

	completes.csum_offset = atoi(parse_pair(text, &start));
	completes.csum_start = start;
	completes.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
}

static void parse_route(const char *text)
{
	unsigned type;

	route = parse_address(parse_pair(text, &type));
	route_type = type;
}

/* Parses an option that applies to all frames. */
static void parse_how(int option)
{
	switch (option) {
	case 'l':
		completes.hdr_len = atoi(optarg);
		break;
	case 's':
		source_port = atoi(optarg);
		break;
	case 'x':
		extensions = atoi(optarg);
		break;
	case 'r':
		parse_route(optarg);
		break;
	case 'c':
		parse_completes(optarg);
		break;
	default:
		usage("-n COUNT, -t VLAN, -l LINEAR, -s PORT, -x HEADERS, -r TYPE:ADDRESS, "
		      "-c START:OFFSET");
	}
}

int main(int argc, char **argv)
{
	uint16_t tags[MAX_TAGS];
	struct frame head = {};
	uint32_t count = 1;
	int option, n = 0;
	uint8_t mac[6];

	while ((option = getopt(argc, argv, "+n:t:l:s:px:r:c:")) != -1) {
		if (option == 'n')
			count = strtoul(optarg, NULL, 10);
		else if (option == 't' && n < MAX_TAGS)
			tags[n++] = atoi(optarg);
		else if (option == 'p')
			ports = true;
		else
			parse_how(option);
	}
	if (argc - optind < 4)
		usage("[OPTION]... INTERFACE FROM-MAC TO-MAC KIND...");
	parse_mac(argv[optind + 2], mac);
	put(&head, mac, 6);
	parse_mac(argv[optind + 1], mac);
	put(&head, mac, 6);
	for (int i = 0; i < n; i++) {
		put16(&head, i < n - 1 ? ETH_P_8021AD : ETH_P_8021Q);
		put16(&head, tags[i]);
	}
	send_all(open_interface(argv[optind], completes.hdr_len || completes.flags), &head,
		 parse_kind(argc - optind - 3, argv + optind + 3), count);
	return 0;
}
