/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is no more: addresses that are no endpoint's, and interfaces that guard
 * nobody. Each adds to @change what takes them off, and returns 0 or -errno,
 * reported.
 */
#ifndef BULKHEAD_NODE_ENDPOINT_DEL_H
#define BULKHEAD_NODE_ENDPOINT_DEL_H

#include "node/change/change.h"

/*
 * Endpoints, in a generation of their own: their addresses, their connections, and their interfaces
 * with all that is known of those. @members: entries of bh_endpoints; one of ifindex 0 leaves no
 * interface.
 */
int endpoint_del_members(struct node_handle *host, const struct table *members,
			 struct change *change);

/* One address, with its entry of bh_endpoints; the interface stays. */
struct bh_endpoint;
int endpoint_del_address(struct node_handle *host, const struct bh_addr *addr,
			 const struct bh_endpoint *entry, struct change *change);

/* The same for endpoints of the policy that the maps do without: addresses. No hook can tell. */
int endpoint_del_left_out(struct node_handle *host, const struct table *addresses,
			  struct change *change);

/* All of the endpoint of a name. */
struct bh_added;
int endpoint_del_plan(struct node_handle *host, const struct bh_added *name, struct change *change);

/* Whether an interface is guarded as an endpoint's, and no endpoint's: it is about to be, or was.
 */
struct bh_iface;
bool endpoint_del_is_sealed(const struct bh_iface *iface);

/* An endpoint's interface is nobody's any more: guarded as what packets leave by, or as the other
 * ports of its bridge are. If it is gone, so is all that was on it. */
int endpoint_del_interface(struct node_handle *host, uint32_t ifindex, struct change *change);

#endif
