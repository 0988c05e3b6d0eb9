/* SPDX-License-Identifier: GPL-2.0-only */
/* How large maps are to be. change/replace.h and change/larger_maps.h make them so. */
#ifndef BULKHEAD_NODE_CAPACITY_H
#define BULKHEAD_NODE_CAPACITY_H

#include "node/local/local_entries.h"
#include "node/plan/change.h"

/* Returns the sizes of maps for a first load. */
struct capacity capacity_first(const struct policy *policy, const struct local *local);

/*
 * Makes @change replace the programs, unless they are this command's own, and replace the maps that
 * lack room that @change wants, or room for the hits of @rules rules. Returns 0 or -errno,
 * reported: -ENOSPC if no map can be that large.
 */
int capacity_plan(struct node_handle *handle, uint32_t rules, struct change *change);

/* Returns true if the maps have all the room that @change wants, and room for @rules rules. */
bool capacity_suffices(struct node_handle *handle, uint32_t rules, const struct change *change);

#endif
