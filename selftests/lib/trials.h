/* SPDX-License-Identifier: GPL-2.0-only */
/* The tests with random sequences select their seeds and print a failure here. */
#ifndef BULKHEAD_SELFTESTS_TRIALS_H
#define BULKHEAD_SELFTESTS_TRIALS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TRIALS_FAILURES_MAX 5

struct trials {
	uint64_t usual, full; /* sequences; @full: with BULKHEAD_FULL; a few: with BULKHEAD_SMALL */
	/* Runs the sequence of a seed. Returns true if the rest is to be run. */
	bool (*run)(uint64_t seed, void *data);
	void *data;
};

/* Runs SEQUENCES sequences from SEED on, if these variables are set. Without SEED, BULKHEAD_SEED
 * says where to begin. Returns how many were run. */
uint64_t trials_run(const struct trials *trials);

/* Prints the text that @print writes of @policies, as comments. */
void trials_print_policies(int which, void (*print)(FILE *to, const void *policies),
			   const void *policies);

#endif
