/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adds to a compiled policy the segments and variations of endpoints that fit none, from the
 * policies that it keeps as they were given (policy/given.h). Verdicts are those of a compile of
 * everything with these endpoints.
 *
 * On a node, comparisons take the extended policy for the same policy: checksum, parent and
 * generation stay. Its new IDs are from BH_IDS_LOCAL on (maps/blob.h), which no compile gives.
 * policy_update() extends a policy to its successor, whose new IDs are a compile's.
 */
#ifndef BULKHEAD_COMPILE_EXTEND_H
#define BULKHEAD_COMPILE_EXTEND_H

#include "policy/delta.h"

struct extend {
	const struct policy *policy; /* as it was compiled, without a source */
	/* The extended policy active before; NULL: none. If it extends the same policy, segments
	 * that it has keep their IDs. Otherwise no ID stands for different objects in both. */
	const struct policy *before;
	uint32_t next; /* new IDs are no less, and after those of `before` */
	bool continues; /* to the policy's successor. Budgets count; `before` is NULL */
	const struct endpoint *endpoints; /* their strings need not be interned */
	size_t n;
	const struct endpoint *expected; /* as `endpoints`, without addresses */
	size_t n_expected;
};

/* Returns an ID that is above all IDs of segments, classes, lists and resolutions of the policy. */
uint32_t extend_next(const struct policy *policy);

/* Returns true if the endpoint's labels, and those of its namespace, are known, so that it can get
 * a segment. */
bool extend_can(const struct lazy_policy *policy, const struct endpoint *endpoint);

/* Returns 0 and a policy to free; or -EILSEQ (the policies that it keeps do not compile to this
 * policy), -E2BIG (a limit, a budget) or -ENOMEM, not reported. */
int policy_extend(const struct extend *extend, struct policy **extended);

/* Makes the delta from a policy to the extended policy, to be freed. Returns 0 or -ENOMEM. */
int extend_delta(const struct policy *policy, const struct policy *extended, struct delta **delta);

#endif
