/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs a function on two CPUs at one moment. */
#ifndef BULKHEAD_SELFTESTS_TWO_CPUS_H
#define BULKHEAD_SELFTESTS_TWO_CPUS_H

#include <stdbool.h>

/* Returns false if the process may use one CPU only. Call it first. */
bool two_cpus_begin(void);

/*
 * Calls @function(0) on the first CPU, by this thread, and @function(1) on the second one. Both
 * begin together, a little apart from each other each time. Returns when both have returned.
 */
void two_cpus_run(void (*function)(unsigned int which));

/* Gives the thread that calls it to the nth CPU that the process may use, from 0 on. */
void two_cpus_pin(int nth);

#endif
