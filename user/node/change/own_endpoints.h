/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the interfaces of this node's endpoints that a delta adds, changes or deletes, one by one,
 * as a load of the whole policy would. Call own_endpoints_delete() for each endpoint that goes,
 * then own_endpoints_add() for each other, then own_endpoints_finish(). Each returns 0;
 * COMPARE_ALL (planner.h), not reported, if other interfaces may differ, too; or another -errno,
 * reported.
 */
#ifndef BULKHEAD_NODE_OWN_ENDPOINTS_H
#define BULKHEAD_NODE_OWN_ENDPOINTS_H

#include "maps/endpoint.h"
#include "model/cluster.h"
#include "node/change/change.h"

struct own_endpoints {
	struct node_handle *handle;
	struct change *change;
	struct image have; /* the maps about interfaces, read when the first endpoint comes or
			    * goes */
	struct table free; /* the entries of `have` for interfaces that have no endpoint */
	struct table deleted; /* indexes of interfaces that endpoints leave */
	struct table came; /* indexes of interfaces that get endpoints, with their entries */
	struct table known_before; /* of these, the ones whose endpoints the old policy has there */
	bool known; /* `have` is read */
};

void own_endpoints_init(struct own_endpoints *own, struct node_handle *handle,
			struct change *change);
void own_endpoints_free(struct own_endpoints *own);

/* Plans that an endpoint leaves its interface. */
int own_endpoints_delete(struct own_endpoints *own, uint32_t ifindex);

/* Where an endpoint is before the delta. */
struct own_before {
	uint32_t ifindex; /* its interface; 0: none */
	bool known; /* the old policy has the endpoint; false: `endpoint add` brought it, or
		     * nothing did */
};

/* Plans that an endpoint comes or changes. Sets the interface of *want, 0 if the endpoint has none,
 * and the MAC. */
int own_endpoints_add(struct own_endpoints *own, const struct endpoint *endpoint,
		      struct own_before before, struct bh_endpoint *want);

int own_endpoints_finish(struct own_endpoints *own);

#endif
