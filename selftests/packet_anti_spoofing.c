/* SPDX-License-Identifier: GPL-2.0-only */
/* Anti-spoofing: an endpoint may use and announce its own addresses only. */
#include "selftests/lib/packet_rows.h"

/* clang-format off */
static const struct packet_row rows[] = {
	{"its own address and MAC", {TCP(A, B, 80)}, .at = {{FROM_A, SILENT}, {TO_B, NEW}}},
	{"another MAC", {TCP(A, B, 80), .foreign_mac = true, .mac = HOST_B}, .at = {{FROM_A, BH_DROP_MAC}}},
	{"another endpoint's address", {TCP(C, B, 80)}, .at = {{FROM_A, BH_DROP_MAC}, {FROM_C, SILENT}, {TO_B, NEW}}},
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
	{"DHCP answers", {UDP(NODE, BROADCAST, 68), .sport = 67}, V4, .at = {{TO_B, NEW}}},
	{"DHCP from its own address", {UDP(A, BROADCAST, 67), .sport = 68}, V4, .at = {{FROM_A, NEW}}},
	{"DHCP without an address, by TCP", {TCP(NONE, BROADCAST, 67), .sport = 68}, V4, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"DHCP without an address, in a VLAN", {UDP(NONE, BROADCAST, 67), .sport = 68, .vlans = 1}, V4, .at = {{FROM_A, NEW}}},
	{"DHCPv6 from link-local", {UDP(A_LINK_LOCAL, MULTICAST, 547), .sport = 546}, V6, .at = {{FROM_A, NEW}}},
	{"DHCPv6 without an address", {UDP(NONE, MULTICAST, 547), .sport = 546}, V6, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"DHCP with another MAC", {UDP(NONE, BROADCAST, 67), .sport = 68, .foreign_mac = true, .mac = HOST_B}, V4, .at = {{FROM_A, BH_DROP_MAC}}},
	{"its link-local address", {UDP(A_LINK_LOCAL, MULTICAST, 5353)}, V6, .at = {{FROM_A, NEW}}},
	{"its link-local address with another MAC", {UDP(A_LINK_LOCAL, MULTICAST, 5353), .foreign_mac = true, .mac = HOST_B}, V6, .at = {{FROM_A, BH_DROP_MAC}}},
	{"link-local to the node", {TCP(A_LINK_LOCAL, NODE_LINK_LOCAL, 9999)}, V6, .at = {{FROM_A, NEW}}},
	{"link-local from the node", {TCP(NODE_LINK_LOCAL, B, 9999)}, V6, .at = {{TO_B, NEW}}},
	{"an address that it may send from", {TCP(GATEWAY, B, 80)}, .at = {{FROM_A, SILENT}}},
	{"an address that only another endpoint may send from", {TCP(GATEWAY, B, 80), .foreign_mac = true, .mac = HOST_C}, .at = {{FROM_C, BH_DROP_SOURCE}}},
	{"an echo with another's address", {ECHO4(C, B), .foreign_mac = true, .mac = HOST_A}, V4, .at = {{FROM_A, BH_DROP_SOURCE}}},
	{"an echo with another's address", {ECHO6(C, B), .foreign_mac = true, .mac = HOST_A}, V6, .at = {{FROM_A, BH_DROP_SOURCE}}},

	/* At the receiver's hook. */
	{"an endpoint's address through the uplink", {TCP(A, B, 80)}, .via = VIA_UPLINK, .at = {{TO_B, BH_DROP_CLAIM}, {UPLINK, BH_DROP_CLAIM}}},
	{"an endpoint's address through another endpoint", {TCP(A, B, 80)}, .via = VIA_C, .at = {{TO_B, BH_DROP_CLAIM}}},
	{"an endpoint's address through any interface", {TCP(A, B, 80)}, .via = VIA_OTHER, .at = {{TO_B, BH_DROP_CLAIM}}},
	{"UDP with an endpoint's address through any interface", {UDP(A, B, 53)}, .via = VIA_OTHER, .at = {{TO_B, BH_DROP_CLAIM}}},
	{"an echo with an endpoint's address through any interface", {ECHO4(A, B)}, V4, .via = VIA_OTHER, .at = {{TO_B, BH_DROP_CLAIM}}},
	{"an echo with an endpoint's address through any interface", {ECHO6(A, B)}, V6, .via = VIA_OTHER, .at = {{TO_B, BH_DROP_CLAIM}}},
	{"a fragment with an endpoint's address through any interface", {UDP(A, B, 53), .fragment = true, .fragment_at = 1480}, .via = VIA_OTHER, .at = {{TO_B, BH_DROP_CLAIM}}},
	{"an endpoint's address through its bridge", {TCP(A, B, 80)}, .via = VIA_BRIDGE, .at = {{TO_B, NEW}}},
	{"an endpoint's address through its bridge, denied", {TCP(A, B, 81)}, .via = VIA_BRIDGE, .at = {{TO_B, BH_DROP_INGRESS}}},
	{"an endpoint's address through another's bridge", {TCP(C, B, 80)}, .via = VIA_BRIDGE, .at = {{TO_B, BH_DROP_CLAIM}}},
	{"the world's address through a bridge", {TCP(WORLD, B, 443)}, .via = VIA_BRIDGE, .at = {{TO_B, NEW}}},
	{"a remote endpoint's address through any interface", {TCP(REMOTE, B, 80)}, .via = VIA_OTHER, .at = {{TO_B, NEW}}},
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
	{"ARP for another", {ARP(A, B)}, V4, .at = {{FROM_A, NEXT}, {TO_B, SILENT}}},
	{"ARP reply", {ARP(A, B), .type = 2}, V4, .at = {{FROM_A, NEXT}, {TO_B, SILENT}}},
	{"ARP probe", {ARP(A, A), SPEAKS_FOR(NONE)}, V4, .at = {{FROM_A, NEXT}}},
	{"ARP that speaks for another", {ARP(A, B), SPEAKS_FOR(C)}, V4, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, SILENT}}},
	{"ARP that speaks for the node", {ARP(A, B), .type = 2, SPEAKS_FOR(NODE)}, V4, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, SILENT}}},
	{"ARP that speaks for the world", {ARP(A, B), .type = 2, SPEAKS_FOR(WORLD)}, V4, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, SILENT}}},
	{"ARP that speaks for an address it may send from", {ARP(A, B), .type = 2, SPEAKS_FOR(GATEWAY)}, V4, .at = {{FROM_A, NEXT}, {TO_B, SILENT}}},
	{"ARP with another MAC", {ARP(A, B), .foreign_mac = true, .mac = HOST_B}, V4, .at = {{FROM_A, BH_DROP_MAC}}},
	{"ARP cut short", {ARP(A, B), .cut = 1}, V4, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}}},
	{"ARP in a VLAN", {ARP(A, B), .vlans = 1}, V4, .at = {{FROM_A, NEXT}, {TO_B, SILENT}}},
	{"ARP about itself", {ARP(A, A)}, V4, .at = {{FROM_A, NEXT}, {TO_A, SILENT}}},
	{"ARP reply about itself", {ARP(A, A), .type = 2}, V4, .at = {{FROM_A, NEXT}, {TO_A, SILENT}}},
	{"RARP's operation", {ARP(A, B), .type = 3}, V4, .at = {{FROM_A, NEXT}, {TO_B, SILENT}}},
	{"ARP of the world", {ARP(WORLD, B)}, V4, .at = {{TO_B, NEXT}, {UPLINK, SILENT}}},
	{"ARP of the node", {ARP(NODE, B), .type = 2}, V4, .at = {{TO_B, NEXT}}},
	{"ARP for another hardware", {ARP(A, B), .arp_hardware = 5}, V4, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, BH_DROP_NEIGHBOUR}, {UPLINK, SILENT}}},
	{"ARP for another protocol", {ARP(A, B), .arp_protocol = 6}, V4, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, BH_DROP_NEIGHBOUR}, {UPLINK, SILENT}}},
	{"ARP with longer MACs", {ARP(A, B), .arp_mac_length = 2}, V4, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, BH_DROP_NEIGHBOUR}, {UPLINK, SILENT}}},
	{"ARP with longer addresses", {ARP(A, B), .arp_ip_length = 12}, V4, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, BH_DROP_NEIGHBOUR}, {UPLINK, SILENT}}},
	{"ARP cut short to its operation", {ARP(A, B), .cut = 20}, V4, .at = {{FROM_A, BH_DROP_TRUNCATED}, {TO_B, BH_DROP_TRUNCATED}, {UPLINK, SILENT}}},
	{"ARP that speaks for another, in a VLAN", {ARP(A, B), SPEAKS_FOR(C), .vlans = 1}, V4, .at = {{FROM_A, BH_DROP_NEIGHBOUR}, {TO_B, SILENT}}},
	{"ARP in two VLANs", {ARP(A, B), .vlans = 2}, V4, .at = {{FROM_A, NEXT}, {TO_B, SILENT}}},
	{"ARP probe for another's", {ARP(NONE, C), .foreign_mac = true, .mac = HOST_A}, V4, .at = {{FROM_A, NEXT}}},
	{"ARP of an endpoint without a segment", {ARP(UNASSIGNED, B)}, V4, .at = {{FROM_UNASSIGNED, NEXT}}},

	/* Neighbour discovery and MLD */
	{"IGMP is any protocol", {OTHER(A, MULTICAST, IPPROTO_IGMP)}, V4, .at = {{FROM_A, BH_DROP_EGRESS}}},
	{"IGMP where no policy is", {OTHER(C, MULTICAST, IPPROTO_IGMP)}, V4, .at = {{FROM_C, NEW}}},
};
/* clang-format on */

int main(void)
{
	return packet_rows(rows, sizeof(rows) / sizeof(rows[0]));
}
