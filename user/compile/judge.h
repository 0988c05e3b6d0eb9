/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a compiled policy says of a flow, found by the same steps as in kern/:
 * trace, matrix and diff ask here.
 */
#ifndef BULKHEAD_COMPILE_JUDGE_H
#define BULKHEAD_COMPILE_JUDGE_H

#include "compile/policy.h"

struct flow {
	struct address source, destination;
	uint8_t protocol; /* IP protocol number */
	uint16_t port; /* destination port; 0 where the protocol has none */
};

struct decision {
	bool subject; /* false: that end is no endpoint, it has no say */
	bool allow;
	enum tier tier;
	const struct policy_rule *rule; /* NULL: none, isolation or the default decided */
};

/* Where the two steps of a lookup read: a policy's tables, or the maps in force (node/live.h). */
struct judge_source {
	const void *data;
	/* Returns true and the segment record and its variation for an address; @local: the segment
	 * belongs to an endpoint. */
	bool (*resolve)(const void *data, const struct address *address,
			struct policy_segment *segment, uint32_t *variation);
	bool (*pair)(const void *data, uint32_t subject, uint32_t peer, struct bh_ports_ref *ports);
	uint32_t (*resolution)(const void *data, uint32_t segment, uint32_t variation);
	bool (*named)(const void *data, uint32_t list, uint32_t resolution,
		      struct bh_ports_ref *ports);
	/* The interval that decides @point. */
	uint32_t (*interval)(const void *data, struct bh_ports_ref ports, uint32_t point);
};

/* Reads a policy's own tables. */
struct judge_source judge_policy(const struct policy *policy);

/*
 * Both ends' decisions. @names gives the rules' names, and the node addresses
 * for the exceptions of an endpoint's own node: traffic from it is allowed by
 * default; traffic to it too, unless an Admin or Baseline rule denies it.
 * Returns whether the flow is allowed: both ends allow it.
 */
bool judge_flow(const struct judge_source *source, const struct policy *names,
		const struct flow *flow, struct decision *egress, struct decision *ingress);

/* "allow network-policy ns/name/ingress[0]", as `trace --batch` prints a decision; "-" where the
 * end is no endpoint. Tabs, newlines and backslashes in names are escaped. Returns @text. */
char *decision_print(const struct policy *names, const struct decision *decision, char *text,
		     size_t size);

#endif
