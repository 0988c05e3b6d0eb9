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
	/* The subject's, if isolation decided and the segment is known (isolation.h); or NULL. */
	const struct policy_segment *isolated;
	enum direction direction; /* with `isolated` */
	bool own_node; /* allowed since the other end is the subject's own node */
};

/* Where the two steps of a lookup read: a policy's tables, or the maps in force (node/live.h). */
struct judge_source {
	const void *places; /* what resolve() reads */
	const void *data; /* what the others do */
	/* Returns true and the segment record of an address, and its variation; false: an
	 * endpoint's that has no segment, so that it is isolated. */
	bool (*resolve)(const void *places, const struct address *address,
			struct policy_segment *segment, uint32_t *variation);
	bool (*pair)(const void *data, uint32_t subject, uint32_t peer, struct bh_ports_ref *ports);
	uint32_t (*resolution)(const void *data, uint32_t segment, uint32_t variation);
	/* false: that list has no form for that resolution; the flow is denied. */
	bool (*named)(const void *data, uint32_t list, uint32_t resolution,
		      struct bh_ports_ref *ports);
	/* The interval that decides @point. */
	uint32_t (*interval)(const void *data, struct bh_ports_ref ports, uint32_t point);
};

/* What a verdict word says, its rule named by @names. */
struct decision decision_of(const struct policy *names, uint32_t verdict);

/* Says whose isolation it was, where @decision is one: the segment of the subject, by ID. */
void decision_blame(struct decision *decision, const struct policy *names, uint32_t segment,
		    enum direction direction);

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

/*
 * What @subject's policy says of @peer in @direction. Returns false: no rule selects the subject
 * in that direction, all is allowed by default.
 */
bool judge_ports(const struct judge_source *source, const struct policy_segment *subject,
		 const struct policy_segment *peer, enum direction direction,
		 struct bh_ports_ref *ports);

/* Where a protocol and port stand on the number line of maps/types.h. */
uint32_t flow_point(uint8_t protocol, uint16_t port);

const char *tier_name(enum tier tier);

/* @name where it is not NULL, else "ingress[0]" or "egress[0]", put into @text. */
#define RULE_NAME_TEXT 24
const char *rule_label(const char *name, enum direction direction, uint32_t index,
		       char text[RULE_NAME_TEXT]);
const char *rule_name(const struct policy *names, const struct policy_rule *rule,
		      char text[RULE_NAME_TEXT]);

/* "ns/name/ingress[0]", or the rule's own name after the slash, as in a decision. Returns @text. */
char *rule_print(const struct policy *names, const struct policy_rule *rule, char *text,
		 size_t size);

#define DECISION_TEXT 1024

/* A name as a decision has it, with tabs, newlines and backslashes escaped. Returns @text. */
char *name_print(const char *name, char *text, size_t size);

/* "allow network-policy ns/name/ingress[0]", as `trace --batch` prints a decision; "-" where the
 * end is no endpoint. Tabs, newlines and backslashes in names are escaped. Returns @text. */
char *decision_print(const struct policy *names, const struct decision *decision, char *text,
		     size_t size);

#endif
