/* SPDX-License-Identifier: GPL-2.0-only */
/* Says why a flow was allowed or denied if no rule decided: policies isolate the subject and
 * none of their rules allows the flow, or the other end is the subject's own node. */
#ifndef BULKHEAD_POLICY_ISOLATION_H
#define BULKHEAD_POLICY_ISOLATION_H

#include "policy/evaluate.h"

/* Returns true if @isolation isolates the endpoints of @segment in @direction. That of a policy
 * which is only audited isolates nobody. */
bool isolation_holds(const struct policy *policy, const struct policy_isolation *isolation,
		     const struct policy_segment *segment, enum direction direction);

#define ISOLATION_BOTH (1u << INGRESS | 1u << EGRESS)

/* The isolations of a policy, by matcher, for questions about many segments. */
struct isolations {
	const struct lazy_policy *policy;
	uint8_t *by_matcher; /* by index of the matchers: 1 << enum direction for each */
	uint32_t *negative; /* indexes of the isolations whose matchers are negative */
	size_t n_negative;
};

/* Returns "at ingress", "at egress" or "in both directions". */
const char *isolation_directions(uint8_t directions);

/* Returns 0, -ENOMEM, or the policy's error; isolations_free() in any case. */
int isolations_make(struct isolations *isolations, const struct lazy_policy *policy);
void isolations_free(struct isolations *isolations);
/* Returns 1 << enum direction for each direction in which policies isolate the endpoints of
 * @segment. NULL: the endpoint fits no segment, and is isolated in both. Check lazy_error()
 * before an answer is used. */
uint8_t isolations_of(const struct isolations *isolations, const struct policy_segment *segment);

/* Calls @visit with the name of each policy that denies: the rule's; if no rule decided, those
 * that isolate; if the packet passed by audit, the audited ones. */
void decision_policies(const struct policy *names, const struct decision *decision,
		       void (*visit)(void *data, const char *policy), void *data);

/*
 * Prints "isolated by shop/db, shop/default-deny", with names as in a decision; "its own node is
 * never isolated"; "by the name *.example.com"; or "" if a rule decided or no reason is needed.
 * Returns @text.
 */
char *decision_why(const struct policy *names, const struct decision *decision, char *text,
		   size_t size);

#endif
