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
 * lack programs. Returns 0 or -errno: -EINVAL reported. */
int interfaces_plan(struct planner *plan);

/* Plans one of these maps: makes @change bring its entries from @have to @want, whose entries keep
 * the flags that the loader sets for itself. Deletes only entries for which @is_concerned returns
 * true; NULL: any. Both tables are sorted. Returns 0 or -ENOMEM. */
int interfaces_plan_map(struct change *change, enum node_map_id map, const struct table *have,
			const struct table *want, table_filter *is_concerned, const void *what);

#endif
