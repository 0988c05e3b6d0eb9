/* SPDX-License-Identifier: GPL-2.0-only */
/* Metrics of engine and follower, as Prometheus reads them. */
#ifndef BULKHEAD_CLUSTER_COUNT_H
#define BULKHEAD_CLUSTER_COUNT_H

#include <stdio.h>

#include "api/api.h"

/* A metric of one series, "bulkhead_NAME"; a name that ends in _total is a counter, else a gauge.
 */
void count_put(FILE *to, const char *name, const char *help, double value);

/* The lines before a metric of several series; count_series() writes one: @labels as `a="b"`. */
void count_family(FILE *to, const char *name, const char *help);
void count_series(FILE *to, const char *name, const char *labels, double value);

/* What was said with the API server, and what this process takes of the machine. */
void count_api(FILE *to, const struct api *api);
void count_process(FILE *to);

#endif
