/* SPDX-License-Identifier: GPL-2.0-only */
/* The output formats of `bulkhead graph`. */
#ifndef BULKHEAD_CMD_GRAPH_H
#define BULKHEAD_CMD_GRAPH_H

#include <stdio.h>

#include "policy/flow_classes.h"
#include "policy/verdicts.h"

/* Which flows the DOT, SVG and JSON forms show. */
struct graph_filter {
	const char *ns; /* only kinds that have a pod of this namespace at one end; NULL: all */
	uint32_t point; /* only flows to this protocol and port (maps/types.h) */
	bool has_point;
	bool open; /* also flows between kinds that no policy restricts */
};

/* A kind of backend behind a port of a Service. Equal entries stand once. */
struct graph_backend {
	const struct policy_service_port *port;
	uint32_t kind; /* the backends' kind */
	uint16_t to_port;
};

/* graph_services.c. Sorts the result by the Service's port, then by kind. @policy is the one at
 * index @nth of the policies that @kinds were made from. Returns 0 and an array to free, or
 * -ENOMEM. */
int graph_backends(const struct policy *policy, const struct flow_classes *kinds, size_t nth,
		   struct graph_backend **backends, size_t *n);

/* Receives the parts of a graph: each node before its edges. */
struct graph_visitor {
	void (*node)(void *data, size_t kind); /* index in kinds->at */
	/* @from reaches @to; both ends' policies allow @allowed */
	void (*edge)(void *data, size_t from, size_t to, const struct verdicts *allowed);
	void (*backend)(void *data, const struct graph_backend *backend);
};

/* graph_walk.c. Returns 0 or -ENOMEM. */
int graph_walk(const struct policy *policy, const struct flow_classes *kinds,
	       const struct graph_filter *filter, const struct graph_visitor *visitor, void *data);

/* Returns the kind's segment; NULL: the kind is in no segment, and so isolated. */
const struct policy_segment *graph_segment(const struct policy *policy,
					   const struct flow_class *kind);
bool graph_isolated(const struct policy_segment *segment, enum direction direction);
/* Returns true if a policy restricts flows between members of the kinds that are not each other's
 * own node: only then do two kinds have an edge. */
bool graph_restricts(const struct policy *policy, const struct flow_class *from,
		     const struct flow_class *to);
/* Returns true if the kind has a pod of the namespace. */
bool graph_in_namespace(const struct flow_class *kind, const char *ns);

/*
 * Writes one object: "groups" (the matchers that select them, their members, whether they are
 * isolated), "edges" between groups by their "id", with all ports, and "backends" of Services.
 * Returns 0 or -ENOMEM.
 */
int graph_json(FILE *to, const struct policy *policy, const struct flow_classes *kinds,
	       const struct graph_filter *filter, bool pretty);

/*
 * Writes a graph in the DOT language: a node for each kind, and an edge if a policy of either
 * end applies and both ends allow some port. Each Service is a node, with dashed edges to the
 * kinds of its backends. Returns 0 or -ENOMEM.
 */
int graph_dot(FILE *to, const struct policy *policy, const struct flow_classes *kinds,
	      const struct graph_filter *filter);

/*
 * Writes an SVG: a table whose rows reach its columns, 800 px wide if the columns fit. A row is
 * a kind; of many kinds, a namespace, but for the kinds of @filter's namespace. Returns 0; -E2BIG:
 * there are too many namespaces for a picture; or -ENOMEM.
 */
int graph_svg(FILE *to, const struct policy *policy, const struct flow_classes *kinds,
	      const struct graph_filter *filter);

/*
 * Writes one HTML page that loads nothing else. The page holds the tables of @n policies (1, or 2
 * to compare: the older first), their kinds, and a script that evaluates flows by the steps of
 * maps/segment.h. Returns 0 or -ENOMEM.
 */
int graph_page(FILE *to, const struct policy *const policies[], size_t n,
	       const struct flow_classes *kinds);

#endif
