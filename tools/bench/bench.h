/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of the benchmark. Each returns 0, or -errno with the reason on stderr. */
#ifndef BULKHEAD_TOOLS_BENCH_BENCH_H
#define BULKHEAD_TOOLS_BENCH_BENCH_H

#include "tools/bench/report.h"

struct bench {
	/* the build's folder: it has the command and the generator; results go to its bench/ */
	const char *build;
	unsigned int rounds;
	char pin[48]; /* the path with which all pins begin */
	struct report report;
};

int bench_compile(struct bench *bench);
int bench_packet(struct bench *bench);
int bench_steady(struct bench *bench);
int bench_wire(struct bench *bench);
int bench_uplink(struct bench *bench);
int bench_load(struct bench *bench);
int bench_delta(struct bench *bench);

/*
 * Keeps other processes and ksoftirqd off this CPU. Otherwise a sample that ends in the kernel's
 * network stack ends only with the next tick of the clock.
 */
void bench_alone(void);

/* Writes the generator's @workload to BUILD/bench/NAME.FORMAT, unless the file exists. */
#define BENCH_PATH 256
int bench_workload(const struct bench *bench, const char *workload, const char *format,
		   char path[BENCH_PATH]);

#endif
