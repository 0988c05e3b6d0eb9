/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds policies that are valid and probably not meant, and Services whose backends differ. */
#ifndef BULKHEAD_COMPILE_LINT_H
#define BULKHEAD_COMPILE_LINT_H

#include "model/grow.h"
#include "policy/policy.h"

struct lint_finding {
	const char *check; /* name of the check, such as "no-subject" */
	struct where where;
	char *object; /* "namespace/name"; for a rule "namespace/name/ingress[0]" */
	char *text; /* the message */
};

struct lint_findings {
	struct lint_finding *at;
	size_t n, capacity;
};

/* @policy is the compiled @cluster, @suffixes the Public Suffix List (suffix.h) or NULL. Returns 0
 * or -ENOMEM. Free the findings in any case. */
int lint(const struct cluster *cluster, const struct policy *policy, const char *suffixes,
	 struct lint_findings *findings);
void lint_free(struct lint_findings *findings);

#endif
