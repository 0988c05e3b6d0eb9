/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sequences of frames, policy changes and time on one node, for the test that compares the
 * programs' verdicts with those of a simple model of a stateful enforcer. This header is what the
 * three parts share: the world and the steps, without any verdict.
 *
 *   sequence_model.c  what may be delivered, read from the specification
 *   sequence_node.c   a node with the programs, and the way that a frame takes through it
 *   sequence_steps.c  random sequences, and a sequence as text
 */
#ifndef BULKHEAD_SELFTESTS_SEQUENCE_H
#define BULKHEAD_SELFTESTS_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * The actors. The first ones are pods: the routed ones with an interface each, the bridged ones on
 * one bridge with the LAN host. GUEST comes and goes. The node has an address on every link;
 * OUTSIDE and REMOTE, a pod of another node, are beyond the uplink.
 */
enum actor {
	ROUTED_1,
	ROUTED_2,
	GUEST,
	ROUTED_AUDITED,
	BRIDGED_1,
	BRIDGED_2,
	BRIDGED_3,
	BRIDGED_AUDITED,
	PODS,
	NODE = PODS,
	LAN,
	OUTSIDE,
	REMOTE,
	ACTORS,
	NOBODY = ACTORS, /* an address of none of these */
};

extern const char *const actor_names[ACTORS + 1];

static inline bool is_pod(unsigned int actor)
{
	return actor < PODS;
}

static inline bool is_audited(unsigned int actor)
{
	return actor == ROUTED_AUDITED || actor == BRIDGED_AUDITED;
}

static inline bool is_bridged_pod(unsigned int actor)
{
	return actor >= BRIDGED_1 && actor <= BRIDGED_AUDITED;
}

/* Returns true if frames that an actor sends go to the bridge. */
static inline bool is_on_bridge(unsigned int actor)
{
	return is_bridged_pod(actor) || actor == LAN;
}

enum address_kind {
	MAIN, /* the address that policy lists */
	SECOND, /* of a pod: the node routes it to the pod, policy does not list it */
	LINK, /* fe80::, IPv6 only */
	GROUP, /* multicast */
	ALL, /* 255.255.255.255, ff02::1 */
	UNSPECIFIED,
};

struct place {
	uint8_t actor; /* enum actor; NOBODY for GROUP, ALL and UNSPECIFIED */
	uint8_t kind; /* enum address_kind */
};

/* The destination of a frame's MAC: an actor, or one of these. */
enum { TO_ROUTER = ACTORS, TO_ALL, MACS_TO };

enum step_kind { SEND, FLIP, WAIT, LEAVE, ARRIVE };

enum icmp_kind { ICMP_NONE, ICMP_REQUEST, ICMP_REPLY, ICMP_ERROR };

/* The initial sequence numbers that an end's SYN may have, and one that none has. */
#define NUMBERS 2
#define WRONG_NUMBER NUMBERS

struct step {
	uint8_t kind; /* enum step_kind */
	uint8_t policy; /* FLIP: index of the sequence's policy */
	uint8_t role; /* ARRIVE: GUEST's labels */
	uint16_t seconds; /* WAIT */

	/* SEND */
	bool together; /* another CPU sends the frame of the next step at the same moment */
	uint8_t from; /* the true sender */
	uint8_t mac_from; /* the actor of the source MAC */
	uint8_t mac_to;
	struct place source, destination;
	uint8_t version, protocol;
	uint16_t sport, dport; /* ICMP: sport is the identifier */
	uint8_t flags; /* TCP */
	uint8_t number, acknowledged; /* TCP: index of the sender's number, and of the receiver's */
	uint16_t payload;
	/* enum icmp_kind; ERROR quotes a packet of the remaining fields, from the destination to
	 * `about` */
	uint8_t icmp;
	struct place about;
	uint8_t quoted; /* protocol */
	uint16_t quoted_sport, quoted_dport;
	bool fragment, more;
	uint16_t fragment_at, id;
};

#define STEPS_MAX 40

/* A bit for each possible peer: a pod's role, and these. */
#define PEER(actor) (1u << (actor))
#define PEER_ANY (1u << ACTORS)

enum rule_ports { PORTS_ALL, PORTS_SEVEN /* TCP, UDP and SCTP port 7 */ };

struct rules {
	bool isolates;
	uint8_t n;
	struct {
		uint16_t peers;
		uint8_t ports; /* enum rule_ports */
	} rule[2];
};

/* Indexed by role: a pod's role is its own number; GUEST may have another's. */
struct policies {
	struct rules rules[PODS][2]; /* [1]: egress */
	bool no_node[PODS]; /* an AdminNetworkPolicy denies egress to the node */
};

#define POLICIES 4 /* that are loaded together */

struct sequence {
	uint64_t seed;
	struct policies policies[POLICIES]; /* the first is active at the start */
	int n;
	struct step steps[STEPS_MAX];
};

/* Set at load, in seconds. No sum of waits comes near a timeout. */
#define WAIT_UNIT 100
#define TIMEOUT_TCP 1050
#define TIMEOUT_TCP_CLOSING 150
#define TIMEOUT_HALF_OPEN 250
#define TIMEOUT_UDP 350
#define TIMEOUT_SCTP 450
#define TIMEOUT_ICMP 150
#define TIMEOUT_OTHER 450
#define TIMEOUT_DENIED 250
#define TIMEOUT_FRAGMENT 150

/* The hooks at which a frame meets a program. */
enum hook { HOOK_FROM, HOOK_TO, HOOK_PORT, HOOK_UPLINK };

struct sight {
	enum hook hook;
	uint8_t at; /* the pod whose hook it is, or LAN or OUTSIDE */
	uint8_t receiver; /* the receiving actor; NOBODY: none or several */
	bool routed; /* by the node, which replaces the MACs */
};

enum word { MUST_DROP, MUST_PASS, MAY };

#endif
