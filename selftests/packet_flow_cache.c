/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flow cache (maps/flow_cache.h): the lookup for one packet of a connection serves the next one
 * for the rest of a jiffy, at one generation, for no other connection, and not after this CPU has
 * changed the entry.
 *
 * A case deletes the connection's entry: a packet that still passes was served from the cache. A
 * jiffy may end between any two packets, so each case has a witness: a packet of another
 * connection, looked up first and sent again at the end. If the cache still serves the witness, the
 * jiffy is the same; if not, the case is repeated.
 */
#include <bpf/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "maps/iface.h"
#include "maps/flow_cache.h"
#include "selftests/lib/packet_rows.h"

#define TRIES 2000

#define PACKET(...)          \
	(struct packet_spec) \
	{                    \
		__VA_ARGS__  \
	}
#define DATAGRAM PACKET(UDP(A, B, 53))
#define WITNESS PACKET(UDP(C, B, 7))
#define ACK PACKET(TCP(A, B, 80), .flags = TCP_A, .seq = 1001, .ack = 5001)

static uint8_t version;
static uint32_t generation = 5;
static bool good;

static int run_via(enum packet_hook hook, struct packet_spec spec, enum packet_via via)
{
	spec.version = version;
	return packet_node_run(hook, &spec, via).reason;
}

static int run(enum packet_hook hook, struct packet_spec spec)
{
	return run_via(hook, spec, VIA_PEER);
}

static void expect(const char *what, int reason, int expected)
{
	if (reason == expected)
		return;
	printf("# %s, IPv%d: reason %d, not %d\n", what, version, reason, expected);
	good = false;
}

/* Opens connections; only the witness is in the cache. */
static void begin(void)
{
	struct packet_spec first = WITNESS;

	packet_node_forget();
	good &= packet_open(version);
	run(TO_B, first);
	run(FROM_B, PACKET(UDP(B, C, 40000), .sport = 7));
	run(TO_B, first); /* the first after an answer is not cached yet */
	run(TO_B, first);
}

/* Returns true if the jiffy is the same since begin(). */
static bool same_jiffy(void)
{
	packet_node_forget_quietly();
	return run(TO_B, WITNESS) == BH_PASS_ESTABLISHED;
}

/* Repeats @attempt, which returns a reason, until it runs within one jiffy. */
static void within_a_jiffy(const char *what, int (*attempt)(void), int expected)
{
	int reason;

	for (int i = 0; i < TRIES; i++) {
		begin();
		reason = attempt();
		if (same_jiffy()) {
			expect(what, reason, expected);
			return;
		}
	}
	printf("# %s, IPv%d: no try was within a jiffy\n", what, version);
	good = false;
}

/* ---- it serves: without this, nothing below would show anything ---- */

static int at_its_hook(void)
{
	run(TO_B, DATAGRAM);
	packet_node_forget_quietly();
	return run(TO_B, DATAGRAM);
}

static int at_the_next_hook(void)
{
	run(FROM_A, DATAGRAM);
	packet_node_forget_quietly();
	return run(TO_B, DATAGRAM);
}

static int a_reply(void)
{
	run(TO_B, DATAGRAM);
	packet_node_forget_quietly();
	return run(TO_A, PACKET(UDP(B, A, 40000), .sport = 53));
}

static int a_segment(void)
{
	run(FROM_A, ACK);
	packet_node_forget_quietly();
	return run(TO_B, ACK);
}

/*
 * A packet that ends at this node counts at the destination's hook, one that leaves the node at the
 * source's.
 */
static int counted(void)
{
	run(FROM_A, DATAGRAM);
	return run(FROM_A, DATAGRAM);
}

static int leaving(void)
{
	run(FROM_A, PACKET(UDP(A, REMOTE, 9)));
	run(TO_A, PACKET(UDP(REMOTE, A, 40000), .sport = 9));
	run(FROM_A, PACKET(UDP(A, REMOTE, 9)));
	run(FROM_A, PACKET(UDP(A, REMOTE, 9)));
	packet_node_forget_quietly();
	return run(FROM_A, PACKET(UDP(A, REMOTE, 9)));
}

static void serves(void)
{
	within_a_jiffy("at its hook", at_its_hook, BH_PASS_ESTABLISHED);
	within_a_jiffy("at the next hook", at_the_next_hook, BH_PASS_ESTABLISHED);
	within_a_jiffy("a reply", a_reply, BH_PASS_ESTABLISHED);
	within_a_jiffy("a TCP segment", a_segment, BH_PASS_ESTABLISHED);
	within_a_jiffy("at the source's hook", counted, SILENT);
	within_a_jiffy("what leaves the node", leaving, BH_PASS_ESTABLISHED);
}

static void not_for_long(void)
{
	begin();
	run(TO_B, DATAGRAM);
	packet_node_forget_quietly();
	usleep(20000);
	expect("later", run(TO_B, DATAGRAM), NEW);
}

/* ---- another generation ---- */

static int after_a_flip(void)
{
	int reason;

	run(TO_B, DATAGRAM);
	packet_node_set_generation(generation + 1);
	reason = run(TO_B, DATAGRAM);
	packet_node_set_generation(generation);
	return reason;
}

static void a_flip(void)
{
	packet_node_assign(HOST_B, generation + 1, SLOT_CLOSED);
	within_a_jiffy("another generation", after_a_flip, BH_DROP_INGRESS);
	packet_node_assign(HOST_B, generation + 1, SLOT_B);
	packet_node_set_generation(++generation);
}

/* ---- from elsewhere, to elsewhere ---- */

static int of_another_mac(void)
{
	run(FROM_A, DATAGRAM);
	return run(FROM_A, PACKET(UDP(A, B, 53), .foreign_mac = true, .mac = HOST_C));
}

static int from_another(void)
{
	run(FROM_A, DATAGRAM);
	return run(FROM_C, DATAGRAM);
}

static int through_another(void)
{
	run(FROM_A, DATAGRAM);
	return run_via(TO_B, DATAGRAM, VIA_C);
}

static int through_the_uplink(void)
{
	run(TO_B, DATAGRAM);
	return run_via(TO_B, DATAGRAM, VIA_UPLINK);
}

/* Sends the datagram to C, which A may not reach. */
static int to_another(void)
{
	run(TO_B, DATAGRAM);
	packet_node_forget_quietly();
	return run(TO_C, DATAGRAM);
}

static int from_the_node(void)
{
	run(TO_B, PACKET(UDP(NODE, B, 9)));
	run(FROM_B, PACKET(UDP(B, NODE, 40000), .sport = 9));
	run(TO_B, PACKET(UDP(NODE, B, 9)));
	run(TO_B, PACKET(UDP(NODE, B, 9)));
	return run_via(TO_B, PACKET(UDP(NODE, B, 9)), VIA_UPLINK);
}

static void elsewhere(void)
{
	within_a_jiffy("of another MAC", of_another_mac, BH_DROP_MAC);
	within_a_jiffy("from another endpoint", from_another, BH_DROP_MAC);
	within_a_jiffy("through another endpoint", through_another, BH_DROP_CLAIM);
	within_a_jiffy("through the uplink", through_the_uplink, BH_DROP_CLAIM);
	within_a_jiffy("to another endpoint", to_another, BH_DROP_EGRESS);
	within_a_jiffy("as from the node", from_the_node, BH_DROP_CLAIM);
}

/* ---- another key in the same slot ---- */

static struct packet_frame other;

/* The cache's slot, as in maps/flow_cache.h, and which end comes first in the key. */
static uint32_t index_of(const struct packet_frame *frame)
{
	const uint8_t *l3 = frame->bytes + frame->l3, *l4 = frame->bytes + frame->l4;
	uint64_t word[4], rest = (uint64_t)IPPROTO_UDP << 32;
	uint32_t ends[2], ports;
	bool swapped;

	memcpy(ends, l3 + 12, sizeof(ends));
	memcpy(word, l3 + 8, sizeof(word));
	memcpy(&ports, l4, sizeof(ports));
	swapped = version == 4 ? ends[0] > ends[1]
			       : word[0] > word[2] || (word[0] == word[2] && word[1] > word[3]);
	rest |= swapped ? ports << 16 | ports >> 16 : ports;
	rest ^= version == 6 ? word[1] ^ word[3] : (uint64_t)ends[!swapped] << 32 ^ ends[swapped];
	return bh_flow_cache_index(rest) | (uint32_t)swapped << 31;
}

/* Changes two bytes of an address such that the key has the same slot and the same end first. */
static void make_other(const struct packet_frame *from, int byte)
{
	uint16_t change = 0;

	do {
		other = *from;
		change++;
		other.bytes[other.l3 + byte] ^= change;
		other.bytes[other.l3 + byte + 1] ^= change >> 8;
	} while (index_of(&other) != index_of(from));
}

static int another_key(void)
{
	run(FROM_A, DATAGRAM);
	return packet_node_run_frame(FROM_A, other.bytes, other.length, 0).reason;
}

/* A packet that the cache serves at this hook moves no counter. */
static void another(void)
{
	static const struct {
		uint8_t version, byte; /* of the IP header */
		int reason;
	} changes[] = {
		{4, 13, BH_DROP_SOURCE}, {4, 17, NEW}, {6, 8, BH_DROP_SOURCE},
		{6, 17, BH_DROP_SOURCE}, {6, 26, NEW}, {6, 33, NEW},
	};
	struct packet_spec spec = DATAGRAM;
	struct packet_frame datagram;

	spec.version = version;
	packet_build(&spec, &datagram);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		if (changes[i].version != version)
			continue;
		make_other(&datagram, changes[i].byte);
		within_a_jiffy("another address", another_key, changes[i].reason);
	}
	spec.dport = 54;
	do {
		spec.sport++;
		packet_build(&spec, &other);
	} while (index_of(&other) != index_of(&datagram));
	within_a_jiffy("other ports", another_key, BH_DROP_EGRESS);
}

/* ---- what changes the entry ---- */

static uint32_t state_of_tcp(void)
{
	return packet_node_states(IPPROTO_TCP);
}

/* After a valid RST no segment follows; one that does restores the connection's age. */
static int after_rst(void)
{
	struct packet_spec end = ACK, data = ACK;

	end.flags = TCP_R | TCP_A;
	data.payload = 8;
	run(TO_B, ACK);
	run(TO_B, end);
	if (!state_of_tcp())
		return -3;
	run(TO_B, data);
	return state_of_tcp();
}

/* After the FINs of both ends no data follows; data that does takes its sender's FIN back. Returns
 * how many FINs are left. */
static int after_fins(void)
{
	struct packet_spec end = ACK, other = PACKET(TCP(B, A, 40000), .sport = 80, .seq = 5001,
						     .ack = 1002, .flags = TCP_F | TCP_A);
	struct packet_spec data = ACK;

	end.flags = TCP_F | TCP_A;
	data.payload = 8;
	run(TO_B, ACK);
	run(TO_B, end);
	run(FROM_B, other);
	if ((state_of_tcp() & BH_CT_FINS) != BH_CT_FINS)
		return -3;
	run(TO_B, data);
	return __builtin_popcount(state_of_tcp() & BH_CT_FINS);
}

/* A's hook leaves a would-be drop to B's hook, which must look up the entry. */
static int after_audit(void)
{
	int map = packet_node_map("bh_ifaces");
	uint32_t ifindex = packet_node_ifindex(FROM_A);
	struct bh_iface iface;

	if (bpf_map_lookup_elem(map, &ifindex, &iface))
		return -3;
	iface.flags |= BH_IFACE_AUDIT;
	bpf_map_update_elem(map, &ifindex, &iface, BPF_EXIST);
	run(TO_B, DATAGRAM);
	run(FROM_A, PACKET(UDP(A, B, 53), .foreign_mac = true, .mac = HOST_C));
	iface.flags &= ~BH_IFACE_AUDIT;
	bpf_map_update_elem(map, &ifindex, &iface, BPF_EXIST);
	packet_node_forget_quietly();
	return run(TO_B, DATAGRAM);
}

static void ends(void)
{
	within_a_jiffy("after a drop that is only audited", after_audit, NEW);
	within_a_jiffy("after RST", after_rst, 0);
	within_a_jiffy("after both FINs", after_fins, 1);
}

static const struct packet_sequence sequences[] = {
	{"the flow cache serves the next packet of a connection", serves},
	{"the flow cache serves no packet of a later jiffy", not_for_long},
	{"the flow cache serves no packet at another generation", a_flip},
	{"the flow cache serves no packet by another interface", elsewhere},
	{"the flow cache serves no other key in the same slot", another},
	{"the flow cache serves no packet after RST, FIN or an audit", ends},
};

int main(void)
{
	packet_node_stay();
	return packet_sequences(sequences, sizeof(sequences) / sizeof(sequences[0]), &version,
				&good);
}
