/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames from a port of A's bridge that is no endpoint's: frames of any kind that use the address
 * or MAC of an actor on this node are dropped, others pass. B is on another bridge.
 */
#include "maps/iface.h"
#include "selftests/lib/packet_rows.h"

#define PORT UPLINK_TC /* its role is set in bh_ifaces */
#define OTHER_BRIDGE (PACKET_BRIDGE + 10)
#define AS(host) .foreign_mac = true, .mac = HOST_##host

/* clang-format off */
static const struct packet_row rows[] = {
	{"an address that is not of this node", {TCP(WORLD, B, 443)}, .at = {{PORT, SILENT}}},
	{"an address that is not of this node, to another port", {TCP(WORLD, B, 81)}, .at = {{PORT, SILENT}}},
	{"an endpoint of another node", {UDP(REMOTE, B, 53)}, .at = {{PORT, SILENT}}},
	{"an address that is not of this node, to elsewhere", {UDP(WORLD, OFFICE, 53)}, .at = {{PORT, SILENT}}},
	{"an endpoint's address", {TCP(A, B, 80), AS(WORLD)}, .at = {{PORT, BH_DROP_CLAIM}}},
	{"UDP with an endpoint's address", {UDP(A, B, 53), AS(WORLD)}, .at = {{PORT, BH_DROP_CLAIM}}},
	{"an address from another bridge", {UDP(B, A, 53), AS(WORLD)}, .at = {{PORT, BH_DROP_CLAIM}}},
	{"an endpoint's address to elsewhere", {UDP(A, WORLD, 53), AS(OFFICE)}, .at = {{PORT, BH_DROP_CLAIM}}},
	{"an endpoint's address to the node", {UDP(A, NODE, 53), AS(WORLD)}, .at = {{PORT, BH_DROP_CLAIM}}},
	{"the node's address", {UDP(NODE, B, 53), AS(WORLD)}, .at = {{PORT, BH_DROP_CLAIM}}},
	{"an endpoint's address in a VLAN", {UDP(A, B, 53), AS(WORLD), .vlans = 1}, .at = {{PORT, BH_DROP_CLAIM}}},
	{"an endpoint's address in two VLANs", {UDP(A, B, 53), AS(WORLD), .vlans = 2}, .at = {{PORT, BH_DROP_CLAIM}}},
	{"an endpoint's address in a later fragment", {UDP(A, B, 53), AS(WORLD), .fragment = true, .fragment_at = 1480}, .at = {{PORT, BH_DROP_CLAIM}}},
	{"an endpoint's address in an echo", {ECHO4(A, NODE), AS(WORLD)}, V4, .at = {{PORT, BH_DROP_CLAIM}}},
	{"an endpoint's address in an echo", {ECHO6(A, NODE), AS(WORLD)}, V6, .at = {{PORT, BH_DROP_CLAIM}}},
	{"a broken packet to an endpoint", {UDP(WORLD, B, 53), .length = 8}, .at = {{PORT, BH_DROP_TRUNCATED}}},
	{"a broken packet to elsewhere", {UDP(WORLD, NODE, 53), .length = 8}, .at = {{PORT, SILENT}}},

	/* The bridge forwards by the MAC. */
	{"an endpoint's MAC", {UDP(WORLD, OFFICE, 53), AS(A)}, .at = {{PORT, BH_DROP_CLAIM}}},
	{"an endpoint's MAC in a VLAN", {UDP(WORLD, OFFICE, 53), AS(A), .vlans = 1}, .at = {{PORT, BH_DROP_CLAIM}}},
	{"a MAC from another bridge", {UDP(WORLD, OFFICE, 53), AS(B)}, .at = {{PORT, SILENT}}},
	{"a MAC of nobody's", {UDP(WORLD, OFFICE, 53), AS(C)}, .at = {{PORT, SILENT}}},
	{"an endpoint's MAC in ARP", {ARP(WORLD, NODE), AS(A)}, V4, .at = {{PORT, BH_DROP_CLAIM}}},
	{"an endpoint's MAC in what is not IP", {UDP(WORLD, OFFICE, 53), AS(A), .ethertype = 0x88cc}, .at = {{PORT, BH_DROP_CLAIM}}},
	{"LLDP", {UDP(WORLD, MULTICAST, 53), .ethertype = 0x88cc}, .at = {{PORT, SILENT}}},
	{"a frame of 802.3", {UDP(WORLD, MULTICAST, 53), .ethertype = 0x26}, .at = {{PORT, SILENT}}},
	{"RARP", {ARP(WORLD, NODE), .ethertype = 0x8035}, V4, .at = {{PORT, SILENT}}},

	/* ARP */
	{"ARP", {ARP(WORLD, A)}, V4, .at = {{PORT, SILENT}}},
	{"ARP reply", {ARP(WORLD, A), .type = 2}, V4, .at = {{PORT, SILENT}}},
	{"ARP about itself", {ARP(WORLD, WORLD)}, V4, .at = {{PORT, SILENT}}},
	{"ARP of an endpoint of another node", {ARP(WORLD, A), SPEAKS_FOR(REMOTE)}, V4, .at = {{PORT, SILENT}}},
	{"ARP for an endpoint", {ARP(WORLD, B), SPEAKS_FOR(A)}, V4, .at = {{PORT, BH_DROP_NEIGHBOUR}}},
	{"ARP reply for an endpoint", {ARP(WORLD, B), .type = 2, SPEAKS_FOR(A)}, V4, .at = {{PORT, BH_DROP_NEIGHBOUR}}},
	{"ARP for the node", {ARP(WORLD, B), .type = 2, SPEAKS_FOR(NODE)}, V4, .at = {{PORT, BH_DROP_NEIGHBOUR}}},
	{"ARP for an endpoint in two VLANs", {ARP(WORLD, B), SPEAKS_FOR(A), .vlans = 2}, V4, .at = {{PORT, BH_DROP_NEIGHBOUR}}},
	{"ARP for an endpoint, of hardware that is read alike", {ARP(WORLD, B), SPEAKS_FOR(A), .arp_hardware = 5}, V4, .at = {{PORT, BH_DROP_NEIGHBOUR}}},
	{"ARP probe", {ARP(WORLD, A), SPEAKS_FOR(NONE)}, V4, .at = {{PORT, SILENT}}},
	{"ARP for another protocol", {ARP(WORLD, B), SPEAKS_FOR(A), .arp_protocol = 6}, V4, .at = {{PORT, SILENT}}},
	{"ARP with longer MACs", {ARP(WORLD, B), SPEAKS_FOR(A), .arp_mac_length = 2}, V4, .at = {{PORT, SILENT}}},
	{"ARP with longer addresses", {ARP(WORLD, B), SPEAKS_FOR(A), .arp_ip_length = 12}, V4, .at = {{PORT, SILENT}}},
	{"ARP cut short", {ARP(WORLD, B), SPEAKS_FOR(A), .cut = 1}, V4, .at = {{PORT, SILENT}}},

	/* Neighbour discovery */
	{"a solicitation", {ND(WORLD, A, 135), SPEAKS_FOR(A)}, V6, .at = {{PORT, SILENT}}},
	{"an advertisement", {ND(WORLD, A, 136)}, V6, .at = {{PORT, SILENT}}},
	{"an advertisement of an endpoint of another node", {ND(WORLD, A, 136), SPEAKS_FOR(REMOTE)}, V6, .at = {{PORT, SILENT}}},
	{"an advertisement for an endpoint", {ND(WORLD, B, 136), SPEAKS_FOR(A)}, V6, .at = {{PORT, BH_DROP_NEIGHBOUR}}},
	{"an advertisement for an endpoint to all", {ND(WORLD, MULTICAST, 136), SPEAKS_FOR(A)}, V6, .at = {{PORT, BH_DROP_NEIGHBOUR}}},
	{"an advertisement for the node", {ND(WORLD, B, 136), SPEAKS_FOR(NODE)}, V6, .at = {{PORT, BH_DROP_NEIGHBOUR}}},
	{"an advertisement for an endpoint behind hop-by-hop", {ND(WORLD, B, 136), SPEAKS_FOR(A), .extensions = {EXTENSION_HOP_BY_HOP}}, V6, .at = {{PORT, BH_DROP_NEIGHBOUR}}},
	{"an advertisement for an endpoint in a VLAN", {ND(WORLD, B, 136), SPEAKS_FOR(A), .vlans = 1}, V6, .at = {{PORT, BH_DROP_NEIGHBOUR}}},
	{"an advertisement from an endpoint's address", {ND(A, B, 136), AS(WORLD)}, V6, .at = {{PORT, BH_DROP_CLAIM}}},
	{"a solicitation from an endpoint's address", {ND(A, B, 135), AS(WORLD), SPEAKS_FOR(B)}, V6, .at = {{PORT, BH_DROP_CLAIM}}},
	{"duplicate address detection", {ND(NONE, MULTICAST, 135), SPEAKS_FOR(WORLD), AS(WORLD)}, V6, .at = {{PORT, SILENT}}},
	{"duplicate address detection of an endpoint's", {ND(NONE, MULTICAST, 135), SPEAKS_FOR(A), AS(WORLD)}, V6, .at = {{PORT, BH_DROP_NEIGHBOUR}}},
	{"an advertisement cut short", {ND(WORLD, NODE, 136), SPEAKS_FOR(A), .cut = 8, .length = -8}, V6, .at = {{PORT, SILENT}}},
	{"a router solicitation", {ND(WORLD, MULTICAST, 133)}, V6, .at = {{PORT, SILENT}}},
	{"a router advertisement", {ND(WORLD, MULTICAST, 134), .payload = 8}, V6, .at = {{PORT, BH_DROP_ROUTER}}},
	{"a redirect", {ND(WORLD, MULTICAST, 137)}, V6, .at = {{PORT, BH_DROP_ROUTER}}},
	{"an advertisement behind eight headers", {ND(WORLD, B, 136), .extensions = {60, 60, 60, 60, 60, 60, 60, 60}}, V6, .at = {{PORT, SILENT}}},
	{"an advertisement behind nine headers", {ND(WORLD, MULTICAST, 136), SPEAKS_FOR(A), .extensions = {60, 60, 60, 60, 60, 60, 60, 60, 60}}, V6, .at = {{PORT, BH_DROP_EXTENSION}}},
	{"an advertisement in a fragment", {ND(WORLD, NODE, 136), SPEAKS_FOR(A), .fragment = true, .more = true, .id = 7}, V6, .at = {{PORT, BH_DROP_NEIGHBOUR}}},
	{"a first fragment without the ICMPv6 header", {ND(WORLD, NODE, 136), .fragment = true, .more = true, .id = 7, .cut = 24, .length = -24}, V6, .at = {{PORT, BH_DROP_TINY}}},

	/* Link-local addresses: the node's, those made from an endpoint's MAC, and others'. */
	{"the node's link-local address", {UDP(NODE_LINK_LOCAL, MULTICAST, 5353), AS(WORLD)}, V6, .at = {{PORT, BH_DROP_CLAIM}}},
	{"an endpoint's link-local address", {UDP(A_LINK_LOCAL, MULTICAST, 5353), AS(WORLD)}, V6, .at = {{PORT, BH_DROP_CLAIM}}},
	{"the node's MAC", {UDP(WORLD, OFFICE, 53), AS(NODE)}, .at = {{PORT, BH_DROP_CLAIM}}},
	{"an advertisement for the node's link-local address", {ND(WORLD, B, 136), SPEAKS_FOR(NODE_LINK_LOCAL)}, V6, .at = {{PORT, BH_DROP_NEIGHBOUR}}},
	{"an advertisement for an endpoint's", {ND(WORLD, B, 136), SPEAKS_FOR(A_LINK_LOCAL)}, V6, .at = {{PORT, BH_DROP_NEIGHBOUR}}},
	{"duplicate address detection of it", {ND(NONE, MULTICAST, 135), SPEAKS_FOR(A_LINK_LOCAL), AS(WORLD)}, V6, .at = {{PORT, BH_DROP_NEIGHBOUR}}},
	{"an advertisement for an address of its own", {ND(WORLD, B, 136), SPEAKS_FOR(OTHER_LINK_LOCAL)}, V6, .at = {{PORT, SILENT}}},
	{"duplicate address detection of it", {ND(NONE, MULTICAST, 135), SPEAKS_FOR(OTHER_LINK_LOCAL), AS(WORLD)}, V6, .at = {{PORT, SILENT}}},
	{"a packet by it", {UDP(OTHER_LINK_LOCAL, MULTICAST, 5353)}, V6, .at = {{PORT, SILENT}}},

	/* The same from an endpoint on the bridge. */
	{"an endpoint, for the node's link-local address", {ND(UNASSIGNED, B, 136), SPEAKS_FOR(NODE_LINK_LOCAL)}, V6, .at = {{FROM_UNASSIGNED, BH_DROP_NEIGHBOUR}}},
	{"an endpoint, for another's", {ND(UNASSIGNED, B, 136), SPEAKS_FOR(A_LINK_LOCAL)}, V6, .at = {{FROM_UNASSIGNED, BH_DROP_NEIGHBOUR}}},
	{"an endpoint, detecting another's", {ND(NONE, MULTICAST, 135), SPEAKS_FOR(A_LINK_LOCAL), AS(UNASSIGNED)}, V6, .at = {{FROM_UNASSIGNED, BH_DROP_NEIGHBOUR}}},
	{"an endpoint, for its own", {ND(A_LINK_LOCAL, UNASSIGNED, 136)}, V6, .at = {{FROM_A, NEXT}}},
	{"an endpoint, for one that it has chosen", {ND(UNASSIGNED, A, 136), SPEAKS_FOR(OTHER_LINK_LOCAL)}, V6, .at = {{FROM_UNASSIGNED, NEXT}}},
	{"an endpoint by the node's address", {UDP(NODE_LINK_LOCAL, MULTICAST, 5353), AS(A)}, V6, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"an endpoint's fragment by another's MAC", {UDP(A, B, 53), AS(UNASSIGNED), .fragment = true, .fragment_at = 1480, .id = 7}, .at = {{FROM_A, BH_DROP_MAC}}},
	{"a router advertisement from another port", {ND(WORLD, MULTICAST, 134), .payload = 8}, V6, VIA_OTHER, .at = {{TO_B, BH_DROP_ROUTER}}},
	{"a redirect from another port", {ND(WORLD, B, 137)}, V6, VIA_OTHER, .at = {{TO_B, BH_DROP_ROUTER}}},
	{"a redirect of the node's", {ND(NODE_LINK_LOCAL, B, 137)}, V6, VIA_NOWHERE, .at = {{TO_B, NEXT}}},
	{"MLD", {MLD(WORLD, 131)}, V6, .at = {{PORT, SILENT}}},
	{"MLD from an endpoint's address", {MLD(A, 131), AS(WORLD)}, V6, .at = {{PORT, BH_DROP_CLAIM}}},
};
/* clang-format on */

/* The node's interface, of which the programs know only what bh_ifaces says. Once: what they keep
 * of a packet is to serve the next. */
static bool make_port(uint8_t version)
{
	static bool made;

	(void)version;
	if (made)
		return true;
	made = true;
	packet_node_flag(PORT, BH_IFACE_UPLINK, false);
	packet_node_flag(PORT, BH_IFACE_PORT, true);
	packet_node_bridge(PORT, PACKET_BRIDGE);
	packet_node_bridge(FROM_A, PACKET_BRIDGE);
	packet_node_bridge(FROM_UNASSIGNED, PACKET_BRIDGE);
	packet_node_bridge(FROM_B, OTHER_BRIDGE);
	packet_node_link_local(PACKET_BRIDGE);
	packet_node_mac(HOST_A, true);
	packet_node_mac(HOST_B, true);
	return true;
}

const struct packet_table packet_port = {
	.name = "port",
	.rows = rows,
	.n = sizeof(rows) / sizeof(rows[0]),
	.before = make_port,
};
