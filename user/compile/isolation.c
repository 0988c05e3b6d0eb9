/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
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
