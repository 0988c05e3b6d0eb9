// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random packets with the records of denied ones (maps/denial.h), and with each packet evaluated:
 * verdicts, reasons, counters and last drops must be the same, and the connections that are left.
 * A walk sends few packets often, which differ in one thing each, while policy changes.
 * BULKHEAD_SEED repeats a run.
 */
#include <bpf/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/iface.h"
#include "maps/past.h"
#include "maps/rule_hit.h"
#include "maps/tally.h"
#include "selftests/lib/packet_rows.h"
#include "selftests/lib/random.h"

#define WALKS 500 /* of each IP version */
#define STEPS 100
#define PACKETS 6 /* of one walk */
#define CPUS_MAX 256
#define RULES 64

static uint8_t version;
static bool good;
static int cpu;
static struct random dice;

static uint32_t below(uint32_t limit)
{
	return random_below(&dice, limit);
}

#define ONE_OF(...) RANDOM_ONE_OF(&dice, __VA_ARGS__)

struct sent {
	enum packet_hook hook;
	uint32_t ingress;
	struct packet_spec spec;
	struct packet_frame frame;
};

static uint32_t random_ingress(void)
{
	return packet_node_ifindex(ONE_OF(FROM_A, FROM_B, FROM_C, UPLINK));
}

static void random_packet(struct sent *sent)
{
	sent->spec = (struct packet_spec){
		.version = version,
		.from = ONE_OF(HOST_A, HOST_B, HOST_C, HOST_WORLD, HOST_OFFICE, HOST_NODE,
			       HOST_REMOTE, HOST_GATEWAY),
		.to = ONE_OF(HOST_A, HOST_B, HOST_B, HOST_WORLD, HOST_OFFICE, HOST_NODE,
			     HOST_REMOTE, HOST_MULTICAST),
		.protocol = ONE_OF(IPPROTO_TCP, IPPROTO_UDP),
		.sport = ONE_OF(40000, 6379, 443, 53),
		.dport = ONE_OF(80, 443, 700, 6379, 53),
		.flags = TCP_S,
	};
	sent->hook = ONE_OF(FROM_A, FROM_B, TO_A, TO_B, TO_B);
	sent->ingress = random_ingress();
	if (sent->hook == FROM_A || sent->hook == FROM_B) {
		sent->spec.from = sent->hook == FROM_A ? HOST_A : HOST_B;
		sent->ingress = packet_node_ifindex(sent->hook);
	}
}

static void swap_ends(struct packet_spec *spec)
{
	enum packet_host from = spec->from;
	uint16_t sport = spec->sport;

	spec->from = spec->to;
	spec->to = from;
	spec->sport = spec->dport;
	spec->dport = sport;
}

/* Makes the packet one that differs in one thing. */
static void random_difference(struct sent *sent)
{
	struct packet_spec *spec = &sent->spec;

	switch (below(9)) {
	case 0:
	case 1:
		swap_ends(spec);
		break;
	case 2:
		spec->flags = below(64);
		break;
	case 3:
		spec->payload = below(40);
		break;
	case 4:
		spec->dport = ONE_OF(80, 443, 700, 6379, 53);
		break;
	case 5:
		spec->foreign_mac = true;
		spec->mac = ONE_OF(HOST_A, HOST_B, HOST_NODE);
		break;
	case 6:
		sent->ingress = below(4) ? random_ingress() : 0;
		break;
	case 7:
		spec->vlans = below(2);
		spec->options = below(2);
		spec->fragment = spec->more = below(2);
		spec->doff = ONE_OF(0, 4);
		break;
	case 8:
		sent->hook = ONE_OF(FROM_A, FROM_B, TO_A, TO_B);
		break;
	}
}

static void random_packets(struct sent packets[PACKETS])
{
	for (int i = 0; i < PACKETS; i++) {
		struct sent *sent = &packets[i];

		if (i && below(3)) {
			*sent = packets[i - 1];
			random_difference(sent);
		} else {
			random_packet(sent);
		}
		packet_build(&sent->spec, &sent->frame);
		if (below(2)) /* both ends' packets may have one MAC */
			memcpy(sent->frame.bytes, packet_mac_of(HOST_NODE), 6);
	}
}

static void change(uint32_t which)
{
	bool back = which & 1;

	switch (which >> 1) {
	case 0:
		packet_node_assign(HOST_A, 5, back ? SLOT_A : SLOT_C);
		break;
	case 1:
		packet_node_assign(HOST_A, 5, back ? SLOT_A : SLOT_MUTE);
		break;
	case 2:
		packet_node_changes(true);
		packet_node_flag(FROM_A, BH_IFACE_AUDIT, !back);
		packet_node_changes(false);
		break;
	case 3:
		packet_node_changes(true);
		packet_node_flag(FROM_B, BH_IFACE_AUDIT, !back);
		packet_node_changes(false);
		break;
	}
}

#define CHANGE_KINDS 8

/* A step: the number of a packet; or PACKETS and more: a change. */
static void random_steps(uint8_t steps[STEPS])
{
	uint8_t last = 0;

	for (int i = 0; i < STEPS; i++) {
		if (!below(3))
			last = below(PACKETS);
		steps[i] = below(20) ? last : PACKETS + below(CHANGE_KINDS);
	}
}

/* What packets change and a reader sees, of this CPU. */
#define IFACES 3 /* A's, B's, C's */
struct figures {
	struct bh_counter counters[BH_REASONS];
	struct bh_rule_hit hits[RULES];
	struct bh_tally tallies[IFACES][BH_TALLY_WAYS];
};

/* The same, of which only the end of a walk counts. */
struct left {
	struct bh_past past[IFACES][BH_TALLY_WAYS];
	int connections, half_open;
};

/* Reads this CPU's value of a map of CPUs. */
static void read_own(const char *map, uint32_t key, void *value, size_t size)
{
	static uint8_t values[CPUS_MAX * sizeof(struct bh_tally)];

	good &= !bpf_map_lookup_elem(packet_node_map(map), &key, values);
	memcpy(value, values + cpu * size, size);
}

static void read_figures(struct figures *f)
{
	static const enum packet_hook hooks[IFACES] = {FROM_A, FROM_B, FROM_C};

	for (uint32_t i = 0; i < BH_REASONS; i++)
		read_own("bh_counters", i, &f->counters[i], sizeof(f->counters[i]));
	for (uint32_t i = 0; i < RULES; i++)
		read_own("bh_rule_hits", i, &f->hits[i], sizeof(f->hits[i]));
	for (int i = 0; i < IFACES; i++)
		for (uint32_t j = 0; j < BH_TALLY_WAYS; j++)
			read_own("bh_tallies", (packet_node_ifindex(hooks[i]) + j) % BH_TALLIES,
				 &f->tallies[i][j], sizeof(f->tallies[i][j]));
}

/* Reads the last drops, and forgets them. */
static void read_left(struct left *left)
{
	static const enum packet_hook hooks[IFACES] = {FROM_A, FROM_B, FROM_C};
	static const struct bh_past none;

	for (int i = 0; i < IFACES; i++)
		for (uint32_t j = 0; j < BH_TALLY_WAYS; j++) {
			struct bh_past *past = &left->past[i][j];
			uint32_t key = (packet_node_ifindex(hooks[i]) + j) % BH_TALLIES;

			good &= !bpf_map_lookup_elem(packet_node_map("bh_past"), &key, past) &&
				!bpf_map_update_elem(packet_node_map("bh_past"), &key, &none,
						     BPF_ANY);
			for (int k = 0; k < BH_PAST_DROPS; k++)
				past->drops[k].time = 0;
		}
	left->connections = packet_node_connections();
	left->half_open = packet_node_half_open();
}

struct outcome {
	struct packet_result results[STEPS];
	struct {
		struct figures figures;
		struct left left;
	} end;
};

/* Sends the packets of a walk. @evaluate: each without a record. */
static void walk(const struct sent packets[PACKETS], const uint8_t steps[STEPS], bool evaluate,
		 struct outcome *outcome)
{
	static struct figures before;
	uint64_t *after = (uint64_t *)&outcome->end.figures;

	for (uint32_t kind = 1; kind < CHANGE_KINDS; kind += 2)
		change(kind);
	packet_node_forget();
	read_left(&outcome->end.left);
	read_figures(&before);
	for (int i = 0; i < STEPS; i++) {
		const struct sent *sent = &packets[steps[i] % PACKETS];

		if (evaluate)
			packet_node_void_caches();
		if (steps[i] >= PACKETS)
			change(steps[i] - PACKETS);
		else
			outcome->results[i] = packet_node_run_frame(
				sent->hook, sent->frame.bytes, sent->frame.length, sent->ingress);
	}
	read_figures(&outcome->end.figures);
	for (size_t i = 0; i < sizeof(before) / sizeof(*after); i++)
		after[i] -= ((uint64_t *)&before)[i];
	read_left(&outcome->end.left);
}

static bool same_results(int number, const struct outcome *evaluated, const struct outcome *served)
{
	for (int i = 0; i < STEPS; i++) {
		const struct packet_result *a = &evaluated->results[i], *b = &served->results[i];

		if (a->passed == b->passed && a->reason == b->reason && a->audited == b->audited)
			continue;
		printf("# walk %d, IPv%d, step %d: reason %d if evaluated, %d else\n", number,
		       version, i, a->reason, b->reason);
		return false;
	}
	return true;
}

static void same(void)
{
	static struct outcome evaluated, served;
	struct sent packets[PACKETS];
	uint8_t steps[STEPS];

	for (int i = 0; i < WALKS && good; i++) {
		random_packets(packets);
		random_steps(steps);
		memset(&evaluated, 0, sizeof(evaluated));
		memset(&served, 0, sizeof(served));
		walk(packets, steps, true, &evaluated);
		walk(packets, steps, false, &served);
		good &= same_results(i, &evaluated, &served);
		if (good && memcmp(&evaluated.end, &served.end, sizeof(served.end)) != 0) {
			printf("# walk %d, IPv%d: what is counted or left differs\n", i, version);
			good = false;
		}
	}
}

static const struct packet_sequence sequences[] = {
	{"random packets count the same with the records of denied ones and without", same},
};

int main(void)
{
	const char *seed = getenv("BULKHEAD_SEED");

	dice.state = seed ? strtoull(seed, NULL, 0) : 0;
	cpu = packet_node_stay();
	return packet_sequences(sequences, sizeof(sequences) / sizeof(sequences[0]), &version,
				&good);
}
