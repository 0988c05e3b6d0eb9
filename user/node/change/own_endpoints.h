/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the interfaces of this node's endpoints that a delta adds, changes, moves or deletes, as a
 * load of the whole policy would. Call own_endpoints_leave() for each interface that such an
 * endpoint has now, then own_endpoints_add() for each endpoint that is on this node then, then
 * own_endpoints_finish(). Each returns 0; COMPARE_ALL (planner.h), not reported, if the maps are
 * not as the delta's base has them; or another -errno, reported.
 */
#ifndef BULKHEAD_NODE_OWN_ENDPOINTS_H
#define BULKHEAD_NODE_OWN_ENDPOINTS_H

#include "maps/endpoint.h"
#include "model/cluster.h"
#include "node/change/change.h"

struct own_endpoints {
	struct node_handle *handle;
	struct change *change;
	struct image have; /* the maps about interfaces, read when the first endpoint is added or
			    * leaves */
	struct image want; /* the entries of these maps that the added endpoints have, and with
			    * `others` all entries about interfaces beside the endpoints' */
	struct table free; /* the entries of `have` for interfaces that have no endpoint */
	struct table left; /* indexes of interfaces that endpoints leave, unless one is added */
	struct table added; /* indexes of the interfaces of added endpoints */
	bool known; /* `have` is read */
	bool others; /* interfaces beside the endpoints' may differ, too */
};

void own_endpoints_init(struct own_endpoints *own, struct node_handle *handle,
			struct change *change);
void own_endpoints_free(struct own_endpoints *own);

/* Says that an endpoint leaves an interface, or comes back to it by own_endpoints_add(). @ifindex
 * 0: it has none. */
int own_endpoints_leave(struct own_endpoints *own, uint32_t ifindex);

/* Plans that an endpoint is added, changes or moves. Sets the interface of *want, 0 if the endpoint
 * has none, and the MAC. */
int own_endpoints_add(struct own_endpoints *own, const struct endpoint *endpoint,
		      struct bh_endpoint *want);

int own_endpoints_finish(struct own_endpoints *own);

#endif
