/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A histogram of times, for metrics: how many took at most so long, from 1 ms to a minute.
 * Processes may count in one at once, in memory that they share.
 */
#ifndef BULKHEAD_MODEL_HISTOGRAM_H
#define BULKHEAD_MODEL_HISTOGRAM_H

#include <stdint.h>
#include <stdio.h>

#define HISTOGRAM_BOUNDS 15

struct histogram {
	/* by the least bound that holds; the last is beyond all bounds */
	uint64_t counts[HISTOGRAM_BOUNDS + 1];
	uint64_t microseconds; /* the sum of all times */
};

void histogram_add(struct histogram *histogram, uint64_t microseconds);

/* Writes Prometheus' series of "bulkhead_NAME", without HELP and TYPE. @label: `a="b"`; NULL:
 * none. */
void histogram_write(FILE *to, const char *name, const char *label,
		     const struct histogram *histogram);

#endif
