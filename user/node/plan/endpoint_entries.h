/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the entries of bh_endpoints and bh_added: of other nodes' endpoints and of this node's. A
 * load of a whole policy compares all of them, at the interfaces that @plan->local has. A delta
 * plans the endpoints that come, go, change, or move to another segment, with their interfaces.
 */
#ifndef BULKHEAD_NODE_ENDPOINT_ENTRIES_H
#define BULKHEAD_NODE_ENDPOINT_ENTRIES_H

#include "node/plan/own_interfaces.h"
#include "node/plan/planner.h"

struct endpoints {
	struct planner *plan;
	/* With a delta, indexes of the addresses of the new policy that it concerns. */
	struct table addresses;
	/* With a delta, by index in the new policy: entries of this node's endpoints that come or
	 * change otherwise than by their segment. */
	struct table own;
	struct table gone; /* entries of bh_endpoints to delete */
	struct own_interfaces interfaces;
};

void endpoints_init(struct endpoints *endpoints, struct planner *plan);
void endpoints_free(struct endpoints *endpoints);

/*
 * endpoints_begin(), with a delta, finds whom it concerns, and the interfaces of the endpoints that
 * come, change or go. It decides about the node's extension, too. endpoints_place() follows once
 * each segment has its slot. Both return as planner.h says.
 */
int endpoints_begin(struct endpoints *endpoints);
int endpoints_place(struct endpoints *endpoints);

/*
 * endpoint_search.c. endpoints_search() lists the addresses that are new or changed, and those of
 * endpoints that are new or changed; and this node's endpoints that come, also after
 * `endpoint del`, or change otherwise than by their segment: in their own records, their addresses,
 * or the CIDRs that they may send from. It sets plan->added_gone, and lists the endpoints that have
 * records there. endpoints_find_own() plans the interfaces of `own`, and fills in their entries.
 * Both return as planner.h says.
 */
int endpoints_search(struct endpoints *endpoints);
int endpoints_find_own(struct endpoints *endpoints);

#endif
