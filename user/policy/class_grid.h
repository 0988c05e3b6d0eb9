/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evaluates one port between many kinds of ends. evaluate_flow() takes some ten searches for a pair
 * of kinds; here, a kind's row is filled with what its policy says by default, and then only the
 * pairs that the policy has say otherwise.
 */
#ifndef BULKHEAD_POLICY_CLASS_GRID_H
#define BULKHEAD_POLICY_CLASS_GRID_H

#include "policy/flow_classes.h"

enum grid_cell {
	GRID_NONE, /* no flow may go so (flow_classes_connect()) */
	/* to be evaluated by evaluate_flow(): one is a domain name; without `strangers`, one is a
	 * node, or both are one */
	GRID_ASK,
	GRID_DENY,
	GRID_ALLOW,
	GRID_AUDIT, /* allowed, and policies that are only audited would deny */
};

/* Says which flows class_grid_each() evaluates. */
struct grid_request {
	const struct evaluate_source *source;
	const struct policy *names; /* as for evaluate_flow() */
	uint32_t point; /* protocol and port of the flows (maps/types.h) */
	/* instead: GRID_DENY of kinds between which an end's policy denies every port, GRID_ALLOW
	 * of others */
	bool any_port;
	const struct flow_classes *kinds;
	const bool *from, *to; /* by kind: it is asked for; NULL: all are */
	/* evaluate a kind to itself as two of its members, and a node as another node's endpoints
	 * see it */
	bool strangers;
	size_t rows; /* how many kinds are evaluated at once; 0: as many as take some 32 MB */
};

/*
 * Calls @visit for each kind that is asked for as @from, in their order. @cells has an enum
 * grid_cell for each kind that is asked for as `to`, and is undefined for others. Returns 0; the
 * first value that @visit returns and is not 0; or -errno if the source cannot be read or memory is
 * short.
 */
int class_grid_each(const struct grid_request *request,
		    int (*visit)(void *data, size_t from, const char *cells), void *data);

#endif
