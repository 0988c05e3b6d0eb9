/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A node that forwards between two pods and the outside, each a network
 * namespace. The pods are pod-0 (the server) and pod-1 of the generator's
 * workload "node"; what comes from outside says that it is of pod-2.
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

/* The ports that the crafted packets go to. */
#define WORLD_UDP 1000
#define WORLD_TCP 5000

/* Takes a host's UDP packets, and is never read: they end at its full buffer. Returns its fd or
 * -errno, reported. */
int world_sink(const struct world *world, enum guest host);

/* Packets that a host's interface has received. */
uint64_t world_received(const struct world *world, enum guest host);

struct sender;
int sender_open(struct sender **sender);

/* A program that drops at once, at the uplink: then what is left is sender and veth. */
int sender_drop(const struct sender *sender, const struct world *world);

/*
 * Puts @n packets of 60 bytes into the interface of the host that sends, as of
 * @flows flows. The node handles them before this returns: sender, veth and node
 * share one CPU. Returns 0 and nanoseconds a packet, or -errno.
 */
struct burst {
	enum guest from, to;
	bool syn; /* TCP SYNs, else UDP */
	bool back; /* answers: the flows' ports are the destination's */
	uint32_t flows, n;
};
int sender_run(struct sender *sender, const struct world *world, const struct burst *burst,
	       double *ns);

#endif
