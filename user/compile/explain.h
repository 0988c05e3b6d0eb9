/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Explains the decision of one end of a flow: the policies and rules that are asked, in order,
 * read from the cluster's objects. explain_flow() uses nothing of the compiled policy, so each can
 * be checked against the other; explain_selection() knows endpoints by their segments.
 */
#ifndef BULKHEAD_COMPILE_EXPLAIN_H
#define BULKHEAD_COMPILE_EXPLAIN_H

#include "policy/evaluate.h"

enum explain_outcome {
	/* outcomes of a policy */
	EXPLAIN_NOT_SELECTED,
	EXPLAIN_OTHER_DIRECTION, /* it selects the endpoint, but has no rules for this direction */
	EXPLAIN_SELECTS,
	EXPLAIN_ISOLATES,
	EXPLAIN_AUDITED, /* it selects the endpoint, and has no effect */
	/* outcomes of a rule */
	EXPLAIN_NO_PEER,
	EXPLAIN_NO_PORT, /* the peer matches */
	EXPLAIN_EMPTY, /* an Allow rule with a literal {} */
	EXPLAIN_PASSES,
	EXPLAIN_ALLOWS,
	EXPLAIN_DENIES,
	/* outcomes of a tier, or of the whole end */
	EXPLAIN_NAMESPACE_ISOLATES,
	EXPLAIN_NOT_ISOLATED,
	EXPLAIN_NONE_ALLOWS,
	EXPLAIN_DEFAULT,
	EXPLAIN_ITSELF,
	EXPLAIN_OWN_NODE,
};

struct explain_step {
	enum tier tier;
	enum explain_outcome outcome;
	const struct policy_object *policy; /* NULL: no policy is concerned */
	const struct rule *rule; /* NULL: the whole policy */
};

/* The cluster owns everything but the steps. */
struct explanation {
	enum direction direction;
	const struct endpoint *subject; /* NULL: that end is no endpoint, so no policy applies */
	/* In the order in which they are asked, up to the one that decides. Of NetworkPolicies,
	 * those in the subject's namespace. */
	struct explain_step *steps;
	size_t n_steps;
	bool allow;
	enum tier tier;
	/* the policy and rule that decide; NULL: no rule does */
	const struct policy_object *policy;
	const struct rule *rule;
};

struct selection;

/* @cluster is finished. EGRESS explains the source's end, INGRESS the destination's. The flow has a
 * domain name only if the decision to explain is by that name (struct decision). */
void explain_flow(const struct cluster *cluster, const struct flow *flow, enum direction direction,
		  struct explanation *explanation);
/* The same if only the compiled policy is known (selection.h). */
void explain_selection(const struct selection *selection, const struct flow *flow,
		       enum direction direction, struct explanation *explanation);
void explanation_free(struct explanation *explanation);

/* Returns true if a compiled policy decides the same by the same rule. */
bool explain_agrees(const struct explanation *explanation, const struct policy *policy,
		    const struct decision *decision);

/* Returns "does not select", "peer does not match" and so on. */
const char *explain_outcome_text(enum explain_outcome outcome);

#endif
