/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the entries of Services whose backends a delta changes, or whose backends' places. It reads
 * the policy's Services, and of endpoints only those backends.
 */
#ifndef BULKHEAD_NODE_SERVICES_DELTA_H
#define BULKHEAD_NODE_SERVICES_DELTA_H

#include "compile/delta.h"
#include "node/change/change.h"

struct services_delta {
	struct node_handle *handle;
	const struct delta *delta; /* Services and frontends stay as they are */
	const struct lazy_policy *policy; /* what it leads to */
	uint32_t *slots; /* by index of the policy's segments */
	const struct table *addresses; /* sorted: addresses of endpoints that come, move or go */
	const struct table *taken; /* bh_added: Services of these namespaces change, too */
	struct change *change;
};

/* Whether the delta changes no Service but for its backends. */
bool services_delta_fits(const struct delta *delta);

/* Returns 0; -EOPNOTSUPP, not reported, where only a whole load plans it; or another -errno, not
 * reported. */
int services_delta_plan(const struct services_delta *services);

#endif
