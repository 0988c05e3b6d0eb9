/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evaluates calls of many kinds of ends to many Services at one port. evaluate_service() evaluates
 * each backend for each caller; here, backends of one kind are evaluated once for a kind of
 * callers, and the Services whose backends have one port together, by class_grid.h.
 */
#ifndef BULKHEAD_POLICY_SERVICE_GRID_H
#define BULKHEAD_POLICY_SERVICE_GRID_H

#include "policy/class_grid.h"
#include "policy/service_flow.h"

struct service_grid_request {
	const struct evaluate_source *source;
	const struct policy *names; /* as for evaluate_service() */
	const struct flow *port; /* the protocol and port of the calls */
	const struct flow_classes *kinds;
	const bool *from; /* by kind: it is asked for; NULL: all are */
	const struct flow_side *services;
	size_t n; /* number of Services */
	size_t least; /* a grid for fewer Services costs more than it saves */
};

/* To be evaluated by evaluate_service(): nodes are among the ends, the caller is of a backend's
 * kind, its node matters, or too few Services have such backends. */
#define SERVICE_GRID_ASK (-1)

/* Sets cells[from * request->n + service] of each kind that is asked for to an enum
 * service_outcome, or to SERVICE_GRID_ASK. Returns as class_grid_each(). */
int service_grid_fill(const struct service_grid_request *request, signed char *cells);

#endif
