/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes metrics of engine and follower in Prometheus' text format. */
#ifndef BULKHEAD_CLUSTER_COUNT_H
#define BULKHEAD_CLUSTER_COUNT_H

#include <stdio.h>

#include "api/api.h"
#include "cluster/event_objects.h"
#include "model/histogram.h"

/* Writes the metric "bulkhead_NAME" with one series: a counter if the name ends in _total, else
 * a gauge. */
void count_put(FILE *to, const char *name, const char *help, double value);

/* Writes the HELP and TYPE lines of a metric. count_series() then writes one series, with
 * @labels as `a="b"`. */
void count_family(FILE *to, const char *name, const char *help);
void count_series(FILE *to, const char *name, const char *labels, double value);

/* Writes the metric "bulkhead_NAME" as a histogram without labels. */
void count_histogram(FILE *to, const char *name, const char *help,
		     const struct histogram *histogram);

/* Writes counts of the Events that this process makes. */
void count_events(FILE *to, struct event_counts counts);

/* Writes counts of the traffic with the API server, and this process' use of the machine. */
void count_api(FILE *to, const struct api *api);
void count_process(FILE *to);

#endif
