/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of `metrics`: the report, and the functions that write it. */
#ifndef BULKHEAD_CMD_METRICS_H
#define BULKHEAD_CMD_METRICS_H

#include <stdio.h>

#include "node/observe/live.h"
#include "node/node.h"

struct metrics_request {
	const char *output; /* NULL: standard output */
	const char *pin;
	const char *cni_state; /* NULL: the default */
	/* how many policies, and how many namespaces, have series of their own */
	size_t policies, namespaces;
};

struct metrics {
	FILE *to;
	const struct metrics_request *request;
	const struct node_status *status;
	struct live *live;
};

/* Writes the HELP and TYPE lines of a metric. @type: "gauge" or "counter". */
void metrics_family(const struct metrics *metrics, const char *name, const char *type,
		    const char *help);

/* Writes a metric that has one series. */
void metrics_single(const struct metrics *metrics, const char *name, const char *type,
		    const char *help, uint64_t value);

/* Writes all that `bulkhead metrics` prints about the node pinned at @pin. */
void metrics_write(FILE *to, const char *pin);

/* Writes drops by namespace, and counts of events. Returns 0 or -errno. */
int metrics_drops(const struct metrics *metrics);

/* Prints what became of DNS messages. Returns 0 or -errno, not reported. */
int metrics_dns(const struct metrics *metrics);

/* metrics_audit.c: writes what audited policies would have denied. Returns 0 or -errno. */
int metrics_audits(const struct metrics *metrics);

#endif
