/* SPDX-License-Identifier: GPL-2.0-only */
/* What is told of packets: the records of the ring buffer, and hits by rule. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/iface.h"
#include "maps/rule_hit.h"
#include "selftests/lib/packet_rows.h"

#define FLOOD 40000 /* packets; the programs' default is 10,000 records in about a second */

static struct ring_buffer *ring;
static struct bh_event last;
static int records; /* since the last look */
static int number, failed;

static int keep(void *data __attribute__((unused)), void *record, size_t size)
{
	if (size != sizeof(last))
		return -1;
	memcpy(&last, record, sizeof(last));
	records++;
	return 0;
}

static void look(void)
{
	records = 0;
	memset(&last, 0, sizeof(last));
	ring_buffer__consume(ring);
}

static void result(const char *name, bool good)
{
	failed += !good;
	printf("%s %d - %s\n", good ? "ok" : "not ok", ++number, name);
}

static bool tells(enum packet_host from, enum packet_host to, uint8_t version)
{
	struct bh_addr source = packet_address_of(from, version);
	struct bh_addr destination = packet_address_of(to, version);

	return !memcmp(&last.source, &source, sizeof(source)) &&
	       !memcmp(&last.destination, &destination, sizeof(destination));
}

static uint64_t hits(uint32_t rule)
{
	int cpus = libbpf_num_possible_cpus();
	struct bh_rule_hit *values = calloc(cpus, sizeof(*values));
	uint64_t sum = 0;

	if (values && !bpf_map_lookup_elem(packet_node_map("bh_rule_hits"), &rule, values))
		for (int cpu = 0; cpu < cpus; cpu++)
			sum += values[cpu].count;
	free(values);
	return sum;
}

static void denied(uint8_t version)
{
	struct packet_spec spec = {.version = version, TCP(A, OFFICE, 80)};
	uint64_t before = hits(6);

	packet_node_run(FROM_A, &spec, VIA_PEER);
	look();
	result("a denied packet is told of",
	       records == 1 && tells(HOST_A, HOST_OFFICE, version) &&
		       last.source_port == htons(40000) && last.destination_port == htons(80) &&
		       last.protocol == IPPROTO_TCP && last.hook == BH_HOOK_FROM_ENDPOINT &&
		       last.reason == BH_DROP_EGRESS && !last.flags && last.generation == 5 &&
		       last.ifindex == packet_node_ifindex(FROM_A) &&
		       last.length == (version == 4 ? 54 : 74));
	result("with the rule that decided",
	       last.verdict[BH_EGRESS] == bh_verdict(false, BH_TIER_ADMIN, 6) &&
		       !last.verdict[BH_INGRESS]);
	result("which counts it", hits(6) == before + 1);
}

static void allowed(uint8_t version)
{
	struct packet_spec spec = {.version = version, UDP(A, B, 53)};
	struct packet_spec reply = {.version = version, UDP(B, A, 40000), .sport = 53};
	uint64_t before = hits(9);

	packet_node_forget();
	packet_node_run(FROM_A, &spec, VIA_PEER);
	look();
	result("the source's hook leaves it to the destination's", !records);
	packet_node_run(TO_B, &spec, VIA_PEER);
	look();
	result("a connection that opens is told of once",
	       records == 1 && tells(HOST_A, HOST_B, version) && last.reason == BH_PASS_NEW &&
		       last.hook == BH_HOOK_TO_ENDPOINT &&
		       bh_verdict_rule(last.verdict[BH_INGRESS]) == 9);
	packet_node_run(TO_B, &spec, VIA_PEER);
	packet_node_run(FROM_B, &reply, VIA_PEER);
	packet_node_run(TO_A, &reply, VIA_PEER);
	look();
	result("its packets are not", !records);
	result("nor do they count as its rule's", hits(9) == before + 1);
}

static void others(uint8_t version)
{
	struct packet_spec spec = {.version = version, TCP(A, OFFICE, 80)};
	struct packet_spec broken = {.version = version, TCP(A, B, 80), .vlans = 3};
	struct packet_spec syn = {.version = version, TCP(WORLD, B, 80)};

	packet_node_flag(FROM_A, BH_IFACE_AUDIT, true);
	packet_node_run(FROM_A, &spec, VIA_PEER);
	look();
	result("what is only audited says so",
	       records == 1 && last.flags == BH_EVENT_AUDIT && last.reason == BH_DROP_EGRESS);
	packet_node_flag(FROM_A, BH_IFACE_AUDIT, false);
	packet_node_run(FROM_A, &broken, VIA_PEER);
	look();
	result("what has no addresses says so",
	       records == 1 && last.flags == BH_EVENT_NO_PACKET && last.reason == BH_DROP_VLAN);
	packet_node_run(UPLINK, &syn, VIA_PEER);
	look();
	result("what the uplink drops is told of", records == 1 && last.hook == BH_HOOK_UPLINK &&
							   last.reason == BH_DROP_INGRESS &&
							   tells(HOST_WORLD, HOST_B, version));
}

/* More packets than one period's budget, in one go: some are kept back. */
static void flood(void)
{
	struct packet_spec spec = {.version = 4, TCP(A, OFFICE, 80)};
	struct __sk_buff skb = {
		.ifindex = packet_node_ifindex(FROM_A),
		.ingress_ifindex = packet_node_ifindex(FROM_A),
	};
	struct packet_frame frame;
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame.bytes, .ctx_in = &skb,
		    .ctx_size_in = sizeof(skb), .repeat = FLOOD);

	packet_build(&spec, &frame);
	run.data_size_in = frame.length;
	if (bpf_prog_test_run_opts(packet_node_program(FROM_A), &run)) {
		result("a flood", false);
		return;
	}
	look();
	result("a flood is told of in part", records && records < FLOOD);
}

int main(void)
{
	packet_node_open();
	ring = ring_buffer__new(packet_node_map("bh_events"), keep, NULL, NULL);
	if (!ring) {
		printf("not ok 1 - a reader of bh_events\n");
		return 1;
	}
	for (int version = 4; version <= 6; version += 2) {
		denied(version);
		denied(version); /* from the cache */
		allowed(version);
		allowed(version);
		others(version);
	}
	flood();
	printf("1..%d\n", number);
	ring_buffer__free(ring);
	return failed ? 1 : 0;
}
