/* SPDX-License-Identifier: GPL-2.0-only */
/* Events: the records of the ring buffer, and the hits of rules. */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "maps/iface.h"
#include "maps/reader.h"
#include "maps/rule_hit.h"
#include "maps/tally.h"
#include "selftests/lib/packet_rows.h"

#define FLOOD 40000 /* packets; the programs' default is 1,000 records a second */
#define FLOOD_LATE 4000 /* packets; few, so that it is over before the budget is filled again */
#define PLACES 2 /* readers */
#define SMALL_RING (1u << 16) /* bytes; more than a flood's first records fill half of */

/* State of each reader. */
struct seen {
	struct ring_buffer *ring;
	struct bh_event last;
	int records; /* records since the last look */
};

static struct seen seen[PLACES], *const all = &seen[0];

static struct bh_readers *readers;
static int *number, failed;

static int keep(void *data, void *record, size_t size)
{
	struct seen *at = data;

	if (size != sizeof(at->last))
		return -1;
	memcpy(&at->last, record, sizeof(at->last));
	at->records++;
	return 0;
}

static void look(void)
{
	for (int i = 0; i < PLACES; i++) {
		seen[i].records = 0;
		memset(&seen[i].last, 0, sizeof(seen[i].last));
		ring_buffer__consume(seen[i].ring);
	}
}

/* Installs a reader without a filter at the place. */
static int read_at(uint32_t place, uint32_t bytes)
{
	int ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, bytes, NULL);

	if (ring < 0 || bpf_map_update_elem(packet_node_map("bh_rings"), &place, &ring, BPF_ANY))
		return -1;
	seen[place].ring = ring_buffer__new(ring, keep, &seen[place], NULL);
	readers->reader[place].filter.reasons[0] = readers->reader[place].filter.reasons[1] = ~0ull;
	readers->reader[place].lease = UINT64_MAX;
	__atomic_or_fetch(&readers->active, 1ull << place, __ATOMIC_SEQ_CST);
	return seen[place].ring ? 0 : -1;
}

static void result(const char *name, bool good)
{
	failed += !good;
	printf("%s %d - event: %s\n", good ? "ok" : "not ok", ++*number, name);
}

static bool tells(enum packet_host from, enum packet_host to, uint8_t version)
{
	struct bh_addr source = packet_address_of(from, version);
	struct bh_addr destination = packet_address_of(to, version);

	return !memcmp(&all->last.source, &source, sizeof(source)) &&
	       !memcmp(&all->last.destination, &destination, sizeof(destination));
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
	result("a denied packet makes an event",
	       all->records == 1 && tells(HOST_A, HOST_OFFICE, version) &&
		       all->last.source_port == htons(40000) &&
		       all->last.destination_port == htons(80) &&
		       all->last.protocol == IPPROTO_TCP &&
		       all->last.hook == BH_HOOK_FROM_ENDPOINT &&
		       all->last.reason == BH_DROP_EGRESS && !all->last.flags &&
		       all->last.generation == 5 &&
		       all->last.ifindex == packet_node_ifindex(FROM_A) &&
		       all->last.length == (version == 4 ? 54 : 74));
	result("the event of a denied packet has the rule that decided",
	       all->last.verdict[BH_EGRESS] == bh_verdict(false, BH_TIER_ADMIN, 6) &&
		       !all->last.verdict[BH_INGRESS]);
	result("the rule that decided counts the packet", hits(6) == before + 1);
}

static void allowed(uint8_t version)
{
	struct packet_spec spec = {.version = version, UDP(A, B, 53)};
	struct packet_spec reply = {.version = version, UDP(B, A, 40000), .sport = 53};
	uint64_t before = hits(9);

	packet_node_forget();
	packet_node_run(FROM_A, &spec, VIA_PEER);
	look();
	result("the source's hook leaves it to the destination's", !all->records);
	packet_node_run(TO_B, &spec, VIA_PEER);
	look();
	result("a connection that opens makes one event",
	       all->records == 1 && tells(HOST_A, HOST_B, version) &&
		       all->last.reason == BH_PASS_NEW && all->last.hook == BH_HOOK_TO_ENDPOINT &&
		       bh_verdict_rule(all->last.verdict[BH_INGRESS]) == 9);
	packet_node_run(TO_B, &spec, VIA_PEER);
	packet_node_run(FROM_B, &reply, VIA_PEER);
	packet_node_run(TO_A, &reply, VIA_PEER);
	look();
	result("later packets of the connection make no event", !all->records);
	result("later packets of the connection do not count for its rule", hits(9) == before + 1);
}

static void others(uint8_t version)
{
	struct packet_spec spec = {.version = version, TCP(A, OFFICE, 80)};
	struct packet_spec broken = {.version = version, TCP(A, B, 80), .vlans = 3};
	struct packet_spec syn = {.version = version, TCP(WORLD, B, 80)};

	packet_node_flag(FROM_A, BH_IFACE_AUDIT, true);
	packet_node_run(FROM_A, &spec, VIA_PEER);
	look();
	result("the event of an audited packet says so",
	       all->records == 1 && all->last.flags == BH_EVENT_AUDIT &&
		       all->last.reason == BH_DROP_EGRESS);
	packet_node_flag(FROM_A, BH_IFACE_AUDIT, false);
	packet_node_run(FROM_A, &broken, VIA_PEER);
	look();
	result("the event of a packet without addresses says so",
	       all->records == 1 && all->last.flags == BH_EVENT_NO_PACKET &&
		       all->last.reason == BH_DROP_VLAN);
	packet_node_run(UPLINK, &syn, VIA_PEER);
	look();
	result("a drop at the uplink makes an event",
	       all->records == 1 && all->last.hook == BH_HOOK_UPLINK &&
		       all->last.reason == BH_DROP_INGRESS && tells(HOST_WORLD, HOST_B, version));
}

/* An ICMP error tells of the flow that it is about, in its own direction: the ends are the quoted
 * packet's, turned, and so are their ports. */
static void icmp_error(uint8_t version)
{
	struct packet_spec quoted = {.version = version, UDP(A, B, 54)};
	struct packet_spec error = {.version = version,
				    .from = HOST_B,
				    .to = HOST_A,
				    .protocol = version == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6,
				    .type = version == 4 ? 3 : 2,
				    .code = version == 4 ? 4 : 0,
				    .quoted = &quoted};

	packet_node_run(FROM_B, &error, VIA_PEER);
	look();
	result("the event of an ICMP error has each end with its own port",
	       all->records == 1 && tells(HOST_B, HOST_A, version) &&
		       all->last.source_port == htons(54) &&
		       all->last.destination_port == htons(40000));
	result("the event of an ICMP error has the port that the quoted packet was sent to",
	       all->last.protocol == IPPROTO_UDP && all->last.flags == BH_EVENT_REPLY &&
		       all->last.reason == BH_DROP_UNRELATED);
}

/* Sends one packet many times. */
static int repeat(enum packet_hook hook, const struct packet_spec *spec, int times)
{
	struct __sk_buff skb = {
		.ifindex = packet_node_ifindex(hook),
		.ingress_ifindex = packet_node_ifindex(hook),
	};
	struct packet_frame frame;
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame.bytes, .ctx_in = &skb,
		    .ctx_size_in = sizeof(skb), .repeat = times);

	packet_build(spec, &frame);
	run.data_size_in = frame.length;
	return bpf_prog_test_run_opts(packet_node_program(hook), &run) ? -1 : 0;
}

/* The place of an interface; interfaces are few here, so each has its own. */
static uint32_t place_of(uint32_t ifindex)
{
	return ifindex % BH_TALLIES;
}

static struct bh_tally tally_of(uint32_t ifindex)
{
	int cpus = libbpf_num_possible_cpus();
	struct bh_tally *values = calloc(cpus, sizeof(*values)), sum = {};
	uint32_t place = place_of(ifindex);

	if (values && !bpf_map_lookup_elem(packet_node_map("bh_tallies"), &place, values))
		for (int i = 0; i < 2 * cpus; i++) {
			const struct bh_tally *at = &values[i / 2];

			sum.packets[i % 2] += at->packets[i % 2];
			sum.bytes[i % 2] += at->bytes[i % 2];
			for (int reader = 0; reader < BH_READERS; reader++)
				sum.budget[i % 2][reader].suppressed +=
					at->budget[i % 2][reader].suppressed;
		}
	free(values);
	return sum;
}

static void forget_tally(uint32_t ifindex)
{
	struct bh_tally *none = calloc(libbpf_num_possible_cpus(), sizeof(*none));
	uint32_t place = place_of(ifindex);

	if (none)
		bpf_map_update_elem(packet_node_map("bh_tallies"), &place, none, BPF_ANY);
	free(none);
}

/*
 * Sends more packets than one endpoint's budget: some of its events are suppressed, none of another
 * endpoint's.
 */
static void flood(uint8_t version)
{
	const uint32_t noisy = packet_node_ifindex(FROM_A);
	struct packet_spec spec = {.version = version, TCP(A, OFFICE, 80)};
	struct packet_spec other = {.version = version, TCP(UNASSIGNED, B, 80)};
	struct packet_spec outside = {.version = version, TCP(WORLD, B, 80)};
	struct bh_tally before = tally_of(noisy), after;
	uint64_t suppressed;

	look();
	result("a flood", !repeat(FROM_A, &spec, FLOOD));
	packet_node_run(FROM_UNASSIGNED, &other, VIA_PEER);
	packet_node_run(TO_B, &outside, VIA_UPLINK);
	look();
	after = tally_of(noisy);
	suppressed = after.budget[BH_EGRESS][0].suppressed - before.budget[BH_EGRESS][0].suppressed;
	result("some packets of a flood make no event", suppressed && suppressed < FLOOD);
	result("packets without an event count as suppressed, in their endpoint's budget",
	       all->records - 2 + suppressed == FLOOD && all->records > 2);
	result("the flood does not count as isolation, since a rule denied",
	       after.isolated[BH_EGRESS] == before.isolated[BH_EGRESS]);
	result("the whole flood counts as sent by that endpoint",
	       after.packets[BH_EGRESS] == before.packets[BH_EGRESS] + FLOOD &&
		       after.packets[BH_INGRESS] == before.packets[BH_INGRESS]);
	result("the next drop of another endpoint makes an event",
	       all->last.reason == BH_DROP_INGRESS && tells(HOST_WORLD, HOST_B, version));
	for (int i = 0; i < 40; i++)
		packet_node_run(FROM_UNASSIGNED, &other, VIA_PEER);
	look();
	result("the next forty drops of that endpoint make events", all->records == 40);
	forget_tally(noisy); /* later packets are A's, too */
}

/* Returns true if two readers got the same record. Each reader has its own copy of the clock, which
 * may be a jiffy behind the other's (reader_now()). */
static bool same_record(const struct bh_event *a, const struct bh_event *b)
{
	return !memcmp(&a->source, &b->source, sizeof(*a) - offsetof(struct bh_event, source));
}

static double seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* Sends a flood that no reader reads meanwhile, and then forty drops of another endpoint. Sets
 * *quick if both came within a part of the second in which a budget is filled again. */
static bool flood_late(const struct packet_spec *spec, const struct packet_spec *other, bool *quick)
{
	const double begin = seconds();
	bool sent;

	look();
	forget_tally(packet_node_ifindex(FROM_A));
	sent = !repeat(FROM_A, spec, FLOOD_LATE);
	for (int i = 0; i < 40; i++)
		packet_node_run(FROM_UNASSIGNED, other, VIA_PEER);
	*quick = seconds() - begin < 0.3;
	return sent;
}

/*
 * A flood that no reader reads meanwhile leaves room in the second reader's ring for the events of
 * another endpoint. On a machine that is busy with something else, a flood may be so slow that its
 * endpoint's budget is filled again and again: it is none, and is sent once more, a hundred times
 * at most.
 */
static void late(uint8_t version)
{
	const uint32_t noisy = packet_node_ifindex(FROM_A);
	struct packet_spec spec = {.version = version, TCP(A, OFFICE, 80)};
	struct packet_spec other = {.version = version, TCP(UNASSIGNED, B, 80)};
	bool sent = true, quick = false;
	uint64_t lost = 0;

	memset(&readers->reader[1].filter, 0, sizeof(readers->reader[1].filter));
	readers->reader[1].filter.reasons[0] = ~0ull;
	for (int tries = 0; tries < 100 && sent && !quick; tries++) {
		look();
		lost = readers->reader[1].lost;
		sent = flood_late(&spec, &other, &quick);
	}
	result("a flood while the second reader is late", sent);
	look();
	result("the late reader gets some of the flood's events",
	       seen[1].records > 40 && seen[1].records < all->records);
	result("the late reader gets the other endpoint's last event",
	       tells(HOST_UNASSIGNED, HOST_B, version) && same_record(&seen[1].last, &all->last));
	result("no event finds the late reader's ring full", readers->reader[1].lost == lost);
	forget_tally(noisy);
}

/* Sets the second reader's filter and checks whether the reader gets the packet's event. */
static void asks(const char *name, const struct bh_filter *filter, const struct packet_spec *spec,
		 bool takes)
{
	readers->reader[1].filter = *filter;
	look();
	packet_node_run(FROM_A, spec, VIA_PEER);
	look();
	result(name, all->records == 1 && seen[1].records == takes);
}

static struct bh_block block_of(enum packet_host host, uint8_t version)
{
	struct bh_block block = {.value = packet_address_of(host, version)};

	memset(&block.mask, 0xff, sizeof(block.mask));
	return block;
}

#define OF(...) (&(struct bh_filter){.reasons = {~0ull, ~0ull}, __VA_ARGS__})

static void filters(uint8_t version)
{
	struct packet_spec spec = {.version = version, TCP(A, OFFICE, 80)};
	const struct bh_block a = block_of(HOST_A, version), b = block_of(HOST_B, version);

	asks("a filter takes an event of its reason",
	     &(struct bh_filter){.reasons = {1ull << BH_DROP_EGRESS}}, &spec, true);
	asks("a filter takes no event of another reason",
	     &(struct bh_filter){.reasons = {~(1ull << BH_DROP_EGRESS), ~0ull}}, &spec, false);
	asks("a filter takes an event of its port", OF(.flags = BH_FILTER_PORT, .port = htons(80)),
	     &spec, true);
	asks("a filter takes no event of another port",
	     OF(.flags = BH_FILTER_PORT, .port = htons(81)), &spec, false);
	asks("a filter takes an event of its protocol",
	     OF(.flags = BH_FILTER_PROTOCOL, .protocol = IPPROTO_TCP), &spec, true);
	asks("a filter takes no event of another protocol",
	     OF(.flags = BH_FILTER_PROTOCOL, .protocol = IPPROTO_UDP), &spec, false);
	asks("a filter takes an event with its address", OF(.blocks = BH_END_EITHER, .block = {a}),
	     &spec, true);
	asks("a filter takes no event with another address",
	     OF(.blocks = BH_END_EITHER, .block = {b}), &spec, false);
	asks("a filter takes an event with its source",
	     OF(.blocks = BH_END_SOURCE, .block = {[1] = a}), &spec, true);
	asks("a filter takes no event with its source as the destination",
	     OF(.blocks = BH_END_DESTINATION, .block = {[2] = a}), &spec, false);
	asks("a filter takes an event with both its ends",
	     OF(.blocks = BH_END_SOURCE | BH_END_DESTINATION,
		.block = {[1] = a, [2] = block_of(HOST_OFFICE, version)}),
	     &spec, true);
	asks("a filter takes no event with one of its two ends",
	     OF(.blocks = BH_END_SOURCE | BH_END_DESTINATION, .block = {[1] = a, [2] = b}), &spec,
	     false);
}

/* Makes the second reader's map name an end; returns nonzero if the map refuses. */
static int name_end(const struct bh_addr *key, uint8_t as)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
	int ends =
		bpf_map_create(BPF_MAP_TYPE_HASH, "ends", sizeof(*key), sizeof(as), 16, &options);
	uint32_t place = 1;
	int error = ends < 0 || bpf_map_update_elem(ends, key, &as, BPF_ANY) ||
		    bpf_map_update_elem(packet_node_map("bh_reader_ends"), &place, &ends, BPF_ANY);

	close(ends);
	return error;
}

static void names(uint8_t version)
{
	const struct bh_addr a = bh_end_iface(packet_node_ifindex(FROM_A));
	const struct bh_addr office = packet_address_of(HOST_OFFICE, version);
	struct packet_spec spec = {.version = version, TCP(A, OFFICE, 80)};
	struct packet_spec broken = {.version = version, TCP(A, B, 80), .vlans = 3};
	struct packet_spec forged = {.version = version, TCP(B, OFFICE, 80)};

	result("an endpoint goes by its interface", !name_end(&a, BH_END_EITHER));
	asks("a filter takes an event of a named interface", OF(.named = BH_END_EITHER), &spec,
	     true);
	asks("a filter takes a broken packet of a named interface", OF(.named = BH_END_EITHER),
	     &broken, true);
	asks("a filter takes a forged packet of a named interface", OF(.named = BH_END_EITHER),
	     &forged, true);
	asks("a filter by source takes no event of an interface named as either end",
	     OF(.named = BH_END_SOURCE), &spec, false);
	result("the other end goes by its address", !name_end(&office, BH_END_DESTINATION));
	asks("a filter takes an event to a named destination", OF(.named = BH_END_DESTINATION),
	     &spec, true);
	asks("a filter takes an event to a named destination or to a block",
	     OF(.named = BH_END_DESTINATION, .blocks = BH_END_DESTINATION,
		.block = {[2] = block_of(HOST_B, version)}),
	     &spec, true);
	asks("a filter by either end takes no event of an end that is named as a destination",
	     OF(.named = BH_END_EITHER), &spec, false);
	asks("a filter takes no event to a named destination from outside its source block",
	     OF(.named = BH_END_DESTINATION, .blocks = BH_END_SOURCE,
		.block = {[1] = block_of(HOST_B, version)}),
	     &spec, false);
}

/* Counts the records that the programs have written to the first reader. */
static uint64_t written_so_far(void)
{
	struct bh_written values[512];
	uint64_t sum = 0;
	__u32 place = 0;

	if (bpf_map_lookup_elem(packet_node_map("bh_written"), &place, values))
		return 0;
	for (int i = 0; i < libbpf_num_possible_cpus(); i++)
		sum += values[i].records;
	return sum;
}

/* The programs write no event to a place without a living reader. */
static void absent(void)
{
	struct packet_spec spec = {.version = 4, TCP(A, OFFICE, 80)};
	uint64_t written = written_so_far();

	readers->active = 1;
	packet_node_run(FROM_A, &spec, VIA_PEER);
	look();
	result("a record is counted", all->records == 1 && written_so_far() == written + 1);
	readers->active = 0;
	packet_node_run(FROM_A, &spec, VIA_PEER);
	look();
	result("without a reader no record is written",
	       !all->records && written_so_far() == written + 1);
	readers->active = 1;
	readers->reader[0].lease = 1;
	packet_node_run(FROM_A, &spec, VIA_PEER);
	look();
	result("a reader whose lease is over gets none", !all->records);
	result("a reader whose lease is over is taken out", !readers->active);
}

int packet_event(int *at)
{
	number = at;
	readers = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED,
		       packet_node_map("bh_readers"), 0);
	if (readers == MAP_FAILED || read_at(0, BH_RING_BYTES) || read_at(1, SMALL_RING)) {
		result("two readers", false);
		return failed;
	}
	for (int version = 4; version <= 6; version += 2) {
		denied(version);
		denied(version); /* from the verdict cache */
		allowed(version);
		allowed(version);
		others(version);
		icmp_error(version);
		filters(version);
		names(version);
		flood(version);
		late(version);
	}
	absent();
	return failed;
}
