/* SPDX-License-Identifier: GPL-2.0-only */
/* Who a packet says it is from, and what it says of addresses: an endpoint speaks for itself only.
 */
#include "selftests/lib/packet_rows.h"

/* clang-format off */
static const struct packet_row rows[] = {
	{"its own address and MAC", {TCP(A, B, 80)}, .at = {{FROM_A, SILENT}}},
	{"another MAC", {TCP(A, B, 80), .foreign_mac = true, .mac = HOST_B}, .at = {{FROM_A, BH_DROP_MAC}}},
	{"another endpoint's address", {TCP(C, B, 80)}, .at = {{FROM_A, BH_DROP_MAC}, {FROM_C, SILENT}}},
	{"another endpoint's address with its own MAC", {TCP(C, B, 80), .foreign_mac = true, .mac = HOST_A}, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"UDP with another endpoint's address", {UDP(B, C, 80), .foreign_mac = true, .mac = HOST_A}, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"the node's address", {TCP(NODE, B, 80), .foreign_mac = true, .mac = HOST_A}, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"a remote endpoint's address", {TCP(REMOTE, B, 80), .foreign_mac = true, .mac = HOST_A}, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"the world's address", {TCP(WORLD, B, 443), .foreign_mac = true, .mac = HOST_A}, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"a multicast address", {UDP(MULTICAST, C, 53), .foreign_mac = true, .mac = HOST_A}, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"the broadcast address", {UDP(BROADCAST, C, 53), .foreign_mac = true, .mac = HOST_A}, V4, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"no address", {UDP(NONE, C, 53)}, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"no address, TCP", {TCP(NONE, B, 80)}, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"DHCP asks without an address", {UDP(NONE, BROADCAST, 67), .sport = 68}, V4, .at = {{FROM_A, NEW}}},
	{"DHCP's port from another port", {UDP(NONE, BROADCAST, 67)}, V4, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"DHCP's source port to another port", {UDP(NONE, BROADCAST, 68), .sport = 68}, V4, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"DHCP with another MAC", {UDP(NONE, BROADCAST, 67), .sport = 68, .foreign_mac = true, .mac = HOST_B}, V4, .at = {{FROM_A, BH_DROP_MAC}}},
	{"its link-local address", {UDP(A_LINK_LOCAL, MULTICAST, 5353)}, V6, .at = {{FROM_A, NEW}}},
	{"its link-local address with another MAC", {UDP(A_LINK_LOCAL, MULTICAST, 5353), .foreign_mac = true, .mac = HOST_B}, V6, .at = {{FROM_A, BH_DROP_MAC}}},
	{"link-local to the node", {TCP(A_LINK_LOCAL, NODE_LINK_LOCAL, 9999)}, V6, .at = {{FROM_A, NEW}}},
	{"link-local from the node", {TCP(NODE_LINK_LOCAL, B, 9999)}, V6, .at = {{TO_B, NEW}}},
	{"an address that it may send from", {TCP(GATEWAY, B, 80)}, .at = {{FROM_A, SILENT}}},
	{"that address from another endpoint", {TCP(GATEWAY, B, 80), .foreign_mac = true, .mac = HOST_C}, .at = {{FROM_C, BH_DROP_SOURCE}}},
	{"an echo with another's address", {ECHO4(C, B), .foreign_mac = true, .mac = HOST_A}, V4, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"an echo with another's address", {ECHO6(C, B), .foreign_mac = true, .mac = HOST_A}, V6, .at = {{FROM_A, BH_DROP_SOURCE}}},

	/* At the hook of who gets it. */
	{"an endpoint's address through the uplink", {TCP(A, B, 80)}, .via = VIA_UPLINK, .at = {{TO_B, BH_DROP_CLAIM}, {UPLINK, BH_DROP_CLAIM}}},
	{"an endpoint's address through another endpoint", {TCP(A, B, 80)}, .via = VIA_C, .at = {{TO_B, BH_DROP_CLAIM}}},
	{"UDP with an endpoint's address through the uplink", {UDP(A, B, 53)}, .via = VIA_UPLINK, .at = {{TO_B, BH_DROP_CLAIM}, {UPLINK, BH_DROP_CLAIM}}},
	{"its own address through the uplink", {TCP(B, B, 80)}, .via = VIA_UPLINK, .at = {{TO_B, BH_DROP_CLAIM}, {UPLINK, BH_DROP_CLAIM}}},
	{"the node's address through the uplink", {TCP(NODE, B, 80)}, .at = {{UPLINK, BH_DROP_CLAIM}}},
	{"the node's address to the node", {TCP(NODE, NODE, 80)}, .at = {{UPLINK, BH_DROP_CLAIM}}},
	{"the node's address, UDP", {UDP(NODE, NODE, 80)}, .at = {{UPLINK, BH_DROP_CLAIM}}},
	{"an endpoint's address to elsewhere", {UDP(A, WORLD, 80)}, .at = {{UPLINK, BH_DROP_CLAIM}}},
	{"an endpoint's address in a later fragment", {UDP(A, NODE, 53), .fragment = true, .fragment_at = 1480}, .at = {{UPLINK, BH_DROP_CLAIM}}},
	{"an endpoint's address in an echo", {ECHO4(A, NODE)}, V4, .at = {{UPLINK, BH_DROP_CLAIM}}},
	{"an endpoint's address in an echo", {ECHO6(A, NODE)}, V6, .at = {{UPLINK, BH_DROP_CLAIM}}},

	/* ARP */
	{"ARP for another", {ARP(A, B)}, V4, .at = {{FROM_A, NEXT}, {TO_B, NEXT}}},
	{"ARP reply", {ARP(A, B), .type = 2}, V4, .at = {{FROM_A, NEXT}, {TO_B, NEXT}}},
	{"ARP probe", {ARP(A, A), SPEAKS_FOR(NONE)}, V4, .at = {{FROM_A, NEXT}}},
	{"ARP that speaks for another", {ARP(A, B), SPEAKS_FOR(C)}, V4, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, NEXT}}},
	{"ARP that speaks for the node", {ARP(A, B), .type = 2, SPEAKS_FOR(NODE)}, V4, .at = {{FROM_A, BH_DROP_NEIGHBOUR}}},
	{"ARP that speaks for the world", {ARP(A, B), .type = 2, SPEAKS_FOR(WORLD)}, V4, .at = {{FROM_A, BH_DROP_NEIGHBOUR}}},
	{"ARP that speaks for an address it may send from", {ARP(A, B), .type = 2, SPEAKS_FOR(GATEWAY)}, V4, .at = {{FROM_A, NEXT}}},
	{"ARP with another MAC", {ARP(A, B), .foreign_mac = true, .mac = HOST_B}, V4, .at = {{FROM_A, BH_DROP_MAC}}},
	{"ARP cut short", {ARP(A, B), .cut = 1}, V4, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"ARP in a VLAN", {ARP(A, B), .vlans = 1}, V4, .at = {{FROM_A, NEXT}, {TO_B, NEXT}}},
	{"ARP of an endpoint without a segment", {ARP(UNASSIGNED, B)}, V4, .at = {{FROM_UNASSIGNED, NEXT}}},

	/* Neighbour discovery and MLD */
	{"neighbour solicitation", {ND(A, B, 135), SPEAKS_FOR(B)}, V6, .at = {{FROM_A, NEXT}, {TO_B, NEXT}}},
	{"neighbour solicitation from link-local", {ND(A_LINK_LOCAL, MULTICAST, 135), SPEAKS_FOR(B)}, V6, .at = {{FROM_A, NEXT}, {TO_B, NEXT}}},
	{"neighbour advertisement", {ND(A, B, 136)}, V6, .at = {{FROM_A, NEXT}, {TO_B, NEXT}}},
	{"neighbour advertisement of link-local", {ND(A_LINK_LOCAL, B, 136)}, V6, .at = {{FROM_A, NEXT}, {TO_B, NEXT}}},
	{"neighbour advertisement for another", {ND(A, B, 136), SPEAKS_FOR(C)}, V6, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, NEXT}}},
	{"neighbour advertisement for the node", {ND(A, B, 136), SPEAKS_FOR(NODE)}, V6, .at = {{FROM_A, BH_DROP_NEIGHBOUR}}},
	{"neighbour advertisement for what it may send from", {ND(A, B, 136), SPEAKS_FOR(GATEWAY)}, V6, .at = {{FROM_A, NEXT}}},
	{"neighbour advertisement from another's address", {ND(C, B, 136), .foreign_mac = true, .mac = HOST_A}, V6, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"neighbour advertisement with another MAC", {ND(A, B, 136), .foreign_mac = true, .mac = HOST_C}, V6, .at = {{FROM_A, BH_DROP_MAC}}},
	{"duplicate address detection", {ND(NONE, MULTICAST, 135), SPEAKS_FOR(A)}, V6, .at = {{FROM_A, NEXT}}},
	{"duplicate address detection of link-local", {ND(NONE, MULTICAST, 135), SPEAKS_FOR(A_LINK_LOCAL)}, V6, .at = {{FROM_A, NEXT}}},
	{"duplicate address detection of another's", {ND(NONE, MULTICAST, 135), SPEAKS_FOR(C)}, V6, .at = {{FROM_A, BH_DROP_NEIGHBOUR}}},
	{"neighbour solicitation from beyond the link", {ND(A, B, 135), .hop_limit = 254, SPEAKS_FOR(B)}, V6, .at = {{FROM_A, BH_DROP_HOP_LIMIT}, {TO_B, BH_DROP_HOP_LIMIT}}},
	{"neighbour advertisement from beyond the link", {ND(WORLD, B, 136), .hop_limit = 64}, V6, .at = {{TO_B, BH_DROP_HOP_LIMIT}}},
	{"neighbour solicitation cut short", {ND(A, B, 135), .cut = 8, .length = -8}, V6, .at = {{FROM_A, BH_DROP_TRUNCATED}}},
	{"router solicitation", {ND(A_LINK_LOCAL, MULTICAST, 133)}, V6, .at = {{FROM_A, NEXT}}},
	{"router solicitation without an address", {ND(NONE, MULTICAST, 133)}, V6, .at = {{FROM_A, NEXT}}},
	{"router advertisement of an endpoint", {ND(A_LINK_LOCAL, MULTICAST, 134), .payload = 8}, V6, .at = {{FROM_A, BH_DROP_ROUTER}}},
	{"router advertisement to an endpoint", {ND(NODE_LINK_LOCAL, MULTICAST, 134), .payload = 8}, V6, .at = {{TO_B, NEXT}}},
	{"router advertisement from beyond the link", {ND(NODE_LINK_LOCAL, MULTICAST, 134), .payload = 8, .hop_limit = 64}, V6, .at = {{TO_B, BH_DROP_HOP_LIMIT}}},
	{"redirect of an endpoint", {ND(A_LINK_LOCAL, B, 137)}, V6, .at = {{FROM_A, BH_DROP_ROUTER}}},
	{"redirect to an endpoint", {ND(NODE_LINK_LOCAL, B, 137)}, V6, .at = {{TO_B, NEXT}}},
	{"neighbour solicitation in a fragment", {ND(A, B, 135), .fragment = true, SPEAKS_FOR(B)}, V6, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, BH_DROP_NEIGHBOUR}}},
	{"MLD report", {MLD(A_LINK_LOCAL, 131)}, V6, .at = {{FROM_A, NEXT}, {TO_B, NEXT}}},
	{"MLDv2 report", {MLD(A_LINK_LOCAL, 143), .extensions = {EXTENSION_HOP_BY_HOP}}, V6, .at = {{FROM_A, NEXT}, {TO_B, NEXT}}},
	{"MLDv2 report without an address", {MLD(NONE, 143), .extensions = {EXTENSION_HOP_BY_HOP}}, V6, .at = {{FROM_A, NEXT}}},
	{"MLD query", {MLD(NODE_LINK_LOCAL, 130)}, V6, .at = {{TO_B, NEXT}}},
	{"MLD done", {MLD(A_LINK_LOCAL, 132)}, V6, .at = {{FROM_A, NEXT}}},
	{"MLD from beyond the link", {MLD(A_LINK_LOCAL, 131), .hop_limit = 2}, V6, .at = {{FROM_A, BH_DROP_HOP_LIMIT}, {TO_B, BH_DROP_HOP_LIMIT}}},
	{"MLD from another's address", {MLD(C, 131), .foreign_mac = true, .mac = HOST_A}, V6, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"MLD with another MAC", {MLD(A_LINK_LOCAL, 131), .foreign_mac = true, .mac = HOST_B}, V6, .at = {{FROM_A, BH_DROP_MAC}}},
};
/* clang-format on */

int main(void)
{
	return packet_rows(rows, sizeof(rows) / sizeof(rows[0]));
}
