/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of `metrics` share: the report in the making, and how it is written. */
#ifndef BULKHEAD_CMD_METRICS_H
#define BULKHEAD_CMD_METRICS_H

#include <stdio.h>

#include "node/observe/live.h"
#include "node/node.h"

struct metrics_request {
	const char *output; /* NULL: standard output */
	const char *pin;
	const char *cni_state; /* NULL: the default */
	size_t policies, namespaces; /* how many of these have series of their own */
};

struct metrics {
	FILE *to;
	const struct metrics_request *request;
	const struct node_status *status;
	struct live *live;
};

/* The two lines before a metric's series; @type: "gauge" or "counter". */
void metrics_family(const struct metrics *metrics, const char *name, const char *type,
		    const char *help);

/* A metric of one series. */
void metrics_single(const struct metrics *metrics, const char *name, const char *type,
		    const char *help, uint64_t value);

/* A label's value: backslash, quote and newline are escaped. */
void metrics_value(FILE *to, const char *text);

/* "ingress" and "egress", by enum bh_direction. */
extern const char *const metrics_directions[];

/* All that `bulkhead metrics` prints, of the node that is pinned at @pin. */
void metrics_write(FILE *to, const char *pin);

/* Drops by namespace, and what became of events. Returns 0 or -errno. */
int metrics_drops(const struct metrics *metrics);

#endif
