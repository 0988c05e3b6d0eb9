/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an endpoint that comes needs of a policy that is in the maps in part
 * only (needed.h): its segments, and if it is on this node, whoever their
 * policies tell from others.
 */
#ifndef BULKHEAD_NODE_NEEDED_ADD_H
#define BULKHEAD_NODE_NEEDED_ADD_H

#include "compile/place.h"
#include "node/change/change.h"

/* Where an endpoint's addresses are placed. */
struct arrival {
	const struct placement *places;
	size_t n;
	bool here, bridged;
	const struct table *ifaces; /* bh_ifaces */
};

/*
 * Has @change put what is not there yet; it counts from the next generation on, as the endpoint
 * itself is to. Reads all of the policy where an endpoint is the first of its segment here. Returns
 * 0 or -errno, reported.
 */
int needed_add(struct node_handle *host, const struct arrival *arrival, struct change *change);

#endif
