/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Places an endpoint that a policy does not know, by the matchers that its segments keep,
 * without a compile.
 */
#ifndef BULKHEAD_POLICY_PLACE_H
#define BULKHEAD_POLICY_PLACE_H

#include "policy/lazy_policy.h"

struct placement {
	uint32_t segment; /* index */
	uint32_t variation; /* ID; 0: none */
};

/*
 * Finds the segment of one of @endpoint's addresses. The endpoint's namespace is the policy's of
 * that name; one that the policy lacks has its name label only. Returns 0; -ENOENT if the
 * endpoint fits no segment, or none of the segment's variations, or is unknown: it is isolated
 * until the next policy; or the error of the policy's source. An endpoint with `as_policy` and
 * unknown labels is listed as the policy's endpoint of that name, but for CIDRs; -ENOENT if
 * that is ambiguous.
 */
int policy_place(const struct lazy_policy *policy, const struct endpoint *endpoint,
		 const struct address *address, struct placement *placement);

#endif
