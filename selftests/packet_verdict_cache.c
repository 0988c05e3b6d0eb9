/* SPDX-License-Identifier: GPL-2.0-only */
/* The verdict cache: a lookup serves the next packet with the same key, until something changes. */
#include <bpf/bpf.h>
#include <stdio.h>

#include "maps/verdict_cache.h"
#include "maps/endpoint.h"
#include "maps/iface.h"
#include "selftests/lib/packet_rows.h"

static uint8_t version;
static uint32_t generation = 5;
static bool good;

static void expect_via(enum packet_hook hook, struct packet_spec spec, enum packet_via via,
		       int reason)
{
	spec.version = version;
	packet_node_forget();
	good &= packet_expect(hook, &spec, via, reason);
}

/* Sends the reply between the same MACs. */
static void expect_turned(enum packet_hook hook, struct packet_spec spec, int reason)
{
	struct packet_frame frame;
	struct packet_result result;

	spec.version = version;
	packet_build(&spec, &frame);
	for (int i = 0; i < 6; i++) {
		frame.bytes[i] = packet_mac_of(spec.from)[i];
		frame.bytes[6 + i] = packet_mac_of(spec.to)[i];
	}
	packet_node_forget();
	result = packet_node_run_frame(hook, frame.bytes, frame.length, packet_node_ifindex(hook));
	if (result.reason != reason) {
		printf("# turned: reason %d\n", result.reason);
		good = false;
	}
}

static void expect(enum packet_hook hook, struct packet_spec spec, int reason)
{
	expect_via(hook, spec, VIA_PEER, reason);
}

#define PACKET(...)          \
	(struct packet_spec) \
	{                    \
		__VA_ARGS__  \
	}

static const struct packet_spec open_port = {TCP(A, B, 80)}, closed_port = {TCP(A, B, 81)};

/* Changes the audit flag without bh_config.changes, so that the cache stays valid. */
static void audit_by_hand(enum packet_hook hook, bool set)
{
	uint32_t ifindex = packet_node_ifindex(hook);
	int map = packet_node_map("bh_ifaces");
	struct bh_iface iface;

	good &= !bpf_map_lookup_elem(map, &ifindex, &iface);
	iface.flags = set ? iface.flags | BH_IFACE_AUDIT : iface.flags & ~BH_IFACE_AUDIT;
	good &= !bpf_map_update_elem(map, &ifindex, &iface, BPF_EXIST);
}

static void expect_audited(bool audited)
{
	struct packet_spec spec = closed_port;
	struct packet_result result;

	spec.version = version;
	packet_node_forget();
	result = packet_node_run(TO_B, &spec, VIA_PEER);
	if (result.reason != BH_DROP_INGRESS || result.audited != audited ||
	    result.passed != audited) {
		printf("# what is denied %s\n", audited ? "dropped" : "passed");
		good = false;
	}
}

/* The cache serves the next packet: the other tests rely on that. */
static void serves_the_next(void)
{
	expect_audited(false);
	audit_by_hand(TO_B, true);
	expect_audited(false);
	packet_node_changes(true);
	packet_node_changes(false);
	expect_audited(true);
	audit_by_hand(TO_B, false);
	expect_audited(true);
	packet_node_changes(true);
	packet_node_changes(false);
	expect_audited(false);
}

static void nothing_meanwhile(void)
{
	expect_audited(false);
	packet_node_changes(true);
	audit_by_hand(TO_B, true);
	expect_audited(true);
	audit_by_hand(TO_B, false);
	expect_audited(false);
	audit_by_hand(TO_B, true);
	packet_node_changes(false);
	expect_audited(true);
	packet_node_changes(true);
	audit_by_hand(TO_B, false);
	packet_node_changes(false);
	expect_audited(false);
}

static void a_flip(void)
{
	packet_node_assign(HOST_B, generation + 1, SLOT_CLOSED);
	expect(TO_B, open_port, NEW);
	expect(FROM_A, open_port, SILENT);
	packet_node_set_generation(++generation);
	expect(TO_B, open_port, BH_DROP_INGRESS);
	packet_node_set_generation(0);
	expect(TO_B, open_port, NEW);
	expect(TO_B, closed_port, NEW);
	packet_node_set_generation(generation);
	expect(TO_B, open_port, BH_DROP_INGRESS);
	packet_node_assign(HOST_B, ++generation, SLOT_B);
	packet_node_set_generation(generation);
	expect(TO_B, open_port, NEW);
}

static void another_packet(void)
{
	for (int twice = 0; twice < 2; twice++) {
		expect(FROM_A, open_port, SILENT);
		expect(TO_B, open_port, NEW);
		expect(TO_B, closed_port, BH_DROP_INGRESS);
		expect(TO_B, PACKET(UDP(A, B, 80)), BH_DROP_EGRESS);
		expect(TO_B, PACKET(SCTP(A, B, 80)), NEW);
		expect(TO_C, closed_port, BH_DROP_EGRESS);
		expect(FROM_B, PACKET(TCP(B, A, 80)), SILENT);
		expect_turned(FROM_A, PACKET(TCP(B, A, 80)), BH_DROP_SOURCE);
		expect(FROM_A, PACKET(TCP(A, B, 1024)), BH_DROP_EGRESS);
		expect_via(TO_A, PACKET(TCP(A, B, 1024)), VIA_OWN, NEW);
		expect(FROM_A, PACKET(TCP(A, C, 80)), BH_DROP_EGRESS);
		expect(TO_B, PACKET(TCP(C, B, 80)), NEW);
		expect(FROM_C, PACKET(TCP(A, B, 80), .foreign_mac = true, .mac = HOST_C),
		       BH_DROP_SOURCE);
		expect(FROM_A, PACKET(TCP(A, B, 80), .foreign_mac = true, .mac = HOST_B),
		       BH_DROP_MAC);
		expect_via(TO_B, open_port, VIA_UPLINK, BH_DROP_CLAIM);
		expect_via(TO_B, open_port, VIA_C, BH_DROP_CLAIM);
		expect(TO_B, PACKET(TCP(WORLD, B, 80)), BH_DROP_INGRESS);
		expect(UPLINK, PACKET(TCP(WORLD, B, 80)), BH_DROP_INGRESS);
		expect(UPLINK, PACKET(TCP(WORLD, B, 80), .flags = TCP_A), SILENT);
		expect(UPLINK, PACKET(UDP(WORLD, B, 80)), SILENT);
		expect(UPLINK, PACKET(TCP(WORLD, B, 443)), SILENT);
		expect(UPLINK, PACKET(TCP(NODE, B, 80)), BH_DROP_CLAIM);
		expect(TO_B, PACKET(TCP(NODE, B, 81)), NEW);
		expect(TO_A, PACKET(UDP(C, A, 67), .sport = 68), NEW);
	}
}

/* Assigns only B's IPv4 address. */
static void assign_ipv4(uint32_t slot)
{
	struct bh_addr addr = packet_address_of(HOST_B, 4);
	int map = packet_node_map("bh_endpoints");
	struct bh_endpoint endpoint;

	good &= !bpf_map_lookup_elem(map, &addr, &endpoint);
	endpoint.assignment[1] = bh_assignment(++generation, slot, 0);
	good &= !bpf_map_update_elem(map, &addr, &endpoint, BPF_EXIST);
	packet_node_set_generation(generation);
}

/* From and to the unspecified address: only the IP version tells the keys apart. */
static void another_version(void)
{
	const uint8_t before = version;

	assign_ipv4(SLOT_CLOSED);
	for (int i = 0; i < 4; i++) {
		version = i % 2 ? 10 - before : before;
		expect(TO_B, PACKET(TCP(NONE, NONE, 443)), version == 4 ? BH_DROP_INGRESS : NEW);
	}
	version = before;
	assign_ipv4(SLOT_B);
}

/* Only the owner of the source address is in doubt. */
static void dhcp(void)
{
	for (int twice = 0; version == 4 && twice < 2; twice++) {
		expect(FROM_A, PACKET(UDP(NONE, BROADCAST, 67), .sport = 68), NEW);
		expect(FROM_A, PACKET(UDP(NONE, BROADCAST, 67), .sport = 69), BH_DROP_SOURCE);
	}
}

/* The initiator's ports decide, not the sender's. */
static void replies(void)
{
	struct packet_spec request = {.version = version, UDP(A, B, 53)};
	struct packet_spec reply = {.version = version, UDP(B, A, 40000), .sport = 53};

	for (int twice = 0; twice < 2; twice++) {
		packet_node_forget();
		good &= packet_expect(FROM_A, &request, VIA_PEER, SILENT);
		good &= packet_expect(TO_B, &request, VIA_PEER, NEW);
		good &= packet_expect(FROM_B, &reply, VIA_PEER, SILENT);
		good &= packet_expect(TO_A, &reply, VIA_PEER, BH_PASS_ESTABLISHED);
		packet_node_forget();
		good &= packet_expect(TO_A, &reply, VIA_PEER, NEW);
		packet_node_forget();
		request.dport = 40001 + twice;
		good &= packet_expect(FROM_A, &request, VIA_PEER, BH_DROP_EGRESS);
		request.dport = 53;
	}
	/* The connection is denied, but the other end may open one to that port. */
	good &= packet_expect(FROM_A, &request, VIA_PEER, SILENT);
	good &= packet_expect(TO_B, &request, VIA_PEER, NEW);
	packet_node_assign(HOST_A, ++generation, SLOT_MUTE);
	packet_node_set_generation(generation);
	good &= packet_expect(TO_A, &reply, VIA_PEER, BH_DROP_EGRESS);
	expect(TO_A, PACKET(UDP(B, A, 53)), NEW);
	packet_node_assign(HOST_A, ++generation, SLOT_A);
	packet_node_set_generation(generation);
}

/* More kinds of packets than slots: they evict each other. */
static void more_than_fit(void)
{
	for (int twice = 0; twice < 2; twice++) {
		for (uint16_t port = 1; port <= 2 * BH_VERDICT_CACHE_SLOTS; port++) {
			bool egress = port < 1024;
			bool ingress = port == 80 || port == 443 || port == 900;

			expect(TO_B, PACKET(TCP(A, B, port)),
			       !egress	  ? BH_DROP_EGRESS
			       : !ingress ? BH_DROP_INGRESS
					  : NEW);
		}
	}
}

static const struct packet_sequence sequences[] = {
	{"the verdict cache serves the next packet until the maps change", serves_the_next},
	{"the verdict cache keeps nothing while the maps change", nothing_meanwhile},
	{"a commit voids what was found, and nothing is kept before the first", a_flip},
	{"a packet that differs in anything is another", another_packet},
	{"a packet of the other version is another", another_version},
	{"a client that asks for an address is another than one that has none", dhcp},
	{"a reply is another packet than one that opens", replies},
	{"more than the cache holds", more_than_fit},
};

int main(void)
{
	return packet_sequences(sequences, sizeof(sequences) / sizeof(sequences[0]), &version,
				&good);
}
