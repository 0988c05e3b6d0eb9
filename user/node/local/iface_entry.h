/* SPDX-License-Identifier: GPL-2.0-only */
/* What an entry of bh_ifaces says of its interface, and which other entries are about it. */
#ifndef BULKHEAD_NODE_IFACE_ENTRY_H
#define BULKHEAD_NODE_IFACE_ENTRY_H

#include "maps/iface.h"
#include "node/kernel/maps.h"

struct endpoint;

/* Returns true if an interface is guarded as an endpoint's and has no endpoint, before `add` or
 * after `del`. */
bool iface_entry_is_quarantined(const struct bh_iface *iface);

/* Returns true if an interface is an endpoint's: a guarded one that has no endpoint is nobody's. */
bool iface_entry_has_endpoint(const struct bh_iface *iface);

/* Sets the endpoint's first address of each IP version. */
void iface_entry_set_addresses(struct bh_iface *iface, const struct endpoint *endpoint);

/* Returns the entry of an interface that stays guarded as an endpoint's and has no endpoint. */
struct bh_iface iface_entry_quarantine(const struct bh_iface *iface);

/* Returns true if an entry of a map about interfaces is about this interface and no other, beside
 * the interface's own entry. */
bool iface_entry_is_about(enum node_map_id map, const void *key, const void *value,
			  uint32_t ifindex);

/* Returns true if a map's entries about an interface are deleted with the interface. */
bool iface_entry_deletes(enum node_map_id map);

/* Returns the entry of an interface that an endpoint leaves, and that is guarded from then on as a
 * port of its bridge or as a way out of the node. */
struct bh_iface iface_entry_nobodys(const struct node_handle *handle, const struct bh_iface *iface);

#endif
