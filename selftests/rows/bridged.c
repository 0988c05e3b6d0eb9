/* SPDX-License-Identifier: GPL-2.0-only */
/* Neighbour discovery and MLD of endpoints of a bridge: their link is open to them. */
#include "selftests/lib/packet_rows.h"

/* clang-format off */
static const struct packet_row rows[] = {
	{"neighbour solicitation", {ND(A, B, 135), SPEAKS_FOR(B)}, V6, .at = {{FROM_A, NEXT}, {TO_B, SILENT}}},
	{"neighbour solicitation from link-local", {ND(A_LINK_LOCAL, MULTICAST, 135), SPEAKS_FOR(B)}, V6, .at = {{FROM_A, NEXT}, {TO_B, NEXT}}},
	{"neighbour advertisement", {ND(A, B, 136)}, V6, .at = {{FROM_A, NEXT}, {TO_B, SILENT}}},
	{"neighbour advertisement of link-local", {ND(A_LINK_LOCAL, B, 136)}, V6, .at = {{FROM_A, NEXT}, {TO_B, NEXT}}},
	{"neighbour advertisement for another", {ND(A, B, 136), SPEAKS_FOR(C)}, V6, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, SILENT}}},
	{"neighbour advertisement for the node", {ND(A, B, 136), SPEAKS_FOR(NODE)}, V6, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, SILENT}}},
	{"neighbour advertisement for what it may send from", {ND(A, B, 136), SPEAKS_FOR(GATEWAY)}, V6, .at = {{FROM_A, NEXT}, {TO_B, SILENT}}},
	{"neighbour advertisement from another's address", {ND(C, B, 136), .foreign_mac = true, .mac = HOST_A}, V6, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"neighbour advertisement with another MAC", {ND(A, B, 136), .foreign_mac = true, .mac = HOST_C}, V6, .at = {{FROM_A, BH_DROP_MAC}}},
	{"duplicate address detection", {ND(NONE, MULTICAST, 135), SPEAKS_FOR(A)}, V6, .at = {{FROM_A, NEXT}}},
	{"duplicate address detection of link-local", {ND(NONE, MULTICAST, 135), SPEAKS_FOR(A_LINK_LOCAL)}, V6, .at = {{FROM_A, NEXT}}},
	{"duplicate address detection of another's", {ND(NONE, MULTICAST, 135), SPEAKS_FOR(C)}, V6, .at = {{FROM_A, BH_DROP_NEIGHBOUR}}},
	{"neighbour solicitation from beyond the link", {ND(A, B, 135), .hop_limit = 254, SPEAKS_FOR(B)}, V6, .at = {{FROM_A, BH_DROP_HOP_LIMIT}, {TO_B, BH_DROP_HOP_LIMIT}}},
	{"neighbour advertisement from beyond the link", {ND(WORLD, B, 136), .hop_limit = 64}, V6, .at = {{TO_B, BH_DROP_HOP_LIMIT}, {UPLINK, SILENT}}},
	{"a solicitation that tells its MAC", {ND(A, B, 135), SPEAKS_FOR(B), .option = {1, 1}}, V6, .at = {{FROM_A, NEXT}, {TO_B, SILENT}}},
	{"a solicitation that tells another MAC", {ND(A, B, 135), SPEAKS_FOR(B), .option = {1, 1, .foreign = true}}, V6, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, SILENT}}},
	{"an advertisement that tells its MAC", {ND(A, B, 136), .option = {2, 1}}, V6, .at = {{FROM_A, NEXT}, {TO_B, SILENT}}},
	{"an advertisement that tells another MAC", {ND(A, B, 136), .option = {2, 1, .foreign = true}}, V6, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, SILENT}}},
	{"an advertisement that tells another MAC as its source", {ND(A, B, 136), .option = {1, 1, .foreign = true}}, V6, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, SILENT}}},
	{"a router solicitation that tells its MAC", {ND(A_LINK_LOCAL, MULTICAST, 133), .option = {1, 1}}, V6, .at = {{FROM_A, NEXT}}},
	{"a router solicitation that tells another MAC", {ND(A_LINK_LOCAL, MULTICAST, 133), .option = {1, 1, .foreign = true}}, V6, .at = {{FROM_A, BH_DROP_NEIGHBOUR}}},
	{"an option that is no MAC", {ND(A, B, 136), .option = {14, 1, .foreign = true}}, V6, .at = {{FROM_A, NEXT}, {TO_B, SILENT}}},
	{"an option without a length", {ND(A, B, 136), .option = {2, 1, .no_length = true}}, V6, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, SILENT}}},
	{"four options", {ND(A, B, 136), .option = {2, 4}}, V6, .at = {{FROM_A, NEXT}, {TO_B, SILENT}}},
	{"five options", {ND(A, B, 136), .option = {2, 5}}, V6, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, SILENT}}},
	{"half an option", {ND(A, B, 136), .payload = 4}, V6, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, SILENT}}},
	{"an advertisement behind hop-by-hop", {ND(A, B, 136), .extensions = {EXTENSION_HOP_BY_HOP}}, V6, .at = {{FROM_A, NEXT}, {TO_B, SILENT}}},
	{"an advertisement for another, behind hop-by-hop", {ND(A, B, 136), SPEAKS_FOR(C), .extensions = {EXTENSION_HOP_BY_HOP}}, V6, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, SILENT}}},
	{"an advertisement behind a routing header", {ND(A, B, 136), .extensions = {IPPROTO_ROUTING}}, V6, .at = {{FROM_A, NEXT}, {TO_B, SILENT}}},
	{"an advertisement in a VLAN", {ND(A, B, 136), .vlans = 1}, V6, .at = {{FROM_A, NEXT}, {TO_B, SILENT}}},
	{"an advertisement for another, in two VLANs", {ND(A, B, 136), SPEAKS_FOR(C), .vlans = 2}, V6, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, SILENT}}},
	{"an advertisement of the node's", {ND(NODE_LINK_LOCAL, B, 136)}, V6, .at = {{TO_B, NEXT}}},
	{"a router advertisement behind destination options", {ND(A_LINK_LOCAL, MULTICAST, 134), .payload = 8, .extensions = {IPPROTO_DSTOPTS}}, V6, .at = {{FROM_A, BH_DROP_ROUTER}}},
	{"a router advertisement in a fragment", {ND(A_LINK_LOCAL, MULTICAST, 134), .payload = 8, .fragment = true}, V6, .at = {{FROM_A, BH_DROP_NEIGHBOUR}}},
	{"neighbour solicitation cut short", {ND(A, B, 135), .cut = 8, .length = -8}, V6, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, SILENT}}},
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
	{"MLD query of an endpoint", {MLD(A_LINK_LOCAL, 130)}, V6, .at = {{FROM_A, NEXT}}},
	{"MLDv2 report to an endpoint", {MLD(NODE_LINK_LOCAL, 143), .extensions = {EXTENSION_HOP_BY_HOP}}, V6, .at = {{TO_B, NEXT}}},
	{"MLD in a fragment", {MLD(A_LINK_LOCAL, 131), .fragment = true}, V6, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, BH_DROP_NEIGHBOUR}}},
	{"MLD with ND's hop limit", {MLD(A_LINK_LOCAL, 143), .hop_limit = 255}, V6, .at = {{FROM_A, BH_DROP_HOP_LIMIT}, {TO_B, BH_DROP_HOP_LIMIT}}},
	{"ND with MLD's hop limit", {ND(A, B, 136), .hop_limit = 1}, V6, .at = {{FROM_A, BH_DROP_HOP_LIMIT}, {TO_B, BH_DROP_HOP_LIMIT}}},
	{"MLD from beyond the link", {MLD(A_LINK_LOCAL, 131), .hop_limit = 2}, V6, .at = {{FROM_A, BH_DROP_HOP_LIMIT}, {TO_B, BH_DROP_HOP_LIMIT}}},
	{"MLD from another's address", {MLD(C, 131), .foreign_mac = true, .mac = HOST_A}, V6, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"MLD with another MAC", {MLD(A_LINK_LOCAL, 131), .foreign_mac = true, .mac = HOST_B}, V6, .at = {{FROM_A, BH_DROP_MAC}}},
	{"a solicitation to a host on the bridge", {ND(A, NEAR, 135), SPEAKS_FOR(NEAR)}, V6, .at = {{FROM_A, NEXT}, {LEAVE, SILENT}}},
	{"an advertisement to a host on the bridge", {ND(A_LINK_LOCAL, NEAR, 136)}, V6, .at = {{FROM_A, NEXT}, {LEAVE, SILENT}}},
	{"an advertisement by way of the node", {ND(A, BEHIND, 136)}, V6, .at = {{FROM_A, BH_DROP_EGRESS}}},
	{"an advertisement to the world", {ND(A, WORLD, 136)}, V6, .at = {{FROM_A, BH_DROP_EGRESS}, {LEAVE, BH_DROP_EGRESS}}},
	{"an advertisement to an endpoint of another link", {ND(A, C, 136)}, V6, .at = {{FROM_A, BH_DROP_EGRESS}}},
	{"an advertisement from the world on the bridge", {ND(WORLD, B, 136)}, V6, VIA_OTHER, .at = {{TO_B, NEXT}}},
};
/* clang-format on */

/* Makes A and B ports of one bridge. */
static bool bridge(uint8_t version)
{
	static bool made;

	(void)version;
	if (made)
		return true;
	made = true;
	packet_node_bridge(FROM_A, PACKET_BRIDGE);
	packet_node_bridge(FROM_B, PACKET_BRIDGE);
	packet_node_mac(HOST_A, true);
	packet_node_mac(HOST_B, true);
	packet_node_link_local(PACKET_BRIDGE);
	return true;
}

const struct packet_table packet_bridged = {
	.name = "bridged",
	.rows = rows,
	.n = sizeof(rows) / sizeof(rows[0]),
	.before = bridge,
};
