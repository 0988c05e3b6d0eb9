/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans to remove endpoints' addresses, and interfaces that are no endpoint's any more. Each
 * function adds to @change, or to @own->change, and returns 0 or -errno, reported.
 */
#ifndef BULKHEAD_NODE_ENDPOINT_DEL_H
#define BULKHEAD_NODE_ENDPOINT_DEL_H

#include "node/plan/change.h"

struct own_interfaces;
struct bh_endpoint;
struct bh_added;
struct bh_iface;

/*
 * Removes endpoints at the commit of @own->change: their addresses and connections. They leave
 * their interfaces, which own_interfaces_finish() plans. @members are entries of bh_endpoints; a
 * member with ifindex 0 has no interface here.
 */
int endpoint_del_members(struct own_interfaces *own, const struct table *members);

/* Removes one address, with its entry of bh_endpoints. The interface stays. */
int endpoint_del_address(struct node_handle *handle, const struct bh_addr *addr,
			 const struct bh_endpoint *entry, struct change *change);

/* Removes all addresses of a named endpoint. */
int endpoint_del_plan(struct own_interfaces *own, const struct bh_added *name);

/* Removes the active endpoint at an interface, and no other address of the same name. *owner: that
 * endpoint; a name of "" says that no endpoint is active there. @iface: the interface's entry. */
int endpoint_del_at(struct own_interfaces *own, uint32_t ifindex, const struct bh_iface *iface,
		    struct bh_added *owner);

#endif
