/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables of packets: one a row, on a node that knows no connection, with the
 * counter that goes up at each hook that it could pass. The verdict follows from
 * the counter, and is checked too. And sequences of packets.
 */
#ifndef BULKHEAD_SELFTESTS_PACKET_ROWS_H
#define BULKHEAD_SELFTESTS_PACKET_ROWS_H

#include <netinet/in.h>

#include "selftests/lib/packet_node.h"

/* A row says what differs from its macro's packet, later initialisers win. */
#pragma GCC diagnostic ignored "-Woverride-init"

#define V4 1
#define V6 2

/* What is expected at UPLINK is expected of both programs for it. Instead of a reason: it passes,
 * and another hook or none counts it. */
#define SILENT -1

#define ROW_HOOKS 3

struct packet_row {
	const char *name;
	struct packet_spec packet;
	int versions; /* V4, V6, 0: both */
	enum packet_via via;
	struct {
		enum packet_hook hook;
		int reason; /* enum bh_reason or SILENT; 0 (no policy in force) ends the list */
	} at[ROW_HOOKS];
};

#define TCP(host1, host2, port)                                                            \
	.from = HOST_##host1, .to = HOST_##host2, .protocol = IPPROTO_TCP, .sport = 40000, \
	.dport = port, .flags = TCP_S, .seq = 1000
#define UDP(host1, host2, port)                                                            \
	.from = HOST_##host1, .to = HOST_##host2, .protocol = IPPROTO_UDP, .sport = 40000, \
	.dport = port, .payload = 16
#define SCTP(host1, host2, port)                                                            \
	.from = HOST_##host1, .to = HOST_##host2, .protocol = IPPROTO_SCTP, .sport = 40000, \
	.dport = port, .payload = 16
#define OTHER(host1, host2, number) \
	.from = HOST_##host1, .to = HOST_##host2, .protocol = number, .payload = 32
#define ECHO4(host1, host2) \
	.from = HOST_##host1, .to = HOST_##host2, .protocol = IPPROTO_ICMP, .type = 8, .sport = 77
#define ECHO6(host1, host2)                                                                \
	.from = HOST_##host1, .to = HOST_##host2, .protocol = IPPROTO_ICMPV6, .type = 128, \
	.sport = 77
#define ARP(host1, host2) .from = HOST_##host1, .to = HOST_##host2, .ethertype = 0x0806
#define ND(host1, host2, number)                                                              \
	.from = HOST_##host1, .to = HOST_##host2, .protocol = IPPROTO_ICMPV6, .type = number, \
	.hop_limit = 255
#define MLD(host1, number)                                                                      \
	.from = HOST_##host1, .to = HOST_MULTICAST, .protocol = IPPROTO_ICMPV6, .type = number, \
	.hop_limit = 1, .payload = 16
#define SPEAKS_FOR(host) .target = HOST_##host + 1

#define NEW BH_PASS_NEW
#define NEXT BH_PASS_NEIGHBOUR

/* Runs each row, for IPv4 and IPv6 unless it says otherwise, and prints its KTAP line. Returns the
 * test's exit status. */
int packet_rows(const struct packet_row *rows, size_t n);

/* The same, at each hook after @before, which returns whether it went well. */
int packet_rows_after(const struct packet_row *rows, size_t n, bool (*before)(uint8_t version));

struct packet_sequence {
	const char *name;
	void (*run)(void);
};

/* Runs each sequence for IPv4 and IPv6, on a node that knows no connection, with *@version set and
 * *@good true, which it is to clear where it sees a fault; prints its KTAP line. Returns the test's
 * exit status. */
int packet_sequences(const struct packet_sequence *sequences, size_t n, uint8_t *version,
		     bool *good);

/* Opens connections of A to TCP 80 and UDP 53 of B, from port 40000, at every hook on their way. */
bool packet_open(uint8_t version);

/* For tests in steps: runs one packet and prints how it differed. Returns whether it did not. */
bool packet_expect(enum packet_hook hook, const struct packet_spec *spec, enum packet_via via,
		   int reason);

#endif
