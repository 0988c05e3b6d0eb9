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

/* Packets that a host's interface has received. */
uint64_t world_received(const struct world *world, enum guest host);

struct sender;
int sender_open(struct sender **sender);

/*
 * Puts @n packets of 60 bytes to the server into a host's interface, UDP or TCP
 * SYNs, as of @flows flows. The node handles them before this returns: sender,
 * veth and node share one CPU. Returns 0 and nanoseconds a packet, or -errno.
 */
int sender_run(struct sender *sender, const struct world *world, enum guest host, bool syn,
	       uint32_t flows, uint32_t n, double *ns);

#endif
