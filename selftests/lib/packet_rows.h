/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables of packets: each row is one packet on a node without connections, with the counter that it
 * moves at each hook on its way. The verdict, which follows from the counter, is checked as well.
 * Also sequences of packets.
 */
#ifndef BULKHEAD_SELFTESTS_PACKET_ROWS_H
#define BULKHEAD_SELFTESTS_PACKET_ROWS_H

#include <netinet/in.h>

#include "selftests/lib/packet_node.h"

/* A row overrides fields of its macro's packet: the last initialiser wins. */
#pragma GCC diagnostic ignored "-Woverride-init"

#define V4 1
#define V6 2

/*
 * An expectation at UPLINK applies to both uplink programs. SILENT: the packet passes and this hook
 * does not count it.
 */
#define SILENT -1

#define ROW_HOOKS 3

struct packet_row {
	const char *name;
	struct packet_spec packet;
	int versions; /* V4, V6; 0: both */
	enum packet_via via;
	struct {
		enum packet_hook hook;
		int reason; /* enum bh_reason or SILENT; 0 (no active policy) ends the list */
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

/* A table of selftests/rows/. */
struct packet_table {
	const char *name;
	const struct packet_row *rows;
	size_t n;
	/* Runs ahead of each row at each hook; returns false on failure. May be NULL. */
	bool (*before)(uint8_t version);
};

/*
 * Runs each row, for IPv4 and IPv6 unless the row has one version, and prints its KTAP line, with a
 * number that follows *@number. Returns how many failed.
 */
int packet_table_run(const struct packet_table *table, int *number);

struct packet_sequence {
	const char *name;
	void (*run)(void);
};

/* Tests of selftests/rows/ that are no tables, called as packet_table_run() is. */
int packet_connection(int *number);
int packet_event(int *number);
int packet_random(int *number);

/*
 * Runs each sequence for IPv4 and IPv6 on a node without connections, with *@version set. The
 * sequence clears *@good on a failure. Prints a KTAP line each, with @name before the sequence's.
 * Returns how many failed.
 */
int packet_sequences_run(const char *name, const struct packet_sequence *sequences, size_t n,
			 uint8_t *version, bool *good, int *number);

/* The same as a test of its own, on a node that it opens. Returns the test's exit status. */
int packet_sequences(const struct packet_sequence *sequences, size_t n, uint8_t *version,
		     bool *good);

/* Opens connections from A, port 40000, to B's TCP 80 and UDP 53, at every hook on their way. */
bool packet_open(uint8_t version);

/* Runs one packet and prints how it differs from the expectation. Returns true if it does not. */
bool packet_expect(enum packet_hook hook, const struct packet_spec *spec, enum packet_via via,
		   int reason);

#endif
