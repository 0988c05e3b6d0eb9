// SPDX-License-Identifier: GPL-2.0-only
/*
 * Floods of many endpoints at once: eighteen flooded ones, nine and a hundred flooding ones. A
 * flood is four times what the table holds. Amid it everybody connects. The floor holds for the
 * node and for a bystander: each of their attempts succeeds, and what they open lives on. So does
 * what was open to the flood's endpoints. The flood has used up their floors, so their attempts,
 * and those of their clients, may be refused: one that holds more than all others needs an entry of
 * its own among sixteen slots.
 *
 * The flood shortens no timeout within a floor. A namespace is one holder: the flood of a hundred
 * endpoints of one namespace leaves to a holder of less what it has once asked and been answered.
 *
 * share_is_below() that is always false makes each flood fail; so does share_yields() in which
 * equal holders do not yield, by the count of what is refused; the last one fails if each endpoint
 * is its own holder.
 */
#include <stdio.h>
#include <string.h>

#include "selftests/lib/packet_rows.h"
#include "selftests/lib/party.h"

#define ROOM 4096
#define CROWD 100
#define ENDPOINTS 4 /* beside the crowd, as packet_node.h has it */
#define FLOOD (4 * ROOM)
#define PARTS 2 /* of the flood, after each of which everybody connects */
#define FLIGHT 16 /* packets of the flood from one packet of a handshake to the next one */
/* Attempts to open a connection beyond the floor. Of a hundred holders, the one that holds most
 * finds an entry of its own in 15 % of them. */
#define TRIES 200
#define REFUSED 6 /* at most one in so many packets of the flood */
#define FIRST_PORT 1024
#define PORTS 60000 /* of one source */

static uint8_t version;
static bool good;
static uint32_t endpoints, flooded; /* of the crowd, in this flood; packets of it so far */
static bool inward; /* the crowd is flooded, and does not flood */
static uint16_t port; /* of the connection that opened last */

static void expect(const char *what, uint32_t nth, bool holds)
{
	if (!holds && good)
		printf("# IPv%d, endpoint %u, %u packets: not so: %s\n", version, nth, flooded,
		       what);
	good &= holds;
}

static struct packet_spec segment(uint16_t from, uint16_t to, uint8_t flags, uint32_t seq,
				  uint32_t ack, uint16_t payload)
{
	return (struct packet_spec){.version = version,
				    .protocol = IPPROTO_TCP,
				    .sport = from,
				    .dport = to,
				    .flags = flags,
				    .seq = seq,
				    .ack = ack,
				    .payload = payload};
}

static bool talks(const struct party *from, const struct party *to, uint16_t own, uint16_t called)
{
	return party_sends(from, to, segment(own, called, TCP_P | TCP_A, 1001, 5001, 10)) &&
	       party_sends(to, from, segment(called, own, TCP_P | TCP_A, 5001, 1011, 10));
}

/* Sends the nth packet of the flood, each from another port: SYNs from outside, or an endpoint's
 * datagrams to its node. */
static void flood_once(void)
{
	const struct party node = {.host = HOST_NODE}, pod = {HOST_C, flooded % endpoints};
	uint16_t own = FIRST_PORT + flooded / endpoints % PORTS;
	const struct party outside = {HOST_WORLD, 1 + flooded % 1000};
	const struct packet_spec datagram = {.version = version,
					     .protocol = IPPROTO_UDP,
					     .sport = own,
					     .dport = 9,
					     .payload = 16};

	flooded++;
	if (inward)
		party_sends(&outside, &pod, segment(own, 80, TCP_S, 1000, 0, 0));
	else
		party_sends(&pod, &node, datagram);
}

static void flood(uint32_t packets)
{
	for (uint32_t i = 0; i < packets; i++)
		flood_once();
}

/* Opens a connection from a port of its own, amid so many packets of the flood, and sends data both
 * ways. */
static bool connects_amid(const struct party *from, const struct party *to, uint16_t called,
			  uint32_t packets)
{
	port++;
	if (!party_sends(from, to, segment(port, called, TCP_S, 1000, 0, 0)))
		return false;
	flood(packets);
	if (!party_sends(to, from, segment(called, port, TCP_S | TCP_A, 5000, 1001, 0)))
		return false;
	flood(packets);
	return party_sends(from, to, segment(port, called, TCP_A, 1001, 5001, 0)) &&
	       talks(from, to, port, called);
}

static bool connects(const struct party *from, const struct party *to, uint16_t called)
{
	return connects_amid(from, to, called, FLIGHT);
}

static bool connects_at_last(const struct party *from, const struct party *to, uint16_t called)
{
	bool done = false;

	for (int i = 0; i < TRIES && !done; i++)
		done = connects(from, to, called);
	return done;
}

static const struct party node = {.host = HOST_NODE}, client = {.host = HOST_WORLD};
static const struct party a = {.host = HOST_A}, b = {.host = HOST_B};

static void everybody_connects(void)
{
	expect("the node connects", 0, connects(&node, &a, 80));
	expect("a bystander connects", 0, connects(&a, &b, 80));
	expect("policy denies the bystander another port", 0, !connects(&a, &b, 81));
	for (uint32_t nth = 0; nth < endpoints; nth++) {
		const struct party pod = {HOST_C, nth};

		expect("a client outside connects to it", nth, connects_at_last(&client, &pod, 80));
		expect("it connects to the node", nth, connects_at_last(&pod, &node, 80));
		expect("it connects outside, unless policy denies that", nth,
		       inward ? connects_at_last(&pod, &client, 80) : !connects(&pod, &client, 80));
	}
}

/* Half of the table is for the floors, as the garbage collector computes them. @ns: the crowd's
 * namespace; 0: none. Returns the floor. */
static uint32_t begin(uint32_t n, bool to_crowd, uint64_t ns)
{
	uint32_t floor = ROOM / 2 / (ENDPOINTS + CROWD + 1);

	if (!packet_node_crowd_ifindex(0))
		packet_node_crowd(CROWD);
	endpoints = n;
	inward = to_crowd;
	flooded = 0;
	port = 10000;
	packet_node_crowd_assign(n, inward ? SLOT_C : SLOT_MUTE, ns);
	packet_node_forget();
	packet_node_limit(floor, ROOM - floor * (ENDPOINTS + CROWD + 1));
	return floor;
}

static uint16_t opened[CROWD]; /* before the flood, by endpoint: the client's port */

static void each_opens(void)
{
	for (uint32_t nth = 0; nth < endpoints; nth++) {
		const struct party pod = {HOST_C, nth};

		expect("a client outside connects to it before the flood", nth,
		       connects(&client, &pod, 80));
		opened[nth] = port;
	}
}

static void each_lives(void)
{
	for (uint32_t nth = 0; nth < endpoints; nth++) {
		const struct party pod = {HOST_C, nth};

		expect("what the client has opened to it lives", nth,
		       talks(&client, &pod, opened[nth], 80));
	}
}

static void floods(uint32_t n, bool to_crowd)
{
	uint32_t floor = begin(n, to_crowd, 0), first;

	each_opens();
	flood(FLOOD / 2);
	first = port + 1;
	for (uint32_t i = 0; i < floor / 2; i++) {
		expect("the node opens half of its floor", i, connects(&node, &a, 80));
		expect("a bystander opens half of its floor", i, connects(&a, &b, 80));
	}
	for (int part = 0; part < PARTS; part++) {
		flood(FLOOD / 2 / PARTS);
		everybody_connects();
	}
	for (uint32_t i = 0; i < floor / 2; i++) {
		expect("what the node has opened lives", i, talks(&node, &a, first + 2 * i, 80));
		expect("what a bystander has opened lives", i,
		       talks(&a, &b, first + 2 * i + 1, 80));
	}
	each_lives();
	expect("few packets of the flood are refused", 0,
	       packet_node_refused() < flooded / REFUSED);
	expect("each connection counts once in its share", 0, !packet_node_miscounted());
	printf("# %u packets of the flood, floor %u, %llu connections replaced, %llu refused\n",
	       flooded, floor, (unsigned long long)packet_node_replaced(),
	       (unsigned long long)packet_node_refused());
}

static void eighteen_flooded(void)
{
	floods(18, true);
}

static void nine_flooding(void)
{
	floods(9, false);
}

static void hundred_flooding(void)
{
	floods(CROWD, false);
}

/* A question of UDP from a port of its own, and the answer. */
static bool asks(const struct party *from, const struct party *to, uint16_t own)
{
	const struct packet_spec question = {.version = version,
					     .protocol = IPPROTO_UDP,
					     .sport = own,
					     .dport = 53,
					     .payload = 16};
	const struct packet_spec answer = {.version = version,
					   .protocol = IPPROTO_UDP,
					   .sport = 53,
					   .dport = own,
					   .payload = 16};

	return party_sends(from, to, question) && party_sends(to, from, answer);
}

/* Beyond its floor the bystander has a quarter of the surplus: less than the namespace, and far
 * more than each endpoint of it. What it has asked is older than what the namespace asks. */
static void one_namespace(void)
{
	const uint32_t own = begin(CROWD, false, 1) + ROOM / 8;

	for (uint32_t i = 0; i < own; i++)
		expect("a bystander asks, and is answered", i, asks(&a, &b, FIRST_PORT + i));
	for (flooded = 0; flooded < FLOOD; flooded++) {
		const struct party pod = {HOST_C, flooded % CROWD};

		asks(&pod, &node, FIRST_PORT + flooded / CROWD);
	}
	expect("questions have replaced others", 0, packet_node_replaced() > FLOOD / 2);
	expect("none of them the bystander's", 0,
	       packet_node_held(packet_node_ifindex(FROM_A)) == (int32_t)own);
	expect("each connection counts once in its share", 0, !packet_node_miscounted());
}

/* Forged addresses ask twice, and so use up the surplus with streams, none of which is idle yet,
 * however long the test takes. */
static void streams_of_forged(void)
{
	const struct party pod = {.host = HOST_C};
	struct party outside = {.host = HOST_WORLD};

	begin(1, true, 0);
	for (uint32_t i = 0; i < 2 * ROOM; i++) {
		outside.nth = 1 + i % 1000;
		asks(&outside, &pod, FIRST_PORT + i / 1000);
		asks(&outside, &pod, FIRST_PORT + i / 1000);
		packet_node_age(-PACKET_SECONDS(60));
	}
	expect("the table has refused some a place", 0, packet_node_refused() > 0);
	for (uint32_t i = 0; i < TRIES; i++)
		expect("a client outside asks, and is answered", i, asks(&client, &pod, 100 + i));
	expect("no stream has made place", 0, !packet_node_replaced());
	expect("each connection counts once in its share", 0, !packet_node_miscounted());
}

/* Sends the nth datagram of forged addresses to an endpoint. Returns true if it passes. */
static bool forged_asks(uint32_t nth)
{
	const struct party pod = {.host = HOST_C}, outside = {HOST_WORLD, 1 + nth % 1000};

	return party_sends(&outside, &pod,
			   (struct packet_spec){.version = version,
						.protocol = IPPROTO_UDP,
						.sport = FIRST_PORT + nth / 1000,
						.dport = 53,
						.payload = 16});
}

/* Forged addresses have used up the surplus with questions that nobody has answered, when policy
 * begins to deny them, and they go on. */
static void denied_of_forged(void)
{
	const uint32_t beyond = 4 * begin(1, true, 0);
	uint32_t denied = 0;

	for (uint32_t i = 0; i < 2 * ROOM; i++)
		forged_asks(i);
	packet_node_crowd_assign(1, SLOT_CLOSED, 0);
	packet_node_set_generation(2);
	for (uint32_t i = 0; i < 2 * ROOM; i++)
		denied += !forged_asks(i);
	expect("policy denies the flood", 0, denied == 2 * ROOM);
	packet_node_age(PACKET_SECONDS(3));
	for (uint32_t i = 0; i < beyond; i++)
		expect("a bystander connects, beyond its floor, too", i,
		       connects_amid(&a, &b, 80, 0));
	expect("each connection counts once in its share", 0, !packet_node_miscounted());
	packet_node_set_generation(1);
}

static void flood_ten(void)
{
	flood(10);
}

/* The garbage collector passes while the surplus is full. The bystander's SYNs are older than the
 * flood's, and have 45 s left for its pass. */
static void timeouts_within_the_floor(void)
{
	const uint32_t own = begin(18, true, 0) / 2;
	int all;

	for (uint32_t i = 0; i < own; i++)
		expect("a bystander's SYN passes", i,
		       party_sends(&a, &b, segment(FIRST_PORT + i, 80, TCP_S, 1000, 0, 0)));
	packet_node_age(PACKET_SECONDS(10));
	flood(FLOOD);
	all = packet_node_half_open();
	packet_node_age(PACKET_SECONDS(20));
	packet_node_sweep(flood_ten);
	expect("the garbage collector frees of the flood, which is not yet 75 s old", 0,
	       packet_node_half_open() < all - all / 20);
	expect("it frees nothing of the bystander's", 0,
	       packet_node_held(packet_node_ifindex(FROM_A)) == (int32_t)own);
	expect("each connection counts once in its share", 0, !packet_node_miscounted());
}

static const struct packet_sequence sequences[] = {
	{"SYNs from outside to eighteen endpoints: everybody connects", eighteen_flooded},
	{"datagrams of nine isolated endpoints to their node: everybody connects", nine_flooding},
	{"datagrams of a hundred isolated endpoints: everybody connects", hundred_flooding},
	{"a hundred endpoints of one namespace are one holder", one_namespace},
	{"datagrams pass also where the table has no room for them", streams_of_forged},
	{"a flood that policy denies by now makes place for others", denied_of_forged},
	{"a flood shortens no timeout within a floor", timeouts_within_the_floor},
};

int main(void)
{
	packet_node_room(ROOM);
	return packet_sequences(sequences, sizeof(sequences) / sizeof(sequences[0]), &version,
				&good);
}
