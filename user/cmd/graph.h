/* SPDX-License-Identifier: GPL-2.0-only */
/* The forms that `bulkhead graph` writes. */
#ifndef BULKHEAD_CMD_GRAPH_H
#define BULKHEAD_CMD_GRAPH_H

#include <stdio.h>

#include "compile/kinds.h"
#include "compile/verdicts.h"

/* Which flows the DOT and JSON forms show. */
struct graph_filter {
	const char *ns; /* only kinds with a pod of this namespace at one end; NULL: all */
	uint32_t point; /* only this protocol and port (maps/types.h) */
	bool has_point;
};

/* Backends of a Service's port, alike ones once. */
struct graph_backend {
	const struct policy_service_port *port;
	uint32_t kind; /* which they are */
	uint16_t to_port;
};

/* graph_services.c: sorted by the Service's port, then kind. @policy is the @nth (from 0) of the
 * policies that @kinds were listed by. Returns 0 and an array to free, or -ENOMEM. */
int graph_backends(const struct policy *policy, const struct kinds *kinds, size_t nth,
		   struct graph_backend **backends, size_t *n);

/* Of what a graph shows; each node comes before what leads from or to it. */
struct graph_visitor {
	void (*node)(void *data, size_t kind); /* index in kinds->at */
	/* One that reaches another: @allowed by both ends. */
	void (*edge)(void *data, size_t from, size_t to, const struct verdicts *allowed);
	void (*backend)(void *data, const struct graph_backend *backend);
};

/* graph_walk.c. Returns 0 or -ENOMEM. */
int graph_walk(const struct policy *policy, const struct kinds *kinds,
	       const struct graph_filter *filter, const struct graph_visitor *visitor, void *data);

/* NULL: it is in none, and so isolated. */
const struct policy_segment *graph_segment(const struct policy *policy, const struct kind *kind);
bool graph_isolated(const struct policy_segment *segment, enum direction direction);

/*
 * An object with "groups" (what selects them, their members, whether they are isolated), "edges"
 * between these by their "id" with all ports, and "backends" of Services. Returns 0 or -ENOMEM.
 */
int graph_json(FILE *to, const struct policy *policy, const struct kinds *kinds,
	       const struct graph_filter *filter, bool pretty);

/*
 * Writes a graph in the DOT language: a node for each kind, an edge where a policy of either end
 * has a say and both ends allow some port; and one for each Service, with dashed edges to the kinds
 * that are behind it. Returns 0 or -ENOMEM.
 */
int graph_dot(FILE *to, const struct policy *policy, const struct kinds *kinds,
	      const struct graph_filter *filter);

/*
 * Writes one HTML page that needs nothing else: the tables of @n policies (1 or 2: an older and a
 * newer one, compared), their kinds, and a script that judges by the steps of maps/segment.h.
 * Returns 0 or -ENOMEM.
 */
int graph_page(FILE *to, const struct policy *const policies[], size_t n,
	       const struct kinds *kinds);

#endif
