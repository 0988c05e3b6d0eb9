/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evaluates a flow by a compiled policy, by the same steps as kern/. Used by trace, matrix and
 * diff.
 */
#ifndef BULKHEAD_POLICY_EVALUATE_H
#define BULKHEAD_POLICY_EVALUATE_H

#include "policy/policy.h"

struct flow {
	struct address source, destination;
	uint8_t protocol; /* IP protocol number */
	uint16_t port; /* destination port; 0 if the protocol has none */
	/* The source has learned the destination by this domain name, as struct peer has it. NULL:
	 * by none */
	const char *name;
};

struct decision {
	bool subject; /* false: that end is no endpoint, so no policy applies */
	bool allow;
	enum tier tier;
	const struct policy_rule *rule; /* NULL: no rule decided, but isolation or the default */
	const struct policy_audit *audit; /* audited policies that would deny; NULL: none */
	enum tier audit_tier; /* valid with `audit` */
	/* Segment of the subject, if isolation decided and the segment is known
	 * (isolation.h); NULL. */
	const struct policy_segment *isolated;
	enum direction direction; /* valid with `isolated` */
	bool own_node; /* allowed because the other end is the subject's own node */
	const char *name; /* the decision is by this domain name; NULL: by the address alone */
};

/* Where the steps of a lookup read: a policy's tables, or the active maps (node/observe/live.h). */
struct evaluate_source {
	const void *places; /* argument of resolve() */
	const void *data; /* argument of the other two */
	/* Returns true, with the segment and variation of an address. Returns false if the address
	 * is an endpoint's in no segment, which is isolated. */
	bool (*resolve)(const void *places, const struct address *address,
			struct policy_segment *segment, uint32_t *variation);
	bool (*pair)(const void *data, uint32_t subject, uint32_t peer, struct bh_ports_ref *ports);
	/* Lists all pairs, in any order, to be freed. Returns 0 or -errno. */
	int (*pairs)(const void *data, struct policy_pair **pairs, size_t *n);
	uint32_t (*resolution)(const void *data, uint32_t segment, uint32_t variation);
	/* Returns false if the list has no form for the resolution: the flow is denied. */
	bool (*named)(const void *data, uint32_t list, uint32_t resolution,
		      struct bh_ports_ref *ports);
	/* Returns true, with the segment as which @subject is evaluated for what it has learned by
	 * the domain name. Returns false if no rule of it has the name. */
	bool (*domain)(const void *data, const char *name, const struct policy_segment *subject,
		       struct policy_segment *segment);
	/* Returns the interval at an index of the port lists. */
	struct bh_interval (*interval)(const void *data, uint32_t at);
};

/* Orders records of struct policy_pair as a policy has them. */
int evaluate_compare_pairs(const void *a, const void *b);

/* One end of a flow, with its segment. */
struct evaluated_end {
	bool known; /* false: an endpoint in no segment, isolated in both directions */
	struct policy_segment segment;
	uint32_t variation;
};

struct evaluated_end evaluate_address(const struct evaluate_source *source,
				      const struct address *address);
bool evaluated_end_is_external(const struct evaluated_end *end);
/* Returns the ID of the numbers that the end gives port names; 0: it has none. */
uint32_t evaluate_resolution(const struct evaluate_source *source, const struct evaluated_end *end);

/* Returns the decision of a verdict word. @names has the rules' names. */
struct decision decision_of(const struct policy *names, uint32_t verdict);

/* If @decision is isolation, sets who is isolated: the subject's segment, by ID. */
void decision_blame(struct decision *decision, const struct policy *names, uint32_t segment,
		    enum direction direction);

/* Returns a source that reads a policy's own tables. */
struct evaluate_source evaluate_policy(const struct policy *policy);

/*
 * Evaluates both ends. @names has the rules' names, and the nodes' addresses for the exceptions of
 * an endpoint's own node: traffic from it is allowed by default, and so is traffic to it unless an
 * Admin or Baseline rule denies it. The flow's domain name counts if the source's policy, or an
 * audited one, denies the address (maps/domain.h). Returns true if both ends allow the flow.
 */
bool evaluate_flow(const struct evaluate_source *source, const struct policy *names,
		   const struct flow *flow, struct decision *egress, struct decision *ingress);

/*
 * Finds the port list that @subject's policy has for @peer in @direction. Returns false if no
 * policy selects the subject in that direction: all is allowed.
 */
bool evaluate_ports(const struct evaluate_source *source, const struct policy_segment *subject,
		    const struct policy_segment *peer, enum direction direction,
		    struct bh_ports_ref *ports);

/* Returns the verdict of a port list at a point (maps/ports.h). @resolution: of the destination's
 * port names, if the list has names. */
uint32_t evaluate_list(const struct evaluate_source *source, struct bh_ports_ref ports,
		       uint32_t resolution, uint32_t point);

const char *tier_name(enum tier tier);
const char *direction_name(enum direction direction); /* "ingress", "egress" */
const char *action_name(enum action action); /* "allow", "deny", "pass" */
const char *verdict_name(bool allow); /* "allow", "deny" */

/* Returns @name, or if it is NULL "ingress[0]" or "egress[0]" in @text. */
#define RULE_NAME_TEXT 24
const char *rule_label(const char *name, enum direction direction, uint32_t index,
		       char text[RULE_NAME_TEXT]);
const char *rule_name(const struct policy *names, const struct policy_rule *rule,
		      char text[RULE_NAME_TEXT]);

/* Prints "ns/name/ingress[0]", or the rule's own name after the last slash, as in a decision.
 * Returns @text. */
char *rule_print(const struct policy *names, const struct policy_rule *rule, char *text,
		 size_t size);

/* Prints the audited rule that would deny, as rule_print() does, or the names of the audited
 * policies that would isolate. Returns @text. */
char *audit_print(const struct policy *names, const struct policy_audit *audit, char *text,
		  size_t size);

#define DECISION_TEXT 1024

/* Prints a name as a decision has it, with tabs, newlines and backslashes escaped. Returns
 * @text. */
char *name_print(const char *name, char *text, size_t size);

/* Prints a decision as `trace --batch` does: "allow network-policy ns/name/ingress[0]"; "-"
 * if the end is no endpoint. If audited policies would deny, " (audit: deny TIER NAME)"
 * follows. Tabs, newlines and backslashes in names are escaped. Returns
 * @text. */
char *decision_print(const struct policy *names, const struct decision *decision, char *text,
		     size_t size);

#endif
