/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "selftests/lib/packet.h"

static const struct {
	const char *v4, *v6;
	uint8_t mac[6];
} hosts[HOSTS] = {
	[HOST_A] = {"10.1.0.1", "fd00:1::1", {2, 0, 0, 0, 0, 0xa}},
	[HOST_B] = {"10.1.0.2", "fd00:1::2", {2, 0, 0, 0, 0, 0xb}},
	[HOST_C] = {"10.1.0.3", "fd00:1::3", {2, 0, 0, 0, 0, 0xc}},
	[HOST_REMOTE] = {"10.2.0.1", "fd00:2::1", {2, 0, 0, 0, 1, 0}},
	[HOST_NODE] = {"192.168.7.1", "fd00:7::1", {2, 0, 0, 0, 1, 1}},
	[HOST_WORLD] = {"198.51.100.9", "2001:db8:9::9", {2, 0, 0, 0, 1, 2}},
	[HOST_OFFICE] = {"203.0.113.5", "2001:db8:5::5", {2, 0, 0, 0, 1, 2}},
	[HOST_UNASSIGNED] = {"10.1.0.4", "fd00:1::4", {2, 0, 0, 0, 0, 0xd}},
	[HOST_GATEWAY] = {"172.30.0.5", "fd00:30::5", {2, 0, 0, 0, 0, 0xa}},
	[HOST_A_LINK_LOCAL] = {"169.254.0.1", "fe80::ff:fe00:a", {2, 0, 0, 0, 0, 0xa}},
	[HOST_NODE_LINK_LOCAL] = {"169.254.0.2", "fe80::1", {2, 0, 0, 0, 1, 1}},
	[HOST_OTHER_LINK_LOCAL] = {"169.254.0.3", "fe80::77", {2, 0, 0, 0, 1, 2}},
	[HOST_MULTICAST] = {"224.0.0.251", "ff02::fb", {0x33, 0x33, 0, 0, 0, 0xfb}},
	[HOST_NEAR] = {"10.1.0.8", "fd00:1::8", {2, 0, 0, 0, 1, 3}},
	[HOST_BEHIND] = {"10.1.0.9", "fd00:1::9", {2, 0, 0, 0, 1, 1}},
	[HOST_NONE] = {"0.0.0.0", "::", {2, 0, 0, 0, 0, 0xa}},
	[HOST_BROADCAST] = {"255.255.255.255", "ff02::1", {255, 255, 255, 255, 255, 255}},
};

struct bh_addr packet_address_of(enum packet_host host, uint8_t version)
{
	struct bh_addr addr = {.word[2] = htonl(0xffff)};

	if (version == 4)
		inet_pton(AF_INET, hosts[host].v4, &addr.word[3]);
	else
		inet_pton(AF_INET6, hosts[host].v6, &addr);
	return addr;
}

const uint8_t *packet_mac_of(enum packet_host host)
{
	return hosts[host].mac;
}

static void put(struct packet_frame *frame, const void *bytes, size_t n)
{
	memcpy(frame->bytes + frame->length, bytes, n);
	frame->length += n;
}

static void put8(struct packet_frame *frame, uint8_t value)
{
	put(frame, &value, 1);
}

static void put16(struct packet_frame *frame, uint16_t value)
{
	value = htons(value);
	put(frame, &value, 2);
}

static void put32(struct packet_frame *frame, uint32_t value)
{
	value = htonl(value);
	put(frame, &value, 4);
}

static void put_zeros(struct packet_frame *frame, size_t n)
{
	memset(frame->bytes + frame->length, 0, n);
	frame->length += n;
}

static void put_address(struct packet_frame *frame, enum packet_host host, uint8_t version)
{
	struct bh_addr addr = packet_address_of(host, version);

	put(frame, version == 4 ? &addr.word[3] : &addr.word[0], version == 4 ? 4 : 16);
}

static void put_address6(struct packet_frame *frame, enum packet_host host, bool mapped)
{
	struct bh_addr addr = packet_address_of(host, mapped ? 4 : 6);

	put(frame, &addr, sizeof(addr));
}

static void put_ethernet(struct packet_frame *frame, const struct packet_spec *spec)
{
	put(frame, hosts[spec->to].mac, 6);
	put(frame, hosts[spec->foreign_mac ? spec->mac : spec->from].mac, 6);
	for (int i = 0; i < spec->vlans; i++) {
		put16(frame, spec->vlans > 1 && !i ? 0x88a8 : 0x8100);
		put16(frame, 10 + i);
	}
	put16(frame, spec->ethertype ? spec->ethertype : spec->version == 4 ? 0x0800 : 0x86dd);
}

static void put_tcp(struct packet_frame *frame, const struct packet_spec *spec)
{
	put16(frame, spec->sport);
	put16(frame, spec->dport);
	put32(frame, spec->seq);
	put32(frame, spec->ack);
	put8(frame, (spec->doff ? spec->doff : 5) << 4);
	put8(frame, spec->flags);
	put16(frame, 1024);
	put32(frame, 0);
}

static void put_ip(struct packet_frame *frame, const struct packet_spec *spec);

static void put_options(struct packet_frame *frame, const struct packet_spec *spec)
{
	for (int i = 0; i < spec->option.count; i++) {
		put8(frame, spec->option.type);
		put8(frame, !spec->option.no_length);
		put(frame, hosts[spec->option.foreign ? HOST_C : spec->from].mac, 6);
	}
}

static void put_icmp(struct packet_frame *frame, const struct packet_spec *spec)
{
	struct packet_spec quoted;
	bool query = spec->version == 4 || spec->type == 128 || spec->type == 129;

	put8(frame, spec->type);
	put8(frame, spec->code);
	put16(frame, 0);
	if (spec->quoted) {
		put32(frame, 0);
		quoted = *spec->quoted;
		put_ip(frame, &quoted);
	} else if (spec->version == 6 &&
		   (spec->type == 135 || spec->type == 136 || spec->type == 137)) {
		put32(frame, 0);
		put_address(frame, spec->target ? spec->target - 1 : spec->from, 6);
		if (spec->type == 137)
			put_address(frame, spec->to, 6);
		put_options(frame, spec);
	} else if (query) {
		put16(frame, spec->sport);
		put16(frame, 1);
	} else {
		put32(frame, 0);
		put_options(frame, spec);
	}
}

static void put_transport(struct packet_frame *frame, const struct packet_spec *spec)
{
	frame->l4 = frame->length;
	if (!spec->fragment_at) {
		switch (spec->protocol) {
		case IPPROTO_TCP:
			put_tcp(frame, spec);
			break;
		case IPPROTO_UDP:
			put16(frame, spec->sport);
			put16(frame, spec->dport);
			put16(frame, 8 + spec->payload + spec->udp_length);
			put16(frame, 0);
			break;
		case IPPROTO_SCTP:
			put16(frame, spec->sport);
			put16(frame, spec->dport);
			put32(frame, 1);
			put32(frame, 0);
			break;
		case IPPROTO_ICMP:
		case IPPROTO_ICMPV6:
			put_icmp(frame, spec);
			break;
		}
	}
	put_zeros(frame, spec->payload);
}

static void put_ipv4(struct packet_frame *frame, const struct packet_spec *spec)
{
	size_t start = frame->length, length;
	uint16_t total;

	put8(frame,
	     (spec->ip_version ? spec->ip_version : 4) << 4 | (spec->no_header_length ? 0
							       : spec->ihl	      ? spec->ihl
									   : 5 + spec->options));
	put8(frame, 0);
	put16(frame, 0);
	put16(frame, spec->id);
	put16(frame, spec->fragment_at / 8 | (spec->more ? 0x2000 : 0));
	put8(frame, spec->hop_limit ? spec->hop_limit : 64);
	put8(frame, spec->protocol);
	put16(frame, 0);
	put_address(frame, spec->from, 4);
	put_address(frame, spec->to, 4);
	for (int i = 0; i < spec->options; i++)
		put32(frame, 0x01010101); /* no operation */
	put_transport(frame, spec);
	length = frame->length - start;
	total = htons(length + spec->length);
	memcpy(frame->bytes + start + 2, &total, 2);
}

/* Returns the number of the first extension header; each header has the next one's number. */
static uint8_t put_extensions(struct packet_frame *frame, const struct packet_spec *spec)
{
	uint8_t next[PACKET_EXTENSIONS + 1], n = 0;

	while (n < PACKET_EXTENSIONS && spec->extensions[n]) {
		next[n] = spec->extensions[n] == EXTENSION_HOP_BY_HOP ? 0 : spec->extensions[n];
		n++;
	}
	next[n] = spec->protocol;
	for (int i = 0; i < n; i++) {
		put8(frame, next[i + 1]);
		switch (next[i]) {
		case IPPROTO_FRAGMENT:
			put8(frame, 0);
			put16(frame, spec->fragment_at | spec->more);
			put32(frame, spec->id);
			break;
		case IPPROTO_AH:
			put8(frame, 4); /* 24 bytes */
			put_zeros(frame, 22);
			break;
		default:
			put8(frame, 1); /* 16 bytes */
			put8(frame, 0);
			put8(frame, next[i] == IPPROTO_ROUTING ? spec->segments : 0);
			put_zeros(frame, 12);
		}
	}
	return next[0];
}

static void put_ipv6(struct packet_frame *frame, const struct packet_spec *spec)
{
	size_t start = frame->length, length;
	struct packet_spec fragment = *spec;
	uint16_t total;

	if (spec->fragment && !spec->extensions[0])
		fragment.extensions[0] = IPPROTO_FRAGMENT;
	put32(frame, (uint32_t)(spec->ip_version ? spec->ip_version : 6) << 28);
	put16(frame, 0);
	put8(frame, 0);
	put8(frame, spec->hop_limit ? spec->hop_limit : 64);
	put_address6(frame, spec->from, spec->mapped[0]);
	put_address6(frame, spec->to, spec->mapped[1]);
	frame->bytes[start + 6] = put_extensions(frame, &fragment);
	put_transport(frame, spec);
	length = frame->length - start - 40;
	total = htons(length + spec->length);
	memcpy(frame->bytes + start + 4, &total, 2);
}

static void put_ip(struct packet_frame *frame, const struct packet_spec *spec)
{
	if (spec->version == 4)
		put_ipv4(frame, spec);
	else
		put_ipv6(frame, spec);
}

static void put_arp(struct packet_frame *frame, const struct packet_spec *spec)
{
	put16(frame, 1 + spec->arp_hardware);
	put16(frame, 0x0800 + spec->arp_protocol);
	put8(frame, 6 + spec->arp_mac_length);
	put8(frame, 4 + spec->arp_ip_length);
	put16(frame, spec->type ? spec->type : 1);
	put(frame, hosts[spec->foreign_mac ? spec->mac : spec->from].mac, 6);
	put_address(frame, spec->target ? spec->target - 1 : spec->from, 4);
	put_zeros(frame, 6);
	put_address(frame, spec->to, 4);
}

void packet_build(const struct packet_spec *spec, struct packet_frame *frame)
{
	frame->length = 0;
	put_ethernet(frame, spec);
	frame->l3 = frame->length;
	if (spec->ethertype == 0x0806)
		put_arp(frame, spec);
	else if (spec->ethertype)
		put_zeros(frame, 46);
	else
		put_ip(frame, spec);
	frame->length -= spec->cut;
	if (spec->only)
		frame->length = spec->only;
}
