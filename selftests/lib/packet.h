/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames for packet tests, built from a few fields; fields that are not set give a well-formed
 * frame.
 */
#ifndef BULKHEAD_SELFTESTS_PACKET_H
#define BULKHEAD_SELFTESTS_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maps/types.h"

enum packet_host {
	HOST_A, /* endpoints of this node */
	HOST_B,
	HOST_C, /* unrestricted */
	HOST_REMOTE, /* an endpoint of another node */
	HOST_NODE, /* this node */
	HOST_WORLD, /* no endpoint */
	HOST_OFFICE, /* no endpoint, in a prefix of its own */
	HOST_UNASSIGNED, /* an endpoint of this node without a segment */
	HOST_GATEWAY, /* behind A: a foreign address that A may send from */
	HOST_A_LINK_LOCAL, /* IPv6 only */
	HOST_NODE_LINK_LOCAL,
	HOST_OTHER_LINK_LOCAL, /* made from no host's MAC */
	HOST_MULTICAST, /* 224.0.0.251, ff02::fb */
	HOST_NEAR, /* no endpoint, with A's and B's IPv6 prefix */
	HOST_BEHIND, /* another, which the node reaches: frames to it have the node's MAC */
	HOST_NONE, /* 0.0.0.0, :: */
	HOST_BROADCAST, /* IPv4 only */
	HOSTS,
};

#define TCP_F 0x01
#define TCP_S 0x02
#define TCP_R 0x04
#define TCP_P 0x08
#define TCP_A 0x10

#define PACKET_EXTENSIONS 12
#define PACKET_SIZE 4096

struct packet_spec {
	enum packet_host from, to;
	uint8_t version; /* 4 or 6 */
	uint8_t protocol;
	uint16_t sport, dport; /* ICMP queries: sport is the identifier */
	uint8_t flags; /* TCP_* */
	uint32_t seq, ack;
	uint16_t payload; /* bytes after the transport header */
	uint8_t type, code; /* ICMP */
	const struct packet_spec *quoted; /* in an ICMP error */
	uint32_t target; /* ND, ARP: host + 1 of the target address; 0: the source's */
	enum packet_host mac; /* with @foreign_mac: the host whose MAC is the source */
	bool foreign_mac;
	struct {
		uint8_t type; /* 1: source MAC, 2: target MAC, else another type */
		uint8_t count;
		bool foreign, no_length;
	} option; /* of ND */

	uint8_t vlans; /* 802.1Q; the outer of two is 802.1ad */
	uint16_t ethertype; /* 0: that of the version */
	uint8_t options; /* IPv4 options, in 4 bytes */
	uint8_t extensions[PACKET_EXTENSIONS]; /* IPv6 extension headers; 0 ends */
	uint8_t segments; /* that are left, of routing headers */
	uint8_t hop_limit; /* 0: 64 */
	bool fragment; /* has a fragment header or fields */
	uint16_t fragment_at; /* bytes */
	bool more;
	uint32_t id;

	/* Faults. */
	uint16_t cut; /* bytes missing at the end of the frame */
	uint16_t only; /* keeps only this many bytes of the frame; 0: all */
	int16_t length; /* added to the IP header's length */
	uint8_t ihl, ip_version, doff; /* replace the true values; 0: keep those */
	bool no_header_length; /* ihl 0 */
	bool mapped[2]; /* IPv6: source, destination: the host's IPv4 address as a mapped one */
	int16_t udp_length; /* added */
	uint8_t arp_hardware, arp_protocol; /* added to the true numbers */
	uint8_t arp_mac_length, arp_ip_length;
};

/* Stands for the hop-by-hop header, whose number, 0, ends the list. */
#define EXTENSION_HOP_BY_HOP 255

struct packet_frame {
	uint8_t bytes[PACKET_SIZE];
	size_t length;
	size_t l3, l4; /* offsets */
};

/* The address of a host as in a map's key. */
struct bh_addr packet_address_of(enum packet_host host, uint8_t version);
const uint8_t *packet_mac_of(enum packet_host host);

void packet_build(const struct packet_spec *spec, struct packet_frame *frame);

#endif
