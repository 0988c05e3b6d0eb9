/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sequences of packets through a node that translates, for the test that compares what arrives with
 * what a naive model of policy lets arrive. This header is what the parts share: the world and the
 * steps, without any verdict.
 *
 *   translation_world.c  addresses
 *   translation_model.c  who may reach whom, and what is an answer
 *   translation_node.c   a node with the programs, Services and the kernel's conntrack
 *   translation_steps.c  random sequences, and a sequence as text
 */
#ifndef BULKHEAD_SELFTESTS_TRANSLATION_H
#define BULKHEAD_SELFTESTS_TRANSLATION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Pods of the node, of which the last two are on a bridge; the node; and beyond the uplink two
 * hosts and two pods of another node. */
enum actor {
	POD_A,
	POD_B,
	POD_C,
	BRIDGED_D,
	BRIDGED_E,
	PODS,
	NODE = PODS,
	HOST_1,
	HOST_2,
	FAR,
	WORSE,
	ACTORS,
	NOBODY = ACTORS,
};

extern const char *const translation_actors[ACTORS + 1];

static inline bool is_pod(unsigned int actor)
{
	return actor < PODS;
}

static inline bool is_bridged(unsigned int actor)
{
	return actor == BRIDGED_D || actor == BRIDGED_E;
}

static inline bool is_outside(unsigned int actor)
{
	return actor > NODE && actor < ACTORS;
}

/* Services: the backends of each, of which the packet chooses one (struct step). */
#define SERVICES 6
#define BACKENDS 4
extern const uint8_t service_backends[SERVICES][BACKENDS]; /* enum actor; NOBODY: no more */

#define PORT_CALLED 80 /* of Services */
#define PORT_OPEN 6379 /* of all backends, in policies' port lists */
#define PORT_OTHER 7000 /* in no policy's port list */
#define PORT_MASKED 30000 /* NodePorts whose callers the node masquerades */
#define PORT_KEPT 31000 /* NodePorts that keep the caller's address */
#define PORT_CALLER 5000 /* all callers use few source ports */
#define CALLER_PORTS 3

/* An address and port of a packet. IPv4 addresses fill the first 4 bytes. */
struct place {
	uint8_t address[16];
	uint16_t port;
};

struct flow {
	struct place from, to;
	uint8_t version, protocol;
};

struct sending {
	unsigned int actor, peer; /* who sends, and to whom it is meant */
	struct flow flow; /* of an ICMP error: without ports */
	bool error; /* an ICMP error */
	struct flow quoted; /* of an ICMP error: the packet that it is about */
};

enum step_kind {
	CALL, /* a caller sends the first packet to a destination */
	AGAIN, /* the caller of an earlier step sends one more */
	REPLY, /* where an earlier step's packets go, somebody answers them */
	ASTRAY, /* somebody else does */
	ERROR, /* who got a packet of an earlier step sends an ICMP error about it */
	ERROR_ASTRAY, /* somebody else does, as a router would */
	FORGET, /* the kernel's conntrack forgets all */
	LOSE, /* the programs forget all connections */
	FLIP, /* the other policy is active */
};

enum target { DIRECT, CLUSTER, MASKED, KEPT, TARGETS };

/* How the node translates the source: not at all (but MASKED), or to its own address and the same
 * port, or any port. */
enum mode { PLAIN, MASQUERADE, RANDOM, MODES };

enum segment { SYN, SYN_ACK, ACK, FIN, RST, RST_DATA, SEGMENTS };

struct step {
	uint8_t kind; /* enum step_kind */
	uint8_t id; /* of a call; of AGAIN, REPLY and ASTRAY: the call's */
	uint8_t actor; /* CALL: the caller; ASTRAY, ERROR_ASTRAY: the sender */
	uint8_t version, protocol;
	uint8_t port; /* CALL: which of CALLER_PORTS */
	uint16_t from_port; /* CALL: the caller's port, if not one of these */
	uint8_t target; /* CALL: enum target */
	uint8_t to; /* CALL: an actor, or a Service */
	bool other_port; /* DIRECT: PORT_OTHER */
	bool of_reply; /* ERROR, ERROR_ASTRAY: about a reply, as the caller sees it */
	uint8_t mode, backend; /* of a packet, should the kernel have to choose */
	uint8_t segment; /* enum segment; of UDP and SCTP: ACK for all but the first packet */
};

#define STEPS_MAX 24

/* What a pod's policies let pass. */
struct rules {
	bool isolates, one_port; /* PORT_OPEN */
	uint16_t peers; /* a bit for each actor */
};

struct policies {
	struct rules rules[PODS][2]; /* [1]: egress */
};

struct sequence {
	uint64_t seed;
	struct policies policies[2]; /* the first is active at the start */
	int n;
	struct step steps[STEPS_MAX];
};

/* The text of an actor's address, or of a Service's. */
const char *actor_address(unsigned int actor, uint8_t version);
const char *service_address(unsigned int service, uint8_t version, char text[32]);

struct place place_of(unsigned int actor, uint8_t version, uint16_t port);
struct place place_called(const struct step *step);
uint16_t port_of_caller(const struct step *step);

/* The actor that has an address; NOBODY: none has. */
unsigned int place_owner(const struct place *place, uint8_t version);

/* What became of a packet. */
struct fate {
	bool entered; /* it passed the hooks at its entry */
	bool shown; /* it came to an exit of the node, as @flow, on the way to @actor */
	bool arrived;
	uint8_t actor;
	struct flow flow;
	struct flow quoted; /* of an ICMP error */
};

#endif
