/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of the benchmark. Each returns 0, or -errno with the reason on standard error. */
#ifndef BULKHEAD_TOOLS_BENCH_BENCH_H
#define BULKHEAD_TOOLS_BENCH_BENCH_H

#include "tools/bench/report.h"

struct bench {
	const char *build; /* the build's folder: the command, the generator; bench/ for what comes
			      out */
	unsigned int rounds;
	char pin[48]; /* what is pinned begins with this path */
	struct report report;
};

int bench_compile(struct bench *bench);
int bench_packet(struct bench *bench);
int bench_steady(struct bench *bench);
int bench_wire(struct bench *bench);
int bench_uplink(struct bench *bench);
int bench_load(struct bench *bench);
int bench_needed(struct bench *bench);
int bench_delta(struct bench *bench);

/*
 * Neither another process nor ksoftirqd takes the CPU from this one: else a
 * sample that ends in the kernel's network stack ends with the clock's next tick.
 */
void bench_alone(void);

/* The generator's @workload into BUILD/bench/NAME.FORMAT, unless it is there. */
#define BENCH_PATH 256
int bench_workload(const struct bench *bench, const char *workload, const char *format,
		   char path[BENCH_PATH]);

#endif
