/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/isolation.h"
#include "policy/lazy_policy.h"

static bool is_among(const struct policy *policy, struct policy_range range, uint32_t matcher)
{
	for (uint32_t i = 0; i < range.n; i++)
		if (policy->numbers[range.at + i] == matcher)
			return true;
	return false;
}

bool isolation_holds(const struct policy *policy, const struct policy_isolation *isolation,
		     const struct policy_segment *segment, enum direction direction)
{
	const struct policy_matcher *matcher = &policy->matchers[isolation->matcher];

	if (isolation->flags & POLICY_AUDIT || !(isolation->directions >> direction & 1) ||
	    !policy_segment_has_members(segment))
		return false;
	return matcher->flags & MATCHER_NEGATIVE
		       ? !is_among(policy, segment->not_in, isolation->matcher)
		       : is_among(policy, segment->in, isolation->matcher);
}

const char *isolation_directions(uint8_t directions)
{
	if (directions == ISOLATION_BOTH)
		return "in both directions";
	return directions & 1u << INGRESS ? "at ingress" : "at egress";
}

int isolations_make(struct isolations *isolations, const struct lazy_policy *policy)
{
	const struct policy_isolation *all = LAZY_ALL(policy, isolations);

	*isolations = (struct isolations){
		.policy = policy,
		.by_matcher = calloc(policy->n_matchers + 1, sizeof(*isolations->by_matcher)),
		.negative = calloc(policy->n_isolations + 1, sizeof(*isolations->negative)),
	};
	if (!isolations->by_matcher || !isolations->negative)
		return -ENOMEM;
	for (uint32_t i = 0; i < policy->n_isolations && !lazy_error(policy); i++) {
		const struct policy_matcher *matcher = LAZY_ONE(policy, matchers, all[i].matcher);

		if (all[i].flags & POLICY_AUDIT)
			continue;
		if (matcher->flags & MATCHER_NEGATIVE)
			isolations->negative[isolations->n_negative++] = i;
		else
			isolations->by_matcher[all[i].matcher] |= all[i].directions;
	}
	return lazy_error(policy);
}

void isolations_free(struct isolations *isolations)
{
	free(isolations->by_matcher);
	free(isolations->negative);
}

uint8_t isolations_of(const struct isolations *isolations, const struct policy_segment *segment)
{
	const struct lazy_policy *policy = isolations->policy;
	struct policy_lists lists;
	uint8_t directions = 0;

	if (!segment)
		return ISOLATION_BOTH;
	lists = lazy_lists_of(policy, segment);
	for (uint32_t i = 0; i < lists.n_in; i++)
		directions |= isolations->by_matcher[lists.in[i]];
	for (size_t i = 0; i < isolations->n_negative; i++) {
		const struct policy_isolation *isolation =
			&policy->isolations[isolations->negative[i]];
		bool left_out = false;

		for (uint32_t k = 0; k < lists.n_not_in; k++)
			left_out |= lists.not_in[k] == isolation->matcher;
		if (!left_out)
			directions |= isolation->directions;
	}
	return directions;
}

void decision_policies(const struct policy *names, const struct decision *decision,
		       void (*visit)(void *data, const char *policy), void *data)
{
	const struct policy_audit *audit = decision->audit;
	const struct policy_rule *rule =
		audit ? policy_rule_by_id(names, audit->denies) : decision->rule;

	if (rule)
		return visit(data, policy_string(names, rule->policy));
	for (uint32_t i = 0; audit && i < audit->policies.n; i++)
		visit(data, policy_string(names, names->texts[audit->policies.at + i]));
	if (audit || !decision->isolated)
		return;
	for (size_t i = 0; i < names->n_isolations; i++)
		if (isolation_holds(names, &names->isolations[i], decision->isolated,
				    decision->direction))
			visit(data, policy_string(names, names->isolations[i].policy));
}

char *decision_why(const struct policy *names, const struct decision *decision, char *text,
		   size_t size)
{
	char name[DECISION_TEXT];
	size_t at = 0;

	snprintf(text, size, "%s%s",
		 decision->own_node ? "its own node is never isolated"
		 : decision->name   ? "by the name "
				    : "",
		 decision->name ? decision->name : "");
	for (size_t i = 0; decision->isolated && i < names->n_isolations && at < size; i++) {
		const struct policy_isolation *isolation = &names->isolations[i];

		if (!isolation_holds(names, isolation, decision->isolated, decision->direction))
			continue;
		name_print(policy_string(names, isolation->policy), name, sizeof(name));
		at += snprintf(text + at, size - at, "%s%s", at ? ", " : "isolated by ", name);
	}
	return text;
}
