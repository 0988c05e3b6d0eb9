/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans a delta's endpoints: those of other nodes, and this node's that come, go, or move to
 * another segment. endpoints_delta_begin() plans the endpoints that go and finds the interfaces of
 * the endpoints that come; endpoints_delta_place() follows once each segment has its slot.
 */
#ifndef BULKHEAD_NODE_ENDPOINTS_DELTA_H
#define BULKHEAD_NODE_ENDPOINTS_DELTA_H

#include "node/change/delta/delta_plan.h"
#include "node/change/delta/own_endpoints.h"

struct endpoints_delta {
	struct delta_plan *plan;
	struct table
		addresses; /* indexes of the addresses of the new policy that the delta concerns */
	struct table
		came; /* by index in the new policy: entries of endpoints that come to this node */
	struct own_endpoints interfaces;
};

void endpoints_delta_init(struct endpoints_delta *endpoints, struct delta_plan *plan);
void endpoints_delta_free(struct endpoints_delta *endpoints);

int endpoints_delta_begin(struct endpoints_delta *endpoints);
int endpoints_delta_place(struct endpoints_delta *endpoints);

#endif
