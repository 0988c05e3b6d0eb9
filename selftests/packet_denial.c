// SPDX-License-Identifier: GPL-2.0-only
/*
 * The record of a denied packet (maps/denial.h), which the second one of a flow leaves, serves the
 * next packet like it, for the rest of a jiffy, and no other packet.
 *
 * A case marks the records with a reason that no evaluation gives here: a packet that counts under
 * it was served by a record. A jiffy may end between any two packets, so each case has a witness: a
 * packet of another flow, denied first, twice, and sent again at the end. If its record still
 * serves it, the jiffy is the same; if not, the case is repeated.
 */
#include <bpf/bpf.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "maps/denial.h"
#include "maps/iface.h"
#include "maps/past.h"
#include "maps/rule_hit.h"
#include "maps/tally.h"
#include "selftests/lib/packet_rows.h"

#define TRIES 2000
#define CPUS_MAX 256
#define SLOTS (1 << BH_DENIAL_BITS)
#define MARK BH_DROP_MAPS

#define PACKET(...)          \
	(struct packet_spec) \
	{                    \
		__VA_ARGS__  \
	}
#define WITNESS PACKET(UDP(A, C, 7))

static uint8_t version;
static bool good;
static int cpu;

static struct bh_denials denials[CPUS_MAX];

static int run(enum packet_hook hook, struct packet_spec spec)
{
	spec.version = version;
	return packet_node_run(hook, &spec, VIA_PEER).reason;
}

/* Sends a packet that is denied, and one more, which leaves a record. */
static int denied_twice(enum packet_hook hook, struct packet_spec spec)
{
	run(hook, spec);
	return run(hook, spec);
}

static void expect(const char *what, int reason, int expected)
{
	if (reason == expected)
		return;
	printf("# %s, IPv%d: %d, not %d\n", what, version, reason, expected);
	good = false;
}

static void read_denials(void)
{
	uint32_t zero = 0;

	good &= !bpf_map_lookup_elem(packet_node_map("bh_denials"), &zero, denials);
}

static void write_denials(void)
{
	uint32_t zero = 0;

	good &= !bpf_map_update_elem(packet_node_map("bh_denials"), &zero, denials, BPF_ANY);
}

/* Returns how many records this CPU has, and calls @change for each. */
static int records(void (*change)(struct bh_denial *denial))
{
	int n = 0;

	read_denials();
	for (int i = 0; i < SLOTS; i++) {
		struct bh_denial *denial = &denials[cpu].slot[i];

		if (!denial->kept)
			continue;
		n++;
		if (change)
			change(denial);
	}
	if (change)
		write_denials();
	return n;
}

static void mark(struct bh_denial *denial)
{
	denial->event.reason = MARK;
}

/* Repeats @attempt, which returns a reason, until it runs within one jiffy: the witness, whose
 * record is marked before, is served after it. */
static void within_a_jiffy(const char *what, int (*attempt)(void), int expected)
{
	int reason;

	for (int i = 0; i < TRIES && good; i++) {
		packet_node_forget();
		denied_twice(FROM_A, WITNESS);
		records(mark);
		reason = attempt();
		if (run(FROM_A, WITNESS) == MARK) {
			expect(what, reason, expected);
			return;
		}
	}
	printf("# %s, IPv%d: no try was within a jiffy\n", what, version);
	good = false;
}

/* ---- it serves: without this, nothing below would show anything ---- */

static const struct denied {
	const char *name;
	enum packet_hook hook;
	struct packet_spec packet;
	int reason;
} denied[] = {
	{"a datagram, by the egress policy", FROM_A, {UDP(A, B, 700)}, BH_DROP_EGRESS},
	{"a datagram, by the ingress policy", TO_B, {UDP(A, B, 550)}, BH_DROP_INGRESS},
	{"a SYN, by the egress policy", FROM_A, {TCP(A, C, 80)}, BH_DROP_EGRESS},
	{"a SYN, by the ingress policy", TO_B, {TCP(A, B, 81)}, BH_DROP_INGRESS},
	{"a SYN with data", TO_B, {TCP(A, B, 81), .payload = 9}, BH_DROP_INGRESS},
	{"a SYN from outside", TO_B, {TCP(WORLD, B, 80)}, BH_DROP_INGRESS},
};
static const struct denied *flow;

static int again(void)
{
	expect(flow->name, denied_twice(flow->hook, flow->packet), flow->reason);
	records(mark);
	return run(flow->hook, flow->packet);
}

static void serves(void)
{
	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++) {
		flow = &denied[i];
		within_a_jiffy(flow->name, again, MARK);
	}
}

static void not_for_long(void)
{
	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++) {
		packet_node_forget();
		denied_twice(denied[i].hook, denied[i].packet);
		records(mark);
		usleep(20000);
		expect(denied[i].name, run(denied[i].hook, denied[i].packet), denied[i].reason);
	}
}

/* ---- what a record is about ---- */

static const struct {
	const char *name;
	size_t at;
} fields[] = {
	{"the lower address, high half", offsetof(struct bh_denial, key.addr[0][0])},
	{"the lower address, low half", offsetof(struct bh_denial, key.addr[0][1])},
	{"the higher address, high half", offsetof(struct bh_denial, key.addr[1][0])},
	{"the higher address, low half", offsetof(struct bh_denial, key.addr[1][1])},
	{"the lower address's port", offsetof(struct bh_denial, key.port[0])},
	{"the higher address's port", offsetof(struct bh_denial, key.port[1])},
	{"the protocol", offsetof(struct bh_denial, key.protocol)},
	{"the scope", offsetof(struct bh_denial, key.scope)},
	{"the hash and the jiffy", offsetof(struct bh_denial, kept)},
	{"the destination's MAC, first byte", offsetof(struct bh_denial, mac[0])},
	{"the destination's MAC, last byte", offsetof(struct bh_denial, mac[0]) + 5},
	{"the source's MAC, first byte", offsetof(struct bh_denial, mac[1])},
	{"the source's MAC, last byte", offsetof(struct bh_denial, mac[1]) + 5},
	{"the kernel's connection", offsetof(struct bh_denial, tracked)},
	{"a change of the maps", offsetof(struct bh_denial, changes)},
	{"the interface by which it came", offsetof(struct bh_denial, ingress)},
	{"the source", offsetof(struct bh_denial, event.source.word[3])},
	{"a record that is being written", offsetof(struct bh_denial, sequence)},
	{"the generation", offsetof(struct bh_denial, event.generation)},
	{"the interface", offsetof(struct bh_denial, event.ifindex)},
	{"the hook", offsetof(struct bh_denial, event.hook)},
};
static size_t field;

/* Makes the record one of another packet. The witness's record keeps its mark. */
static void differ(struct bh_denial *denial)
{
	if (denial->event.reason == MARK)
		return;
	mark(denial);
	((uint8_t *)denial)[fields[field].at] ^= 1;
}

static int another(void)
{
	denied_twice(flow->hook, flow->packet);
	records(differ);
	return run(flow->hook, flow->packet);
}

static void only_its_own(void)
{
	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++) {
		flow = &denied[i];
		for (field = 0; field < sizeof(fields) / sizeof(fields[0]); field++)
			within_a_jiffy(fields[field].name, another, flow->reason);
	}
}

/* Sends the packet from another MAC, which is a forgery. */
static int of_another_mac(void)
{
	struct packet_spec forged = denied[0].packet;

	denied_twice(FROM_A, forged);
	forged.foreign_mac = true;
	forged.mac = HOST_C;
	return run(FROM_A, forged);
}

/* B opens a connection by the ports of a datagram that A was denied: A may answer. */
static int an_answer(void)
{
	int reason = denied_twice(FROM_A, PACKET(UDP(A, B, 700)));

	expect("before", reason, BH_DROP_EGRESS);
	run(FROM_B, PACKET(UDP(B, A, 40000), .sport = 700));
	run(TO_A, PACKET(UDP(B, A, 40000), .sport = 700));
	run(FROM_A, PACKET(UDP(A, B, 700)));
	return run(TO_B, PACKET(UDP(A, B, 700)));
}

/* A packet from the other end, by the same MACs and ports. The node routes both to B. */
static int of_the_other_end(void)
{
	int reason = denied_twice(TO_B, PACKET(TCP(WORLD, OFFICE, 80), .sport = 6379));

	expect("before", reason, BH_DROP_INGRESS);
	return run(TO_B, PACKET(TCP(OFFICE, WORLD, 6379), .sport = 80));
}

/* The command has changed the maps, and the packet is allowed now. */
static int after_a_change(void)
{
	int reason;

	denied_twice(TO_B, PACKET(UDP(A, B, 550)));
	packet_node_assign(HOST_A, 5, SLOT_C);
	reason = run(TO_B, PACKET(UDP(A, B, 550)));
	packet_node_assign(HOST_A, 5, SLOT_A);
	return reason;
}

static void others(void)
{
	within_a_jiffy("from another MAC", of_another_mac, BH_DROP_MAC);
	within_a_jiffy("an answer", an_answer, BH_PASS_ESTABLISHED);
	within_a_jiffy("from the other end", of_the_other_end, BH_PASS_NEW);
	/* A change voids the witness's record, too: enough attempts are within a jiffy. */
	for (int i = 0; i < 50 && good; i++) {
		packet_node_forget();
		expect("after a change", after_a_change(), BH_PASS_NEW);
	}
}

/* ---- what leaves no record ---- */

static int only_once(void)
{
	int before = records(NULL);

	run(flow->hook, flow->packet);
	return records(NULL) - before;
}

static void leaves_none(void)
{
	static const struct denied none[] = {
		{"a segment without a connection",
		 TO_B,
		 {TCP(A, B, 80), .flags = TCP_A},
		 BH_DROP_NO_CONNECTION},
		{"a SYN-ACK without a connection",
		 TO_B,
		 {TCP(A, B, 81), .flags = TCP_S | TCP_A},
		 BH_DROP_NO_CONNECTION},
		{"a forged MAC",
		 FROM_A,
		 {UDP(A, B, 700), .foreign_mac = true, .mac = HOST_C},
		 BH_DROP_MAC},
		{"a tag", FROM_A, {UDP(A, B, 700), .vlans = 1}, BH_DROP_EGRESS},
		{"a first fragment",
		 FROM_A,
		 {UDP(A, B, 700), .payload = 64, .fragment = true, .more = true, .id = 7},
		 BH_DROP_EGRESS},
		{"SCTP", FROM_A, {SCTP(A, B, 81)}, BH_DROP_EGRESS},
		{"what passes", FROM_A, {UDP(A, B, 53)}, SILENT},
	};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		packet_node_forget();
		expect(none[i].name, run(none[i].hook, none[i].packet), none[i].reason);
		run(none[i].hook, none[i].packet);
		expect(none[i].name, records(NULL), 0);
	}
	flow = &denied[0];
	within_a_jiffy("the first packet of a flow", only_once, 0);
}

static void audited(void)
{
	packet_node_forget();
	packet_node_flag(FROM_A, BH_IFACE_AUDIT, true);
	denied_twice(FROM_A, PACKET(UDP(A, B, 700)));
	packet_node_flag(FROM_A, BH_IFACE_AUDIT, false);
	expect("a packet that audit lets pass", records(NULL), 0);
}

/* ---- what it counts ---- */

struct figures {
	uint64_t packets, bytes, hits, dropped, isolated, kept;
};

/* Reads the figures that a denied packet changes, of the interface of its hook. */
static void read_figures(struct figures *f)
{
	static struct bh_counter counters[CPUS_MAX];
	static struct bh_rule_hit hits[CPUS_MAX];
	static struct bh_tally tallies[CPUS_MAX];
	uint32_t reason = flow->reason, ifindex = packet_node_ifindex(flow->hook);
	struct bh_past past;

	memset(f, 0, sizeof(*f));
	good &= !bpf_map_lookup_elem(packet_node_map("bh_counters"), &reason, counters);
	f->packets = counters[cpu].packets[0] + counters[cpu].packets[1];
	f->bytes = counters[cpu].bytes[0] + counters[cpu].bytes[1];
	for (uint32_t i = 0; i < 64; i++) {
		good &= !bpf_map_lookup_elem(packet_node_map("bh_rule_hits"), &i, hits);
		f->hits += hits[cpu].count;
	}
	for (uint32_t i = 0; i < BH_TALLY_WAYS; i++) {
		uint32_t place = (ifindex + i) % BH_TALLIES;

		good &= !bpf_map_lookup_elem(packet_node_map("bh_tallies"), &place, tallies) &&
			!bpf_map_lookup_elem(packet_node_map("bh_past"), &place, &past);
		f->dropped += tallies[cpu].packets[0] + tallies[cpu].packets[1];
		f->isolated += tallies[cpu].isolated[0] + tallies[cpu].isolated[1];
		f->kept += past.next;
		for (int j = 0; j < BH_PAST_DROPS; j++)
			f->kept += past.drops[j].more;
	}
}

static void alike(const char *figure, uint64_t evaluated, uint64_t served)
{
	if (evaluated == served)
		return;
	printf("# %s, IPv%d: %s: %llu of an evaluated packet, %llu of a served one\n", flow->name,
	       version, figure, (unsigned long long)evaluated, (unsigned long long)served);
	good = false;
}

static struct figures figures[3];

/* Makes a record one of an earlier jiffy, so that the next packet is evaluated. */
static void outdate(struct bh_denial *denial)
{
	denial->kept -= denial->event.reason == MARK ? 0 : 1;
}

/* Sends a packet like the last drop, which is evaluated, and one that a record serves. That record
 * has no mark yet: the packet after it shows that there was one. */
static int count(void)
{
	denied_twice(flow->hook, flow->packet);
	records(outdate);
	read_figures(&figures[0]);
	run(flow->hook, flow->packet);
	read_figures(&figures[1]);
	run(flow->hook, flow->packet);
	read_figures(&figures[2]);
	records(mark);
	return run(flow->hook, flow->packet);
}

static void counts_each(void)
{
	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++) {
		struct figures *f = figures;

		flow = &denied[i];
		within_a_jiffy(flow->name, count, MARK);
		expect("packets", (int)(f[2].packets - f[0].packets), 2);
		alike("bytes", f[1].bytes - f[0].bytes, f[2].bytes - f[1].bytes);
		alike("rule hits", f[1].hits - f[0].hits, f[2].hits - f[1].hits);
		alike("drops", f[1].dropped - f[0].dropped, f[2].dropped - f[1].dropped);
		alike("isolated", f[1].isolated - f[0].isolated, f[2].isolated - f[1].isolated);
		alike("last drops", f[1].kept - f[0].kept, f[2].kept - f[1].kept);
	}
}

static const struct packet_sequence sequences[] = {
	{"the record of a denied packet serves the next one like it", serves},
	{"the record of a denied packet serves none of a later jiffy", not_for_long},
	{"the record of a denied packet serves none that differs", only_its_own},
	{"the record of a denied packet serves none that is allowed, or forged", others},
	{"only what policy denies to a new connection leaves a record", leaves_none},
	{"a packet that audit lets pass leaves no record", audited},
	{"a packet that a record serves counts as one that is evaluated", counts_each},
};

int main(void)
{
	cpu = packet_node_stay();
	return packet_sequences(sequences, sizeof(sequences) / sizeof(sequences[0]), &version,
				&good);
}
