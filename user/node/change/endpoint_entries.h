/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans endpoints: those of other nodes, and this node's that come, go, change, or move to another
 * segment. endpoints_begin(), for a delta and after endpoints_search(), plans the endpoints that go
 * and finds the interfaces of the endpoints that come or change; endpoints_place() follows once
 * each segment has its slot.
 */
#ifndef BULKHEAD_NODE_ENDPOINT_ENTRIES_H
#define BULKHEAD_NODE_ENDPOINT_ENTRIES_H

#include "node/change/planner.h"
#include "node/change/own_interfaces.h"

struct endpoints {
	struct planner *plan;
	struct table
		addresses; /* indexes of the addresses of the new policy that the delta concerns */
	/* by index in the new policy: entries of this node's endpoints that come or change
	 * otherwise than by their segment */
	struct table own;
	struct table gone; /* entries of bh_endpoints that the delta deletes */
	struct own_interfaces interfaces;
};

void endpoints_init(struct endpoints *endpoints, struct planner *plan);
void endpoints_free(struct endpoints *endpoints);

int endpoints_begin(struct endpoints *endpoints);
int endpoints_place(struct endpoints *endpoints);

#endif
