/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/isolation.h"

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

	if (!(isolation->directions >> direction & 1) || !policy_segment_has_members(segment))
		return false;
	return matcher->flags & MATCHER_NEGATIVE
		       ? !is_among(policy, segment->not_in, isolation->matcher)
		       : is_among(policy, segment->in, isolation->matcher);
}

int isolations_make(struct isolations *isolations, const struct policy *policy)
{
	*isolations = (struct isolations){
		.policy = policy,
		.by_matcher = calloc(policy->n_matchers + 1, sizeof(*isolations->by_matcher)),
		.negative = calloc(policy->n_isolations + 1, sizeof(*isolations->negative)),
	};
	if (!isolations->by_matcher || !isolations->negative)
		return -ENOMEM;
	for (uint32_t i = 0; i < policy->n_isolations; i++) {
		const struct policy_isolation *isolation = &policy->isolations[i];

		if (policy->matchers[isolation->matcher].flags & MATCHER_NEGATIVE)
			isolations->negative[isolations->n_negative++] = i;
		else
			isolations->by_matcher[isolation->matcher] |= isolation->directions;
	}
	return 0;
}

void isolations_free(struct isolations *isolations)
{
	free(isolations->by_matcher);
	free(isolations->negative);
}

uint8_t isolations_of(const struct isolations *isolations, const struct policy_segment *segment)
{
	const struct policy *policy = isolations->policy;
	uint8_t directions = 0;

	if (!segment)
		return ISOLATION_BOTH;
	for (uint32_t i = 0; i < segment->in.n; i++)
		directions |= isolations->by_matcher[policy->numbers[segment->in.at + i]];
	for (size_t i = 0; i < isolations->n_negative; i++) {
		const struct policy_isolation *isolation =
			&policy->isolations[isolations->negative[i]];

		if (!is_among(policy, segment->not_in, isolation->matcher))
			directions |= isolation->directions;
	}
	return directions;
}

char *decision_why(const struct policy *names, const struct decision *decision, char *text,
		   size_t size)
{
	char name[DECISION_TEXT];
	size_t at = 0;

	snprintf(text, size, "%s", decision->own_node ? "its own node is never isolated" : "");
	for (size_t i = 0; decision->isolated && i < names->n_isolations && at < size; i++) {
		const struct policy_isolation *isolation = &names->isolations[i];

		if (!isolation_holds(names, isolation, decision->isolated, decision->direction))
			continue;
		name_print(policy_string(names, isolation->policy), name, sizeof(name));
		at += snprintf(text + at, size - at, "%s%s", at ? ", " : "isolated by ", name);
	}
	return text;
}
