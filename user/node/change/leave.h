/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is no more: addresses that are no endpoint's, and interfaces that guard
 * nobody. Each adds to @change what takes them off, and returns 0 or -errno,
 * reported.
 */
#ifndef BULKHEAD_NODE_LEAVE_H
#define BULKHEAD_NODE_LEAVE_H

#include "node/change/change.h"

/*
 * Endpoints, in a generation of their own: their addresses, their connections, and their interfaces
 * with all that is known of those. @members: entries of bh_endpoints; one of ifindex 0 leaves no
 * interface.
 */
int leave_members(struct host *host, const struct table *members, struct change *change);

/* One address, with its entry of bh_endpoints; the interface stays. */
struct bh_endpoint;
int leave_address(struct host *host, const struct bh_addr *addr, const struct bh_endpoint *entry,
		  struct change *change);

/* The same for endpoints of the policy that the maps do without: addresses. No hook can tell. */
int leave_left_out(struct host *host, const struct table *addresses, struct change *change);

/* All of the endpoint of a name. */
struct bh_added;
int leave_plan(struct host *host, const struct bh_added *name, struct change *change);

/* Whether an interface is guarded as an endpoint's, and no endpoint's: it is about to be, or was.
 */
struct bh_iface;
bool leave_is_sealed(const struct bh_iface *iface);

/* An endpoint's interface is nobody's any more: guarded as what packets leave by, or as the other
 * ports of its bridge are. If it is gone, so is all that was on it. */
int leave_interface(struct host *host, uint32_t ifindex, struct change *change);

#endif
