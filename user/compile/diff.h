/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What one policy allows and another does not: each pair of kinds (kinds.h) is judged by both at
 * every point of the number line where a verdict of either may change. Pairs that change alike are
 * gathered in blocks.
 */
#ifndef BULKHEAD_COMPILE_DIFF_H
#define BULKHEAD_COMPILE_DIFF_H

#include "compile/grow.h"
#include "compile/kinds.h"

enum side { OLD, NEW, SIDES };

/* A stretch of points (maps/types.h) that one policy allows and the other does not, with what both
 * ends say of all of it. */
struct diff_change {
	uint32_t first, end; /* without `end` */
	struct decision decisions[SIDES][2]; /* by direction; `subject` false: no say */
};

/* Whether the flow is allowed now that was not before; else the other way round. */
bool diff_gains(const struct diff_change *change);

struct diff_range {
	size_t at, n;
};

/* Between two kinds. */
struct diff_pair {
	uint32_t from, to; /* kinds */
	uint32_t changes; /* index of diff.lists; equal lists are one */
	bool own_node; /* between endpoints and their own nodes; else with other nodes, if any */
	bool itself; /* a kind of one member, to itself, where nothing changes: it only makes blocks
		      * whole */
};

/* Kinds that change alike: each of `from` to each of `to`. */
struct diff_block {
	struct diff_range from, to; /* in diff.sets: kinds, ascending */
	uint32_t changes; /* index of diff.lists */
	bool own_node;
};

/* An address and port of a Service, or backends behind it, that only one policy has. */
struct diff_service {
	const struct policy_service *service; /* of the policy that has it */
	enum side side;
	const struct policy_frontend
		*frontend; /* NULL: a backend is meant, or all of the Service */
	const struct policy_service_port *port; /* NULL: all of the Service */
	const struct policy_backend *backend;
};

struct diff {
	const struct policy *policy[SIDES];
	struct kinds kinds;
	ARRAY(struct diff_pair) pairs;
	ARRAY(struct diff_range) lists; /* in changes */
	ARRAY(struct diff_change) changes;
	ARRAY(struct diff_block) blocks;
	ARRAY(uint32_t) sets;
	ARRAY(struct diff_service) services;
};

/* What is looked at. */
struct diff_filter {
	/* By kind; NULL: all. */
	const bool *from, *to;
	/* Every pair has an end here. NULL: any. */
	const bool *either;
	const uint32_t *points; /* of the number line */
	size_t n_points; /* 0: all of it */
};

/* @diff->kinds are listed already, by kinds_list() of both policies; @filter may be NULL. Returns 0
 * or -ENOMEM. Free the diff in any case. */
int diff_policies(const struct diff_filter *filter, struct diff *diff);
void diff_free(struct diff *diff);

#endif
