/* SPDX-License-Identifier: GPL-2.0-only */
/* Policies that are valid and probably not what was meant, and Services whose backends differ. */
#ifndef BULKHEAD_COMPILE_LINT_H
#define BULKHEAD_COMPILE_LINT_H

#include "compile/grow.h"
#include "compile/policy.h"

struct lint_finding {
	const char *check; /* "no-subject" ... */
	struct where where;
	char *object; /* "namespace/name", with a rule "namespace/name/ingress[0]" */
	char *text; /* what is wrong with it */
};

struct lint_findings {
	struct lint_finding *at;
	size_t n, room;
};

/* @policy is what @cluster compiles to. Returns 0 or -ENOMEM; free the findings in any case. */
int lint(const struct cluster *cluster, const struct policy *policy,
	 struct lint_findings *findings);
void lint_free(struct lint_findings *findings);

#endif
