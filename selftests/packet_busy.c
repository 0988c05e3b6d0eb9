// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ten minutes of a busy pod, in simulated time: 20,000 new TCP connections a second from outside to
 * a pod, as many from a pod, and 50,000 questions of UDP a second each way; 5,000 a second of which
 * each asks a second time, from addresses that may be forged. No packet is dropped,
 * no connection is refused a place, and 500 idle connections of the same pod stay alive. The
 * garbage collector rests, so that each new connection beyond a full table replaces another one.
 *
 * Time advances by a tick after the connections of a tick: every entry becomes so much older. Table
 * and rates are a 64th of the usual ones, and questions of UDP take 100 s; with BULKHEAD_FULL=1
 * they are the usual ones, and all take 600 s. BUSY_SECONDS=n simulates n seconds.
 */
#include <stdio.h>
#include <stdlib.h>

#include "selftests/lib/packet_rows.h"

#define SCALE 64
#define SECONDS 600
#define SECONDS_UDP 100
#define TICK_MS (4 << BH_TICK_SHIFT) /* at CONFIG_HZ=250 */
#define FLIGHT_MS 50 /* from one packet of a connection to its next one */
#define ENDPOINTS 4 /* of this node, as packet_node.h has it */

#define IDLE 500
#define IDLE_PEER 0xff00 /* last two bytes of the peer's address */
#define PORTS 60000 /* of one peer */
#define FIRST_PORT 1024

/* Connections between a pod and a peer outside. */
struct kind {
	uint32_t rate; /* a second */
	enum packet_host pod;
	enum packet_hook in, out; /* of the pod */
	uint16_t tcp, udp; /* the server's port; with udp 0, TCP is busy */
	bool inward; /* the peer opens it */
	bool again; /* each asks twice */
};

static const struct kind kinds[] = {
	{20000, HOST_B, TO_B, FROM_B, 443, 0, true, false},
	{20000, HOST_A, TO_A, FROM_A, 80, 0, false, false},
	{50000, HOST_C, TO_C, FROM_C, 80, 53, true, false},
	{50000, HOST_A, TO_A, FROM_A, 80, 53, false, false},
	{30000, HOST_C, TO_C, FROM_C, 80, 53, true, true},
};

/* A packet of an exchange. */
struct step {
	bool answers; /* the responder sends it */
	uint8_t flags;
	uint32_t seq, ack;
	uint16_t payload;
};

#define HANDSHAKE 3 /* The first packets of tcp_steps open the connection. */
static const struct step tcp_steps[] = {
	{false, TCP_S, 1000, 0, 0},	      {true, TCP_S | TCP_A, 5000, 1001, 0},
	{false, TCP_A, 1001, 5001, 0},	      {false, TCP_F | TCP_A, 1001, 5001, 0},
	{true, TCP_F | TCP_A, 5001, 1002, 0}, {false, TCP_A, 1002, 5002, 0},
};
static const struct step data_steps[] = {
	{false, TCP_P | TCP_A, 1001, 5001, 10},
	{true, TCP_P | TCP_A, 5001, 1011, 10},
};
static const struct step udp_steps[] = {
	{.payload = 16},
	{.answers = true, .payload = 16},
	{.payload = 16}, /* if it asks again */
	{.answers = true, .payload = 16},
};

#define LENGTH(steps) (sizeof(steps) / sizeof((steps)[0]))

static uint8_t version;
static bool good;
static uint32_t scale = SCALE, seconds[] = {SECONDS, SECONDS_UDP}; /* of TCP, of UDP */

static void expect(const char *what, uint64_t nth, bool holds)
{
	if (!holds && good)
		printf("# IPv%d, connection %llu: not so: %s\n", version, (unsigned long long)nth,
		       what);
	good &= holds;
}

/* A packet of any connection: what differs is written into the frame. */
struct form {
	struct packet_frame frame;
	enum packet_hook hook;
	uint32_t ingress;
	/* of the last two bytes of the peer's address; of the client's port */
	size_t peer_at, port_at;
};

static void make_form(const struct kind *kind, const struct step *step, bool tcp, struct form *form)
{
	bool enters = step->answers != kind->inward;
	uint16_t port = tcp ? kind->tcp : kind->udp;
	struct packet_spec spec = {
		.version = version,
		.protocol = tcp ? IPPROTO_TCP : IPPROTO_UDP,
		.from = enters ? HOST_WORLD : kind->pod,
		.to = enters ? kind->pod : HOST_WORLD,
		.sport = port,
		.dport = port,
		.flags = step->flags,
		.seq = step->seq,
		.ack = step->ack,
		.payload = step->payload,
	};
	size_t size = version == 4 ? 4 : 16, addresses;

	packet_build(&spec, &form->frame);
	addresses = form->frame.l3 + (version == 4 ? 12 : 8);
	form->peer_at = addresses + (enters ? size : 2 * size) - 2;
	form->port_at = form->frame.l4 + (step->answers ? 2 : 0);
	form->hook = enters ? kind->in : kind->out;
	form->ingress = packet_node_ifindex(enters ? UPLINK : kind->out);
}

static void put16(uint8_t *at, uint16_t value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static bool passes(struct form *form, uint16_t peer, uint16_t port)
{
	put16(form->frame.bytes + form->peer_at, peer);
	put16(form->frame.bytes + form->port_at, port);
	return packet_node_verdict(form->hook, form->frame.bytes, form->frame.length,
				   form->ingress) > 0;
}

/* The same steps of @n connections, the nth of which is @first: a step of all before the next one.
 */
static void exchange(const struct kind *kind, const struct step *steps, size_t n_steps, bool tcp,
		     uint16_t peer, uint64_t first, uint32_t n)
{
	struct form form;

	for (size_t i = 0; i < n_steps; i++) {
		make_form(kind, &steps[i], tcp, &form);
		for (uint64_t nth = first; nth < first + n && good; nth++)
			expect("the packet passes", nth,
			       passes(&form, peer + nth / PORTS, FIRST_PORT + nth % PORTS));
	}
}

/* Half of the table is for the floors, as the garbage collector computes them. */
static void begin(void)
{
	uint32_t capacity = BH_CT_CONNECTIONS / scale, floor = capacity / 2 / (ENDPOINTS + 1);

	packet_node_forget();
	packet_node_limit(floor, capacity - floor * (ENDPOINTS + 1));
}

static void busy(const struct kind *kind)
{
	size_t udp = LENGTH(udp_steps) / (kind->again ? 1 : 2);
	uint32_t in_tick = kind->rate / scale * TICK_MS / 1000;
	uint32_t in_flight = kind->rate / scale * FLIGHT_MS / 1000;
	uint32_t lasts = seconds[kind->udp != 0];
	uint64_t nth = 0, all = (uint64_t)kind->rate / scale * lasts, tick = in_tick;

	begin();
	exchange(kind, tcp_steps, HANDSHAKE, true, IDLE_PEER, 0, IDLE);
	while (nth < all && good) {
		exchange(kind, kind->udp ? udp_steps : tcp_steps,
			 kind->udp ? udp : LENGTH(tcp_steps), !kind->udp, 1, nth, in_flight);
		for (nth += in_flight; tick <= nth; tick += in_tick)
			packet_node_age(1);
	}
	exchange(kind, data_steps, LENGTH(data_steps), true, IDLE_PEER, 0, IDLE);
	/* Streams are in use for unanswered-stay: of some 280,000, one finds no entry that it may
	 * replace. Its datagrams pass without an entry, which exchange() has checked. */
	expect("no connection was refused a place", nth,
	       packet_node_refused() <= (kind->again ? nth / 10000 : 0));
	expect("connections have replaced others", nth,
	       packet_node_replaced() + BH_CT_CONNECTIONS / scale >= all);
	expect("each connection counts once in its share", nth, !packet_node_miscounted());
	printf("# %llu connections in %u s, %llu of them in place of another one; table of %u\n",
	       (unsigned long long)nth, lasts, (unsigned long long)packet_node_replaced(),
	       BH_CT_CONNECTIONS / scale);
}

static void tcp_to_pod(void)
{
	busy(&kinds[0]);
}

static void tcp_from_pod(void)
{
	busy(&kinds[1]);
}

static void udp_to_pod(void)
{
	busy(&kinds[2]);
}

static void udp_from_pod(void)
{
	busy(&kinds[3]);
}

static void udp_asked_twice(void)
{
	busy(&kinds[4]);
}

/* A SYN flood that has used up the surplus, in a table whose other half is for the floors: of one
 * SYN in some hundred, both buckets have no entry at all, as after the garbage collector has passed
 * there. Such a SYN gets one of the free slots, unless four other buckets, at random, are empty,
 * too. */
static void free_buckets(void)
{
	const uint32_t capacity = BH_CT_CONNECTIONS / scale, flood = 5 * capacity;
	struct form syn;

	begin();
	packet_node_limit(0, capacity / 4);
	make_form(&kinds[0], &tcp_steps[0], true, &syn);
	for (uint32_t nth = 0; nth < flood; nth++)
		passes(&syn, 1 + nth / PORTS, FIRST_PORT + nth % PORTS);
	expect("of a thousand connections, none was refused a place", flood,
	       packet_node_refused() < flood / 1000);
	expect("the flood has no more than its room", flood,
	       packet_node_half_open() <= (int)(capacity / 4 + capacity / 8));
	expect("each connection counts once in its share", flood, !packet_node_miscounted());
}

static const struct packet_sequence sequences[] = {
	{"20,000 TCP connections a second to a pod, none refused", tcp_to_pod},
	{"20,000 TCP connections a second from a pod, none refused", tcp_from_pod},
	{"50,000 questions of UDP a second to a pod, none lost", udp_to_pod},
	{"50,000 questions of UDP a second from a pod, none lost", udp_from_pod},
	{"30,000 a second that ask a pod twice by UDP, none lost", udp_asked_twice},
	{"a flood is refused no free slot for want of an entry to replace", free_buckets},
};

int main(void)
{
	if (getenv("BULKHEAD_FULL")) {
		scale = 1;
		seconds[1] = SECONDS;
	}
	if (getenv("BUSY_SECONDS"))
		seconds[0] = seconds[1] = atoi(getenv("BUSY_SECONDS"));
	packet_node_room(BH_CT_CONNECTIONS / scale);
	return packet_sequences(sequences, LENGTH(sequences), &version, &good);
}
