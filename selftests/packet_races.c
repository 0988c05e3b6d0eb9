// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two packets of one connection, or of one bucket of the table, at one moment on two CPUs: no
 * change of an entry is lost, every connection counts once in its share, and connections go on.
 * Each race is run many times, with the CPUs a little apart from each other each time.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "selftests/lib/packet_rows.h"

#define ROUNDS 500
#define SKEW 64 /* the most turns of an empty loop that one CPU is late */

#define PACKET(...)          \
	(struct packet_spec) \
	{                    \
		__VA_ARGS__  \
	}
#define SYN PACKET(TCP(A, B, 80))
#define ANSWER \
	PACKET(TCP(B, A, 40000), .sport = 80, .flags = TCP_S | TCP_A, .seq = 5000, .ack = 1001)
#define ACK PACKET(TCP(A, B, 80), .flags = TCP_A, .seq = 1001, .ack = 5001)
#define QUESTION PACKET(UDP(A, B, 53))
#define REPLY PACKET(UDP(B, A, 40000), .sport = 53)

static uint8_t version;
static bool good;

/* One packet, and what became of it. */
struct side {
	enum packet_hook hook;
	struct packet_frame frame;
	uint32_t ingress;
	int passed;
};

static struct side sides[2];
static atomic_uint turn, done;
static unsigned int skew[2];

static void transmit(struct side *side)
{
	side->passed = packet_node_verdict(side->hook, side->frame.bytes, side->frame.length,
					   side->ingress);
}

/* Waits in a loop, so that both CPUs begin together; gives way to other processes now and then. */
static void await(atomic_uint *value, unsigned int is)
{
	for (unsigned int i = 1; atomic_load(value) != is; i++)
		if (i % 1000 == 0)
			sched_yield();
}

static void wait_for_turn(unsigned int which, unsigned int round)
{
	await(&turn, round);
	for (volatile unsigned int i = 0; i < skew[which]; i++)
		;
}

static cpu_set_t cpus; /* that the test may use */

static void pin(int nth)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &cpus) && !nth--)
			CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		perror("sched_setaffinity");
}

static void *other_cpu(void *unused)
{
	(void)unused;
	pin(1);
	for (unsigned int round = 1;; round++) {
		wait_for_turn(1, round);
		transmit(&sides[1]);
		atomic_store(&done, round);
	}
	return NULL;
}

/* Sends both packets at one moment. */
static void at_once(void)
{
	static unsigned int round;
	pthread_t thread;

	if (!round && pthread_create(&thread, NULL, other_cpu, NULL)) {
		perror("pthread_create");
		exit(1);
	}
	skew[0] = rand() % SKEW;
	skew[1] = rand() % SKEW;
	round++;
	atomic_store(&turn, round);
	wait_for_turn(0, round);
	transmit(&sides[0]);
	await(&done, round);
}

static void set_side(int which, enum packet_hook hook, struct packet_spec spec)
{
	sides[which].hook = hook;
	sides[which].ingress = hook == TO_A   ? packet_node_ifindex(FROM_B)
			       : hook == TO_B ? packet_node_ifindex(FROM_A)
					      : packet_node_ifindex(hook);
	spec.version = version;
	packet_build(&spec, &sides[which].frame);
}

static bool run(enum packet_hook hook, struct packet_spec spec)
{
	spec.version = version;
	return packet_node_run(hook, &spec, VIA_PEER).passed;
}

static void expect(const char *what, int round, bool holds)
{
	if (holds)
		return;
	if (good)
		printf("# IPv%d, round %d: not so: %s\n", version, round, what);
	good = false;
}

static void counted(int round)
{
	expect("each connection counts once in its share", round, !packet_node_miscounted());
}

static void open_tcp(void)
{
	run(FROM_A, SYN);
	run(TO_B, SYN);
	run(FROM_B, ANSWER);
	run(TO_A, ANSWER);
}

/* ---- the races ---- */

/* The end of a handshake: A's ACK at its own hook, and A's RST at B's. */
static void ack_and_reset(void)
{
	struct packet_spec reset = SYN;

	reset.flags = TCP_R;
	reset.seq = 1001;
	for (int i = 0; i < ROUNDS; i++) {
		packet_node_forget();
		open_tcp();
		set_side(0, FROM_A, ACK);
		set_side(1, TO_B, reset);
		at_once();
		expect("the ACK passes, or the RST has freed the entry", i,
		       sides[0].passed || !packet_node_connections());
		counted(i);
	}
}

static void two_fins(void)
{
	struct packet_spec mine = ACK, theirs = ANSWER;

	mine.flags = theirs.flags = TCP_F | TCP_A;
	theirs.seq = 5001;
	for (int i = 0; i < ROUNDS; i++) {
		packet_node_forget();
		open_tcp();
		run(FROM_A, ACK);
		run(TO_B, ACK);
		set_side(0, TO_B, mine);
		set_side(1, TO_A, theirs);
		at_once();
		expect("both FINs pass", i, sides[0].passed && sides[1].passed);
		expect("both FINs are noted", i,
		       (packet_node_states(IPPROTO_TCP) & BH_CT_FINS) == BH_CT_FINS);
		counted(i);
	}
}

/* A SYN that the network has doubled. */
static void two_syns(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		packet_node_forget();
		set_side(0, FROM_A, SYN);
		set_side(1, FROM_A, SYN);
		at_once();
		expect("both SYNs pass", i, sides[0].passed && sides[1].passed);
		expect("the handshake goes on", i,
		       run(TO_B, SYN) && run(FROM_B, ANSWER) && run(TO_A, ANSWER) &&
			       run(FROM_A, ACK) && run(TO_B, ACK));
		counted(i);
	}
}

/* Both hooks of one ACK, as another CPU takes the packet on. */
static void ack_at_both(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		packet_node_forget();
		open_tcp();
		set_side(0, FROM_A, ACK);
		set_side(1, TO_B, ACK);
		at_once();
		expect("the ACK passes both hooks", i, sides[0].passed && sides[1].passed);
		expect("the connection is open", i, !packet_node_half_open());
		counted(i);
	}
}

/* An answer of UDP, and the next question. */
static void answer_and_question(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		packet_node_forget();
		run(FROM_A, QUESTION);
		run(TO_B, QUESTION);
		set_side(0, FROM_B, REPLY);
		set_side(1, FROM_A, QUESTION);
		at_once();
		expect("both pass", i, sides[0].passed && sides[1].passed);
		run(FROM_A, QUESTION);
		expect("the connection is a stream", i,
		       !(packet_node_states(IPPROTO_UDP) & (BH_CT_HALF | BH_CT_ONCE)));
		counted(i);
	}
}

/* A full table: two new connections, or a new one and the answer of an old one. */
static void replacements(void)
{
	struct packet_spec first = QUESTION, second = QUESTION, reply = REPLY;

	packet_node_forget();
	packet_node_limit(8, 32);
	for (int i = 0; i < 10 * ROUNDS; i++) {
		first.sport = 1024 + i % 8192;
		second.sport = 20000 + i % 8192;
		reply.dport = 1024 + (i + 8190) % 8192;
		set_side(0, FROM_A, first);
		set_side(1, i % 3 ? FROM_A : FROM_B, i % 3 ? second : reply);
		at_once();
		if (i % 100 == 0)
			counted(i);
	}
	counted(10 * ROUNDS);
	expect("the table is not fuller than both floors, the room and an eighth", 10 * ROUNDS,
	       packet_node_connections() + packet_node_half_open() <= 2 * 8 + 32 + 256 / 8 + 4);
}

static const struct packet_sequence sequences[] = {
	{"an ACK and a RST that end one handshake", ack_and_reset},
	{"an ACK at both of its hooks", ack_at_both},
	{"the FINs of both ends", two_fins},
	{"one SYN twice", two_syns},
	{"an answer and the next question", answer_and_question},
	{"replacements in a full table", replacements},
};

int main(void)
{
	if (sched_getaffinity(0, sizeof(cpus), &cpus) || CPU_COUNT(&cpus) < 2) {
		printf("ok 1 - races # SKIP needs two CPUs\n");
		return 4;
	}
	pin(0);
	return packet_sequences(sequences, sizeof(sequences) / sizeof(sequences[0]), &version,
				&good);
}
