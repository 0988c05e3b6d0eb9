/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the interfaces of this node's endpoints that a delta or a command adds, changes, moves or
 * deletes, as a load of the whole policy would. Call own_interfaces_leave() for each interface that
 * such an endpoint has now, then own_interfaces_add() for each endpoint that is on this node then,
 * then own_interfaces_finish(). Each returns 0; COMPARE_ALL (planner.h), not reported, if the maps
 * are not as the delta's base has them; or another -errno, reported.
 */
#ifndef BULKHEAD_NODE_OWN_INTERFACES_H
#define BULKHEAD_NODE_OWN_INTERFACES_H

#include "maps/endpoint.h"
#include "model/cluster.h"
#include "node/plan/change.h"

struct own_interfaces {
	struct node_handle *handle;
	struct change *change;
	/* the maps about interfaces, read when the first endpoint is added or leaves */
	struct image have;
	/* the entries of these maps that the added endpoints have, and with `others` all entries
	 * about interfaces beside the endpoints' */
	struct image want;
	struct table free; /* the entries of `have` for interfaces that have no endpoint */
	/* indexes of interfaces that endpoints leave, unless one is added, with the `closed` of
	 * then */
	struct table left;
	struct table added; /* indexes of the interfaces of added endpoints */
	/* the node's link-local addresses, read once endpoints left interfaces */
	struct link_local *link_locals;
	size_t n_link_locals;
	/* interfaces that endpoints leave are quarantined as long as they exist, so that they reach
	 * no pod; else each is guarded as a port of its bridge or as a way out of the node */
	bool closed;
	/* without a policy that may change the node: interfaces beside the endpoints' stay as they
	 * are until the next load, and maps that lack an interface are no error */
	bool alone;
	bool known; /* `have` is read */
	bool others; /* interfaces beside the endpoints' may differ, too */
};

void own_interfaces_init(struct own_interfaces *own, struct node_handle *handle,
			 struct change *change);
void own_interfaces_free(struct own_interfaces *own);

/* Says that an endpoint leaves an interface, or comes back to it by own_interfaces_add(). The
 * entries about an interface that is gone are deleted. @ifindex 0: the endpoint has none. */
int own_interfaces_leave(struct own_interfaces *own, uint32_t ifindex);

/* Plans that an endpoint is added, changes or moves. Sets the interface of *want, 0 if the endpoint
 * has none, and the MAC. */
int own_interfaces_add(struct own_interfaces *own, const struct endpoint *endpoint,
		       struct bh_endpoint *want);

/* As own_interfaces_add(), for an endpoint that @local has (local_read_one()). Also COMPARE_ALL if
 * another endpoint has the interface or the MAC. */
int own_interfaces_take(struct own_interfaces *own, const struct local *local,
			struct bh_endpoint *want);

/* Plans that the endpoint at an interface (0: none) has other addresses, and stays there. */
int own_interfaces_readdress(struct own_interfaces *own, uint32_t ifindex,
			     const struct endpoint *endpoint);

int own_interfaces_finish(struct own_interfaces *own);

#endif
