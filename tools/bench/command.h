/* SPDX-License-Identifier: GPL-2.0-only */
/* The command, run as its users do, and what it compiled. */
#ifndef BULKHEAD_TOOLS_BENCH_COMMAND_H
#define BULKHEAD_TOOLS_BENCH_COMMAND_H

#include "compile/policy.h"
#include "tools/bench/bench.h"

/* Runs a shell's line; *ms: on the clock, from its start to its end. What it says goes to a log. */
int __attribute__((format(printf, 3, 4)))
command_run(const struct bench *bench, double *ms, const char *format, ...);

/* Processor time of the commands that have ended. */
double command_processor_ms(void);

/* The last "N map writes" of that log. */
int command_map_writes(const struct bench *bench, double *writes);

int command_read_blob(const char *path, struct policy **policy);

#endif
