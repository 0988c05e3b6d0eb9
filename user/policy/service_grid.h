/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evaluates calls of many kinds of ends to many Services at one port. evaluate_service() evaluates
 * each backend for each caller; here, backends of one kind are evaluated once for a kind of
 * callers, and the Services whose backends have one port together, by class_grid.h.
 */
#ifndef BULKHEAD_POLICY_SERVICE_GRID_H
#define BULKHEAD_POLICY_SERVICE_GRID_H

#include <string.h>

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
};

/* To be evaluated by evaluate_service(): nodes or addresses outside are among the backends, the
 * caller's node decides which are chosen, too few backends are alike, or a node has another end's
 * address. */
#define SERVICE_GRID_ASK (-1)

/* Returns true if a member's call counts for its kind: it is the first, or on another node than the
 * one before it. */
static inline bool service_grid_counts(const struct flow_class *kind, size_t member)
{
	return !member || strcmp(kind->members[member].node[0], kind->members[member - 1].node[0]);
}

/* Returns true if a node has an endpoint's address, or two nodes have one. */
bool service_grid_contested(const struct policy *policy);

/*
 * Sets cells[from * request->n + service] of each kind that is asked for to an enum
 * service_outcome, or to SERVICE_GRID_ASK. Where calls that count have different outcomes, the
 * kind's is SERVICE_DEPENDS. Returns as class_grid_each().
 */
int service_grid_fill(const struct service_grid_request *request, signed char *cells);

#endif
