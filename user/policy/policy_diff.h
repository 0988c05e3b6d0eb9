/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flows that one policy allows and another denies. Both policies evaluate each pair of kinds
 * (flow_classes.h) at every point of the number line where a verdict of either may change. Pairs
 * that change alike are put together in blocks.
 */
#ifndef BULKHEAD_POLICY_POLICY_DIFF_H
#define BULKHEAD_POLICY_POLICY_DIFF_H

#include "model/grow.h"
#include "policy/flow_classes.h"

enum side { OLD, NEW, SIDES };

/* A run of points (maps/types.h) that one policy allows and the other denies, with the decisions
 * of both ends, which hold for the whole run. */
struct diff_change {
	uint32_t first, end; /* `end` is the first point behind the run */
	struct decision decisions[SIDES][2]; /* by direction; `subject` false: no policy applies */
};

/* Returns true if the newer policy allows the flow, and not the older one. */
bool diff_gains(const struct diff_change *change);

struct diff_range {
	size_t at, n;
};

/* The changes between two kinds. */
struct diff_pair {
	uint32_t from, to; /* kinds */
	uint32_t changes; /* index of diff.lists; equal lists are one */
	/* the flows are between endpoints and their own nodes; false: they are not */
	bool own_node;
	/* a kind of one member to itself, if nothing changes; it only completes blocks */
	bool itself;
};

/* Kinds that change alike: each kind of `from` to each kind of `to`. */
struct diff_block {
	struct diff_range from, to; /* ranges of diff.sets: kinds, ascending */
	uint32_t changes; /* index of diff.lists */
	bool own_node;
};

/* An address and port of a Service, or a backend, that only one policy has. */
struct diff_service {
	const struct policy_service *service; /* belongs to the policy that has it */
	enum side side;
	const struct policy_frontend
		*frontend; /* NULL: this is about a backend, or the whole Service */
	const struct policy_service_port *port; /* NULL: this is about the whole Service */
	const struct policy_backend *backend;
};

struct diff {
	const struct policy *policy[SIDES];
	struct flow_classes kinds;
	ARRAY(struct diff_pair) pairs;
	ARRAY(struct diff_range) lists; /* ranges of changes */
	ARRAY(struct diff_change) changes;
	ARRAY(struct diff_block) blocks;
	ARRAY(uint32_t) sets;
	ARRAY(struct diff_service) services;
};

/* Selects the flows to compare. */
struct diff_filter {
	/* By kind; NULL: all kinds. */
	const bool *from, *to;
	/* One end of each pair must be one of these kinds. NULL: all pairs. */
	const bool *either;
	const uint32_t *points; /* points of the number line */
	size_t n_points; /* 0: all points */
};

/* Compares two policies. flow_classes_list() has filled @diff->kinds from both; @filter may be
 * NULL. Returns 0 or -ENOMEM. Free the diff in any case. */
int diff_policies(const struct diff_filter *filter, struct diff *diff);
void diff_free(struct diff *diff);

#endif
