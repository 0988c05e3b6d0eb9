/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why an end of a flow decides as it does: the policies and rules that are asked
 * there, in their order, read off the cluster's objects. Nothing of it comes from
 * a compiled policy, so that the one can be held against the other.
 */
#ifndef BULKHEAD_COMPILE_EXPLAIN_H
#define BULKHEAD_COMPILE_EXPLAIN_H

#include "compile/judge.h"

enum explain_outcome {
	/* of a policy */
	EXPLAIN_NOT_SELECTED,
	EXPLAIN_OTHER_DIRECTION, /* it selects the endpoint, but says nothing of this direction */
	EXPLAIN_SELECTS,
	EXPLAIN_ISOLATES,
	/* of a rule */
	EXPLAIN_NO_PEER,
	EXPLAIN_NO_PORT, /* the peer does match */
	EXPLAIN_EMPTY, /* an Allow rule with a literal {} */
	EXPLAIN_PASSES,
	EXPLAIN_ALLOWS,
	EXPLAIN_DENIES,
	/* of a tier, or of the end as a whole */
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
	const struct policy_object *policy; /* NULL: none says so */
	const struct rule *rule; /* NULL: the policy as a whole */
};

/* All but the steps is the cluster's. */
struct explanation {
	enum direction direction;
	const struct endpoint *subject; /* NULL: that end is no endpoint, it has no say */
	/* As asked, up to what decides; of NetworkPolicies, those in the subject's namespace. */
	struct explain_step *steps;
	size_t n_steps;
	bool allow;
	enum tier tier;
	const struct policy_object *policy; /* with `rule`: what decides; NULL: no rule does */
	const struct rule *rule;
};

/* @cluster is finished. The source's side is EGRESS, the destination's INGRESS. */
void explain_flow(const struct cluster *cluster, const struct flow *flow, enum direction direction,
		  struct explanation *explanation);
void explanation_free(struct explanation *explanation);

/* Whether a compiled policy decides the same, by the same rule. */
bool explain_agrees(const struct explanation *explanation, const struct policy *policy,
		    const struct decision *decision);

/* "does not select", "peer does not match" ... */
const char *explain_outcome_text(enum explain_outcome outcome);

#endif
