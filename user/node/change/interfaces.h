/* SPDX-License-Identifier: GPL-2.0-only */
/* Plans the entries of the maps about interfaces, routes and addresses of this node (LOCAL_MAP in
 * maps/maps.def). */
#ifndef BULKHEAD_NODE_INTERFACES_H
#define BULKHEAD_NODE_INTERFACES_H

#include "node/change/planner.h"

/* Returns true if an interface gets another role. */
static inline bool interfaces_change_role(const struct bh_iface *from, const struct bh_iface *to)
{
	return (from->flags ^ to->flags) & BH_IFACE_ROLES;
}

/* Compares all entries of these maps with those of @plan->local. Does not check which interfaces
 * lack programs. Returns 0 or -errno, reported. */
int interfaces_plan(struct planner *plan);

/* Makes @change bring one entry to @value, which keeps the flags that the loader sets for itself.
 * @old: the active entry; NULL: none. Returns 0 or -ENOMEM. */
int interfaces_plan_entry(struct change *change, enum node_map_id map, const void *key,
			  const void *old, void *value);

#endif
