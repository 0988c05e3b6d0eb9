/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A node of the benchmark: a network namespace with the node's sides of two pods' interfaces,
 * bench0 and bench1, and a policy of the generator's workload "node" active. Namespaces end with
 * the process; main.c removes the pins.
 */
#ifndef BULKHEAD_TOOLS_BENCH_PLACE_H
#define BULKHEAD_TOOLS_BENCH_PLACE_H

#include "node/node.h"
#include "tools/bench/bench.h"

struct place {
	char pin[64];
	struct node_options options;
	int netns;
	unsigned int ifindex[2]; /* of bench0, bench1 */
};

/* Moves the calling thread into a new namespace. Returns 0 or -errno, reported. */
int place_make(struct bench *bench, unsigned int number, struct place *place);
int place_enter(const struct place *place);

/* Runs `ip -batch` with the lines of @batch. Returns 0 or -errno, reported. */
int place_ip(const char *batch);

/* Compiles the input at @path and activates it. @change may be NULL. */
int place_load(struct place *place, const char *path, struct node_change *change);

#endif
