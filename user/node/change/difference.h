/* SPDX-License-Identifier: GPL-2.0-only */
/* From what the maps hold to what a policy wants on this node. */
#ifndef BULKHEAD_NODE_DIFFERENCE_H
#define BULKHEAD_NODE_DIFFERENCE_H

#include "node/change/layout.h"
#include "node/change/local.h"

struct wanted {
	const struct policy *policy; /* as much of it as goes into the maps */
	uint32_t ids; /* bh_blob.ids */
	const struct local *local;
	const struct image *have;
};

/* Whether an interface has another role. */
static inline bool difference_turns(const struct bh_iface *from, const struct bh_iface *to)
{
	return (from->flags ^ to->flags) & BH_IFACE_ROLES;
}

/*
 * Has @change make the maps hold it, but for what only the policy before needs (layout_collect()),
 * and want the room for it; @layout is made on the way. Which programs interfaces lack is not
 * asked. Returns 0 or -errno, reported.
 */
int difference_plan(struct node_handle *host, const struct wanted *wanted, struct change *change,
		    struct layout *layout);

#endif
