// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random sequences of packets on a table of 16 connections that is always full. Policy allows
 * everything: which connection makes room for another one is the question. Two pods of a namespace,
 * a pod of another one, a pod of none, and the node hold connections of TCP and UDP, each in any
 * state. After each packet the table is read, and compared with what may have become of it by
 * maps/share.h and OPERATING.md ("Shares"), which this test reads naively: it knows each
 * connection's packets and ages, and counts what each holder has.
 *
 *   - A packet of a connection that the table has passes, and changes nothing else in the table.
 *   - A new connection of a holder that has room, and a free slot in one of its two buckets,
 *     replaces nothing.
 *   - A replaced connection is not in use. It is of the new one's own share; or it was beyond its
 *     endpoint's floor, and is closed or long unanswered, or of a holder that holds more, or of
 *     anybody if the new one's endpoint is below its floor. If all of both buckets that are not in
 *     use may be replaced, none of the same bucket costs less to lose, or as much and is older.
 *   - A new connection is refused only if neither bucket has one that it may replace.
 *   - The shares count what the table has, and as many of each share's connections are marked as
 *     surplus as it has beyond the floor, or more.
 *
 * In every other sequence, some packets are sent two at a time, by two CPUs. Then the table must be
 * one that an order of both packets explains; enum order has the exceptions, which the test counts.
 *
 * SEED=n runs only that sequence; SEQUENCES=n runs n sequences, from SEED or from BULKHEAD_SEED's.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "maps/share.h"
#include "selftests/lib/generate.h"
#include "selftests/lib/packet_rows.h"
#include "selftests/lib/party.h"
#include "selftests/lib/trials.h"
#include "selftests/lib/two_cpus.h"

#define SEQUENCES 400
#define SEQUENCES_FULL 20000
#define ROOM 16 /* connections: 3 buckets of 8 slots */
#define EIGHTH (ROOM / 8)
#define PODS 4
#define HOLDERS (PODS + 1)
#define NODE PODS
#define TALKS 40
#define STEPS 121
#define COUNTED 8 /* the shares are compared after so many steps, and after the last one */
#define FIRST_PORT 20000
#define VICTIMS 4 /* the most connections that a packet, or two, may remove */

/* Ages in ticks. No sum of few comes near a limit but that of UDP streams. */
static const uint32_t ages[] = {20, 20, 45, 12000};
#define SLACK 4 /* ticks that a sequence may take by itself */

/* By the defaults of kern/tunables.h: the limits of silence, in ticks. */
#define STAY PACKET_SECONDS(2)
#define LIMIT_TCP PACKET_SECONDS(10800)
#define LIMIT_CLOSING PACKET_SECONDS(120)
#define LIMIT_RESET PACKET_SECONDS(10)
#define LIMIT_HALF PACKET_SECONDS(75)
#define LIMIT_UDP PACKET_SECONDS(30)
#define LIMIT_STREAM PACKET_SECONDS(180)

/* What the loss of a connection costs, from the least on. */
enum worth { CLOSED, UNANSWERED, ONCE, YOUNG, IDLE, IN_USE };

/* A pair of addresses and ports, and the connection between them, if the table has it. */
struct talk {
	struct party client, server;
	bool tcp, finished;
	uint16_t port;
	uint32_t bucket[2];
	/* the table's */
	bool there;
	uint32_t place; /* counted in slots from 1; 0: not known */
	bool marked; /* BH_CT_SURPLUS */
	uint32_t payer, state, number[2];
	/* as its packets have it */
	bool by_server, answered, again, synack, open, fin[2], reset;
	uint32_t silent;
};

struct world {
	struct talk talk[TALKS];
	uint32_t floor, capacity;
};

enum segment { SYN, SYN_ACK, ACK, DATA, FIN, RST, DATAGRAM };

struct packet {
	int talk;
	bool back; /* from the server */
	enum segment segment;
};

/* What became of a packet and of the table. */
struct result {
	bool passed, added;
	int n_gone, gone[VICTIMS]; /* connections that other ones replaced */
};

static uint8_t version;
static struct world world;
static struct random dice;
static uint64_t packets, replaced, refused, orders[5]; /* by enum order */
static const char *why; /* no order explains the last result */

/* ---- holders ---- */

static uint32_t interface_of(int holder)
{
	return holder == NODE ? BH_SHARE_NODE : packet_node_crowd_ifindex(holder);
}

static int holder_of(uint32_t payer)
{
	for (int i = 0; i < HOLDERS; i++)
		if (interface_of(i) == payer)
			return i;
	return -1;
}

/* The first two pods are of one namespace, which is one holder. */
static bool is_of_one(uint32_t payer, uint32_t other)
{
	return payer == other || (holder_of(payer) < 2 && holder_of(other) < 2);
}

static int32_t count(const struct world *w, uint32_t payer)
{
	int32_t n = 0;

	for (int i = 0; i < TALKS; i++)
		n += w->talk[i].there && w->talk[i].payer == payer;
	return n;
}

static int32_t surplus_of(const struct world *w, uint32_t payer)
{
	int32_t n = count(w, payer) - (int32_t)w->floor;

	return n > 0 ? n : 0;
}

/* Returns what the payer's holder has beyond the floors. */
static int32_t held(const struct world *w, uint32_t payer)
{
	int32_t n = 0;

	for (int i = 0; i < HOLDERS; i++)
		if (is_of_one(interface_of(i), payer))
			n += surplus_of(w, interface_of(i));
	return n;
}

static bool is_below(const struct world *w, uint32_t payer)
{
	return count(w, payer) < (int32_t)w->floor;
}

static bool has_room(const struct world *w, uint32_t payer, uint32_t more)
{
	int32_t surplus = 0;

	for (int i = 0; i < HOLDERS; i++)
		surplus += surplus_of(w, interface_of(i));
	return is_below(w, payer) || surplus < (int32_t)(w->capacity + more);
}

/* ---- connections ---- */

static uint32_t limit(const struct talk *talk)
{
	if (!talk->tcp)
		return talk->again ? LIMIT_STREAM : LIMIT_UDP;
	return talk->reset		      ? LIMIT_RESET
	       : !talk->open		      ? LIMIT_HALF
	       : talk->fin[0] && talk->fin[1] ? LIMIT_CLOSING
					      : LIMIT_TCP;
}

/* @silent: in ticks. */
static enum worth worth_at(const struct talk *talk, uint32_t silent)
{
	if (talk->reset || (talk->fin[0] && talk->fin[1]))
		return CLOSED;
	if (talk->tcp ? !talk->open : !talk->answered)
		return silent >= STAY ? UNANSWERED : YOUNG;
	if (!talk->tcp && !talk->again)
		return ONCE;
	if (silent > limit(talk))
		return CLOSED;
	if (!talk->tcp)
		return silent >= STAY ? IDLE : IN_USE;
	return silent > LIMIT_TCP / 4 ? IDLE : IN_USE;
}

/* The least that its loss may cost, and the most: some ticks may have passed by now. */
static enum worth least_worth(const struct talk *talk)
{
	return worth_at(talk, talk->silent + SLACK);
}

static enum worth most_worth(const struct talk *talk)
{
	return worth_at(talk, talk->silent);
}

/* Returns true if the table has the connection, and it has not timed out. */
static bool lives(const struct talk *talk)
{
	return talk->there && talk->silent <= limit(talk);
}

/* Returns true if it depends on the clock whether the connection has timed out. */
static bool is_lapsing(const struct talk *talk)
{
	return lives(talk) && talk->silent + SLACK > limit(talk);
}

/* Returns true if a packet may open a connection. */
static bool is_call(enum segment segment)
{
	return segment == SYN || segment == DATAGRAM;
}

static void forget(struct talk *talk)
{
	talk->there = talk->marked = false;
	talk->by_server = talk->answered = talk->again = talk->synack = talk->open = false;
	talk->fin[0] = talk->fin[1] = talk->reset = talk->finished = false;
	talk->place = talk->silent = 0;
}

/* Returns true if @payer's new connection may replace the other one of this worth. */
static bool may_replace(const struct world *w, uint32_t payer, const struct talk *other,
			enum worth worth)
{
	int32_t more;

	if (worth == IN_USE)
		return false;
	if (other->payer == payer)
		return true;
	if (count(w, other->payer) <= (int32_t)w->floor)
		return false;
	if (worth <= UNANSWERED || is_below(w, payer))
		return true;
	if (!is_of_one(other->payer, payer))
		more = held(w, other->payer) - held(w, payer);
	else if (worth <= ONCE)
		return true;
	else
		more = count(w, other->payer) - count(w, payer);
	return more > 0 || (!more && worth < IDLE);
}

/* Returns true if the program surely finds that it may replace the connection. */
static bool must_find(const struct world *w, uint32_t payer, const struct talk *other)
{
	return other->there && (other->payer == payer || other->marked) &&
	       may_replace(w, payer, other, most_worth(other));
}

static uint32_t bucket_of(const struct talk *talk)
{
	return (talk->place - 1) / BH_CT_SLOTS;
}

static bool is_in(const struct talk *talk, uint32_t bucket)
{
	return talk->there && talk->place && bucket_of(talk) == bucket;
}

static bool has_free_slot(const struct world *w, const struct talk *talk)
{
	int taken[2] = {0, 0};

	for (int i = 0; i < TALKS; i++)
		for (int b = 0; b < 2; b++)
			taken[b] += w->talk[i].there &&
				    (!w->talk[i].place || is_in(&w->talk[i], talk->bucket[b]));
	return taken[0] < BH_CT_SLOTS || taken[1] < BH_CT_SLOTS;
}

/*
 * Returns true if the program surely finds a connection that it may replace, in the new one's two
 * buckets: one of the same share, or any if no other one of them costs too much. It looks at the
 * one that costs least, and asks whether that may be replaced, four times.
 */
static bool finds_any(const struct world *w, uint32_t payer, const struct talk *talk)
{
	bool found = false, own = false, refuses = false;

	for (int i = 0; i < TALKS; i++) {
		const struct talk *other = &w->talk[i];
		bool here = is_in(other, talk->bucket[0]) || is_in(other, talk->bucket[1]);

		if (!here || most_worth(other) == IN_USE)
			continue;
		if (must_find(w, payer, other))
			found = true;
		else
			refuses = true;
		own |= other->payer == payer;
	}
	return own || (found && !refuses);
}

/* Returns true if another holder's connection in the two buckets may not be replaced, though it is
 * no connection in use: a program that has asked for two of them may have passed over others. */
static bool meets_refusals(const struct world *w, uint32_t payer, const struct talk *talk)
{
	for (int i = 0; i < TALKS; i++) {
		const struct talk *other = &w->talk[i];

		if (other->there && other->payer != payer &&
		    (is_in(other, talk->bucket[0]) || is_in(other, talk->bucket[1])) &&
		    most_worth(other) != IN_USE && !must_find(w, payer, other))
			return true;
	}
	return false;
}

/* ---- what may become of a packet ---- */

/* What has left the table. */
static struct change {
	int n, gone[VICTIMS];
} change;

static bool no(const char *because)
{
	why = because;
	return false;
}

/* @before: what the shares may have counted, too, while another packet was under way; NULL: none
 * was. */
static bool may_be_gone(const struct world *w, const struct world *before, uint32_t payer,
			const struct talk *talk, const struct talk *other)
{
	bool near = is_in(other, talk->bucket[0]) || is_in(other, talk->bucket[1]);

	if (!may_replace(w, payer, other, least_worth(other)) &&
	    !(before && may_replace(before, payer, other, least_worth(other))))
		return no("a connection is replaced that may not be");
	if (!other->place)
		return true;
	if (!near)
		return has_free_slot(w, talk) && (!finds_any(w, payer, talk) ||
						  (before && !finds_any(before, payer, talk)))
			       ? true
			       : no("a connection of another bucket is replaced");
	for (int i = 0; i < TALKS && !before && !meets_refusals(w, payer, talk); i++) {
		const struct talk *third = &w->talk[i];

		if (third == other || !is_in(third, bucket_of(other)) ||
		    !must_find(w, payer, third))
			continue;
		if (most_worth(third) < least_worth(other) ||
		    (most_worth(third) == least_worth(other) &&
		     most_worth(other) == least_worth(third) &&
		     third->silent > other->silent + SLACK))
			return no("a connection that costs less to lose is left");
	}
	return true;
}

/* Forgets the connections that are gone, in an order in which each may be gone: one that made room
 * in another bucket does not count any more when the next one is chosen. */
static bool all_may_be_gone(struct world *w, const struct world *before, uint32_t payer,
			    const struct talk *talk, const struct result *result)
{
	unsigned int left = (1u << result->n_gone) - 1, last;

	do {
		last = left;
		for (int i = 0; i < result->n_gone; i++) {
			struct talk *other = &w->talk[result->gone[i]];

			if (!(left & 1u << i) || !may_be_gone(w, before, payer, talk, other))
				continue;
			forget(other);
			left &= ~(1u << i);
		}
	} while (left && left != last);
	return !left;
}

static uint32_t payer_of(const struct talk *talk, bool by_server)
{
	const struct party *from = by_server ? &talk->server : &talk->client;
	const struct party *to = by_server ? &talk->client : &talk->server;

	if (from->host == HOST_WORLD)
		from = to;
	return from->host == HOST_NODE ? BH_SHARE_NODE : packet_node_crowd_ifindex(from->nth);
}

/* The packet opens a connection if there is a place. */
static bool opens(struct world *w, const struct world *before, const struct packet *packet,
		  const struct result *result)
{
	struct talk *talk = &w->talk[packet->talk];
	uint32_t payer = payer_of(talk, packet->back);
	bool room, beyond, free_slot;

	forget(talk);
	free_slot = has_free_slot(w, talk);
	room = free_slot && has_room(w, payer, 0);
	beyond = free_slot && has_room(w, payer, EIGHTH);
	if (result->n_gone && !before && room)
		return no("a connection is replaced though there is room");
	if (!all_may_be_gone(w, before, payer, talk, result))
		return false;
	if (!result->added) {
		if (result->passed == talk->tcp)
			return no(talk->tcp ? "the SYN of a refused connection passes"
					    : "a datagram that finds no room is dropped");
		if (!before && (room || beyond))
			return no("a connection is refused though there is room");
		/* Each connection that it has removed from another bucket has cost it an attempt.
		 */
		if (!before && !result->n_gone && finds_any(w, payer, talk))
			return no("a connection is refused though it may replace another one");
		return true;
	}
	if (!result->passed)
		return no("the packet of a new connection is dropped");
	/* The other packet may have removed what is gone, or its own former connection. */
	if (!result->n_gone && !beyond &&
	    !(before && has_room(before, payer, EIGHTH + change.n + 2)))
		return no("a connection is added beyond the room");
	talk->there = true;
	talk->by_server = packet->back;
	talk->payer = payer;
	return true;
}

/* The table has the packet's connection. */
static void goes_on(struct talk *talk, const struct packet *packet)
{
	bool initiates = packet->back == talk->by_server;

	talk->silent = 0;
	talk->reset = false;
	switch (packet->segment) {
	case DATAGRAM:
		talk->again |= talk->answered && initiates;
		talk->answered |= !initiates;
		break;
	case SYN:
		break;
	case SYN_ACK:
		talk->synack = true;
		break;
	case ACK:
	case DATA:
		talk->open = true;
		break;
	case FIN:
		talk->open = talk->fin[packet->back] = true;
		break;
	case RST:
		talk->reset = true;
		break;
	}
	talk->finished = talk->reset || (talk->fin[0] && talk->fin[1]);
}

/* Returns true if a packet goes to the outside: the host egress hook, which frees the entry of a
 * call that is refused, is no part of this test. */
static bool leaves(const struct talk *talk, const struct packet *packet)
{
	return (packet->back ? &talk->client : &talk->server)->host == HOST_WORLD;
}

/*
 * Returns true if the result may be that of the packet, and makes the world what it is then.
 * @before: what the shares may have counted, too.
 */
static bool explains(struct world *w, const struct world *before, const struct packet *packet,
		     const struct result *result)
{
	struct talk *talk = &w->talk[packet->talk];

	if (!lives(talk) && is_call(packet->segment))
		return opens(w, before, packet, result);
	if (result->n_gone || result->added)
		return no("a packet that opens nothing changes the table");
	if (!lives(talk))
		return !result->passed || no("a segment of no connection passes");
	if (!is_call(packet->segment) && !talk->open &&
	    (packet->segment == SYN_ACK ? !packet->back : packet->back || !talk->synack))
		return !result->passed || no("a segment that no handshake allows passes");
	if (!result->passed)
		return no("a packet of a connection is dropped");
	if (packet->segment == RST && !talk->open && !leaves(talk, packet))
		forget(talk);
	else
		goes_on(talk, packet);
	return true;
}

/* ---- the table ---- */

/* Notes which connections the table has. Returns false if it has one that no talk is of, or one
 * twice. */
static bool read_table(struct world *w)
{
	uint32_t n;
	struct bh_ct_group *table = packet_node_table(&n);

	for (int i = 0; i < TALKS; i++)
		w->talk[i].there = false;
	for (uint32_t i = 0; i < n * BH_CT_SLOTS; i++) {
		const volatile struct bh_ct_slot *slot =
			&bh_ct_slots(table, i / BH_CT_SLOTS)[i % BH_CT_SLOTS];
		uint16_t port = ntohs(slot->key.port[0]);
		struct talk *talk;
		int initiator;

		if (!bh_ct_is_filled(bh_ct_bucket(table, i / BH_CT_SLOTS)->tag[i % BH_CT_SLOTS]))
			continue;
		port = port < FIRST_PORT ? ntohs(slot->key.port[1]) : port;
		talk = &w->talk[port - FIRST_PORT];
		if (port < FIRST_PORT || port >= FIRST_PORT + TALKS || talk->there)
			return no("the table has a connection twice");
		talk->there = true;
		talk->place = i + 1;
		talk->marked = slot->ct.payer & BH_CT_SURPLUS;
		talk->payer = BH_CT_PAYER(slot->ct.payer);
		talk->state = slot->ct.state & BH_CT_STATE;
		talk->number[0] = slot->ct.number[0];
		talk->number[1] = slot->ct.number[1];
		initiator = !!(slot->ct.verdict[BH_EGRESS] & BH_CT_INITIATOR);
		talk->by_server = ntohs(slot->key.port[initiator]) != port;
	}
	return true;
}

/* Returns true if the state of a connection is the one that its packets have made. */
static bool is_in_state(const struct talk *talk, uint32_t state)
{
	int fins = !!(state & BH_CT_FIN(0)) + !!(state & BH_CT_FIN(1));

	if (talk->tcp)
		return !(state & BH_CT_HALF) == talk->open && !(state & BH_CT_RST) != talk->reset &&
		       !(state & BH_CT_ANSWERED) != (talk->synack && !talk->open) &&
		       fins == talk->fin[0] + talk->fin[1];
	return !(state & BH_CT_HALF) == talk->answered &&
	       !(state & BH_CT_ONCE) != (talk->answered && !talk->again);
}

/* Returns true if the table has the connections that it has by the world, which learns their
 * places. */
static bool is_as_read(struct world *w, const struct world *table)
{
	for (int i = 0; i < TALKS; i++) {
		const struct talk *read = &table->talk[i];
		struct talk *talk = &w->talk[i];

		if (talk->there != read->there)
			return no("the table has other connections");
		if (!talk->there)
			continue;
		if (talk->payer != read->payer)
			return no("a connection counts in another share");
		if (talk->by_server != read->by_server || !is_in_state(talk, read->state))
			return no("a connection has another state");
		talk->place = read->place;
		talk->marked = read->marked;
	}
	return true;
}

/* Returns true if the shares count what the table has. */
static bool is_counted(const struct world *w)
{
	for (int holder = 0; holder < HOLDERS; holder++) {
		int32_t marked = 0;

		for (int i = 0; i < TALKS; i++)
			marked += w->talk[i].there && w->talk[i].marked &&
				  w->talk[i].payer == interface_of(holder);
		if (marked < surplus_of(w, interface_of(holder)))
			return no("surplus is not marked");
	}
	return !packet_node_miscounted() || no("a share counts another number");
}

/* ---- packets ---- */

static void transmit(const struct packet *packet, struct result *result)
{
	static const struct {
		uint8_t flags;
		uint16_t payload;
		uint32_t behind; /* the first byte */
	} segments[] = {[SYN] = {TCP_S, 0, 0},		[SYN_ACK] = {TCP_S | TCP_A, 0, 0},
			[ACK] = {TCP_A, 0, 0},		[DATA] = {TCP_P | TCP_A, 10, 0},
			[FIN] = {TCP_F | TCP_A, 0, 10}, [RST] = {TCP_R | TCP_A, 0, 11},
			[DATAGRAM] = {0, 16, 0}};
	const struct talk *talk = &world.talk[packet->talk];
	uint16_t service = talk->tcp ? 80 : 53;
	bool opens = packet->segment == SYN || packet->segment == SYN_ACK;
	struct packet_spec spec = {
		.version = version,
		.protocol = talk->tcp ? IPPROTO_TCP : IPPROTO_UDP,
		.sport = packet->back ? service : talk->port,
		.dport = packet->back ? talk->port : service,
		.flags = segments[packet->segment].flags,
		.payload = segments[packet->segment].payload,
		.seq = (packet->back ? 5000 : 1000) + !opens + segments[packet->segment].behind,
		.ack = packet->segment == SYN ? 0
		       : packet->back	      ? 1001
					      : 5001,
	};

	result->passed = party_sends(packet->back ? &talk->server : &talk->client,
				     packet->back ? &talk->client : &talk->server, spec);
}

static struct packet pair[2];
static struct result results[2];

static void transmit_of_pair(unsigned int which)
{
	transmit(&pair[which], &results[which]);
}

static struct packet choose(void)
{
	int nth = random_below(&dice, TALKS);
	const struct talk *talk;
	struct packet packet = {.segment = DATAGRAM};

	/* Connections that have begun go on more often than others begin. */
	for (int i = 0; i < 3 && !world.talk[nth].there; i++)
		nth = random_below(&dice, TALKS);
	while (world.talk[nth].finished)
		nth = random_below(&dice, TALKS);
	talk = &world.talk[nth];
	packet.talk = nth;
	packet.back = random_chance(&dice, 40);
	if (!talk->tcp)
		return packet;
	if (!talk->there || (!talk->synack && random_chance(&dice, 30))) {
		packet.back = false;
		packet.segment = SYN;
	} else if (!talk->open && !talk->synack) {
		packet.back = true;
		packet.segment = SYN_ACK;
	} else if (!talk->open) {
		packet.back = false;
		packet.segment = random_chance(&dice, 90) ? ACK : RST;
	} else if (talk->fin[packet.back] || random_chance(&dice, 60)) {
		packet.back = talk->fin[packet.back] ? !packet.back : packet.back;
		packet.segment = talk->fin[packet.back] ? ACK : DATA;
	} else {
		packet.segment = random_chance(&dice, 70) ? FIN : RST;
	}
	return packet;
}

/* ---- orders ---- */

/* Returns false if more is gone than two packets may remove. */
static bool find_change(const struct world *table)
{
	change.n = 0;
	for (int i = 0; i < TALKS; i++) {
		if (!world.talk[i].there || table->talk[i].there)
			continue;
		if (change.n == VICTIMS)
			return no("many connections are gone");
		change.gone[change.n++] = i;
	}
	return true;
}

/* Gives a packet the connections of the set that are gone, without its own and that of the other
 * packet. */
static void give(struct result *result, unsigned int set, int own, int other)
{
	result->n_gone = 0;
	for (int i = 0; i < change.n; i++)
		if (set & 1u << i && change.gone[i] != own && change.gone[i] != other)
			result->gone[result->n_gone++] = change.gone[i];
}

/* Makes the world what it is after some packets, if the table says so. */
static bool adopt(struct world *then, const struct world *table)
{
	if (!is_as_read(then, table))
		return false;
	world = *then;
	return true;
}

static bool hear_one(const struct packet *packet, struct result *result, const struct world *table)
{
	struct world then = world;

	give(result, ~0u, packet->talk, packet->talk);
	result->added = is_call(packet->segment) && table->talk[packet->talk].there &&
			!lives(&world.talk[packet->talk]);
	if (!explains(&then, NULL, packet, result) || !adopt(&then, table))
		return false;
	replaced += result->n_gone;
	refused += !result->added && !result->passed && packet->segment == SYN;
	return true;
}

/* How the second packet of an order may have met what the first one has done. */
enum order {
	STRICT,
	/* It counted the shares, and saw the slots, before the first one changed them or meanwhile:
	 * a program looks for room, and adds a connection afterwards. */
	STALE,
	/* The same, and it saw the first one's connection with the new age and the old state: a
	 * connection that was idle, and that a RST closes, is in use for that moment. */
	RENEWED,
	/* Both are calls of the same connection, and neither has found the other's entry. Both take
	 * a place, and one gives its place back. The entry that stays has not noticed the packet
	 * that went the other way. */
	CALLED_TWICE,
	/* The second one has found its entry before the first one removed it, by replacement or a
	 * RST that refuses a SYN. */
	FOUND_BEFORE,
	ORDERS,
};

/* What may have become of the two packets' own connections, a bit each. */
enum {
	FIRST_ADDED = 1,
	SECOND_ADDED = 2,
	SECOND_REPLACES = 4, /* the first packet's connection, which is gone again */
	FIRST_REPLACES = 8, /* the second packet's connection, which may be back */
	OWN_FATES = 16,
};

/* The second of two equal calls opens its connection once more, and gives the place back: what it
 * has replaced is gone. */
static bool replace_twice(struct world *then, const struct packet *packet, struct result *result)
{
	/* The shares count the first call's entry, too, by then or not yet. */
	const struct world *const counted[] = {then, &world};
	struct world twin = *then;
	bool may = !result->n_gone;

	if (!result->passed)
		return false;
	result->added = true;
	for (int i = 0; i < 2 && !may; i++) {
		twin = *then;
		twin.talk[packet->talk] = world.talk[packet->talk];
		may = opens(&twin, counted[i], packet, result);
	}
	if (!may)
		return false;
	for (int i = 0; i < result->n_gone; i++)
		then->talk[result->gone[i]] = twin.talk[result->gone[i]];
	return true;
}

/* Tries the packets in an order, with the connections that are gone shared between them as @set
 * says. @fate: of their own connections. */
static bool hear_order(int first, unsigned int set, unsigned int fate, enum order order,
		       const struct world *table)
{
	const struct talk *own = &world.talk[pair[first].talk];
	struct world before = world, then = world;

	if (order == CALLED_TWICE) {
		if (pair[0].talk != pair[1].talk || lives(own) || !is_call(pair[0].segment) ||
		    !results[!first].passed)
			return false;
		before.talk[pair[first].talk].there = true;
		before.talk[pair[first].talk].payer = payer_of(own, pair[!first].back);
	}
	if (order == RENEWED) {
		if (!lives(own))
			return false;
		before.talk[pair[first].talk].silent = 0;
	}
	for (int i = 0; i < 2; i++) {
		int which = i ? !first : first;
		const struct packet *packet = &pair[which];
		struct result *result = &results[which];

		give(result, i ? ~set : set, packet->talk, pair[!which].talk);
		result->added = fate & (i ? SECOND_ADDED : FIRST_ADDED);
		if (fate & (i ? SECOND_REPLACES : FIRST_REPLACES)) {
			if (result->n_gone == VICTIMS || !then.talk[pair[!which].talk].there)
				return false;
			result->gone[result->n_gone++] = pair[!which].talk;
		}
		if (i && order == FOUND_BEFORE &&
		    (!lives(&before.talk[pair[which].talk]) || then.talk[pair[which].talk].there))
			return false;
		if (i && order == CALLED_TWICE)
			return replace_twice(&then, packet, result) && adopt(&then, table);
		if (i && order == FOUND_BEFORE)
			return result->passed && adopt(&then, table);
		if (!explains(&then, order == STRICT || order == FOUND_BEFORE ? NULL : &before,
			      packet, result))
			return false;
	}
	return adopt(&then, table);
}

static bool hear_pair(const struct world *table)
{
	for (enum order order = STRICT; order < ORDERS; order++)
		for (int first = 0; first < 2; first++)
			for (unsigned int set = 0; set < 1u << change.n; set++)
				for (unsigned int fate = 0; fate < OWN_FATES; fate++)
					if (hear_order(first, set, fate, order, table)) {
						orders[order]++;
						return true;
					}
	return false;
}

/* ---- sequences ---- */

static const char *const worths[] = {"closed", "unanswered", "answered once",
				     "young",  "idle",	     "in use"};

static void print_packet(const struct packet *packet)
{
	static const char *const names[] = {"SYN", "SYN-ACK", "ACK",	 "data",
					    "FIN", "RST",     "datagram"};
	const struct talk *talk = &world.talk[packet->talk];

	printf("#   %s of connection %d%s, holder %d, buckets %u and %u, %s\n",
	       names[packet->segment], packet->talk, packet->back ? " back" : "",
	       holder_of(payer_of(talk, packet->back)), talk->bucket[0], talk->bucket[1],
	       talk->there ? worths[most_worth(talk)] : "not there");
}

static void print_world(const struct world *w, const struct world *table)
{
	printf("#   floor %u, room for a surplus of %u\n", w->floor, w->capacity);
	for (int i = 0; i < TALKS; i++) {
		const struct talk *talk = &w->talk[i], *read = &table->talk[i];
		const struct talk *at = talk->there ? talk : read;

		if (!talk->there && !read->there)
			continue;
		printf("#   connection %d: holder %d, place %u, %s%s, silent for %u ticks", i,
		       holder_of(at->payer), at->place - 1, talk->tcp ? "TCP, " : "UDP, ",
		       worths[most_worth(talk)], talk->silent);
		printf("%s%s%s; then %s, state %x, numbers %u and %u\n",
		       talk->marked ? ", marked" : "", talk->by_server ? ", by the server" : "",
		       talk->there ? "" : ", new", read->there ? "there" : "gone", read->state,
		       read->number[0], read->number[1]);
	}
}

static bool fail(uint64_t seed, int step, int n, const struct world *table)
{
	printf("# SEED=%" PRIu64 ", step %d, IPv%d: %s\n", seed, step, version, why);
	for (int i = 0; i < n; i++) {
		print_packet(&pair[i]);
		printf("#     it %s\n", results[i].passed ? "passes" : "is dropped");
	}
	print_world(&world, table);
	return false;
}

/* Sends one packet, or two at one moment. Returns false if nothing explains what became of them. */
static bool send_some(uint64_t seed, int step, bool together)
{
	struct world table;

	pair[0] = choose();
	pair[1] = random_chance(&dice, 25) ? pair[0] : choose();
	for (int i = 0; i < 2; i++)
		if (is_lapsing(&world.talk[pair[i].talk]))
			return true;
	table = world;
	packet_node_void_caches();
	if (together)
		two_cpus_run(transmit_of_pair);
	else
		transmit_of_pair(0);
	packets += 1 + together;
	if (!read_table(&table) || !find_change(&table) ||
	    !(together ? hear_pair(&table) : hear_one(&pair[0], &results[0], &table)))
		return fail(seed, step, 1 + together, &table);
	return step % COUNTED || is_counted(&world) || fail(seed, step, 1 + together, &table);
}

/* Returns the hash of the talk's key, which is read from the table at the first time. */
static uint64_t hash_of(int nth, int holder)
{
	static uint64_t known[2][2][2][HOLDERS][TALKS];
	const struct talk *talk = &world.talk[nth];
	uint64_t *hash =
		&known[version == 4][talk->tcp][talk->client.host == HOST_WORLD][holder][nth];
	const struct packet packet = {.talk = nth, .segment = talk->tcp ? SYN : DATAGRAM};
	struct result result;
	struct world table = world;
	struct bh_ct_key key;
	uint32_t n, at;

	if (*hash != 0)
		return *hash;
	packet_node_forget();
	transmit(&packet, &result);
	read_table(&table);
	at = table.talk[nth].place - 1;
	memcpy(&key, &bh_ct_slots(packet_node_table(&n), at / BH_CT_SLOTS)[at % BH_CT_SLOTS].key,
	       sizeof(key));
	*hash = packet_node_hash(&key);
	return *hash;
}

static void make_talk(int nth)
{
	const struct party outside = {HOST_WORLD, 1}, node = {.host = HOST_NODE};
	int holder = random_below(&dice, HOLDERS);
	const struct party pod = {HOST_C, holder % PODS};
	struct talk *talk = &world.talk[nth];
	uint64_t hash;
	uint32_t n;

	*talk = (struct talk){.port = FIRST_PORT + nth, .tcp = random_chance(&dice, 50)};
	talk->client = holder == NODE ? node : random_chance(&dice, 50) ? outside : pod;
	talk->server = talk->client.host == HOST_C ? outside : pod;
	hash = hash_of(nth, holder);
	packet_node_table(&n);
	talk->bucket[0] = bh_ct_first(hash, n);
	talk->bucket[1] = bh_ct_second(hash, n);
}

static uint64_t milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

static bool two_cpus;

static bool run_sequence(uint64_t seed, void *data)
{
	bool *good = data;
	uint64_t began;

	dice.state = (seed + 1) * 0xd1342543de82ef95ull;
	version = random_chance(&dice, 50) ? 4 : 6;
	packet_node_forget();
	memset(&world, 0, sizeof(world));
	for (int i = 0; i < TALKS; i++)
		make_talk(i);
	packet_node_forget();
	world.floor = random_below(&dice, 4);
	world.capacity = 1 + random_below(&dice, ROOM);
	packet_node_limit(world.floor, world.capacity);
	began = milliseconds();
	/* Where the machine has kept the test waiting, the rest is left out: worth depends on age.
	 */
	for (int i = 0; *good && i < STEPS && milliseconds() - began < 500; i++) {
		if (random_chance(&dice, 12)) {
			uint32_t age = ages[random_below(&dice, 4)];

			packet_node_age(age);
			for (int nth = 0; nth < TALKS; nth++)
				world.talk[nth].silent += world.talk[nth].there ? age : 0;
		} else {
			*good = send_some(seed, i,
					  two_cpus && seed % 2 && random_chance(&dice, 50));
		}
	}
	return *good;
}

int main(void)
{
	bool good = true;
	const struct trials trials = {SEQUENCES, SEQUENCES_FULL, run_sequence, &good};
	uint64_t n;

	packet_node_room(ROOM);
	packet_node_open();
	packet_node_crowd(PODS);
	/* of the pods 0 and 1, of pod 2, and none */
	packet_node_crowd_assign(3, SLOT_C, 2);
	packet_node_crowd_assign(2, SLOT_C, 1);
	two_cpus = two_cpus_begin();
	n = trials_run(&trials);
	printf("%sok 1 - connections in a full table replace what they may, and nothing else\n",
	       good ? "" : "not ");
	printf("# %" PRIu64 " sequences, %" PRIu64 " packets, %" PRIu64
	       " connections replaced, %" PRIu64 " SYNs refused\n",
	       n, packets, replaced, refused);
	printf("# %" PRIu64 " pairs of packets at one moment, %" PRIu64
	       " more by counts of before, %" PRIu64 " more by an age before its state, %" PRIu64
	       " more of one call twice, %" PRIu64 " more whose entry the other removed\n1..1\n",
	       orders[STRICT], orders[STALE], orders[RENEWED], orders[CALLED_TWICE],
	       orders[FOUND_BEFORE]);
	return !good;
}
