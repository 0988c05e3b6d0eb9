/* SPDX-License-Identifier: GPL-2.0-only */
/* Neighbour discovery and MLD of endpoints of routed interfaces: beyond the link policy decides. */
#include "selftests/lib/packet_rows.h"

/* clang-format off */
static const struct packet_row rows[] = {
	{"a solicitation to the node", {ND(A, NODE, 135), SPEAKS_FOR(NODE)}, V6, .at = {{FROM_A, NEXT}}},
	{"an advertisement to the node", {ND(A, NODE, 136)}, V6, .at = {{FROM_A, NEXT}}},
	{"a solicitation to a link-local address", {ND(A, NODE_LINK_LOCAL, 135), SPEAKS_FOR(NODE)}, V6, .at = {{FROM_A, NEXT}}},
	{"a solicitation to the world", {ND(A, WORLD, 135), SPEAKS_FOR(WORLD)}, V6, .at = {{FROM_A, BH_DROP_EGRESS}, {LEAVE, BH_DROP_EGRESS}}},
	{"a solicitation with data to the world", {ND(A, WORLD, 135), SPEAKS_FOR(WORLD), .option = {14, 4}}, V6, .at = {{FROM_A, BH_DROP_EGRESS}, {LEAVE, BH_DROP_EGRESS}}},
	{"a solicitation from a link-local address to the world", {ND(A_LINK_LOCAL, WORLD, 135), SPEAKS_FOR(WORLD)}, V6, .at = {{FROM_A, BH_DROP_EGRESS}}},
	{"an advertisement to the world", {ND(A, WORLD, 136), .option = {14, 4}}, V6, .at = {{FROM_A, BH_DROP_EGRESS}, {LEAVE, BH_DROP_EGRESS}}},
	{"a router solicitation to the world", {ND(A, WORLD, 133), .option = {14, 4}}, V6, .at = {{FROM_A, BH_DROP_EGRESS}, {LEAVE, BH_DROP_EGRESS}}},
	{"an advertisement of an endpoint without policy to the world", {ND(C, WORLD, 136)}, V6, .at = {{FROM_C, NEW}, {LEAVE, SILENT}}},
	{"an advertisement to an address that policy allows", {ND(A, REMOTE, 136), .option = {14, 4}}, V6, .at = {{FROM_A, NEW}, {LEAVE, SILENT}}},
	{"an advertisement to another endpoint, which policy allows", {ND(A, B, 136)}, V6, .at = {{FROM_A, SILENT}}},
	{"an advertisement to another endpoint, which policy denies", {ND(A, C, 136)}, V6, .at = {{FROM_A, BH_DROP_EGRESS}}},
	{"an advertisement for another to the world", {ND(C, WORLD, 136), SPEAKS_FOR(A)}, V6, .at = {{FROM_C, BH_DROP_NEIGHBOUR}}},
	{"an advertisement that the node has forwarded", {ND(A, WORLD, 136), .hop_limit = 254}, V6, .at = {{LEAVE, BH_DROP_EGRESS}}},
	{"neighbour discovery to the link leaves by it", {ND(A_LINK_LOCAL, MULTICAST, 135), SPEAKS_FOR(B)}, V6, .at = {{LEAVE, SILENT}}},
	{"MLD to the node from a global address", {MLD(A, 143), .to = HOST_NODE}, V6, .at = {{FROM_A, NEW}}},
	{"MLD from a link-local address to the world", {MLD(A_LINK_LOCAL, 143), .to = HOST_WORLD}, V6, .at = {{FROM_A, BH_DROP_EGRESS}}},
	{"MLD to the world", {MLD(A, 143), .to = HOST_WORLD}, V6, .at = {{FROM_A, BH_DROP_EGRESS}, {LEAVE, BH_DROP_EGRESS}}},
	{"MLD to the world where no policy is", {MLD(C, 143), .to = HOST_WORLD}, V6, .at = {{FROM_C, NEW}, {LEAVE, SILENT}}},
	{"MLD from a global address to a group", {MLD(A, 143)}, V6, .at = {{FROM_A, BH_DROP_EGRESS}}},
	{"MLD from the world", {MLD(WORLD, 143), .to = HOST_B}, V6, VIA_UPLINK, .at = {{TO_B, BH_DROP_INGRESS}, {TO_C, NEW}}},
	{"MLD from the world to a group", {MLD(WORLD, 130)}, V6, VIA_UPLINK, .at = {{TO_B, BH_DROP_INGRESS}}},
	{"MLD from an endpoint that policy allows", {MLD(A, 143), .to = HOST_B}, V6, .at = {{TO_B, NEW}}},
	{"a solicitation of the node", {ND(NODE, B, 135), SPEAKS_FOR(B)}, V6, .at = {{TO_B, NEXT}}},
	{"an advertisement of the node", {ND(NODE, B, 136)}, V6, .at = {{TO_B, NEXT}}},
	{"neighbour discovery with a code", {ND(A, NODE, 136), .code = 1}, V6, .at = {{FROM_A, BH_DROP_TRANSPORT}, {TO_B, BH_DROP_TRANSPORT}}},
	{"MLD with a code", {MLD(A_LINK_LOCAL, 143), .code = 1}, V6, .at = {{FROM_A, BH_DROP_TRANSPORT}, {TO_B, BH_DROP_TRANSPORT}}},
};
/* clang-format on */

const struct packet_table packet_neighbour = {
	.name = "neighbour",
	.rows = rows,
	.n = sizeof(rows) / sizeof(rows[0]),
};
