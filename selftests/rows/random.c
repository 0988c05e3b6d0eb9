/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random and mutated frames through each program; a second implementation of the verdicts
 * (packet_reading.h) must agree, on a node without connections and with open ones. BULKHEAD_SEED
 * repeats a run; BULKHEAD_FULL=1 makes a long run, BULKHEAD_SMALL=1 a short one.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "selftests/lib/packet_reading.h"
#include "selftests/lib/packet_rows.h"
#include "selftests/lib/random.h"

#define FRAMES 5000000
#define FRAMES_OPEN 1000000 /* slower: most pass, and the connections are restored */
#define SAMPLE 50 /* a sample runs one of fifty frames */
#define FRAMES_SMALL 4000
#define DIFFERENCES 5 /* to print */

static struct random dice;

static uint32_t below(uint32_t limit)
{
	return random_below(&dice, limit);
}

#define ONE_OF(...) RANDOM_ONE_OF(&dice, __VA_ARGS__)

static void random_ports(struct packet_spec *spec)
{
	spec->sport = ONE_OF(68, 40000, 53, 80);
	spec->dport = ONE_OF(0, 1, 53, 54, 67, 79, 80, 81, 443, 500, 549, 550, 599, 600, 900, 1023,
			     1024, 6379, 7946, 8080, 65535);
	if (!below(8))
		spec->dport = below(65536);
	spec->flags = below(4) ? TCP_S : below(64);
	spec->payload = ONE_OF(0, 0, 4, 8, 16, 40, 100);
}

static void random_icmp(struct packet_spec *spec)
{
	static struct packet_spec quoted;

	if (spec->version == 4)
		spec->type = ONE_OF(0, 3, 4, 5, 8, 11, 13, 14, 30);
	else
		spec->type = ONE_OF(1, 2, 3, 128, 129, 130, 131, 133, 134, 135, 136, 137, 143, 200);
	spec->hop_limit = ONE_OF(1, 64, 255, 255, 255);
	spec->target = below(2) ? 1 + below(HOSTS) : 0;
	if (below(2) && (spec->version == 4 || spec->type < 128)) {
		quoted = (struct packet_spec){.from = spec->to,
					      .to = spec->from,
					      .version = spec->version,
					      .protocol = IPPROTO_UDP};
		spec->quoted = &quoted;
	}
}

static void random_fragment(struct packet_spec *spec)
{
	spec->fragment = true;
	spec->more = below(2);
	spec->fragment_at = ONE_OF(0, 0, 8, 1480, 65528);
	spec->id = below(3);
}

static void random_form(struct packet_spec *spec)
{
	if (!below(8))
		spec->vlans = below(4);
	if (!below(16))
		spec->ethertype = ONE_OF(0x0806, 0x0806, 0x88cc, 46);
	if (!below(4))
		spec->options = below(11);
	for (int i = 0, n = below(4) ? 0 : below(10); i < n; i++)
		spec->extensions[i] = ONE_OF(EXTENSION_HOP_BY_HOP, IPPROTO_DSTOPTS, IPPROTO_ROUTING,
					     IPPROTO_FRAGMENT, IPPROTO_AH);
	spec->segments = !below(8);
	if (!below(6))
		random_fragment(spec);
}

static void random_spec(struct packet_spec *spec, enum packet_hook hook)
{
	memset(spec, 0, sizeof(*spec));
	spec->version = ONE_OF(4, 6);
	spec->from = hook == FROM_A && below(4) ? HOST_A : (int)below(HOSTS);
	spec->to = hook != FROM_A && below(4) ? HOST_B : (int)below(HOSTS);
	spec->foreign_mac = hook == FROM_A && below(2);
	spec->mac = below(8) ? HOST_A : HOST_C;
	spec->protocol = ONE_OF(IPPROTO_TCP, IPPROTO_TCP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDP,
				IPPROTO_SCTP, IPPROTO_ICMP, IPPROTO_ICMPV6, IPPROTO_GRE, 59);
	random_ports(spec);
	if (spec->protocol == IPPROTO_ICMP || spec->protocol == IPPROTO_ICMPV6)
		random_icmp(spec);
	random_form(spec);
}

/* The connections of packet_open(). */
static const struct packet_spec known[] = {
	{TCP(A, B, 80), .version = 4},
	{UDP(A, B, 53), .version = 4},
	{TCP(A, B, 80), .version = 6},
	{UDP(A, B, 53), .version = 6},
	{.version = 0},
};

static void random_known(struct packet_spec *spec)
{
	*spec = known[below(4)];
	if (!below(8)) {
		spec->from = HOST_B;
		spec->to = HOST_A;
		spec->sport = spec->dport;
		spec->dport = 40000;
	}
	spec->flags = below(4) ? TCP_A | below(2) * TCP_P : below(64);
	spec->payload = ONE_OF(0, 0, 4, 8, 16, 40, 100);
	spec->foreign_mac = !below(16);
	spec->mac = HOST_C;
	if (!below(3))
		random_form(spec);
}

/* Changes a frame as a faulty link or an attacker may. */
static void mutate(struct packet_frame *frame)
{
	if (below(2))
		return;
	for (int n = below(4); n; n--)
		frame->bytes[12 + below(below(2) ? 60 : frame->length - 12)] = below(256);
	if (!below(4))
		frame->bytes[frame->l3 + below(60)] ^= 1 << below(8);
	if (!below(4))
		frame->length = 15 + below(frame->length - 14);
	else if (!below(8))
		frame->length += below(64);
}

static void random_frame(struct packet_frame *frame, enum packet_hook hook, bool open)
{
	struct packet_spec spec;

	memset(frame->bytes, 0, sizeof(frame->bytes));
	if (open)
		random_known(&spec);
	else
		random_spec(&spec, hook);
	packet_build(&spec, frame);
	mutate(frame);
	if (below(64))
		return;
	frame->length = 15 + below(200);
	for (size_t i = 0; i < frame->length; i++)
		frame->bytes[i] = below(256);
}

static void print_difference(enum packet_hook hook, const struct packet_frame *frame, uint64_t seed,
			     uint32_t ingress, bool passed)
{
	printf("# seed %llu, %s, came in by %u: %s:", (unsigned long long)seed,
	       packet_hook_names[hook], ingress, passed ? "passed" : "dropped");
	for (size_t i = 0; i < frame->length; i++)
		printf("%s%02x", i % 16 ? "" : " ", frame->bytes[i]);
	printf("\n");
}

/* Returns how many verdicts differ from packet_reading_passes(). */
static uint32_t compare(enum packet_hook hook, bool open, uint32_t frames, uint32_t *passed)
{
	const uint32_t ways[] = {packet_node_ifindex(FROM_A),
				 packet_node_ifindex(UPLINK),
				 0,
				 packet_node_ifindex(FROM_B),
				 packet_node_ifindex(FROM_C),
				 PACKET_BRIDGE,
				 PACKET_OTHER};
	struct packet_frame frame;
	uint32_t differences = 0;

	*passed = 0;
	open ? packet_node_restore() : packet_node_forget();
	for (uint32_t i = 0; i < frames; i++) {
		uint64_t seed = dice.state;
		uint32_t ingress = hook == FROM_A ? ways[0] : ways[below(7)];
		int verdict;

		random_frame(&frame, hook, open);
		verdict = packet_node_verdict(hook, frame.bytes, frame.length, ingress);
		if (verdict < 0) /* the kernel refuses the frame for a test run */
			continue;
		*passed += verdict;
		if (verdict != packet_reading_passes(hook, frame.bytes, frame.length, ingress,
						     open ? known : NULL) &&
		    differences++ < DIFFERENCES)
			print_difference(hook, &frame, seed, ingress, verdict);
		if (verdict && hook < UPLINK)
			open ? packet_node_restore() : packet_node_forget();
	}
	return differences;
}

int packet_random(int *number)
{
	static const struct {
		const char *what;
		enum packet_hook hook;
		bool open;
		uint32_t frames;
	} runs[] = {
		{"frames", FROM_A, false, FRAMES},
		{"frames", TO_B, false, FRAMES},
		{"frames", UPLINK, false, FRAMES},
		{"frames", UPLINK_TC, false, FRAMES},
		{"frames of open connections", FROM_A, true, FRAMES_OPEN},
		{"frames of open connections", TO_B, true, FRAMES_OPEN},
	};
	const char *seed = getenv("BULKHEAD_SEED");
	uint32_t frames, passed, differences;
	int failed = 0;

	if (!packet_open(4) || !packet_open(6)) {
		printf("not ok %d - random: connections open\n", ++*number);
		return 1;
	}
	packet_node_save();
	dice.state = seed ? strtoull(seed, NULL, 0) : 1;
	printf("# BULKHEAD_SEED=%llu\n", (unsigned long long)dice.state);
	dice.state <<= 20; /* seeds that follow one another share no state */
	for (int i = 0; i < 6; i++) {
		frames = runs[i].frames;
		if (getenv("BULKHEAD_SMALL"))
			frames = FRAMES_SMALL;
		else if (!getenv("BULKHEAD_FULL"))
			frames /= SAMPLE;
		differences = compare(runs[i].hook, runs[i].open, frames, &passed);
		/* At least 2 % of the frames must pass and 2 % be dropped. */
		bool good = !differences && passed > frames / 50 && passed < frames - frames / 50;

		failed += !good;
		printf("# %u of %u passed, %u differ\n", passed, frames, differences);
		printf("%s %d - random: %s %s\n", good ? "ok" : "not ok", ++*number, runs[i].what,
		       packet_hook_names[runs[i].hook]);
	}
	return failed;
}
