/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the interfaces of this node's endpoints that a delta adds, changes, moves or deletes, as a
 * load of the whole policy would. Call own_interfaces_leave() for each interface that such an
 * endpoint has now, then own_interfaces_add() for each endpoint that is on this node then, then
 * own_interfaces_finish(). Each returns 0; COMPARE_ALL (planner.h), not reported, if the maps are
 * not as the delta's base has them; or another -errno, reported.
 */
#ifndef BULKHEAD_NODE_OWN_INTERFACES_H
#define BULKHEAD_NODE_OWN_INTERFACES_H

#include "maps/endpoint.h"
#include "model/cluster.h"
#include "node/change/change.h"

struct own_interfaces {
	struct node_handle *handle;
	struct change *change;
	/* the maps about interfaces, read when the first endpoint is added or leaves */
	struct image have;
	/* the entries of these maps that the added endpoints have, and with `others` all entries
	 * about interfaces beside the endpoints' */
	struct image want;
	struct table free; /* the entries of `have` for interfaces that have no endpoint */
	struct table left; /* indexes of interfaces that endpoints leave, unless one is added */
	struct table added; /* indexes of the interfaces of added endpoints */
	/* the node's link-local addresses, read once endpoints left interfaces */
	struct link_local *link_locals;
	size_t n_link_locals;
	bool known; /* `have` is read */
	bool others; /* interfaces beside the endpoints' may differ, too */
};

void own_interfaces_init(struct own_interfaces *own, struct node_handle *handle,
			 struct change *change);
void own_interfaces_free(struct own_interfaces *own);

/* Says that an endpoint leaves an interface, or comes back to it by own_interfaces_add(). @ifindex
 * 0: it has none. */
int own_interfaces_leave(struct own_interfaces *own, uint32_t ifindex);

/* Plans that an endpoint is added, changes or moves. Sets the interface of *want, 0 if the endpoint
 * has none, and the MAC. */
int own_interfaces_add(struct own_interfaces *own, const struct endpoint *endpoint,
		       struct bh_endpoint *want);

int own_interfaces_finish(struct own_interfaces *own);

#endif
