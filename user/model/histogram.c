// SPDX-License-Identifier: GPL-2.0-only
#include "model/histogram.h"

#include <inttypes.h>

/* In microseconds. A change of the bounds makes the counts of a running node wrong. */
static const uint64_t bounds[HISTOGRAM_BOUNDS] = {
	1000,	2500,	 5000,	  10000,   25000,    50000,    100000,	 250000,
	500000, 1000000, 2500000, 5000000, 10000000, 30000000, 60000000,
};

void histogram_add(struct histogram *histogram, uint64_t microseconds)
{
	int i = 0;

	while (i < HISTOGRAM_BOUNDS && microseconds > bounds[i])
		i++;
	__atomic_fetch_add(&histogram->counts[i], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&histogram->microseconds, microseconds, __ATOMIC_RELAXED);
}

void histogram_write(FILE *to, const char *name, const char *label,
		     const struct histogram *histogram)
{
	const char *text = label ? label : "", *comma = label ? "," : "";
	uint64_t sum = 0;

	for (int i = 0; i < HISTOGRAM_BOUNDS; i++) {
		sum += histogram->counts[i];
		fprintf(to, "bulkhead_%s_bucket{%s%sle=\"%g\"} %" PRIu64 "\n", name, text, comma,
			bounds[i] / 1e6, sum);
	}
	sum += histogram->counts[HISTOGRAM_BOUNDS];
	fprintf(to, "bulkhead_%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", name, text, comma, sum);
	fprintf(to, "bulkhead_%s_sum%s%s%s %.6f\n", name, label ? "{" : "", text, label ? "}" : "",
		histogram->microseconds / 1e6);
	fprintf(to, "bulkhead_%s_count%s%s%s %" PRIu64 "\n", name, label ? "{" : "", text,
		label ? "}" : "", sum);
}
