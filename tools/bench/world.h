/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A node that forwards between two pods and the outside, each a network namespace. The pods are
 * pod-0 (the server) and pod-1 of the generator's workload "node". Packets from outside have
 * pod-2's address.
 */
#ifndef BULKHEAD_TOOLS_BENCH_WORLD_H
#define BULKHEAD_TOOLS_BENCH_WORLD_H

#include "tools/bench/place.h"

enum guest { SERVER, CLIENT, OUTSIDE, GUESTS };

struct world {
	struct place node;
	int hosts[GUESTS]; /* namespaces */
};

int world_make(struct bench *bench, unsigned int number, struct world *world);
int world_enter(const struct world *world, enum guest host);

/* Destination ports of the crafted packets. */
#define WORLD_UDP 1000
#define WORLD_TCP 5000

/* Opens a host's UDP port and never reads it: packets end at the full buffer. Returns the fd or
 * -errno, reported. */
int world_sink(const struct world *world, enum guest host);

/* Returns the number of packets that a host's interface has received. */
uint64_t world_received(const struct world *world, enum guest host);

struct sender;
int sender_open(struct sender **sender);

/* Attaches a program that drops at once at the uplink, so that only sender and veth are
 * measured. */
int sender_drop(const struct sender *sender, const struct world *world);

/*
 * Sends @n packets of 60 bytes of @flows flows into the interface of the sending host. The node
 * handles them before this returns: sender, veth and node share one CPU. Returns 0 and
 * nanoseconds a packet, or -errno.
 */
struct burst {
	enum guest from, to;
	bool syn; /* TCP SYNs, else UDP */
	bool back; /* answers: flows differ in the destination's port */
	uint32_t flows, n;
};
int sender_run(struct sender *sender, const struct world *world, const struct burst *burst,
	       double *ns);

#endif
