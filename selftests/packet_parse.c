/* SPDX-License-Identifier: GPL-2.0-only */
/* Packets that are cut short, contradict themselves or belong to no protocol that is let through.
 */
#include "selftests/lib/packet_rows.h"

/* clang-format off */
/* Test runs refuse frames without a whole IP header, unless a VLAN tag hides that from them. */
static const struct packet_row rows[] = {
	{"a whole SYN", {TCP(A, B, 80)}, .at = {{FROM_A, SILENT}, {TO_B, NEW}}},
	{"one byte of IP", {TCP(A, B, 80), .vlans = 1, .only = 19}, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"an IP header less one byte", {TCP(A, B, 80), .vlans = 1, .only = 37}, V4, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"an IP header less one byte", {TCP(A, B, 80), .vlans = 1, .only = 57}, V6, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"an IP header and nothing else", {TCP(A, B, 80), .only = 34}, V4, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"an IP header and nothing else", {TCP(A, B, 80), .only = 54}, V6, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"TCP less one byte", {TCP(A, B, 80), .cut = 1}, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"TCP less its ports", {TCP(A, B, 80), .cut = 20}, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"TCP whose payload is cut", {TCP(A, B, 80), .payload = 100, .cut = 50}, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"UDP less one byte", {UDP(A, B, 53), .payload = 0, .cut = 1}, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"UDP whose payload is cut", {UDP(A, B, 53), .cut = 1}, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"SCTP less its payload and one byte", {SCTP(A, B, 80), .payload = 0, .cut = 1}, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"cut short, from the world", {TCP(WORLD, B, 443), .cut = 1}, .at = {{TO_B, BH_DROP_TRUNCATED}, {UPLINK, BH_DROP_TRUNCATED}}},
	{"cut short, and an endpoint's address", {UDP(A, WORLD, 53), .cut = 1}, .at = {{UPLINK, BH_DROP_CLAIM}}},
	{"eight extension headers, then a later fragment", {UDP(WORLD, B, 443), .fragment_at = 8, .extensions = {60, 60, 60, 60, 60, 60, 60, 60, IPPROTO_FRAGMENT}}, V6, .at = {{TO_B, BH_DROP_EXTENSION}, {UPLINK, BH_DROP_EXTENSION}}},
	{"cut short, to the node", {TCP(WORLD, NODE, 443), .cut = 1}, .at = {{UPLINK, SILENT}}},
	{"longer than its IP header says", {TCP(A, B, 80), .payload = 20, .length = -20}, .at = {{FROM_A, SILENT}, {TO_B, NEW}}},
	{"IP length within the TCP header", {TCP(A, B, 80), .length = -1}, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"IP length one too long", {TCP(A, B, 80), .length = 1}, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"IP length within the IP header", {TCP(A, B, 80), .length = -21}, V4, .at = {{FROM_A, BH_DROP_IP}, {TO_B, BH_DROP_IP}}},
	{"IP length 0", {TCP(A, B, 80), .length = -40}, V4, .at = {{FROM_A, BH_DROP_IP}, {TO_B, BH_DROP_IP}}},
	{"payload length 0", {TCP(A, B, 80), .length = -20}, V6, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"header length 0", {TCP(A, B, 80), .no_header_length = true}, V4, .at = {{FROM_A, BH_DROP_IP}, {TO_B, BH_DROP_IP}}},
	{"header length 4", {TCP(A, B, 80), .ihl = 4}, V4, .at = {{FROM_A, BH_DROP_IP}, {TO_B, BH_DROP_IP}}},
	{"header length beyond the packet", {TCP(A, B, 80), .ihl = 15}, V4, .at = {{FROM_A, BH_DROP_IP}, {TO_B, BH_DROP_IP}}},
	{"header length over the TCP header", {TCP(A, B, 80), .ihl = 6, .payload = 4}, V4, .at = {{FROM_A, BH_DROP_TRANSPORT}, {TO_B, BH_DROP_TRANSPORT}}},
	{"version 6 in an IPv4 frame", {TCP(A, B, 80), .ip_version = 6}, V4, .at = {{FROM_A, BH_DROP_IP}, {TO_B, BH_DROP_IP}}},
	{"version 4 in an IPv6 frame", {TCP(A, B, 80), .ip_version = 4}, V6, .at = {{FROM_A, BH_DROP_IP}, {TO_B, BH_DROP_IP}}},
	{"version 5", {TCP(A, B, 80), .ip_version = 5}, .at = {{FROM_A, BH_DROP_IP}, {TO_B, BH_DROP_IP}}},
	{"version 5, from the world", {TCP(WORLD, B, 443), .ip_version = 5}, .at = {{TO_B, BH_DROP_IP}, {UPLINK, BH_DROP_IP}}},
	{"data offset 4", {TCP(A, B, 80), .doff = 4}, .at = {{FROM_A, BH_DROP_TRANSPORT}, {TO_B, BH_DROP_TRANSPORT}}},
	{"data offset 6 without options", {TCP(A, B, 80), .doff = 6}, .at = {{FROM_A, BH_DROP_TRANSPORT}, {TO_B, BH_DROP_TRANSPORT}}},
	{"data offset 6 with options", {TCP(A, B, 80), .doff = 6, .payload = 4}, .at = {{FROM_A, SILENT}, {TO_B, NEW}}},
	{"data offset 15 with options", {TCP(A, B, 80), .doff = 15, .payload = 40}, .at = {{FROM_A, SILENT}, {TO_B, NEW}}},
	{"data offset 15, options one short", {TCP(A, B, 80), .doff = 15, .payload = 39}, .at = {{FROM_A, BH_DROP_TRANSPORT}, {TO_B, BH_DROP_TRANSPORT}}},
	{"TCP without flags", {TCP(A, B, 80), .flags = 0}, .at = {{FROM_A, BH_DROP_TRANSPORT}, {TO_B, BH_DROP_TRANSPORT}}},
	{"SYN and FIN", {TCP(A, B, 80), .flags = TCP_S | TCP_F}, .at = {{FROM_A, BH_DROP_TRANSPORT}, {TO_B, BH_DROP_TRANSPORT}}},
	{"SYN and RST", {TCP(A, B, 80), .flags = TCP_S | TCP_R}, .at = {{FROM_A, BH_DROP_TRANSPORT}, {TO_B, BH_DROP_TRANSPORT}}},
	{"FIN without ACK", {TCP(A, B, 80), .flags = TCP_F}, .at = {{FROM_A, BH_DROP_TRANSPORT}, {TO_B, BH_DROP_TRANSPORT}}},
	{"every flag", {TCP(A, B, 80), .flags = 0x3f}, .at = {{FROM_A, BH_DROP_TRANSPORT}, {TO_B, BH_DROP_TRANSPORT}}},
	{"PSH and URG only", {TCP(A, B, 80), .flags = 0x28}, .at = {{FROM_A, BH_DROP_TRANSPORT}, {TO_B, BH_DROP_TRANSPORT}}},
	{"SYN and FIN from the world", {TCP(WORLD, B, 443), .flags = TCP_S | TCP_F}, .at = {{TO_B, BH_DROP_TRANSPORT}, {UPLINK, BH_DROP_TRANSPORT}}},
	{"UDP length below its header", {UDP(A, B, 53), .udp_length = -17}, .at = {{FROM_A, BH_DROP_TRANSPORT}, {TO_B, BH_DROP_TRANSPORT}}},
	{"UDP length 0", {UDP(A, B, 53), .udp_length = -24}, .at = {{FROM_A, BH_DROP_TRANSPORT}, {TO_B, BH_DROP_TRANSPORT}}},
	{"UDP length beyond the packet", {UDP(A, B, 53), .udp_length = 1}, .at = {{FROM_A, BH_DROP_TRANSPORT}, {TO_B, BH_DROP_TRANSPORT}}},
	{"UDP length within the packet", {UDP(A, B, 53), .udp_length = -1}, .at = {{FROM_A, SILENT}, {TO_B, NEW}}},
	{"UDP length beyond the packet, from the world", {UDP(WORLD, B, 53), .udp_length = 1}, .at = {{TO_B, BH_DROP_TRANSPORT}, {UPLINK, BH_DROP_TRANSPORT}}},
	{"ICMP less its identifier", {ECHO4(A, B), .cut = 4}, V4, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"ICMPv6 less its identifier", {ECHO6(A, B), .cut = 4}, V6, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"ICMPv6 in IPv4 is any protocol", {OTHER(A, B, IPPROTO_ICMPV6), .type = 134}, V4, .at = {{FROM_A, SILENT}, {TO_B, NEW}}},
	{"ICMP in IPv6 is any protocol", {OTHER(A, B, IPPROTO_ICMP), .type = 5}, V6, .at = {{FROM_A, SILENT}, {TO_B, NEW}}},

	{"three VLAN tags", {TCP(A, B, 80), .vlans = 3}, .at = {{FROM_A, BH_DROP_VLAN}, {TO_B, BH_DROP_VLAN}}},
	{"three VLAN tags at the uplink", {TCP(WORLD, B, 443), .vlans = 3}, .at = {{UPLINK, SILENT}}},
	{"a VLAN tag less one byte", {TCP(A, B, 80), .vlans = 1, .only = 17}, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"a VLAN tag and nothing else", {TCP(A, B, 80), .vlans = 1, .only = 18}, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"LLDP of an endpoint", {.from = HOST_A, .to = HOST_B, .ethertype = 0x88cc}, V4, .at = {{FROM_A, BH_DROP_NOT_IP}, {TO_B, BH_DROP_NOT_IP}}},
	{"MPLS of an endpoint", {.from = HOST_A, .to = HOST_B, .ethertype = 0x8847}, V4, .at = {{FROM_A, BH_DROP_NOT_IP}, {TO_B, BH_DROP_NOT_IP}}},
	{"an 802.3 length for a type", {.from = HOST_A, .to = HOST_B, .ethertype = 46}, V4, .at = {{FROM_A, BH_DROP_NOT_IP}, {TO_B, BH_DROP_NOT_IP}}},

	{"hop-by-hop that is not first", {TCP(A, B, 80), .extensions = {IPPROTO_DSTOPTS, EXTENSION_HOP_BY_HOP}}, V6, .at = {{FROM_A, BH_DROP_EXTENSION}, {TO_B, BH_DROP_EXTENSION}}},
	{"two fragment headers", {TCP(A, B, 80), .extensions = {IPPROTO_FRAGMENT, IPPROTO_FRAGMENT}}, V6, .at = {{FROM_A, BH_DROP_EXTENSION}, {TO_B, BH_DROP_EXTENSION}}},
	{"eight extension headers", {TCP(A, B, 80), .extensions = {60, 60, 60, 60, 60, 60, 60, 60}}, V6, .at = {{FROM_A, SILENT}, {TO_B, NEW}}},
	{"nine extension headers", {TCP(A, B, 80), .extensions = {60, 60, 60, 60, 60, 60, 60, 60, 60}}, V6, .at = {{FROM_A, BH_DROP_EXTENSION}, {TO_B, BH_DROP_EXTENSION}}},
	{"nine extension headers, from the world", {TCP(WORLD, B, 443), .extensions = {60, 60, 60, 60, 60, 60, 60, 60, 60}}, V6, .at = {{TO_B, BH_DROP_EXTENSION}, {UPLINK, BH_DROP_EXTENSION}}},
	{"an extension header cut short", {TCP(A, B, 80), .extensions = {60}, .only = 60}, V6, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"an extension header beyond the payload", {TCP(A, B, 80), .extensions = {60}, .length = -28}, V6, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},

	/* Fragments, without their first. */
	{"a later fragment of nothing", {UDP(A, B, 53), .fragment = true, .fragment_at = 1480, .id = 7}, .at = {{FROM_A, BH_DROP_NO_FIRST}, {TO_B, BH_DROP_NO_FIRST}}},
	{"a later fragment from the world", {UDP(WORLD, B, 53), .fragment = true, .fragment_at = 1480, .id = 7}, .at = {{TO_B, BH_DROP_NO_FIRST}, {UPLINK, SILENT}}},
	{"a first fragment", {UDP(A, B, 53), .fragment = true, .more = true, .id = 7}, .at = {{FROM_A, SILENT}, {TO_B, NEW}}},
	{"a first fragment, denied", {UDP(A, B, 550), .fragment = true, .more = true, .id = 7}, .at = {{FROM_A, SILENT}, {TO_B, BH_DROP_INGRESS}}},
	{"a first fragment of a longer UDP packet", {UDP(A, B, 53), .fragment = true, .more = true, .id = 7, .udp_length = 4000}, .at = {{FROM_A, SILENT}, {TO_B, NEW}}},
	{"a tiny first fragment of TCP", {TCP(A, B, 80), .fragment = true, .more = true, .id = 7, .cut = 12, .length = -12}, .at = {{FROM_A, BH_DROP_TINY}, {TO_B, BH_DROP_TINY}}},
	{"a first fragment without the TCP options", {TCP(A, B, 80), .fragment = true, .more = true, .id = 7, .doff = 8, .payload = 4}, .at = {{FROM_A, BH_DROP_TINY}, {TO_B, BH_DROP_TINY}}},
	{"a tiny first fragment of SCTP", {SCTP(A, B, 80), .payload = 0, .fragment = true, .more = true, .id = 7, .cut = 4, .length = -4}, .at = {{FROM_A, BH_DROP_TINY}, {TO_B, BH_DROP_TINY}}},
	{"a tiny first fragment from the world", {TCP(WORLD, B, 443), .fragment = true, .more = true, .id = 7, .cut = 12, .length = -12}, .at = {{TO_B, BH_DROP_TINY}, {UPLINK, BH_DROP_TINY}}},
	{"a first fragment of odd length", {UDP(A, B, 53), .payload = 17, .fragment = true, .more = true, .id = 7}, .at = {{FROM_A, BH_DROP_IP}, {TO_B, BH_DROP_IP}}},
	{"a fragment beyond 64 KiB", {UDP(A, B, 53), .payload = 16, .fragment = true, .fragment_at = 65528, .id = 7}, .at = {{FROM_A, BH_DROP_IP}, {TO_B, BH_DROP_IP}}},
	{"a whole packet with a fragment header", {UDP(A, B, 53), .fragment = true}, .at = {{FROM_A, SILENT}, {TO_B, NEW}}},

	/* ICMP errors about nothing. */
	{"an error about no connection", {.from = HOST_WORLD, .to = HOST_B, .protocol = IPPROTO_ICMP, .type = 3, .code = 4, .quoted = &(struct packet_spec){.version = 4, TCP(B, WORLD, 80)}}, V4, .at = {{TO_B, BH_DROP_UNRELATED}, {UPLINK, SILENT}}},
	{"an error about no connection", {.from = HOST_WORLD, .to = HOST_B, .protocol = IPPROTO_ICMPV6, .type = 2, .quoted = &(struct packet_spec){.version = 6, TCP(B, WORLD, 80)}}, V6, .at = {{TO_B, BH_DROP_UNRELATED}, {UPLINK, SILENT}}},
	{"an endpoint's error about no connection", {.from = HOST_B, .to = HOST_WORLD, .protocol = IPPROTO_ICMP, .type = 3, .code = 3, .quoted = &(struct packet_spec){.version = 4, UDP(WORLD, B, 80)}}, V4, .at = {{FROM_B, BH_DROP_UNRELATED}}},
	{"an error that quotes nothing", {.from = HOST_WORLD, .to = HOST_B, .protocol = IPPROTO_ICMP, .type = 3, .code = 4}, V4, .at = {{TO_B, BH_DROP_TRUNCATED}}},
	{"an error that quotes nothing", {.from = HOST_WORLD, .to = HOST_B, .protocol = IPPROTO_ICMPV6, .type = 2}, V6, .at = {{TO_B, BH_DROP_TRUNCATED}}},
	{"an error that quotes another version", {.from = HOST_WORLD, .to = HOST_B, .protocol = IPPROTO_ICMP, .type = 3, .code = 4, .quoted = &(struct packet_spec){.version = 6, TCP(B, WORLD, 80)}}, V4, .at = {{TO_B, BH_DROP_TRANSPORT}}},
	{"an error that quotes another host's packet", {.from = HOST_WORLD, .to = HOST_B, .protocol = IPPROTO_ICMP, .type = 3, .code = 4, .quoted = &(struct packet_spec){.version = 4, TCP(C, WORLD, 80)}}, V4, .at = {{TO_B, BH_DROP_UNRELATED}}},
	{"an endpoint's redirect", {.from = HOST_B, .to = HOST_A, .protocol = IPPROTO_ICMP, .type = 5, .code = 1, .quoted = &(struct packet_spec){.version = 4, TCP(A, WORLD, 80)}}, V4, .at = {{FROM_B, BH_DROP_ROUTER}}},
};
/* clang-format on */

int main(void)
{
	return packet_rows(rows, sizeof(rows) / sizeof(rows[0]));
}
