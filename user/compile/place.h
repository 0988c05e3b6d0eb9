/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Placing an endpoint that a policy has never seen, by the matchers that its
 * segments keep, without the engine.
 */
#ifndef BULKHEAD_COMPILE_PLACE_H
#define BULKHEAD_COMPILE_PLACE_H

#include "compile/policy.h"

struct placement {
	uint32_t segment; /* index */
	uint32_t variation; /* ID, 0: none */
};

/*
 * The segment of one of @endpoint's addresses. Its namespace is the policy's of
 * that name; one that the policy does not have has its name label only. Returns
 * 0; or -ENOENT: it fits no segment, or no variation of the one that it fits, and
 * is isolated until the next policy, never guessed; so is one that is unknown; or the error of
 * the policy's source. One whose labels are not known, but that the policy has (`as_policy`), is
 * listed as its other address is, but for what CIDRs say; where that does not tell, -ENOENT.
 */
int policy_place(const struct policy *policy, const struct endpoint *endpoint,
		 const struct address *address, struct placement *placement);

#endif
