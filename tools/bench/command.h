/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs the command as users do. */
#ifndef BULKHEAD_TOOLS_BENCH_COMMAND_H
#define BULKHEAD_TOOLS_BENCH_COMMAND_H

#include "policy/policy.h"
#include "tools/bench/bench.h"

/* Runs a line of shell. *ms is the time from its start to its end. Its output goes to a log. */
int __attribute__((format(printf, 3, 4)))
command_run(const struct bench *bench, double *ms, const char *format, ...);

/* Returns the processor time of the commands that have ended. */
double command_processor_ms(void);

/* Reads the last "N map writes" of that log. */
int command_map_writes(const struct bench *bench, double *writes);

int command_read_blob(const char *path, struct policy **policy);

#endif
