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
 * the policy's source.
 */
int policy_place(const struct policy *policy, const struct endpoint *endpoint,
		 const struct address *address, struct placement *placement);

/*
 * The same for an endpoint whose labels are not known, but that the policy has with another
 * address: it is listed as that one is, but for what their CIDRs say. -ENOENT also where that
 * does not tell.
 */
int policy_place_like(const struct policy *policy, const struct endpoint *endpoint,
		      const struct policy_address *known, const struct address *address,
		      struct placement *placement);

#endif
