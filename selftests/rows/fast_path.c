/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets of an open connection: those that the fast path takes, and each reason why a packet does
 * not take it. A valid packet passes either way; an invalid one is dropped for the same reason as
 * without the connection.
 */
#include "selftests/lib/packet_rows.h"

/* Packets of the two connections that packet_open() opens, as A sends them. */
#define ACK TCP(A, B, 80), .flags = TCP_A, .seq = 1001, .ack = 5001
#define DATAGRAM UDP(A, B, 53)
#define PASSES .at = {{FROM_A, SILENT}, {TO_B, BH_PASS_ESTABLISHED}}
#define DROPS(why) .at = {{FROM_A, BH_DROP_##why}, {TO_B, BH_DROP_##why}}

/* clang-format off */
static const struct packet_row rows[] = {
	{"an ACK", {ACK}, PASSES},
	{"an ACK with payload", {ACK, .payload = 100}, PASSES},
	{"an ACK with every flag that neither opens nor closes", {ACK, .flags = 0xf8}, PASSES},
	{"TCP options", {ACK, .doff = 8, .payload = 12}, PASSES},
	{"TCP options and nothing else, up to the last byte", {ACK, .doff = 15, .payload = 40}, PASSES},
	{"a datagram", {DATAGRAM}, PASSES},
	{"an empty datagram", {DATAGRAM, .payload = 0}, PASSES},
	{"a frame longer than its IP header says", {ACK, .payload = 6, .length = -6}, PASSES},
	{"a UDP length within the packet", {DATAGRAM, .udp_length = -16}, PASSES},
	{"the reply's ACK", {TCP(B, A, 40000), .sport = 80, .flags = TCP_A}, .at = {{FROM_B, SILENT}, {TO_A, BH_PASS_ESTABLISHED}}},
	{"the reply's datagram", {UDP(B, A, 40000), .sport = 53}, .at = {{FROM_B, SILENT}, {TO_A, BH_PASS_ESTABLISHED}}},

	{"one VLAN tag", {ACK, .vlans = 1}, PASSES},
	{"two VLAN tags", {DATAGRAM, .vlans = 2}, PASSES},
	{"three VLAN tags", {ACK, .vlans = 3}, DROPS(VLAN)},
	{"IP options", {ACK, .options = 1}, V4, PASSES},
	{"as many IP options as there can be", {DATAGRAM, .options = 10}, V4, PASSES},
	{"IP options of a header that has none", {DATAGRAM, .ihl = 6}, V4, DROPS(IP)},
	{"an extension header", {ACK, .extensions = {IPPROTO_DSTOPTS}}, V6, PASSES},
	{"each extension header", {DATAGRAM, .extensions = {EXTENSION_HOP_BY_HOP, IPPROTO_ROUTING, IPPROTO_AH, IPPROTO_DSTOPTS}}, V6, PASSES},
	{"hop-by-hop that is not first", {DATAGRAM, .extensions = {IPPROTO_DSTOPTS, EXTENSION_HOP_BY_HOP}}, V6, DROPS(EXTENSION)},
	{"a whole packet with a fragment header", {DATAGRAM, .fragment = true}, V6, PASSES},
	{"a first fragment", {DATAGRAM, .fragment = true, .more = true, .id = 7}, PASSES},
	{"a first fragment of odd length", {DATAGRAM, .payload = 17, .fragment = true, .more = true, .id = 7}, DROPS(IP)},
	{"a first fragment of a longer datagram", {DATAGRAM, .fragment = true, .more = true, .id = 7, .udp_length = 4000}, PASSES},
	{"a later fragment of nothing", {DATAGRAM, .fragment = true, .fragment_at = 1480, .id = 7}, DROPS(NO_FIRST)},
	{"a later fragment with more to come", {DATAGRAM, .fragment = true, .fragment_at = 1480, .more = true, .id = 7}, DROPS(NO_FIRST)},

	{"FIN and ACK", {ACK, .flags = TCP_F | TCP_A}, PASSES},
	{"RST", {ACK, .flags = TCP_R}, PASSES},
	{"RST and ACK", {ACK, .flags = TCP_R | TCP_A}, PASSES},
	{"another SYN", {ACK, .flags = TCP_S}, .at = {{FROM_A, SILENT}, {TO_B, BH_PASS_NEW}}},
	{"a SYN-ACK of the one who opened", {ACK, .flags = TCP_S | TCP_A}, DROPS(NO_CONNECTION)},
	{"no flag", {ACK, .flags = 0}, DROPS(TRANSPORT)},
	{"PSH without ACK", {ACK, .flags = TCP_P}, DROPS(TRANSPORT)},
	{"FIN without ACK", {ACK, .flags = TCP_F}, DROPS(TRANSPORT)},
	{"SYN, FIN and ACK", {ACK, .flags = TCP_S | TCP_F | TCP_A}, DROPS(TRANSPORT)},
	{"every flag", {ACK, .flags = 0xff}, DROPS(TRANSPORT)},
	{"data offset 4", {ACK, .doff = 4}, DROPS(TRANSPORT)},
	{"data offset beyond the packet", {ACK, .doff = 6}, DROPS(TRANSPORT)},
	{"data offset beyond the packet, not the frame", {ACK, .doff = 6, .payload = 4, .length = -1}, DROPS(TRANSPORT)},
	{"UDP length 0", {DATAGRAM, .udp_length = -24}, DROPS(TRANSPORT)},
	{"UDP length 7", {DATAGRAM, .udp_length = -17}, DROPS(TRANSPORT)},
	{"UDP length beyond the packet", {DATAGRAM, .udp_length = 1}, DROPS(TRANSPORT)},
	{"UDP length beyond the packet, not the frame", {DATAGRAM, .length = -1}, DROPS(TRANSPORT)},

	{"TCP less one byte", {ACK, .cut = 1}, DROPS(TRUNCATED)},
	{"TCP less its last 12 bytes", {ACK, .cut = 12}, DROPS(TRUNCATED)},
	{"TCP less one byte, and so says IP", {ACK, .cut = 1, .length = -1}, DROPS(TRUNCATED)},
	{"UDP less one byte", {DATAGRAM, .payload = 0, .cut = 1}, DROPS(TRUNCATED)},
	{"UDP less one byte, and so says IP", {DATAGRAM, .payload = 0, .cut = 1, .length = -1}, DROPS(TRUNCATED)},
	{"payload less one byte", {DATAGRAM, .cut = 1}, DROPS(TRUNCATED)},
	{"IP length within the UDP header", {DATAGRAM, .length = -17}, DROPS(TRUNCATED)},
	{"IP length of its header alone", {DATAGRAM, .length = -24}, DROPS(TRUNCATED)},
	{"IP length within its header", {DATAGRAM, .length = -25}, V4, DROPS(IP)},
	{"IP length 0", {DATAGRAM, .length = -44}, V4, DROPS(IP)},
	{"header length 0", {ACK, .no_header_length = true}, V4, DROPS(IP)},
	{"header length 4", {ACK, .ihl = 4}, V4, DROPS(IP)},
	{"header length 15", {ACK, .ihl = 15}, V4, DROPS(IP)},
	{"version 5", {ACK, .ip_version = 5}, DROPS(IP)},
	{"version 6 in an IPv4 frame", {ACK, .ip_version = 6}, V4, DROPS(IP)},
	{"version 4 in an IPv6 frame", {ACK, .ip_version = 4}, V6, DROPS(IP)},
	{"another type of frame", {ACK, .ethertype = 0x88cc}, DROPS(NOT_IP)},

	{"another protocol", {SCTP(A, B, 53)}, .at = {{FROM_A, BH_DROP_EGRESS}, {TO_B, BH_DROP_EGRESS}}},
	{"another's ports", {ACK, .dport = 53}, DROPS(NO_CONNECTION)},
	{"another's source port", {ACK, .sport = 40001}, DROPS(NO_CONNECTION)},
	{"the ports of the other direction", {ACK, .sport = 80, .dport = 40000}, DROPS(NO_CONNECTION)},
	{"another host's address", {ACK, .from = HOST_C}, DROPS(NO_CONNECTION)},
	{"another's MAC", {ACK, .foreign_mac = true, .mac = HOST_C}, .at = {{FROM_A, BH_DROP_MAC}, {TO_B, BH_PASS_ESTABLISHED}}},
	{"at another's interface", {ACK, .foreign_mac = true, .mac = HOST_C}, .at = {{FROM_C, BH_DROP_SOURCE}}},
	{"through another's interface", {ACK}, .via = VIA_C, .at = {{TO_B, BH_DROP_CLAIM}}},
	{"through the uplink", {DATAGRAM}, .via = VIA_UPLINK, .at = {{TO_B, BH_DROP_CLAIM}}},
	{"through no interface: from this node", {DATAGRAM}, .via = VIA_NOWHERE, .at = {{TO_B, BH_PASS_ESTABLISHED}}},
};
/* clang-format on */

const struct packet_table packet_fast_path = {
	.name = "fast path",
	.rows = rows,
	.n = sizeof(rows) / sizeof(rows[0]),
	.before = packet_open,
};
