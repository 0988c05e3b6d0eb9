// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two packets of one connection, or of one bucket of the table, at one moment on two CPUs: no
 * change of an entry is lost, every connection counts once in its share, and connections go on.
 * Each race is run many times, with the CPUs a little apart from each other each time. In the
 * streams, each CPU sends its packets without waiting for the other one.
 *
 * Each of these changes of the programs makes a race fail:
 *
 *   ct_change()       a plain store in place of the compare-and-swap; one try; no look at the tag
 *   table_hold()      the slot is made busy by a plain store
 *   tcp_replace()     does not look who clears BH_CT_HALF, or removes the waiting entry first
 *   table_free_slot() the same
 *   table_occupy()    takes the payer 0 of a slot that is being filled for its own success
 *   share_add(), share_sub(), share_surplus()  a plain addition, of a holder's surplus as well
 *   gc_free()         the slot is made busy by a plain store
 *   connection_word() a plain store in place of the compare-and-swap; no look whose the entry is
 *   connection_deny() a plain store of the state
 *   bh_forget_slot()  does not look at the tag once more; looks at the key instead
 *
 * Between some looks and what follows them are so few instructions that two busy CPUs seldom meet
 * there. The last sequences go on from such a point by a program of their own
 * (helpers/midway.bpf.c):
 *
 *   table_commit()     does not look for another entry of the key
 *   tcp_complete()     drops a segment whose handshake another CPU has ended
 *   tcp_open_beside()  does not search the table again
 *   connection_go_on() does not look whether another connection has the slot
 *   connection_move()  does not look once more
 *   tcp_answered()     stores the number of an end that has one
 *   connection_touch() stores the state before the age
 *   tcp_answer()       drops a copy whose handshake another CPU ends
 *   ct_note_ends()     decides by the state of before the FIN which of two FINs came first
 *   gc_free()          does not look a second time
 *   gc_free(), table_seize()  make the slot busy before they know that the connection has ended
 *   gc_slot(), table_victim() take a proposed tag for that of a connection
 *   table_seize()      does not compare the cost with that of the chosen connection
 *   connection_store() leaves a late word in an entry that another connection has got
 *
 * One change passes: table_fill() without the next incarnation. What becomes of an entry between
 * look and swap then may become of it before the first look as well, since a packet keeps the entry
 * that it has found.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "maps/forget.h"
#include "selftests/lib/packet_rows.h"
#include "selftests/lib/two_cpus.h"

#define ROUNDS 250
#define STREAM 10000 /* steps of each CPU */
#define DATA 10 /* bytes of a segment */
/* of them, before the table is emptied: connections in use are never replaced */
#define PART 1000

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

static void transmit(struct side *side)
{
	side->passed = packet_node_verdict(side->hook, side->frame.bytes, side->frame.length,
					   side->ingress);
}

static void transmit_side(unsigned int which)
{
	transmit(&sides[which]);
}

/* Sends both packets at one moment. */
static void at_once(void)
{
	two_cpus_run(transmit_side);
}

static void set_packet(struct side *side, enum packet_hook hook, struct packet_spec spec)
{
	side->hook = hook;
	side->ingress = hook == TO_A   ? packet_node_ifindex(FROM_B)
			: hook == TO_B ? packet_node_ifindex(FROM_A)
				       : packet_node_ifindex(hook);
	spec.version = version;
	packet_build(&spec, &side->frame);
}

static void set_side(int which, enum packet_hook hook, struct packet_spec spec)
{
	set_packet(&sides[which], hook, spec);
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
	packet_node_forget();
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
		open_tcp();
		set_side(0, FROM_A, ACK);
		set_side(1, TO_B, reset);
		at_once();
		expect("the ACK passes, or the RST has freed the entry", i,
		       sides[0].passed || !packet_node_connections());
		counted(i);
	}
}

/* Returns true if the table has a connection that both FINs have closed. */
static bool both_closed(void)
{
	return (packet_node_states(IPPROTO_TCP) & BH_CT_FINS) == BH_CT_FINS;
}

static void two_fins(void)
{
	struct packet_spec mine = ACK, theirs = ANSWER;

	mine.flags = theirs.flags = TCP_F | TCP_A;
	mine.payload = theirs.payload = DATA;
	theirs.seq = 5001;
	for (int i = 0; i < ROUNDS; i++) {
		open_tcp();
		run(FROM_A, ACK);
		run(TO_B, ACK);
		set_side(0, TO_B, mine);
		set_side(1, TO_A, theirs);
		at_once();
		expect("both FINs pass", i, sides[0].passed && sides[1].passed);
		expect("both FINs are noted", i, both_closed());
		mine.flags = theirs.flags = TCP_A;
		expect("data before the FINs come once more", i,
		       run(TO_B, mine) && run(TO_A, theirs));
		expect("and restore nothing", i, both_closed());
		mine.flags = theirs.flags = TCP_F | TCP_A;
		counted(i);
	}
}

static struct packet_spec numbered(struct packet_spec spec, uint32_t sequence,
				   uint32_t acknowledged)
{
	spec.seq = sequence;
	spec.ack = acknowledged;
	return spec;
}

/* Closes the connection of open_tcp(), and begins another one of the same ports: its SYN waits. */
static void open_again(void)
{
	struct packet_spec fin = ACK, answer = ANSWER, syn = numbered(SYN, 90000, 0);

	open_tcp();
	run(FROM_A, ACK);
	run(TO_B, ACK);
	fin.flags = TCP_F | TCP_A;
	run(FROM_A, fin);
	run(TO_B, fin);
	answer.flags = TCP_F | TCP_A;
	answer = numbered(answer, 5001, 1002);
	run(FROM_B, answer);
	run(TO_A, answer);
	run(FROM_A, syn);
	run(TO_B, syn);
	answer = numbered(ANSWER, 70000, 90001);
	run(FROM_B, answer);
	run(TO_A, answer);
}

/* Ports that are used again: the ACK that ends the handshake, and the first data, which another CPU
 * sends. */
static void ack_and_data(void)
{
	struct packet_spec ack = numbered(ACK, 90001, 70001), data = ack;

	data.payload = 10;
	for (int i = 0; i < ROUNDS; i++) {
		open_again();
		set_side(0, FROM_A, ack);
		set_side(1, FROM_A, data);
		at_once();
		expect("both pass", i, sides[0].passed && sides[1].passed);
		expect("the table has the connection once", i,
		       packet_node_connections() == 1 && !packet_node_half_open());
		expect("the connection goes on", i, run(TO_B, ack) && run(FROM_A, data));
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
		expect("the table has the connection once", i, packet_node_half_open() == 1);
		expect("the handshake goes on", i,
		       run(TO_B, SYN) && run(FROM_B, ANSWER) && run(TO_A, ANSWER) &&
			       run(FROM_A, ACK) && run(TO_B, ACK));
		counted(i);
	}
}

/* Both hooks of one ACK, as another CPU takes the packet on. */
static void ack_at_both(void)
{
	struct packet_spec reset = ACK;

	reset.flags = TCP_R;
	for (int i = 0; i < ROUNDS; i++) {
		open_tcp();
		set_side(0, FROM_A, ACK);
		set_side(1, TO_B, ACK);
		at_once();
		expect("the ACK passes both hooks", i, sides[0].passed && sides[1].passed);
		expect("the connection is open", i, !packet_node_half_open());
		expect("its RST counts", i,
		       run(TO_B, reset) && packet_node_states(IPPROTO_TCP) & BH_CT_RST);
		counted(i);
	}
}

/* An ACK that ends a handshake and that the network has doubled. */
static void two_acks(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		open_tcp();
		set_side(0, FROM_A, ACK);
		set_side(1, FROM_A, ACK);
		at_once();
		expect("both ACKs pass", i, sides[0].passed && sides[1].passed);
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

/* ---- streams ---- */

static struct stream {
	struct side packets[2]; /* sent in turn */
	uint32_t bit; /* of the state */
	unsigned int errors; /* packets after which something was wrong */
} streams[2];

static void expect_no_slip(const char *what)
{
	expect(what, streams[0].errors + streams[1].errors,
	       !streams[0].errors && !streams[1].errors);
	streams[0].errors = streams[1].errors = 0;
}

/* Gives a segment the sequence number that is @behind the first one. */
static void set_sequence(struct side *side, uint32_t first, uint32_t behind)
{
	const uint32_t number = htonl(first + behind);

	memcpy(side->frame.bytes + side->frame.l4 + 4, &number, sizeof(number));
}

static void toggle_bit(unsigned int which)
{
	struct stream *stream = &streams[which];

	for (unsigned int i = 0; i < STREAM; i++) {
		set_sequence(&stream->packets[i % 2], which ? 5001 : 1001, i / 2 * DATA);
		transmit(&stream->packets[i % 2]);
		stream->errors += !(i % 2) && !(packet_node_states(IPPROTO_TCP) & stream->bit);
	}
}

/* The FIN of an end sets the end's bit, and data behind it clear the bit if both are set. */
static void fin_and_data(void)
{
	struct packet_spec fins[] = {ACK, ANSWER}, data[] = {ACK, ANSWER};
	uint32_t noted;

	open_tcp();
	run(FROM_A, ACK);
	run(TO_B, ACK);
	fins[1].seq = data[1].seq = 5001;
	for (int i = 0; i < 2; i++) {
		fins[i].flags = TCP_F | TCP_A;
		data[i].flags = TCP_A;
		data[i].payload = DATA;
		set_packet(&streams[i].packets[0], i ? TO_A : TO_B, fins[i]);
		set_packet(&streams[i].packets[1], i ? TO_A : TO_B, data[i]);
		noted = packet_node_states(IPPROTO_TCP) & BH_CT_FINS;
		transmit(&streams[i].packets[0]);
		streams[i].bit = packet_node_states(IPPROTO_TCP) & BH_CT_FINS & ~noted;
	}
	two_cpus_run(toggle_bit);
	expect_no_slip("each FIN is noted");
}

static void send_in_turn(unsigned int which)
{
	struct stream *stream = &streams[which];

	for (unsigned int i = 0; i < 2 * STREAM; i++)
		transmit(&stream->packets[i % 2]);
}

/* Builds a SYN from a port of A's, and the RST by which A gives up. */
static void set_call(struct stream *stream, uint16_t port)
{
	struct packet_spec syn = SYN, reset = SYN;

	syn.sport = reset.sport = port;
	reset.flags = TCP_R;
	reset.seq = 1001;
	set_packet(&stream->packets[0], FROM_A, syn);
	set_packet(&stream->packets[1], TO_B, reset);
}

/* Finds a port from @port on whose connection is in the given bucket; -1: in any. Sets *@bucket to
 * the bucket. */
static uint16_t port_in(uint16_t port, int *bucket)
{
	struct stream stream;
	int wanted = *bucket;

	do {
		set_call(&stream, ++port);
		transmit(&stream.packets[0]);
		*bucket = packet_node_bucket();
		transmit(&stream.packets[1]);
	} while (wanted >= 0 && *bucket != wanted);
	return port;
}

/* Both add connections to one bucket and remove them again, all of them beyond the floor. */
static void calls_in_one_bucket(void)
{
	int bucket = -1;
	uint16_t port;

	packet_node_forget();
	packet_node_limit(0, 128);
	port = port_in(30000, &bucket);
	set_call(&streams[0], port);
	set_call(&streams[1], port_in(port, &bucket));
	two_cpus_run(send_in_turn);
	expect("every connection is removed", STREAM,
	       !packet_node_connections() && !packet_node_half_open());
	counted(STREAM);
}

static void one_call_twice(void)
{
	packet_node_forget();
	packet_node_limit(0, 128);
	set_call(&streams[0], 30000);
	set_call(&streams[1], 30000);
	two_cpus_run(send_in_turn);
	counted(STREAM);
}

#define PORTS 32
#define UNANSWERED 30000 /* the first of the ports of questions that nobody answers */

/* The ports of questions whose entries are in one bucket: of CPU 0 those that B answers and others;
 * of CPU 1. */
static uint16_t ports[3][PORTS];
static atomic_uint asked; /* the last port of CPU 0 that B answers */

static void set_port(struct side *side, size_t offset, uint16_t port)
{
	uint8_t *at = side->frame.bytes + side->frame.l4 + offset;

	at[0] = port >> 8;
	at[1] = port;
}

static void ask(struct side *question, uint16_t port)
{
	set_port(question, 0, port);
	transmit(question);
}

/* CPU 0 asks. CPU 1 answers the last question of CPU 0, and asks as well. */
static void ask_and_answer(unsigned int which)
{
	struct stream *stream = &streams[which];

	for (unsigned int i = 0; i < PART; i++) {
		if (which) {
			set_port(&stream->packets[1], 2, atomic_load(&asked));
			transmit(&stream->packets[1]);
			ask(&stream->packets[0], ports[2][i % PORTS]);
		} else {
			ask(&stream->packets[0], ports[0][i % PORTS]);
			atomic_store(&asked, ports[0][i % PORTS]);
			ask(&stream->packets[0], ports[1][i % PORTS]);
		}
		stream->errors += !!(packet_node_port_states(UNANSWERED) & BH_CT_ONCE) +
				  packet_node_damaged();
	}
}

/* Finds ports from @port on whose questions have their entries in the bucket. */
static void find_ports(struct side *question, uint16_t port, int bucket, uint16_t found[PORTS])
{
	for (int n = 0; n < PORTS; port++) {
		packet_node_forget_quietly();
		ask(question, port);
		if (packet_node_bucket() == bucket)
			found[n++] = port;
	}
}

/* Finds ports of questions whose entries are in one bucket. */
static struct side *ports_of_one_bucket(void)
{
	struct side *question = &streams[0].packets[0];
	int bucket;

	packet_node_forget();
	set_packet(question, TO_B, QUESTION);
	ask(question, 1024);
	bucket = packet_node_bucket();
	find_ports(question, 1024, bucket, ports[0]);
	find_ports(question, UNANSWERED, bucket, ports[1]);
	find_ports(question, ports[1][PORTS - 1] + 1, bucket, ports[2]);
	return question;
}

/* The share has the entries of one bucket: each new connection replaces another one there. */
static void replacements(void)
{
	ports_of_one_bucket();
	set_packet(&streams[1].packets[0], TO_B, QUESTION);
	set_packet(&streams[1].packets[1], FROM_B, REPLY);
	atomic_store(&asked, ports[0][0]);
	for (int i = 0; i < STREAM; i += PART) {
		packet_node_forget();
		packet_node_limit(BH_CT_SLOTS, 1);
		two_cpus_run(ask_and_answer);
		counted(i);
	}
	expect_no_slip("no answer is noted in another connection, and no entry is damaged");
	/* B has a share as well: an answer to a question that was replaced opens a connection. */
	expect("the table is not fuller than both floors, the room and an eighth", STREAM,
	       packet_node_connections() + packet_node_half_open() <=
		       2 * BH_CT_SLOTS + 1 + 256 / 8 + 4);
}

/* ---- the garbage collector ---- */

/* Here half-open connections are over for the garbage collector, and open ones of TCP are not. */
#define AHEAD PACKET_SECONDS(1000)

static atomic_bool sending;

/* CPU 0 sends, and CPU 1 collects meanwhile. */
static void send_amid_collection(unsigned int which)
{
	if (!which) {
		send_in_turn(0);
		atomic_store(&sending, false);
	}
	while (which && atomic_load(&sending))
		packet_node_collect(AHEAD);
}

/* A connection that the garbage collector frees, and its RST as well. Another one is open. */
static void calls_and_collection(void)
{
	open_tcp();
	run(FROM_A, ACK);
	run(TO_B, ACK);
	packet_node_limit(0, 128);
	set_call(&streams[0], 30000);
	for (int i = 0; i < STREAM; i += PART) {
		atomic_store(&sending, true);
		two_cpus_run(send_amid_collection);
		counted(i);
	}
	expect("the open connection is alive", STREAM,
	       packet_node_connections() == 1 && run(FROM_A, ACK));
	expect("every other connection is removed", STREAM, !packet_node_half_open());
	expect("no entry is damaged", STREAM, !packet_node_damaged());
}

/* ---- connections that are evaluated again ---- */

#define GENERATIONS \
	5 /* the first of two, in which B is open to A; in the second it may be closed */
#define TURNS 9 /* of each connection */

/* CPU 0 has the connections of one bucket evaluated at both generations, the first one at the end.
 * The connections of CPU 1 take the slots meanwhile. */
static void evaluate_and_replace(unsigned int which)
{
	struct side *question = &streams[which].packets[0];

	for (unsigned int i = 0; !which && i < PART; i++) {
		for (unsigned int n = 0; n < TURNS; n++) {
			packet_node_set_generation(GENERATIONS + n % 2);
			ask(question, ports[0][i % PORTS]);
		}
	}
	if (!which)
		atomic_store(&sending, false);
	for (unsigned int i = 0; which && atomic_load(&sending); i++) {
		ask(question, ports[1][i % PORTS]);
		streams[1].errors += packet_node_damaged() +
				     !!(packet_node_port_states(UNANSWERED) & BH_CT_DENIED);
	}
}

static void evaluations(uint32_t slot)
{
	struct side *question = &streams[0].packets[0], *other = &streams[1].packets[0];
	int bucket;

	packet_node_forget();
	packet_node_assign(HOST_B, GENERATIONS + 1, slot);
	set_packet(question, TO_B, QUESTION);
	set_packet(other, FROM_A, PACKET(UDP(A, REMOTE, 53)));
	ask(question, 1024);
	bucket = packet_node_bucket();
	find_ports(question, 1024, bucket, ports[0]);
	find_ports(other, UNANSWERED, bucket, ports[1]);
	for (int i = 0; i < STREAM; i += PART) {
		packet_node_forget();
		packet_node_limit(BH_CT_SLOTS, 1);
		atomic_store(&sending, true);
		two_cpus_run(evaluate_and_replace);
		counted(i);
	}
	expect_no_slip("no word and no denial is noted in another connection");
	packet_node_assign(HOST_B, GENERATIONS + 1, SLOT_B);
	packet_node_set_generation(GENERATIONS);
}

static void words_and_replacements(void)
{
	evaluations(SLOT_B);
}

static void denials_and_replacements(void)
{
	evaluations(SLOT_CLOSED);
}

/* ---- endpoints that are deleted ---- */

static struct bh_forget gone; /* B's address; `forgotten` as the program counts */
static uint32_t gone_bucket;

/* Returns how many connections of the bucket that have nothing to do with B are void. */
static unsigned int voided(void)
{
	struct bh_ct_group *table = packet_node_table(&(uint32_t){0});
	unsigned int n = 0;

	for (int i = 0; i < BH_CT_SLOTS; i++) {
		const volatile uint32_t *tag = &bh_ct_bucket(table, gone_bucket)->tag[i];
		const struct bh_ct_slot *slot = &bh_ct_slots(table, gone_bucket)[i];
		uint32_t was = *tag;
		const volatile __u64 *word = &slot->ct.verdict[BH_EGRESS];
		bool is_void = !*word && !bh_forget_has(&gone, &slot->key);

		__asm__ volatile("" ::: "memory");
		n += bh_ct_is_filled(was) && is_void && *tag == was;
	}
	return n;
}

/* CPU 0 asks B and somebody else in turn, and each question takes a slot of the bucket. CPU 1 voids
 * the connections of B meanwhile, as the command does. */
static void ask_and_forget(unsigned int which)
{
	struct bh_ct_group *table = packet_node_table(&(uint32_t){0});

	for (unsigned int i = 0; !which && i < STREAM; i++) {
		ask(&streams[0].packets[0], ports[0][i % PORTS]);
		ask(&streams[0].packets[1], ports[1][i % PORTS]);
	}
	if (!which)
		atomic_store(&sending, false);
	while (which && atomic_load(&sending)) {
		for (int i = 0; i < BH_CT_SLOTS; i++)
			gone.forgotten +=
				bh_forget_slot(&gone, &bh_ct_bucket(table, gone_bucket)->tag[i],
					       &bh_ct_slots(table, gone_bucket)[i]);
		streams[1].errors += voided();
	}
}

static void forgotten_and_replaced(void)
{
	struct side *question = &streams[0].packets[0], *other = &streams[0].packets[1];
	const struct bh_ct_key *key;
	struct bh_addr own;

	packet_node_forget();
	set_packet(other, FROM_A, PACKET(UDP(A, REMOTE, 53)));
	set_packet(question, TO_B, QUESTION);
	ask(question, 1024);
	gone_bucket = packet_node_bucket();
	/* the address of this key that the next one does not have */
	key = &bh_ct_slots(packet_node_table(&(uint32_t){0}), gone_bucket)[0].key;
	memcpy(gone.addr, key->addr, sizeof(key->addr));
	find_ports(question, 1024, gone_bucket, ports[0]);
	find_ports(other, UNANSWERED, gone_bucket, ports[1]);
	memcpy(&own, &gone.addr[0], sizeof(own));
	if (bh_forget_is(key, &own))
		gone.addr[0] = gone.addr[1];
	for (int i = 1; i < BH_FORGET_ADDRESSES; i++)
		gone.addr[i] = gone.addr[0];
	gone.forgotten = 0;
	for (int i = 0; i < STREAM; i += PART) {
		packet_node_forget();
		packet_node_limit(BH_CT_SLOTS, 1);
		atomic_store(&sending, true);
		two_cpus_run(ask_and_forget);
		counted(i);
	}
	expect("connections of B are voided", STREAM, gone.forgotten > 0);
	expect_no_slip("nobody else's connection is void");
}

/* A program may read the payer of a slot while another program fills the slot: such a slot is not
 * this program's. */
static void slots_being_filled(void)
{
	struct side *question = ports_of_one_bucket();
	int entries;

	packet_node_forget();
	packet_node_limit(BH_CT_SLOTS, 1);
	for (int i = 0; i < PORTS; i++)
		ask(question, ports[0][i]);
	packet_node_age(20); /* beyond unanswered-stay: a new connection replaces one of them */
	entries = packet_node_half_open();
	ask(question, ports[1][0]);
	expect("a new connection replaces another one", 0, packet_node_half_open() == entries);
	packet_node_payers_unknown();
	ask(question, ports[1][1]);
	expect("it takes a free slot, not one that is being filled", 0,
	       packet_node_half_open() == entries + 1);
}

/* ---- points between two instructions, at which the other CPU has acted ---- */

static enum bh_reason midway(enum packet_midway point, struct packet_spec spec)
{
	spec.version = version;
	return packet_node_midway(point, FROM_A, &spec);
}

/* Two CPUs have not found a connection, and each inserts it. */
static void inserted_twice(void)
{
	static const enum packet_midway points[] = {MIDWAY_COMMIT_IN_TURN, MIDWAY_COMMIT_AT_ONCE};

	for (int i = 0; i < 2; i++) {
		packet_node_forget();
		midway(points[i], SYN);
		expect("the table has the connection once", i, packet_node_half_open() == 1);
		counted(i);
	}
}

/* A second ACK ends the handshake that another CPU has ended since the ACK found it half-open. */
static void opened_meanwhile(void)
{
	open_tcp();
	expect("an ACK of another number does not end the handshake", 0,
	       bh_reason_drops(midway(MIDWAY_COMPLETE, numbered(ACK, 1001, 99))));
	run(FROM_A, ACK);
	expect("the second ACK passes", 0, !bh_reason_drops(midway(MIDWAY_COMPLETE, ACK)));
	expect("the connection is open", 0, packet_node_connections() == 1);
	counted(0);
}

/* A SYN finds the entry of its copy, which loses its slot then. */
static void lost_beside_copy(void)
{
	packet_node_forget();
	run(FROM_A, SYN);
	expect("the SYN passes", 0, !bh_reason_drops(midway(MIDWAY_OPEN_BESIDE_LOST, SYN)));
	expect("a further copy passes", 0, run(FROM_A, SYN));
	expect("the copies have one entry", 0, packet_node_half_open() == 1);
	expect("a SYN of another number passes", 0, run(FROM_A, numbered(SYN, 90000, 0)));
	expect("it waits beside that entry", 0, packet_node_half_open() == 2);
	counted(0);
}

/* A packet has found its entry, whose slot another connection has got. */
static void lost_when_found(void)
{
	open_tcp();
	run(FROM_A, ACK);
	expect("the packet passes without an entry of its hook's own", 0,
	       !bh_reason_drops(midway(MIDWAY_AGAIN_ANOTHERS, ACK)));
	counted(0);
}

/* An entry is found to be of others, after names have been asked for the flow that it stands for.
 */
static void named_for_others(void)
{
	expect("what names allow does not count for a key of the hook's own", 0,
	       !bh_reason_drops(midway(MIDWAY_ASK_OF_OTHERS, ACK)));
}

/* The entry of a connection that the peer's names have allowed is gone, and its packet would open
 * one the other way round. */
static void named_for_peer(void)
{
	expect("the peer's names do not count for the packet's sender, whose own do", 0,
	       !bh_reason_drops(midway(MIDWAY_NAMES_OF_PEER, ACK)));
}

/* B has an entry of the node's call. To the kernel's conntrack, the same address and ports are of
 * somebody behind the node by now, who may call B or not. */
static void error_to_another(void)
{
	struct packet_spec call = {.version = version,
				   .from = HOST_NODE,
				   .to = HOST_B,
				   .protocol = IPPROTO_UDP,
				   .sport = 40000,
				   .dport = 53,
				   .payload = 8};
	struct packet_spec error = {.version = version,
				    .from = HOST_B,
				    .to = HOST_NODE,
				    .protocol = version == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6,
				    .type = version == 4 ? 3 : 1,
				    .code = version == 4 ? 3 : 4,
				    .quoted = &call};

	packet_node_forget();
	expect("the node calls B", 0, packet_node_run(TO_B, &call, VIA_NOWHERE).passed);
	expect("an error to whom B's policy denies does not pass", 0,
	       bh_reason_drops(packet_node_midway(MIDWAY_ERROR_TO_WORLD, FROM_B, &error)));
	expect("an error to whom it allows passes", 0,
	       packet_node_midway(MIDWAY_ERROR_TO_C, FROM_B, &error) == BH_PASS_RELATED);
}

/* A SYN-ACK is noted late: its connection has lost the slot to one that begins. */
static void late_answer(void)
{
	packet_node_forget();
	run(FROM_A, SYN);
	run(TO_B, SYN);
	midway(MIDWAY_ANSWER_ANOTHERS, SYN);
	expect("the other connection's handshake goes on", 0,
	       run(FROM_B, ANSWER) && run(TO_A, ANSWER) && run(FROM_A, ACK) && run(TO_B, ACK));
	expect("and opens the connection", 0, packet_node_connections() == 1);
	counted(0);
}

/* Another CPU finds a connection that was idle for longer than one that was reset lives, while a
 * RST of the connection is noted. */
static void reset_while_idle(void)
{
	struct packet_spec reset = ACK;

	reset.flags = TCP_R;
	open_tcp();
	run(FROM_A, ACK);
	run(TO_B, ACK);
	packet_node_age(PACKET_SECONDS(600));
	expect("the connection lives at each moment", 0,
	       !bh_reason_drops(midway(MIDWAY_TOUCH, reset)));
	expect("the RST is noted", 0, packet_node_states(IPPROTO_TCP) & BH_CT_RST);
	expect("a further RST passes", 0, run(TO_B, reset));
	packet_node_age(PACKET_SECONDS(600));
	expect("a connection that has timed out is found to have", 0,
	       bh_reason_drops(midway(MIDWAY_TOUCH, reset)));
}

/* A copy of a SYN-ACK comes while the ACK ends the handshake, of ports that are used again. */
static void answer_while_opened(void)
{
	struct packet_spec answer = numbered(ANSWER, 70000, 90001);

	answer.version = version;
	open_again();
	expect("the copy passes", 0,
	       !bh_reason_drops(packet_node_midway(MIDWAY_ANSWER_OPENED, FROM_B, &answer)));
}

/* A FIN whose program has read the state before the other end's FIN came. */
static void fins_that_cross(void)
{
	struct packet_spec mine = ACK, theirs = ANSWER;

	mine.payload = theirs.payload = DATA;
	theirs.seq = 5001;
	open_tcp();
	run(FROM_A, ACK);
	run(TO_B, ACK);
	theirs.flags = mine.flags = TCP_F | TCP_A;
	run(FROM_B, theirs);
	run(TO_A, theirs);
	midway(MIDWAY_FIN_CROSSES, mine);
	expect("both FINs are noted", 0, both_closed());
	theirs.flags = mine.flags = TCP_A;
	expect("A's data before its FIN come once more", 0, run(TO_B, mine));
	expect("and restore nothing", 0, both_closed());
	expect("B's data before its FIN come once more", 0, run(TO_A, theirs));
	expect("and restore nothing", 0, both_closed());
	mine.seq += DATA;
	expect("data behind a FIN restore the connection", 0, run(TO_B, mine) && !both_closed());
}

/* The garbage collector takes an entry whose time is over, and looks once more. */
static void lives_again(void)
{
	open_tcp();
	midway(MIDWAY_FREE, ACK);
	expect("a connection that has gone on stays", 0, packet_node_half_open() == 1);
	expect("and goes on", 0, run(FROM_A, ACK) && run(TO_B, ACK));
	counted(0);
	open_tcp();
	packet_node_age(PACKET_SECONDS(1000));
	midway(MIDWAY_FREE, ACK);
	expect("one whose time is over is freed", 0, !packet_node_half_open());
	counted(0);
}

/* A connection goes on while one CPU frees or replaces it. The other CPU's packets find it at each
 * moment: else one would be dropped, or insert it a second time. */
static void found_at_each_moment(void)
{
	static const enum packet_midway points[] = {MIDWAY_FREE_AMID_PACKETS,
						    MIDWAY_OCCUPY_AMID_PACKETS};

	for (int i = 0; i < 2; i++) {
		open_tcp();
		expect("each packet finds the connection", i,
		       !bh_reason_drops(midway(points[i], ACK)));
		expect("the table has it, open", i, packet_node_connections() == 1);
		expect("it goes on", i, run(FROM_A, ACK) && run(TO_B, ACK));
		counted(i);
	}
}

static void inserted_amid_others(void)
{
	packet_node_forget();
	expect("others leave a connection alone that is being inserted", 0,
	       !bh_reason_drops(midway(MIDWAY_INSERT_AMID_OTHERS, SYN)));
	expect("the table has it", 0, packet_node_half_open() == 1);
	counted(0);
}

/* Two programs have chosen the same connection to be replaced, and one has replaced it. */
static void chosen_twice(void)
{
	packet_node_forget();
	run(FROM_A, SYN);
	midway(MIDWAY_OCCUPY_NEWER, SYN);
	expect("the one that has got the slot stays", 0, packet_node_half_open() == 1);
	counted(0);
	packet_node_forget();
	run(FROM_A, SYN);
	midway(MIDWAY_OCCUPY_CHOSEN, SYN);
	expect("one that was chosen goes", 0, !packet_node_half_open());
	counted(0);
}

/* The word of the responder's end comes late: its connection has lost the slot. */
static void late_word(void)
{
	packet_node_forget();
	run(FROM_A, SYN);
	expect("a SYN at its sender's hook has no word of the responder's", 0,
	       packet_node_half_open() == 1 && !packet_node_ingress_words());
	midway(MIDWAY_STORE_ANOTHERS, SYN);
	expect("no word stays in another connection's entry", 0, !packet_node_ingress_words());
	midway(MIDWAY_STORE_OWN, SYN);
	expect("a word stays in the entry of its connection", 0, packet_node_ingress_words() == 1);
	open_tcp();
	expect("an open connection has it", 0, packet_node_ingress_words() == 1);
	midway(MIDWAY_EVALUATE_ANOTHERS, ACK);
	expect("a word replaces none of another connection's", 0,
	       packet_node_ingress_words() == 1 && !packet_node_damaged());
	midway(MIDWAY_EVALUATE_MOVED, ACK);
	expect("nor does that of a connection that has moved", 0,
	       packet_node_ingress_words() == 1 && !packet_node_damaged());
}

/* The interfaces of a connection whose end has become an endpoint's come late. */
static void late_interface(void)
{
	open_tcp();
	expect("the entry gets the interface, and no other connection's does", 0,
	       !bh_reason_drops(midway(MIDWAY_MOVE, ACK)));
	expect("the connection goes on", 0, run(FROM_A, ACK) && run(TO_B, ACK));
}

static const struct packet_sequence sequences[] = {
	{"an ACK and a RST that end one handshake", ack_and_reset},
	{"an ACK at both of its hooks", ack_at_both},
	{"one ACK twice", two_acks},
	{"the FINs of both ends", two_fins},
	{"one SYN twice", two_syns},
	{"an ACK and the data after it, of ports that are used again", ack_and_data},
	{"an answer and the next question", answer_and_question},
	{"a stream of FINs and data from both ends", fin_and_data},
	{"streams of connections in one bucket", calls_in_one_bucket},
	{"one stream of connections twice", one_call_twice},
	{"a stream of replacements in a full table", replacements},
	{"connections of a deleted endpoint that are replaced", forgotten_and_replaced},
	{"slots that another program is filling", slots_being_filled},
	{"a stream of connections amid garbage collection", calls_and_collection},
	{"words of connections that are replaced", words_and_replacements},
	{"denials of connections that are replaced", denials_and_replacements},
	{"one connection that two CPUs insert", inserted_twice},
	{"an ACK whose handshake has just ended", opened_meanwhile},
	{"a SYN whose copy's entry has just gone", lost_beside_copy},
	{"a packet whose entry has just gone", lost_when_found},
	{"names that are asked for a connection of others", named_for_others},
	{"names that are asked for a connection of the peer's", named_for_peer},
	{"an ICMP error about a call that is another's by now", error_to_another},
	{"a SYN-ACK that comes late", late_answer},
	{"an idle connection whose RST another CPU notes", reset_while_idle},
	{"a SYN-ACK while its handshake ends", answer_while_opened},
	{"FINs that cross", fins_that_cross},
	{"a connection that goes on while it is freed", lives_again},
	{"packets of a connection that is to be freed or replaced", found_at_each_moment},
	{"a connection that is being inserted", inserted_amid_others},
	{"a slot that two CPUs choose", chosen_twice},
	{"a word that comes late", late_word},
	{"an interface that comes late", late_interface},
};

int main(void)
{
	size_t n = sizeof(sequences) / sizeof(sequences[0]);

	if (!two_cpus_begin()) {
		printf("ok 1 - races # SKIP needs two CPUs\n");
		return 4;
	}
	two_cpus_pin(0);
	return packet_sequences(sequences, n, &version, &good);
}
