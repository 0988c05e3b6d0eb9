/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the maps hold only a part of a policy (needed.h): the part that an added endpoint needs,
 * which is its segments and, for an endpoint of this node, the peers that those segments' policies
 * tell apart.
 */
#ifndef BULKHEAD_NODE_NEEDED_ADD_H
#define BULKHEAD_NODE_NEEDED_ADD_H

#include "compile/place.h"
#include "node/change/change.h"

/* The places of the endpoint's addresses. */
struct arrival {
	const struct placement *places;
	size_t n;
	bool here, bridged;
	const struct table *ifaces; /* entries of bh_ifaces */
};

/*
 * Makes @change put the missing entries, to count from the next generation on, as the endpoint
 * does. Reads all of the policy where the endpoint is the first of its segment here. Returns 0 or
 * -errno, reported.
 */
int needed_add(struct node_handle *handle, const struct arrival *arrival, struct change *change);

#endif
