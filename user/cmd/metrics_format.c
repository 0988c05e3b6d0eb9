// SPDX-License-Identifier: GPL-2.0-only
/* Lines of Prometheus' text format. */
#include <inttypes.h>
#include <stdio.h>

#include "cmd/metrics.h"

void metrics_family(const struct metrics *metrics, const char *name, const char *type,
		    const char *help)
{
	fprintf(metrics->to, "# HELP bulkhead_%s %s\n# TYPE bulkhead_%s %s\n", name, help, name,
		type);
}

void metrics_single(const struct metrics *metrics, const char *name, const char *type,
		    const char *help, uint64_t value)
{
	metrics_family(metrics, name, type, help);
	fprintf(metrics->to, "bulkhead_%s %" PRIu64 "\n", name, value);
}
