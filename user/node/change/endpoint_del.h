/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans to remove endpoints' addresses, and interfaces that are no endpoint's any more. Each
 * function adds to @change and returns 0 or -errno, reported.
 */
#ifndef BULKHEAD_NODE_ENDPOINT_DEL_H
#define BULKHEAD_NODE_ENDPOINT_DEL_H

#include "node/change/change.h"

/*
 * Removes endpoints at the commit of @change: their addresses, connections, and interfaces with all
 * entries about the interfaces. @members are entries of bh_endpoints; a member with ifindex 0 has
 * no interface here.
 */
int endpoint_del_members(struct node_handle *handle, const struct table *members,
			 struct change *change);

/* Removes one address, with its entry of bh_endpoints. The interface stays. */
struct bh_endpoint;
int endpoint_del_address(struct node_handle *handle, const struct bh_addr *addr,
			 const struct bh_endpoint *entry, struct change *change);

/* Removes all addresses of a named endpoint. */
struct bh_added;
int endpoint_del_plan(struct node_handle *handle, const struct bh_added *name,
		      struct change *change);

/* Removes the active endpoint at an interface, and no other address of the same name. *owner: that
 * endpoint; a name of "" says that no endpoint is active there. @iface: the interface's entry. */
struct bh_iface;
int endpoint_del_at(struct node_handle *handle, uint32_t ifindex, const struct bh_iface *iface,
		    struct change *change, struct bh_added *owner);

/* Returns true if an interface is guarded as an endpoint's and has no endpoint, before `add` or
 * after `del`. */
bool endpoint_del_is_sealed(const struct bh_iface *iface);

/* Returns true if an interface is an endpoint's: a guarded one that has no endpoint is nobody's. */
bool endpoint_del_has_endpoint(const struct bh_iface *iface);

/* Returns the entry of an interface that stays guarded as an endpoint's and has no endpoint. */
struct bh_iface endpoint_del_seal(const struct bh_iface *iface);

/* Returns true if an entry of a map about interfaces is about this interface and no other, beside
 * the interface's own entry. */
bool endpoint_del_is_about(enum node_map_id map, const void *key, const void *value,
			   uint32_t ifindex);

/* Returns true if a map's entries about an interface are deleted with the interface. */
bool endpoint_del_deletes(enum node_map_id map);

/* Takes an endpoint's interface from the endpoint. From then on the interface is guarded as a way
 * out of the node, or as a port of its bridge; with @closed it is quarantined, so that it reaches
 * no pod. If the interface is gone, removes all entries about it. */
int endpoint_del_interface(struct node_handle *handle, uint32_t ifindex, bool closed,
			   struct change *change);

#endif
