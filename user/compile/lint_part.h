/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files of lint(): the objects, the policy that they compile to, and the findings. */
#ifndef BULKHEAD_COMPILE_LINT_PART_H
#define BULKHEAD_COMPILE_LINT_PART_H

#include "compile/lint.h"

struct lint {
	const struct cluster *cluster;
	const struct policy *policy;
	bool *decides; /* by index in policy->rules: the rule decides some verdict */
	struct lint_findings *findings;
};

/* Adds a finding of @check about @object, at @where. */
void lint_find(struct lint *lint, const char *check, const struct where *where, const char *object,
	       const char *format, ...) __attribute__((format(printf, 5, 6)));

/* lint_service.c: finds a CIDR of the rule @name that seems meant for addresses of Services, and
 * Services of which callers reach one backend and not another. */
void lint_service_block(struct lint *lint, const struct peer *peer, const struct where *where,
			const char *name);
void lint_services(struct lint *lint);

#endif
