/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections: handshakes, replies, closing, policy changes, timeouts. */
#include <bpf/bpf.h>
#include <stdio.h>
#include <string.h>

#include "maps/iface.h"
#include "maps/share.h"
#include "selftests/lib/packet_rows.h"

#define ESTABLISHED BH_PASS_ESTABLISHED

static uint8_t version;
static uint32_t generation = 5;
static bool good;

static void expect(enum packet_hook hook, struct packet_spec spec, int reason)
{
	spec.version = version;
	good &= packet_expect(hook, &spec, VIA_PEER, reason);
}

static void expect_via(enum packet_hook hook, struct packet_spec spec, enum packet_via via,
		       int reason)
{
	spec.version = version;
	good &= packet_expect(hook, &spec, via, reason);
}

static void expect_number(const char *what, int is, int should)
{
	if (is == should)
		return;
	printf("# %s: %d instead of %d\n", what, is, should);
	good = false;
}

/* Segments of a connection from A to a port of B, and the replies. */
#define A_SENDS(port, ...)                                                             \
	(struct packet_spec)                                                           \
	{                                                                              \
		.from = HOST_A, .to = HOST_B, .protocol = IPPROTO_TCP, .sport = 40000, \
		.dport = port, __VA_ARGS__                                             \
	}
#define B_SENDS(port, ...)                                                            \
	(struct packet_spec)                                                          \
	{                                                                             \
		.from = HOST_B, .to = HOST_A, .protocol = IPPROTO_TCP, .sport = port, \
		.dport = 40000, __VA_ARGS__                                           \
	}
#define PACKET(...)          \
	(struct packet_spec) \
	{                    \
		__VA_ARGS__  \
	}

/* Sends through both hooks of the pair. */
static void a_to_b(struct packet_spec spec, int reason)
{
	expect(FROM_A, spec, SILENT);
	expect(TO_B, spec, reason);
}

static void b_to_a(struct packet_spec spec, int reason)
{
	expect(FROM_B, spec, SILENT);
	expect(TO_A, spec, reason);
}

static void connect_a_to_b(uint16_t port)
{
	a_to_b(A_SENDS(port, .flags = TCP_S, .seq = 1000), BH_PASS_NEW);
	b_to_a(B_SENDS(port, .flags = TCP_S | TCP_A, .seq = 5000, .ack = 1001), ESTABLISHED);
	a_to_b(A_SENDS(port, .flags = TCP_A, .seq = 1001, .ack = 5001), ESTABLISHED);
}

static void talk(uint16_t port, int reason_a, int reason_b)
{
	expect(FROM_A, A_SENDS(port, .flags = TCP_A, .seq = 1001, .ack = 5001, .payload = 10),
	       reason_a == ESTABLISHED ? SILENT : reason_a);
	expect(TO_B, A_SENDS(port, .flags = TCP_A, .seq = 1001, .ack = 5001, .payload = 10),
	       reason_a);
	expect(FROM_B, B_SENDS(port, .flags = TCP_A, .seq = 5001, .ack = 1011, .payload = 10),
	       reason_b == ESTABLISHED ? SILENT : reason_b);
	expect(TO_A, B_SENDS(port, .flags = TCP_A, .seq = 5001, .ack = 1011, .payload = 10),
	       reason_b);
}

static void handshake(void)
{
	a_to_b(A_SENDS(80, .flags = TCP_S, .seq = 1000), BH_PASS_NEW);
	expect_number("half-open", packet_node_half_open(), 1);
	expect_number("connections", packet_node_connections(), 0);
	b_to_a(B_SENDS(80, .flags = TCP_S | TCP_A, .seq = 5000, .ack = 1001), ESTABLISHED);
	expect_number("connections after the SYN-ACK", packet_node_connections(), 0);
	a_to_b(A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001), ESTABLISHED);
	expect_number("half-open after the ACK", packet_node_half_open(), 0);
	expect_number("connections after the ACK", packet_node_connections(), 1);
	talk(80, ESTABLISHED, ESTABLISHED);
}

static void handshake_again(void)
{
	a_to_b(A_SENDS(80, .flags = TCP_S, .seq = 1000), BH_PASS_NEW);
	a_to_b(A_SENDS(80, .flags = TCP_S, .seq = 1000), ESTABLISHED);
	b_to_a(B_SENDS(80, .flags = TCP_S | TCP_A, .seq = 5000, .ack = 1001), ESTABLISHED);
	b_to_a(B_SENDS(80, .flags = TCP_S | TCP_A, .seq = 5000, .ack = 1001), ESTABLISHED);
	a_to_b(A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001), ESTABLISHED);
	/* The ACK was lost: the SYN-ACK comes again. */
	b_to_a(B_SENDS(80, .flags = TCP_S | TCP_A, .seq = 5000, .ack = 1001), ESTABLISHED);
	a_to_b(A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001), ESTABLISHED);
}

static void handshake_forged(void)
{
	a_to_b(A_SENDS(80, .flags = TCP_S, .seq = 1000), BH_PASS_NEW);
	expect(FROM_A, A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001), BH_DROP_HANDSHAKE);
	expect(FROM_B, B_SENDS(80, .flags = TCP_S | TCP_A, .seq = 5000, .ack = 77),
	       BH_DROP_HANDSHAKE);
	expect(FROM_B, B_SENDS(80, .flags = TCP_A, .seq = 5000, .ack = 1001), BH_DROP_HANDSHAKE);
	expect(FROM_A, A_SENDS(80, .flags = TCP_S | TCP_A, .seq = 1000, .ack = 1),
	       BH_DROP_HANDSHAKE);
	b_to_a(B_SENDS(80, .flags = TCP_S | TCP_A, .seq = 5000, .ack = 1001), ESTABLISHED);
	expect(FROM_A, A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 4001), BH_DROP_HANDSHAKE);
	expect(FROM_A, A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 0x90005001),
	       BH_DROP_HANDSHAKE);
	expect_number("connections", packet_node_connections(), 0);
	a_to_b(A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001), ESTABLISHED);
	expect_number("connections after the true ACK", packet_node_connections(), 1);
}

/* TCP Fast Open: the SYN has data, and the answer comes before the ACK. */
static void handshake_fast_open(void)
{
	struct packet_spec data =
		B_SENDS(80, .flags = TCP_A, .seq = 5001, .ack = 1011, .payload = 9);
	struct packet_spec end = B_SENDS(80, .flags = TCP_F | TCP_A, .seq = 5010, .ack = 1011);
	struct packet_spec wrong = data;

	wrong.ack = 1000;
	a_to_b(A_SENDS(80, .flags = TCP_S, .seq = 1000, .payload = 10), BH_PASS_NEW);
	expect(FROM_B, data, BH_DROP_HANDSHAKE);
	expect(FROM_A, A_SENDS(80, .flags = TCP_A, .seq = 1011, .ack = 5001), BH_DROP_HANDSHAKE);
	b_to_a(B_SENDS(80, .flags = TCP_S | TCP_A, .seq = 5000, .ack = 1011), ESTABLISHED);
	b_to_a(data, ESTABLISHED);
	b_to_a(end, ESTABLISHED);
	expect(FROM_B, wrong, BH_DROP_HANDSHAKE);
	expect_number("connections before the ACK", packet_node_connections(), 0);
	a_to_b(A_SENDS(80, .flags = TCP_A, .seq = 1011, .ack = 5001), ESTABLISHED);
	expect_number("connections after the ACK", packet_node_connections(), 1);
	/* The same ports again, beside the old connection. */
	a_to_b(A_SENDS(80, .flags = TCP_S, .seq = 90000, .payload = 10), BH_PASS_NEW);
	b_to_a(B_SENDS(80, .flags = TCP_S | TCP_A, .seq = 8000, .ack = 90011), ESTABLISHED);
	b_to_a(B_SENDS(80, .flags = TCP_A, .seq = 8001, .ack = 90011, .payload = 9), ESTABLISHED);
	a_to_b(A_SENDS(80, .flags = TCP_A, .seq = 90011, .ack = 8010), ESTABLISHED);
	expect_number("half-open after the second ACK", packet_node_half_open(), 0);
}

/* No third host sends a segment of a handshake, and each end only its own. */
static void handshake_of_strangers(void)
{
	struct packet_spec answer = B_SENDS(80, .flags = TCP_S | TCP_A, .seq = 5000, .ack = 1001);
	struct packet_spec ack = A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001);
	struct packet_spec answer_of_c = answer, ack_of_c = ack;

	answer_of_c.foreign_mac = ack_of_c.foreign_mac = true;
	answer_of_c.mac = ack_of_c.mac = HOST_C;
	a_to_b(A_SENDS(80, .flags = TCP_S, .seq = 1000), BH_PASS_NEW);
	expect(FROM_B, answer_of_c, BH_DROP_MAC);
	expect(FROM_C, answer_of_c, BH_DROP_SOURCE);
	expect_via(TO_A, answer, VIA_C, BH_DROP_CLAIM);
	expect(FROM_A, ack, BH_DROP_HANDSHAKE);
	b_to_a(answer, ESTABLISHED);
	expect(FROM_A, ack_of_c, BH_DROP_MAC);
	expect(FROM_C, ack_of_c, BH_DROP_SOURCE);
	expect_via(TO_B, ack, VIA_C, BH_DROP_CLAIM);
	expect(FROM_B, B_SENDS(80, .flags = TCP_A, .seq = 5001, .ack = 1001), BH_DROP_HANDSHAKE);
	expect_number("connections", packet_node_connections(), 0);
	a_to_b(ack, ESTABLISHED);
	expect_number("connections after the true ACK", packet_node_connections(), 1);
	talk(80, ESTABLISHED, ESTABLISHED);
	expect(FROM_A, A_SENDS(80, .flags = TCP_S | TCP_A, .seq = 1011, .ack = 5011),
	       BH_DROP_NO_CONNECTION);
	talk(80, ESTABLISHED, ESTABLISHED);
}

/* An endpoint whose MAC is not known answers from any MAC, but on a bridge from no MAC of another
 * endpoint. */
static void handshake_without_mac(void)
{
	struct packet_spec answer = B_SENDS(80, .flags = TCP_S | TCP_A, .seq = 5000, .ack = 1001);

	answer.foreign_mac = true;
	answer.mac = HOST_C;
	packet_node_tell_mac(HOST_B, false);
	a_to_b(A_SENDS(80, .flags = TCP_S, .seq = 1000), BH_PASS_NEW);
	packet_node_mac(HOST_C, true);
	packet_node_bridge(FROM_B, PACKET_BRIDGE);
	packet_node_bridge(FROM_C, PACKET_BRIDGE);
	expect(FROM_B, answer, BH_DROP_MAC);
	packet_node_bridge(FROM_B, 0);
	packet_node_bridge(FROM_C, 0);
	packet_node_mac(HOST_C, false);
	b_to_a(answer, ESTABLISHED);
	a_to_b(A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001), ESTABLISHED);
	packet_node_tell_mac(HOST_B, true);
	expect_number("connections", packet_node_connections(), 1);
}

static void handshake_refused(void)
{
	a_to_b(A_SENDS(80, .flags = TCP_S, .seq = 1000), BH_PASS_NEW);
	expect(FROM_B, B_SENDS(80, .flags = TCP_R | TCP_A, .ack = 900), BH_DROP_HANDSHAKE);
	b_to_a(B_SENDS(80, .flags = TCP_R | TCP_A, .ack = 1001), ESTABLISHED);
	expect_number("connections after the RST", packet_node_connections(), 0);
	a_to_b(A_SENDS(80, .flags = TCP_S, .seq = 2000), BH_PASS_NEW);
	b_to_a(B_SENDS(80, .flags = TCP_S | TCP_A, .seq = 5000, .ack = 2001), ESTABLISHED);
	a_to_b(A_SENDS(80, .flags = TCP_A, .seq = 2001, .ack = 5001), ESTABLISHED);
}

static void both_open(void)
{
	a_to_b(A_SENDS(80, .flags = TCP_S, .seq = 1000), BH_PASS_NEW);
	b_to_a(B_SENDS(80, .flags = TCP_S, .seq = 5000), BH_PASS_NEW);
	a_to_b(A_SENDS(80, .flags = TCP_S | TCP_A, .seq = 1000, .ack = 5001), ESTABLISHED);
	b_to_a(B_SENDS(80, .flags = TCP_S | TCP_A, .seq = 5000, .ack = 1001), ESTABLISHED);
	a_to_b(A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001), ESTABLISHED);
	talk(80, ESTABLISHED, ESTABLISHED);
}

/* A SYN is evaluated in its own direction, even on the ports of another connection. */
static void syn_the_other_way(void)
{
	b_to_a(PACKET(.from = HOST_B, .to = HOST_A, .protocol = IPPROTO_TCP, .sport = 9000,
		      .dport = 40000, .flags = TCP_S, .seq = 5000),
	       BH_PASS_NEW);
	expect(FROM_A, A_SENDS(9000, .flags = TCP_S, .seq = 1000), BH_DROP_EGRESS);
	a_to_b(A_SENDS(9000, .flags = TCP_S | TCP_A, .seq = 1000, .ack = 5001), ESTABLISHED);
	b_to_a(B_SENDS(9000, .flags = TCP_A, .seq = 5001, .ack = 1001), ESTABLISHED);
	talk(9000, ESTABLISHED, ESTABLISHED);
	expect(FROM_A, A_SENDS(9000, .flags = TCP_S, .seq = 1000), BH_DROP_EGRESS);
	talk(9000, ESTABLISHED, ESTABLISHED);
}

static void closing(void)
{
	connect_a_to_b(80);
	a_to_b(A_SENDS(80, .flags = TCP_F | TCP_A, .seq = 1001, .ack = 5001), ESTABLISHED);
	packet_node_age(PACKET_SECONDS(1000));
	b_to_a(B_SENDS(80, .flags = TCP_A, .seq = 5001, .ack = 1002, .payload = 9), ESTABLISHED);
	b_to_a(B_SENDS(80, .flags = TCP_F | TCP_A, .seq = 5010, .ack = 1002), ESTABLISHED);
	a_to_b(A_SENDS(80, .flags = TCP_A, .seq = 1002, .ack = 5011), ESTABLISHED);
	packet_node_age(PACKET_SECONDS(115));
	a_to_b(A_SENDS(80, .flags = TCP_A, .seq = 1002, .ack = 5011), ESTABLISHED);
	packet_node_age(PACKET_SECONDS(125));
	expect(FROM_A, A_SENDS(80, .flags = TCP_A, .seq = 1002, .ack = 5011),
	       BH_DROP_NO_CONNECTION);
	connect_a_to_b(80);
	talk(80, ESTABLISHED, ESTABLISHED);
}

/* No place for the endpoint's share is left. */
static void without_share(void)
{
	const struct bh_share other = {};
	const int map = packet_node_map("bh_shares");

	for (uint32_t key = 0x10000000; !bpf_map_update_elem(map, &key, &other, BPF_ANY);)
		key++;
	expect(FROM_A, A_SENDS(80, .flags = TCP_S, .seq = 1000), BH_DROP_SHARE);
	expect_number("connections without a share", packet_node_connections(), 0);
	expect_number("refused connections", packet_node_refused(), 1);
	packet_node_forget();
	connect_a_to_b(80);
}

/* What an endpoint sends to itself by a Service comes back with the node's address. */
static void share_of_own_call(void)
{
	struct packet_spec call = PACKET(HOST_NODE, HOST_B, .protocol = IPPROTO_TCP, .sport = 1,
					 .dport = 9000, .flags = TCP_S, .seq = 1000);

	expect_via(TO_B, call, VIA_OWN, BH_PASS_NEW);
	expect_number("connections in the node's share", packet_node_held(BH_SHARE_NODE), 0);
	expect_number("connections in the endpoint's share",
		      packet_node_held(packet_node_ifindex(TO_B)), 1);
	call.sport = 2;
	expect(TO_B, call, BH_PASS_NEW);
	expect_number("connections in the node's share after its own call",
		      packet_node_held(BH_SHARE_NODE), 1);
}

/* A forged RST closes nothing: the next segment restores the connection's timeout. */
static void reset(void)
{
	connect_a_to_b(80);
	a_to_b(A_SENDS(80, .flags = TCP_R, .seq = 1001), ESTABLISHED);
	talk(80, ESTABLISHED, ESTABLISHED);
	packet_node_age(PACKET_SECONDS(1000));
	talk(80, ESTABLISHED, ESTABLISHED);
	b_to_a(B_SENDS(80, .flags = TCP_R, .seq = 5001), ESTABLISHED);
	packet_node_age(PACKET_SECONDS(5));
	talk(80, ESTABLISHED, ESTABLISHED);
	b_to_a(B_SENDS(80, .flags = TCP_R, .seq = 5001), ESTABLISHED);
	packet_node_age(PACKET_SECONDS(11));
	expect(FROM_A, A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001),
	       BH_DROP_NO_CONNECTION);
}

/* A RST outside its receiver's window does not shorten the life of an idle connection. */
static void reset_forged(void)
{
	/* Relative to the other end's acknowledgement. */
	const uint32_t outside[] = {-5000, -2, 0x110000 + 1, 0x80000000};

	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		packet_node_forget();
		connect_a_to_b(80);
		b_to_a(B_SENDS(80, .flags = TCP_R, .seq = 5001 + outside[i]), ESTABLISHED);
		a_to_b(A_SENDS(80, .flags = TCP_R | TCP_A, .seq = 1001 + outside[i],
			       .ack = 5001 + 0x50000000),
		       ESTABLISHED);
		packet_node_age(PACKET_SECONDS(1000));
		talk(80, ESTABLISHED, ESTABLISHED);
	}
}

/* A RST outside the largest window ends nothing, though it acknowledges a true number. */
static void reset_forged_acknowledged(void)
{
	const uint32_t outside[] = {-5000, -2, 0x40000000 + 1, 0x80000000};

	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		packet_node_forget();
		connect_a_to_b(80);
		b_to_a(B_SENDS(80, .flags = TCP_R | TCP_A, .seq = 5001 + outside[i], .ack = 1001),
		       ESTABLISHED);
		a_to_b(A_SENDS(80, .flags = TCP_R | TCP_A, .seq = 1001 + outside[i], .ack = 5001),
		       ESTABLISHED);
		packet_node_age(PACKET_SECONDS(1000));
		talk(80, ESTABLISHED, ESTABLISHED);
	}
}

/* A server that closes while megabytes are in flight sends its RST behind them. */
static void reset_ahead(void)
{
	const uint32_t ahead[] = {0x110001, 0x600000, 0x40000000};

	for (size_t i = 0; i < sizeof(ahead) / sizeof(ahead[0]); i++) {
		packet_node_forget();
		connect_a_to_b(80);
		b_to_a(B_SENDS(80, .flags = TCP_R | TCP_A, .seq = 5001 + ahead[i], .ack = 1021),
		       ESTABLISHED);
		packet_node_age(PACKET_SECONDS(11));
		expect(TO_B, A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001),
		       BH_DROP_NO_CONNECTION);
	}
}

/* Forged acknowledgements far ahead do not tell what a RST has to acknowledge. The flow cache,
 * which notes none, has no tagged segment. */
static void reset_after_forged(void)
{
	const uint32_t ahead[] = {0x110001, 0x2000000, 0x20000000, 0x7fffffff};

	for (size_t i = 0; i < sizeof(ahead) / sizeof(ahead[0]); i++) {
		packet_node_forget();
		connect_a_to_b(80);
		b_to_a(B_SENDS(80, .flags = TCP_A, .seq = 5001 + 0x60000000, .ack = 1001 + ahead[i],
			       .vlans = 1),
		       ESTABLISHED);
		b_to_a(B_SENDS(80, .flags = TCP_R | TCP_A, .seq = 5001 + 0x30000000,
			       .ack = 1001 + ahead[i]),
		       ESTABLISHED);
		packet_node_age(PACKET_SECONDS(1000));
		talk(80, ESTABLISHED, ESTABLISHED);
	}
}

/* True acknowledgements move the window by as much as the flow cache may have passed: of one
 * direction, then of both. */
static void reset_after_bulk(void)
{
	const uint32_t ahead[][2] = {{0x30000000, 0}, {0, 0x30000000}, {0x1800000, 0x1800000}};

	for (size_t i = 0; i < sizeof(ahead) / sizeof(ahead[0]); i++) {
		packet_node_forget();
		connect_a_to_b(80);
		b_to_a(B_SENDS(80, .flags = TCP_A, .seq = 5001 + ahead[i][1],
			       .ack = 1001 + ahead[i][0], .vlans = 1),
		       ESTABLISHED);
		a_to_b(A_SENDS(80, .flags = TCP_A, .seq = 1001 + ahead[i][0],
			       .ack = 5001 + ahead[i][1], .vlans = 1),
		       ESTABLISHED);
		a_to_b(A_SENDS(80, .flags = TCP_R, .seq = 1001 + ahead[i][0]), ESTABLISHED);
		packet_node_age(PACKET_SECONDS(11));
		expect(TO_A,
		       B_SENDS(80, .flags = TCP_A, .seq = 5001 + ahead[i][1],
			       .ack = 1001 + ahead[i][0]),
		       BH_DROP_NO_CONNECTION);
	}
}

static void reset_true(void)
{
	const uint32_t inside[] = {5001, 5001 + 0x100000};

	for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
		packet_node_forget();
		connect_a_to_b(80);
		b_to_a(B_SENDS(80, .flags = TCP_R, .seq = inside[i]), ESTABLISHED);
		packet_node_age(PACKET_SECONDS(11));
		expect(TO_B, A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001),
		       BH_DROP_NO_CONNECTION);
	}
}

/*
 * An established connection survives a SYN on its ports; the SYN's own handshake may complete, too.
 */
static void handshake_contested(void)
{
	a_to_b(A_SENDS(80, .flags = TCP_S, .seq = 1000), BH_PASS_NEW);
	a_to_b(A_SENDS(80, .flags = TCP_S, .seq = 70000), BH_PASS_NEW);
	b_to_a(B_SENDS(80, .flags = TCP_S | TCP_A, .seq = 5000, .ack = 1001), ESTABLISHED);
	a_to_b(A_SENDS(80, .flags = TCP_S, .seq = 90000), BH_PASS_NEW);
	a_to_b(A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001), ESTABLISHED);
	expect_number("connections", packet_node_connections(), 1);
	talk(80, ESTABLISHED, ESTABLISHED);
	b_to_a(B_SENDS(80, .flags = TCP_S | TCP_A, .seq = 8000, .ack = 90001), ESTABLISHED);
	a_to_b(A_SENDS(80, .flags = TCP_A, .seq = 90001, .ack = 8001), ESTABLISHED);
	expect_number("connections after the other handshake", packet_node_connections(), 1);
	expect_number("half-open after it", packet_node_half_open(), 0);
}

/* A SYN that policy denies in the other direction. */
static void handshake_contested_in_vain(void)
{
	b_to_a(PACKET(.from = HOST_B, .to = HOST_A, .protocol = IPPROTO_TCP, .sport = 9000,
		      .dport = 40000, .flags = TCP_S, .seq = 5000),
	       BH_PASS_NEW);
	expect(FROM_A, A_SENDS(9000, .flags = TCP_S, .seq = 3000), BH_DROP_EGRESS);
	a_to_b(A_SENDS(9000, .flags = TCP_S | TCP_A, .seq = 1000, .ack = 5001), ESTABLISHED);
	expect(FROM_A, A_SENDS(9000, .flags = TCP_S, .seq = 3000), BH_DROP_EGRESS);
	b_to_a(B_SENDS(9000, .flags = TCP_A, .seq = 5001, .ack = 1001), ESTABLISHED);
	talk(9000, ESTABLISHED, ESTABLISHED);
}

/* A responder with SYN cookies keeps no state and may answer a copied SYN with other numbers. */
static void answered_twice(void)
{
	const uint32_t number[] = {5000, 0x70005000};

	for (size_t i = 0; i < 2; i++) {
		packet_node_forget();
		a_to_b(A_SENDS(80, .flags = TCP_S, .seq = 1000), BH_PASS_NEW);
		b_to_a(B_SENDS(80, .flags = TCP_S | TCP_A, .seq = number[0], .ack = 1001),
		       ESTABLISHED);
		b_to_a(B_SENDS(80, .flags = TCP_S | TCP_A, .seq = number[1], .ack = 1001),
		       ESTABLISHED);
		expect(FROM_A, A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 0x40000000),
		       BH_DROP_HANDSHAKE);
		a_to_b(A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = number[i] + 1), ESTABLISHED);
		expect_number("connections", packet_node_connections(), 1);
	}
}

static void forged_fins(void)
{
	connect_a_to_b(80);
	a_to_b(A_SENDS(80, .flags = TCP_F | TCP_A, .seq = 1, .ack = 5001), ESTABLISHED);
	b_to_a(B_SENDS(80, .flags = TCP_F | TCP_A, .seq = 1, .ack = 1001), ESTABLISHED);
	talk(80, ESTABLISHED, ESTABLISHED);
	packet_node_age(PACKET_SECONDS(1000));
	talk(80, ESTABLISHED, ESTABLISHED);
}

/* One end has sent a FIN and waits; who is on no path of the connection sends that of the other. */
static void forged_fin_of_one(void)
{
	const uint32_t outside[] = {-5000, -2, 0x110000 + 1, 0x40000000, 0x80000000};

	for (size_t i = 0; i < 2 * sizeof(outside) / sizeof(outside[0]); i++) {
		const uint32_t by = outside[i / 2];

		packet_node_forget();
		connect_a_to_b(80);
		b_to_a(i % 2 ? B_SENDS(80, .flags = TCP_F | TCP_A, .seq = 5001, .ack = 1001)
			     : B_SENDS(80, .flags = TCP_F | TCP_A, .seq = 5001 + by,
				       .ack = 1001 + 0x50000000),
		       ESTABLISHED);
		a_to_b(i % 2 ? A_SENDS(80, .flags = TCP_F | TCP_A, .seq = 1001 + by,
				       .ack = 5001 + 0x50000000)
			     : A_SENDS(80, .flags = TCP_F | TCP_A, .seq = 1001, .ack = 5001),
		       ESTABLISHED);
		packet_node_age(PACKET_SECONDS(1000));
		talk(80, ESTABLISHED, ESTABLISHED);
	}
}

/* FINs behind megabytes in flight, or that the flow cache has passed, are true ones. */
static void fins_ahead(void)
{
	const uint32_t ahead[][2] = {
		{0x110000 - 1, 0}, {0x40000000, 0}, {0, 0x40000000}, {0x1800000, 0x1800000}};

	for (size_t i = 0; i < sizeof(ahead) / sizeof(ahead[0]); i++) {
		const uint32_t a = 1001 + ahead[i][0], b = 5001 + ahead[i][1];

		packet_node_forget();
		connect_a_to_b(80);
		a_to_b(A_SENDS(80, .flags = TCP_F | TCP_A, .seq = a, .ack = b), ESTABLISHED);
		b_to_a(B_SENDS(80, .flags = TCP_F | TCP_A, .seq = b, .ack = a + 1), ESTABLISHED);
		packet_node_age(PACKET_SECONDS(125));
		expect(FROM_A, A_SENDS(80, .flags = TCP_A, .seq = a + 1, .ack = b + 1),
		       BH_DROP_NO_CONNECTION);
	}
}

static void idle(void)
{
	connect_a_to_b(80);
	packet_node_age(PACKET_SECONDS(7300)); /* beyond the keepalive time */
	talk(80, ESTABLISHED, ESTABLISHED);
	packet_node_age(PACKET_SECONDS(10900));
	expect(FROM_A, A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001),
	       BH_DROP_NO_CONNECTION);
	a_to_b(A_SENDS(80, .flags = TCP_S, .seq = 1000), BH_PASS_NEW);
	packet_node_age(PACKET_SECONDS(80));
	expect(FROM_B, B_SENDS(80, .flags = TCP_S | TCP_A, .seq = 5000, .ack = 1001),
	       BH_DROP_NO_CONNECTION);
}

/* Each segment of a handshake renews the life of the connection. */
static void handshake_slow(void)
{
	struct packet_spec out = {.from = HOST_A,
				  .to = HOST_WORLD,
				  .protocol = IPPROTO_TCP,
				  .sport = 5,
				  .dport = 80,
				  .flags = TCP_S,
				  .seq = 1000};
	struct packet_spec answer = {.from = HOST_WORLD,
				     .to = HOST_A,
				     .protocol = IPPROTO_TCP,
				     .sport = 80,
				     .dport = 5,
				     .flags = TCP_S | TCP_A,
				     .seq = 5000,
				     .ack = 1001};

	expect(FROM_A, out, BH_PASS_NEW);
	packet_node_age(PACKET_SECONDS(40));
	expect(TO_A, answer, ESTABLISHED);
	packet_node_age(PACKET_SECONDS(40));
	out.flags = TCP_A;
	out.seq = 1001;
	out.ack = 5001;
	expect(FROM_A, out, ESTABLISHED);
	packet_node_age(PACKET_SECONDS(10780));
	expect(FROM_A, out, ESTABLISHED);
}

#define A_UDP(port)                                                                  \
	PACKET(.from = HOST_A, .to = HOST_B, .protocol = IPPROTO_UDP, .sport = 3000, \
	       .dport = port, .payload = 8)
#define B_UDP(port)                                                                  \
	PACKET(.from = HOST_B, .to = HOST_A, .protocol = IPPROTO_UDP, .sport = port, \
	       .dport = 3000, .payload = 8)

static void udp_replies(void)
{
	a_to_b(A_UDP(53), BH_PASS_NEW);
	b_to_a(B_UDP(53), ESTABLISHED);
	a_to_b(A_UDP(53), ESTABLISHED);
	packet_node_age(PACKET_SECONDS(170));
	b_to_a(B_UDP(53), ESTABLISHED);
	packet_node_age(PACKET_SECONDS(190));
	/* The entry has expired: the policies of B and A let this open another connection. */
	b_to_a(B_UDP(53), BH_PASS_NEW);
}

/* One question lives for 30 s, and so does one question with one answer. */
static void udp_once(void)
{
	a_to_b(A_UDP(53), BH_PASS_NEW);
	packet_node_age(PACKET_SECONDS(20));
	b_to_a(B_UDP(53), ESTABLISHED);
	packet_node_age(PACKET_SECONDS(20));
	b_to_a(B_UDP(53), ESTABLISHED);
	packet_node_age(PACKET_SECONDS(31));
	b_to_a(B_UDP(53), BH_PASS_NEW);
	packet_node_age(PACKET_SECONDS(31));
	a_to_b(A_UDP(53), BH_PASS_NEW);
}

/* A flow that B never answered does not affect B's own flows. */
static void udp_unanswered(void)
{
	expect(FROM_A, A_UDP(550), SILENT);
	expect(TO_B, A_UDP(550), BH_DROP_INGRESS);
	expect(FROM_A, A_UDP(550), SILENT);
	expect(TO_B, A_UDP(550), BH_DROP_INGRESS);
	b_to_a(B_UDP(550), BH_PASS_NEW);
	a_to_b(A_UDP(550), ESTABLISHED);
}

static void sctp_replies(void)
{
	struct packet_spec ask = {.from = HOST_A,
				  .to = HOST_B,
				  .protocol = IPPROTO_SCTP,
				  .sport = 9,
				  .dport = 80,
				  .payload = 16};
	struct packet_spec answer = {.from = HOST_B,
				     .to = HOST_A,
				     .protocol = IPPROTO_SCTP,
				     .sport = 80,
				     .dport = 9,
				     .payload = 16};

	a_to_b(ask, BH_PASS_NEW);
	b_to_a(answer, ESTABLISHED);
	packet_node_age(PACKET_SECONDS(590));
	a_to_b(ask, ESTABLISHED);
	packet_node_age(PACKET_SECONDS(610));
	a_to_b(ask, BH_PASS_NEW);
}

static void gre_replies(void)
{
	struct packet_spec out = {
		.from = HOST_REMOTE, .to = HOST_C, .protocol = IPPROTO_GRE, .payload = 8};
	struct packet_spec back = {
		.from = HOST_C, .to = HOST_REMOTE, .protocol = IPPROTO_GRE, .payload = 8};

	expect(TO_C, out, BH_PASS_NEW);
	expect(FROM_C, back, ESTABLISHED);
	expect(TO_C, out, ESTABLISHED);
}

static struct packet_spec echo(enum packet_host from, enum packet_host to, bool request,
			       uint16_t id)
{
	struct packet_spec spec = {.from = from, .to = to, .sport = id};

	spec.protocol = version == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
	spec.type = version == 4 ? (request ? 8 : 0) : request ? 128 : 129;
	return spec;
}

/* A's requests to the world are denied; the world's requests to A are allowed. */
static void echo_replies(void)
{
	a_to_b(echo(HOST_A, HOST_B, true, 7), BH_PASS_NEW);
	b_to_a(echo(HOST_B, HOST_A, false, 7), ESTABLISHED);
	expect(TO_A, echo(HOST_WORLD, HOST_A, true, 8), BH_PASS_NEW);
	expect(FROM_A, echo(HOST_A, HOST_WORLD, false, 8), ESTABLISHED);
	/* A request is no reply to the other end's request, even with the same identifier. */
	expect(FROM_A, echo(HOST_A, HOST_WORLD, true, 8), BH_DROP_EGRESS);
	expect(FROM_A, echo(HOST_A, HOST_WORLD, true, 128), BH_DROP_EGRESS);
	expect(FROM_A, echo(HOST_A, HOST_WORLD, false, 9), BH_DROP_EGRESS);
	packet_node_age(PACKET_SECONDS(40));
	expect(FROM_A, echo(HOST_A, HOST_WORLD, false, 8), BH_DROP_EGRESS);
}

/* An unsolicited reply opens nothing for its receiver. */
static void echo_unasked(void)
{
	expect(TO_A, echo(HOST_WORLD, HOST_A, false, 9), BH_PASS_NEW);
	expect_number("connections", packet_node_connections(), 0);
	expect(FROM_A, echo(HOST_A, HOST_WORLD, true, 9), BH_DROP_EGRESS);
	expect(FROM_A, echo(HOST_A, HOST_WORLD, false, 9), BH_DROP_EGRESS);
}

/* Moves B to a segment whose ingress allows nothing, and back. */
static void close_b(void)
{
	packet_node_assign(HOST_B, ++generation, SLOT_CLOSED);
	packet_node_set_generation(generation);
}

static void reopen_b(void)
{
	packet_node_assign(HOST_B, ++generation, SLOT_B);
	packet_node_set_generation(generation);
}

static void flip_allowed(void)
{
	connect_a_to_b(80);
	packet_node_set_generation(++generation);
	b_to_a(B_SENDS(80, .flags = TCP_A, .seq = 5001, .ack = 1001, .payload = 10), ESTABLISHED);
	talk(80, ESTABLISHED, ESTABLISHED);
	packet_node_set_generation(++generation);
	talk(80, ESTABLISHED, ESTABLISHED);
}

static void flip_denied(void)
{
	connect_a_to_b(80);
	close_b();
	/* Evaluated in the connection's original direction, although B sends. */
	expect(FROM_B, B_SENDS(80, .flags = TCP_A, .seq = 5001, .ack = 1001, .payload = 1),
	       BH_DROP_INGRESS);
	expect(FROM_A, A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001), BH_DROP_INGRESS);
	talk(80, BH_DROP_INGRESS, BH_DROP_INGRESS);
	reopen_b();
	talk(80, ESTABLISHED, ESTABLISHED);
}

/* The destination is the first to see that the source's own verdict changed. */
static void flip_denied_at_source(void)
{
	connect_a_to_b(80);
	packet_node_assign(HOST_A, ++generation, SLOT_MUTE);
	packet_node_set_generation(generation);
	expect(TO_B, A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001), BH_DROP_EGRESS);
	expect(FROM_A, A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001), BH_DROP_EGRESS);
	expect(TO_A, B_SENDS(80, .flags = TCP_A, .seq = 5001, .ack = 1001), BH_DROP_EGRESS);
	packet_node_assign(HOST_A, ++generation, SLOT_A);
	packet_node_set_generation(generation);
	talk(80, ESTABLISHED, ESTABLISHED);
}

/* A connection that a change denies stays denied, for a time that traffic does not extend. */
static void denied_stays(void)
{
	a_to_b(A_UDP(53), BH_PASS_NEW);
	b_to_a(B_UDP(53), ESTABLISHED);
	close_b();
	expect(FROM_A, A_UDP(53), SILENT);
	expect(TO_B, A_UDP(53), BH_DROP_INGRESS);
	/* Policy would let B open a flow in the reverse direction. */
	expect(FROM_B, B_UDP(53), BH_DROP_INGRESS);
	packet_node_age(PACKET_SECONDS(60));
	expect(FROM_B, B_UDP(53), BH_DROP_INGRESS);
	expect(TO_B, A_UDP(53), BH_DROP_INGRESS);
	packet_node_age(PACKET_SECONDS(70));
	b_to_a(B_UDP(53), BH_PASS_NEW);
	reopen_b();
}

/* Each commit denies the connection again, and the denial still expires. */
static void denied_by_many(void)
{
	connect_a_to_b(80);
	close_b();
	expect(TO_B, A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001), BH_DROP_INGRESS);
	for (int i = 0; i < 3; i++) {
		packet_node_age(PACKET_SECONDS(41));
		packet_node_set_generation(++generation);
		expect(TO_B, A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001),
		       i < 2 ? BH_DROP_INGRESS : BH_DROP_NO_CONNECTION);
	}
	reopen_b();
}

static void half_open_flip(void)
{
	a_to_b(A_SENDS(80, .flags = TCP_S, .seq = 1000), BH_PASS_NEW);
	close_b();
	expect(FROM_B, B_SENDS(80, .flags = TCP_S | TCP_A, .seq = 5000, .ack = 1001),
	       BH_DROP_INGRESS);
	expect(TO_B, A_SENDS(80, .flags = TCP_S, .seq = 1000), BH_DROP_INGRESS);
	reopen_b();
	b_to_a(B_SENDS(80, .flags = TCP_S | TCP_A, .seq = 5000, .ack = 1001), ESTABLISHED);
}

/* At generation 0 all packets pass; the first commit evaluates the connections opened then. */
static void no_generation(void)
{
	packet_node_set_generation(0);
	connect_a_to_b(80);
	connect_a_to_b(9000);
	talk(80, ESTABLISHED, ESTABLISHED);
	expect(FROM_A, A_SENDS(81, .flags = TCP_A), BH_PASS_OPEN);
	expect(TO_B,
	       PACKET(.from = HOST_A, .to = HOST_B, .protocol = IPPROTO_TCP, .flags = TCP_S,
		      .dport = 1, .cut = 1),
	       BH_PASS_OPEN);
	packet_node_set_generation(++generation);
	talk(80, ESTABLISHED, ESTABLISHED);
	expect(TO_B, A_SENDS(9000, .flags = TCP_A, .seq = 1001, .ack = 5001), BH_DROP_EGRESS);
	expect(FROM_A, A_SENDS(9000, .flags = TCP_A, .seq = 1001, .ack = 5001), BH_DROP_EGRESS);
	expect(TO_A, B_SENDS(9000, .flags = TCP_A, .seq = 5001, .ack = 1001), BH_DROP_EGRESS);
	expect(FROM_A, A_SENDS(81, .flags = TCP_A), BH_DROP_NO_CONNECTION);
}

/* Packets of others do not belong to a connection. */
static void poisoned(void)
{
	struct packet_spec in = A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001);
	struct packet_spec spoofed = in,
			   back = B_SENDS(80, .flags = TCP_A, .seq = 5001, .ack = 1001);

	connect_a_to_b(80);
	expect(FROM_C, in, BH_DROP_MAC);
	spoofed.foreign_mac = true;
	spoofed.mac = HOST_C;
	expect(FROM_C, spoofed, BH_DROP_SOURCE);
	expect(FROM_A, spoofed, BH_DROP_MAC);
	expect_via(TO_B, in, VIA_UPLINK, BH_DROP_CLAIM);
	expect_via(TO_B, in, VIA_C, BH_DROP_CLAIM);
	expect_via(TO_B, in, VIA_OTHER, BH_DROP_CLAIM);
	expect_via(TO_B, in, VIA_BRIDGE, ESTABLISHED);
	expect_via(TO_A, back, VIA_UPLINK, BH_DROP_CLAIM);
	a_to_b(in, ESTABLISHED);
	b_to_a(back, ESTABLISHED);
}

/* Only the node continues a connection that the node opened: its address alone is not enough. */
static void of_the_node(void)
{
	struct packet_spec syn = {.from = HOST_NODE,
				  .to = HOST_B,
				  .protocol = IPPROTO_TCP,
				  .sport = 1,
				  .dport = 9000,
				  .flags = TCP_S,
				  .seq = 1000};
	struct packet_spec ack = syn, answer = {.from = HOST_B,
						.to = HOST_NODE,
						.protocol = IPPROTO_TCP,
						.sport = 9000,
						.dport = 1,
						.flags = TCP_S | TCP_A,
						.seq = 5000,
						.ack = 1001};

	ack.flags = TCP_A;
	ack.seq = 1001;
	ack.ack = 5001;
	expect(TO_B, syn, BH_PASS_NEW);
	expect(FROM_B, answer, ESTABLISHED);
	expect(TO_B, ack, ESTABLISHED);
	expect_via(TO_B, ack, VIA_UPLINK, BH_DROP_CLAIM);
	expect_via(TO_B, ack, VIA_C, BH_DROP_CLAIM);
	packet_node_set_generation(++generation);
	answer.flags = TCP_A;
	expect(FROM_B, answer, ESTABLISHED);
	expect(TO_B, ack, ESTABLISHED);
	close_b();
	expect(TO_B, ack, ESTABLISHED);
	reopen_b();
}

static struct packet_spec fragment(struct packet_spec spec, uint16_t at, bool more)
{
	spec.fragment = true;
	spec.fragment_at = at;
	spec.more = more;
	spec.payload = at ? 64 : 56;
	spec.id = 99;
	return spec;
}

static void fragments(void)
{
	struct packet_spec other = fragment(A_UDP(53), 128, false);

	a_to_b(fragment(A_UDP(53), 0, true), BH_PASS_NEW);
	a_to_b(fragment(A_UDP(53), 64, true), BH_PASS_FRAGMENT);
	a_to_b(fragment(A_UDP(53), 128, false), BH_PASS_FRAGMENT);
	/* Overlaps the first fragment: its header, or later bytes. */
	expect(FROM_A, fragment(A_UDP(53), 8, true), BH_DROP_OVERLAP);
	expect(TO_B, fragment(A_UDP(53), 56, true), BH_DROP_OVERLAP);
	other.id = 100;
	expect(FROM_A, other, BH_DROP_NO_FIRST);
	other = fragment(B_UDP(53), 128, false);
	expect(FROM_B, other, BH_DROP_NO_FIRST);
	/* C claims to be A. */
	expect(FROM_C, fragment(A_UDP(53), 128, false), BH_DROP_MAC);
	packet_node_age(PACKET_SECONDS(40));
	expect(FROM_A, fragment(A_UDP(53), 128, false), BH_DROP_NO_FIRST);
}

/* Two CPUs handle fragments of one datagram: the one with the later fragment began a tick before
 * the other one, and finds what that has noted. */
static void fragments_at_once(void)
{
	a_to_b(fragment(A_UDP(53), 0, true), BH_PASS_NEW);
	packet_node_age(-1);
	a_to_b(fragment(A_UDP(53), 64, true), BH_PASS_FRAGMENT);
}

static void fragments_denied(void)
{
	expect(FROM_A, fragment(A_UDP(550), 0, true), SILENT);
	expect(TO_B, fragment(A_UDP(550), 0, true), BH_DROP_INGRESS);
	expect(FROM_A, fragment(A_UDP(550), 64, false), SILENT);
	expect(TO_B, fragment(A_UDP(550), 64, false), BH_DROP_NO_FIRST);
}

static struct packet_spec error_about(struct packet_spec *quoted, enum packet_host from)
{
	struct packet_spec error = {.from = from, .to = quoted->from, .quoted = quoted};

	quoted->version = version;
	error.protocol = version == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
	error.type = version == 4 ? 3 : 2;
	error.code = version == 4 ? 4 : 0;
	return error;
}

static void icmp_errors(void)
{
	struct packet_spec quoted = B_SENDS(80, .flags = TCP_A, .seq = 5001, .ack = 1001);
	struct packet_spec datagram = A_UDP(53), reply = B_UDP(53);

	connect_a_to_b(80);
	/* From a router, and from the node. */
	expect(TO_B, error_about(&quoted, HOST_NODE), BH_PASS_RELATED);
	expect(TO_B, error_about(&quoted, HOST_A), BH_PASS_RELATED);
	a_to_b(datagram, BH_PASS_NEW);
	b_to_a(reply, BH_PASS_ESTABLISHED);
	a_to_b(datagram, BH_PASS_ESTABLISHED);
	/* B's closed port. */
	b_to_a(error_about(&datagram, HOST_B), BH_PASS_RELATED);
	expect(FROM_B, error_about(&reply, HOST_B), BH_DROP_SOURCE); /* which it sent itself */
	quoted.dport = 40001;
	expect(TO_B, error_about(&quoted, HOST_NODE), BH_DROP_UNRELATED);
	/* The error does not extend the connection's life. */
	packet_node_age(PACKET_SECONDS(150));
	b_to_a(error_about(&datagram, HOST_B), BH_PASS_RELATED);
	packet_node_age(PACKET_SECONDS(60));
	expect(FROM_B, error_about(&datagram, HOST_B), BH_DROP_UNRELATED);
}

/* An error about a datagram that B's policy has denied opens nothing for B's own datagrams. */
static void icmp_error_early(void)
{
	struct packet_spec datagram = A_UDP(53), reply = B_UDP(53);

	close_b();
	expect(FROM_A, datagram, SILENT);
	expect(TO_B, datagram, BH_DROP_INGRESS);
	expect(TO_A, error_about(&datagram, HOST_NODE), BH_DROP_INGRESS);
	reopen_b();
	expect(TO_A, error_about(&datagram, HOST_NODE), BH_PASS_RELATED);
	expect(FROM_A, error_about(&reply, HOST_A), BH_DROP_UNRELATED); /* B sent none */
	b_to_a(reply, BH_PASS_NEW);
}

static void icmp_error_forged(void)
{
	struct packet_spec datagram = A_UDP(53), error;

	a_to_b(datagram, BH_PASS_NEW);
	error = error_about(&datagram, HOST_B);
	error.to = HOST_C; /* C never sent the packet */
	expect(FROM_B, error, BH_DROP_UNRELATED);
	error = error_about(&datagram, HOST_WORLD);
	error.foreign_mac = true;
	error.mac = HOST_B;
	expect(FROM_B, error, BH_DROP_SOURCE);
	close_b();
	expect(FROM_B, error_about(&datagram, HOST_B), BH_DROP_INGRESS);
	reopen_b();
}

static void icmp_error_of_syn(void)
{
	struct packet_spec syn = {.from = HOST_A,
				  .to = HOST_WORLD,
				  .protocol = IPPROTO_TCP,
				  .sport = 5,
				  .dport = 80,
				  .flags = TCP_S};

	expect(FROM_A, syn, BH_PASS_NEW);
	expect(TO_A, error_about(&syn, HOST_WORLD), BH_PASS_RELATED);
	syn.dport = 81;
	expect(TO_A, error_about(&syn, HOST_WORLD), BH_DROP_UNRELATED);
}

/*
 * Every protocol is quoted, behind every kind of header; another port or identifier is another
 * connection's.
 */
static void icmp_error_of_each(void)
{
	static const struct {
		uint8_t protocol;
		uint16_t port;
		bool has_ports;
	} each[] = {{IPPROTO_UDP, 53, true},
		    {IPPROTO_SCTP, 80, true},
		    {IPPROTO_GRE, 0, false},
		    {IPPROTO_UDPLITE, 0, false}};

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct packet_spec sent = {.from = HOST_A,
					   .to = HOST_B,
					   .protocol = each[i].protocol,
					   .sport = each[i].has_ports ? 3000 : 0,
					   .dport = each[i].port,
					   .payload = 16};
		struct packet_spec other = sent;

		a_to_b(sent, BH_PASS_NEW);
		expect(TO_A, error_about(&sent, HOST_NODE), BH_PASS_RELATED);
		sent.options = 3;
		sent.extensions[0] = EXTENSION_HOP_BY_HOP;
		sent.extensions[1] = IPPROTO_DSTOPTS;
		expect(TO_A, error_about(&sent, HOST_NODE), BH_PASS_RELATED);
		other.sport++;
		other.protocol += !each[i].has_ports;
		expect(TO_A, error_about(&other, HOST_NODE), BH_DROP_UNRELATED);
	}
}

static void icmp_error_of_echo(void)
{
	struct packet_spec request = echo(HOST_A, HOST_B, true, 7), other = request;

	a_to_b(request, BH_PASS_NEW);
	expect(TO_A, error_about(&request, HOST_NODE), BH_PASS_RELATED);
	other.sport = 8;
	expect(TO_A, error_about(&other, HOST_NODE), BH_DROP_UNRELATED);
	/* An error about an error or about a later fragment belongs to no connection. */
	other = error_about(&request, HOST_NODE);
	other.from = HOST_A;
	other.to = HOST_NODE;
	expect(TO_A, error_about(&other, HOST_NODE), BH_DROP_UNRELATED);
	request.fragment = true;
	request.fragment_at = 1480;
	expect(TO_A, error_about(&request, HOST_NODE), BH_DROP_UNRELATED);
}

static void expect_bare(struct packet_spec spec, int reason)
{
	struct packet_result result;
	struct packet_frame frame;

	spec.version = version;
	packet_build(&spec, &frame);
	result = packet_node_run_frame(UPLINK, frame.bytes + frame.l3, frame.length - frame.l3, 1);
	expect_number("reason", result.reason, reason);
	expect_number("passed", result.passed, reason == SILENT);
}

/* A tunnel's frames begin with the IP header. */
static void bare_uplink(void)
{
	struct packet_spec syn = {.from = HOST_WORLD,
				  .to = HOST_B,
				  .protocol = IPPROTO_TCP,
				  .dport = 443,
				  .flags = TCP_S};

	packet_node_flag(UPLINK, BH_IFACE_BARE, true);
	expect_bare(syn, SILENT);
	syn.dport = 80;
	expect_bare(syn, BH_DROP_INGRESS);
	syn.cut = 1;
	expect_bare(syn, BH_DROP_TRUNCATED);
	syn.from = HOST_NODE;
	expect_bare(syn, BH_DROP_CLAIM);
	packet_node_flag(UPLINK, BH_IFACE_BARE, false);
}

/* A frame for the node may come to another endpoint of a bridge, by that one's MAC. It is none of
 * the connection that the node has opened, and leaves that connection's entry. */
static void of_the_node_elsewhere(void)
{
	struct packet_spec call = {.from = HOST_NODE,
				   .to = HOST_C,
				   .protocol = IPPROTO_SCTP,
				   .sport = 40000,
				   .dport = 9,
				   .payload = 16};
	struct packet_spec reply = {.from = HOST_C,
				    .to = HOST_NODE,
				    .protocol = IPPROTO_SCTP,
				    .sport = 9,
				    .dport = 40000,
				    .payload = 16};

	expect_via(TO_C, call, VIA_NOWHERE, BH_PASS_NEW);
	expect_via(TO_B, reply, VIA_C, BH_PASS_NEW);
	expect_via(TO_C, error_about(&reply, HOST_NODE), VIA_NOWHERE, BH_PASS_RELATED);
	expect_via(TO_C, call, VIA_NOWHERE, ESTABLISHED);
}

static void expect_from_a(struct packet_spec spec, int reason)
{
	struct packet_result result;
	struct packet_frame frame;

	spec.version = version;
	spec.foreign_mac = true;
	spec.mac = HOST_A;
	packet_build(&spec, &frame);
	result =
		packet_node_run_frame(TO_B, frame.bytes, frame.length, packet_node_ifindex(FROM_A));
	expect_number("reason", result.reason, reason);
	expect_number("passed", result.passed, !bh_reason_drops(reason));
	packet_node_forget();
}

/* Behind a bridge and on the link, the MAC identifies an endpoint, not the address. */
static void bridged(void)
{
	struct packet_spec allowed = {.from = HOST_WORLD,
				      .to = HOST_B,
				      .protocol = IPPROTO_TCP,
				      .dport = 80,
				      .flags = TCP_S};
	struct packet_spec denied = allowed, link_local = allowed;

	denied.dport = 81;
	link_local.from = HOST_A_LINK_LOCAL;
	expect_from_a(allowed, BH_DROP_INGRESS);
	packet_node_mac(HOST_A, true);
	expect_from_a(allowed, BH_DROP_INGRESS);
	packet_node_flag(TO_B, BH_IFACE_L2, true);
	expect_from_a(allowed, BH_PASS_NEW);
	expect_from_a(denied, BH_DROP_INGRESS);
	packet_node_flag(TO_B, BH_IFACE_L2, false);
	if (version == 6) {
		expect_from_a(link_local, BH_PASS_NEW);
		link_local.dport = 81;
		expect_from_a(link_local, BH_DROP_INGRESS);
	}
	packet_node_mac(HOST_A, false);
}

/* With audit only, nothing is dropped, and all would-be drops are counted apart. */
static void audit(void)
{
	struct packet_spec denied = A_SENDS(9000, .flags = TCP_S, .seq = 1), cut = denied;
	struct packet_result result;

	packet_node_flag(FROM_A, BH_IFACE_AUDIT, true);
	packet_node_flag(FROM_B, BH_IFACE_AUDIT, true);
	denied.version = cut.version = version;
	expect(FROM_A, denied, SILENT);
	result = packet_node_run(TO_B, &denied, VIA_PEER);
	good &= result.passed && result.audited;
	cut.cut = 1;
	result = packet_node_run(TO_B, &cut, VIA_PEER);
	good &= result.passed && result.audited && result.reason == BH_DROP_TRUNCATED;
	packet_node_flag(FROM_B, BH_IFACE_AUDIT, false);
	result = packet_node_run(TO_B, &cut, VIA_PEER);
	good &= !result.passed && !result.audited && result.reason == BH_DROP_TRUNCATED;
	packet_node_flag(FROM_A, BH_IFACE_AUDIT, false);
	packet_node_forget();
	expect(FROM_A, denied, BH_DROP_EGRESS);
}

/* The host egress hook sees the FIN that A's own hook has noted, and then the outside's FIN is
 * still to come. An entry that only the host egress hook has sees no other FIN than A's. */
static void half_closed_outside(void)
{
	struct packet_spec fin =
		PACKET(HOST_A, HOST_WORLD, .protocol = IPPROTO_TCP, .sport = 40000, .dport = 80,
		       .flags = TCP_F | TCP_A, .seq = 1001, .ack = 5001);
	struct packet_spec segment = fin, answer = fin;

	segment.flags = TCP_S;
	segment.seq = 1000;
	expect(FROM_A, segment, BH_PASS_NEW);
	answer.from = HOST_WORLD;
	answer.to = HOST_A;
	answer.sport = 80;
	answer.dport = 40000;
	answer.flags = TCP_S | TCP_A;
	answer.seq = 5000;
	answer.ack = 1001;
	expect(TO_A, answer, ESTABLISHED);
	segment.flags = TCP_A;
	segment.seq = 1001;
	expect(FROM_A, segment, ESTABLISHED);
	expect(FROM_A, fin, ESTABLISHED);
	expect(LEAVE, fin, SILENT);
	expect_number("A's FIN closes one direction",
		      __builtin_popcount(packet_node_states(IPPROTO_TCP) & BH_CT_FINS), 1);
	answer.flags = TCP_F | TCP_A;
	answer.seq = 5001;
	answer.ack = 1002;
	expect(TO_A, answer, ESTABLISHED);
	expect_number("the outside's FIN closes the other one",
		      __builtin_popcount(packet_node_states(IPPROTO_TCP) & BH_CT_FINS), 2);
	packet_node_forget();
	expect(LEAVE, segment, SILENT);
	expect_number("connections of the host egress hook", packet_node_connections(), 1);
	expect(LEAVE, fin, SILENT);
	expect_number("A's FIN closes an entry of the host egress hook",
		      __builtin_popcount(packet_node_states(IPPROTO_TCP) & BH_CT_FINS), 2);
}

/* Segments of a connection from the outside to A, and A's answers. A's policy lets no packet of its
 * own go to that port of the outside. */
#define WORLD_CALLS(...)                                                                 \
	PACKET(HOST_WORLD, HOST_A, .protocol = IPPROTO_TCP, .sport = 40000, .dport = 80, \
	       __VA_ARGS__)
#define A_ANSWERS(...)                                                                   \
	PACKET(HOST_A, HOST_WORLD, .protocol = IPPROTO_TCP, .sport = 80, .dport = 40000, \
	       __VA_ARGS__)

/* A's refusal passes the host egress hook, too, which frees the entry: a copy of the SYN is new. */
static void outside_refused(void)
{
	struct packet_spec refusal = A_ANSWERS(.flags = TCP_R | TCP_A, .ack = 1001);

	expect(LEAVE, refusal, BH_DROP_EGRESS);
	refusal.from = HOST_C;
	expect(LEAVE, refusal, SILENT);
	expect_number("connections after a RST of no connection", packet_node_connections(), 0);
	refusal.from = HOST_A;
	for (int i = 0; i < 2; i++) {
		expect_via(TO_A, WORLD_CALLS(.flags = TCP_S, .seq = 1000), VIA_UPLINK, BH_PASS_NEW);
		expect(FROM_A, refusal, ESTABLISHED);
		expect(LEAVE, refusal, SILENT);
	}
	expect_via(TO_A, WORLD_CALLS(.flags = TCP_S, .seq = 2000), VIA_UPLINK, BH_PASS_NEW);
	expect(FROM_A, A_ANSWERS(.flags = TCP_S | TCP_A, .seq = 5000, .ack = 2001), ESTABLISHED);
	expect_via(TO_A, WORLD_CALLS(.flags = TCP_A, .seq = 2001, .ack = 5001), VIA_UPLINK,
		   ESTABLISHED);
	expect_number("connections", packet_node_connections(), 1);
	packet_node_forget();
	expect_via(TO_A, WORLD_CALLS(.flags = TCP_S, .seq = 1000), VIA_UPLINK, BH_PASS_NEW);
	expect(FROM_A, refusal, ESTABLISHED);
	packet_node_age(PACKET_SECONDS(11));
	expect(FROM_A, refusal, BH_DROP_NO_CONNECTION);
}

/* The SYN has waited beside a connection whose entry has gone since. */
static void outside_refused_later(void)
{
	struct packet_spec syn = WORLD_CALLS(.flags = TCP_S, .seq = 1000);

	expect_via(TO_A, syn, VIA_UPLINK, BH_PASS_NEW);
	expect(FROM_A, A_ANSWERS(.flags = TCP_S | TCP_A, .seq = 5000, .ack = 1001), ESTABLISHED);
	expect_via(TO_A, WORLD_CALLS(.flags = TCP_F | TCP_A, .seq = 1001, .ack = 5001), VIA_UPLINK,
		   ESTABLISHED);
	expect(FROM_A, A_ANSWERS(.flags = TCP_F | TCP_A, .seq = 5001, .ack = 1002), ESTABLISHED);
	packet_node_age(PACKET_SECONDS(100));
	syn.seq = 9000;
	expect_via(TO_A, syn, VIA_UPLINK, BH_PASS_NEW);
	packet_node_age(PACKET_SECONDS(30));
	expect(LEAVE, A_ANSWERS(.flags = TCP_A, .seq = 5002, .ack = 1002), BH_DROP_EGRESS);
	expect(FROM_A, error_about(&syn, HOST_A), BH_PASS_RELATED);
	expect(LEAVE, error_about(&syn, HOST_A), SILENT);
	expect(FROM_A, A_ANSWERS(.flags = TCP_R | TCP_A, .ack = 9002 + 0x10000),
	       BH_DROP_NO_CONNECTION);
	expect(FROM_A, A_ANSWERS(.flags = TCP_R | TCP_A, .ack = 9001), ESTABLISHED);
	expect(LEAVE, A_ANSWERS(.flags = TCP_R | TCP_A, .ack = 9001), SILENT);
}

/* B sends again what was lost before its FIN. */
static void closing_with_loss(void)
{
	struct packet_spec lost =
		B_SENDS(80, .flags = TCP_A, .seq = 5001, .ack = 1001, .payload = 100);

	connect_a_to_b(80);
	b_to_a(lost, ESTABLISHED);
	b_to_a(B_SENDS(80, .flags = TCP_F | TCP_A, .seq = 5101, .ack = 1001, .payload = 9),
	       ESTABLISHED);
	b_to_a(lost, ESTABLISHED);
	a_to_b(A_SENDS(80, .flags = TCP_F | TCP_A, .seq = 1001, .ack = 5111), ESTABLISHED);
	b_to_a(B_SENDS(80, .flags = TCP_A, .seq = 5111, .ack = 1002), ESTABLISHED);
	packet_node_age(PACKET_SECONDS(115));
	expect(FROM_A, A_SENDS(80, .flags = TCP_A, .seq = 1002, .ack = 5111), SILENT);
	packet_node_age(PACKET_SECONDS(125));
	expect(FROM_A, A_SENDS(80, .flags = TCP_A, .seq = 1002, .ack = 5111),
	       BH_DROP_NO_CONNECTION);
}

static void expect_closed(uint32_t a, uint32_t b)
{
	a_to_b(A_SENDS(80, .flags = TCP_A, .seq = a, .ack = b), ESTABLISHED);
	expect_number("closed directions",
		      __builtin_popcount(packet_node_states(IPPROTO_TCP) & BH_CT_FINS), 2);
	packet_node_age(PACKET_SECONDS(125));
	expect(FROM_A, A_SENDS(80, .flags = TCP_A, .seq = a, .ack = b), BH_DROP_NO_CONNECTION);
}

/* A copy of what B has got comes after both FINs: its acknowledgement was late. Then B sends after
 * its FIN what was lost, which A has closed before. */
static void closed_before_a_copy(void)
{
	struct packet_spec copy =
		A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001, .payload = 100);
	struct packet_spec lost =
		B_SENDS(80, .flags = TCP_A, .seq = 5001, .ack = 1002, .payload = 100);

	connect_a_to_b(80);
	a_to_b(copy, ESTABLISHED);
	a_to_b(A_SENDS(80, .flags = TCP_F | TCP_A, .seq = 1101, .ack = 5001), ESTABLISHED);
	b_to_a(B_SENDS(80, .flags = TCP_F | TCP_A, .seq = 5001, .ack = 1102), ESTABLISHED);
	a_to_b(copy, ESTABLISHED);
	expect_closed(1102, 5002);
	connect_a_to_b(80);
	a_to_b(A_SENDS(80, .flags = TCP_F | TCP_A, .seq = 1001, .ack = 5001), ESTABLISHED);
	b_to_a(lost, ESTABLISHED);
	b_to_a(B_SENDS(80, .flags = TCP_F | TCP_A, .seq = 5101, .ack = 1002, .payload = 9),
	       ESTABLISHED);
	b_to_a(lost, ESTABLISHED);
	expect_closed(1002, 5111);
}

/* Both ends close at once, each before it has got what the other sent last. Then that comes again.
 */
static void closed_at_once(void)
{
	struct packet_spec of_a =
		A_SENDS(80, .flags = TCP_A, .seq = 1001, .ack = 5001, .payload = 100);
	struct packet_spec of_b =
		B_SENDS(80, .flags = TCP_A, .seq = 5001, .ack = 1001, .payload = 100);

	connect_a_to_b(80);
	a_to_b(of_a, ESTABLISHED);
	b_to_a(of_b, ESTABLISHED);
	a_to_b(A_SENDS(80, .flags = TCP_F | TCP_A, .seq = 1101, .ack = 5001), ESTABLISHED);
	b_to_a(B_SENDS(80, .flags = TCP_F | TCP_A, .seq = 5101, .ack = 1001), ESTABLISHED);
	a_to_b(of_a, ESTABLISHED);
	b_to_a(of_b, ESTABLISHED);
	expect_closed(1102, 5102);
	connect_a_to_b(80);
	a_to_b(A_SENDS(80, .flags = TCP_F | TCP_A, .seq = 1001, .ack = 5001), ESTABLISHED);
	b_to_a(B_SENDS(80, .flags = TCP_F | TCP_A, .seq = 5001, .ack = 1001), ESTABLISHED);
	a_to_b(A_SENDS(80, .flags = TCP_A, .seq = 1002, .ack = 5001, .payload = 100), ESTABLISHED);
	expect_number("A's data behind its FIN restore its direction",
		      __builtin_popcount(packet_node_states(IPPROTO_TCP) & BH_CT_FINS), 1);
}

/* Who has guessed the numbers of both FINs closes no connection that goes on behind them. */
static void forged_fins_passed(void)
{
	connect_a_to_b(80);
	a_to_b(A_SENDS(80, .flags = TCP_F | TCP_A, .seq = 0x1001, .ack = 5001), ESTABLISHED);
	b_to_a(B_SENDS(80, .flags = TCP_F | TCP_A, .seq = 0x5001, .ack = 0x90000000), ESTABLISHED);
	a_to_b(A_SENDS(80, .flags = TCP_A, .seq = 0x1001, .ack = 5001, .payload = 10), ESTABLISHED);
	b_to_a(B_SENDS(80, .flags = TCP_A, .seq = 0x5001, .ack = 0x100b, .payload = 10),
	       ESTABLISHED);
	packet_node_age(PACKET_SECONDS(1000));
	a_to_b(A_SENDS(80, .flags = TCP_A, .seq = 0x100b, .ack = 0x500b, .payload = 10),
	       ESTABLISHED);
}

/* The numbers that he has guessed are far behind those of the connection's next data. */
static void forged_fins_ahead(void)
{
	connect_a_to_b(80);
	a_to_b(A_SENDS(80, .flags = TCP_F | TCP_A, .seq = 0x80000, .ack = 5001), ESTABLISHED);
	b_to_a(B_SENDS(80, .flags = TCP_F | TCP_A, .seq = 0x80000, .ack = 0x80000), ESTABLISHED);
	talk(80, ESTABLISHED, ESTABLISHED);
	packet_node_age(PACKET_SECONDS(1000));
	talk(80, ESTABLISHED, ESTABLISHED);
}

static const struct packet_sequence sequences[] = {
	{"a handshake, and data both ways", handshake},
	{"a handshake with copies of every segment", handshake_again},
	{"forged segments in a handshake", handshake_forged},
	{"a handshake into which others speak", handshake_of_strangers},
	{"a handshake of an endpoint whose MAC is not known", handshake_without_mac},
	{"a second SYN in a slow handshake", handshake_contested},
	{"a second SYN, which policy denies, in a slow handshake", handshake_contested_in_vain},
	{"a handshake with two answers", answered_twice},
	{"a refused connection, and another attempt", handshake_refused},
	{"an endpoint that may not call the outside refuses its call", outside_refused},
	{"it refuses a SYN that has waited beside a connection", outside_refused_later},
	{"both ends open at once", both_open},
	{"a SYN is evaluated in its own direction", syn_the_other_way},
	{"FINs end a connection, and its ports serve again", closing},
	{"data sent again after a FIN restores no closed connection", closing_with_loss},
	{"a copy of data before both FINs restores no closed connection", closed_before_a_copy},
	{"data sent again after FINs that cross restores no closed connection", closed_at_once},
	{"data behind forged FINs restores the connection", forged_fins_passed},
	{"data before forged FINs that are far ahead restores the connection", forged_fins_ahead},
	{"an answer to data in the SYN comes before the ACK", handshake_fast_open},
	{"an endpoint that has no share is refused connections", without_share},
	{"an endpoint's call of itself by a Service counts in its own share", share_of_own_call},
	{"a RST ends one unless it goes on", reset},
	{"a RST outside the window shortens no life", reset_forged},
	{"a RST outside any window that acknowledges a true number shortens no life",
	 reset_forged_acknowledged},
	{"a RST behind megabytes in flight shortens the connection's life", reset_ahead},
	{"forged acknowledgements do not tell a forged RST its number", reset_after_forged},
	{"a RST after hundreds of megabytes shortens the connection's life", reset_after_bulk},
	{"a RST inside the window shortens the connection's life", reset_true},
	{"forged FINs end no connection", forged_fins},
	{"the forged FIN of one end shortens no life after the other's true one",
	 forged_fin_of_one},
	{"FINs behind megabytes in flight shorten the connection's life", fins_ahead},
	{"a FIN of one end to the outside closes one direction", half_closed_outside},
	{"idle connections lapse", idle},
	{"a slow handshake", handshake_slow},
	{"UDP replies", udp_replies},
	{"one question of UDP, and its answer", udp_once},
	{"UDP that its destination denies", udp_unanswered},
	{"SCTP replies", sctp_replies},
	{"GRE replies", gre_replies},
	{"echo replies", echo_replies},
	{"echo replies that nobody asked for", echo_unasked},
	{"a commit that allows it still", flip_allowed},
	{"a commit that denies it at its destination", flip_denied},
	{"a commit that denies it at its source", flip_denied_at_source},
	{"denied stays denied for a fixed time", denied_stays},
	{"denied by commit after commit, its time still ends", denied_by_many},
	{"a commit within a handshake", half_open_flip},
	{"no active generation", no_generation},
	{"connections of others", poisoned},
	{"connections of the node", of_the_node},
	{"fragments", fragments},
	{"fragments at two CPUs at once", fragments_at_once},
	{"fragments of a denied first", fragments_denied},
	{"ICMP errors about connections", icmp_errors},
	{"ICMP errors about a denied datagram", icmp_error_early},
	{"ICMP errors that lie", icmp_error_forged},
	{"ICMP errors about a SYN", icmp_error_of_syn},
	{"ICMP errors about every protocol", icmp_error_of_each},
	{"ICMP errors about an echo, an error and a fragment", icmp_error_of_echo},
	{"bridged and link-local peers", bridged},
	{"what the node has opened, and a reply at another endpoint", of_the_node_elsewhere},
	{"an uplink without Ethernet headers", bare_uplink},
	{"audit", audit},
};

int packet_connection(int *number)
{
	return packet_sequences_run("connection", sequences,
				    sizeof(sequences) / sizeof(sequences[0]), &version, &good,
				    number);
}
