/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Endpoints that `endpoint add` brought, on a node that loads a delta: the policy takes some of
 * them over, and the others may move to other segments. The node's extension for them (extension.h)
 * follows into the new policy, or goes with the last endpoint that needs it.
 */
#ifndef BULKHEAD_NODE_ADDED_DELTA_H
#define BULKHEAD_NODE_ADDED_DELTA_H

#include "policy/place.h"
#include "node/change/planner.h"

/* Reads the records of added endpoints into @plan->added. */
int added_delta_read(struct planner *plan);

/* Finds whether a load of the whole new policy takes the endpoint of a record over. Returns 0 or
 * -errno, reported. */
int added_delta_knows(const struct planner *plan, const struct bh_added *record, bool *known);

/* Returns true if the delta changes what the policy says of the record's namespace, or of the pod
 * that it has or expects by the record's name. */
bool added_delta_changes(const struct planner *plan, const struct bh_added *added);

/* Returns the record of the added endpoint that has an address and keeps it; NULL: there is none.
 * @plan->taken is known. */
const struct bh_added *added_delta_kept(const struct planner *plan, const struct address *address);

/* Finds the place that the new policy has for an address of an added endpoint. Returns 0, and else
 * as policy_place() and record_read(). */
int added_delta_find(const struct planner *plan, const struct bh_added *added,
		     const struct address *address, struct placement *placement);

/* Sets @plan->extension and @plan->drops, and lists @plan->needy, once @plan->taken is known. */
int added_delta_local(struct planner *plan);

/* Moves the added endpoints that the delta does not take over to the segments that the new policy
 * has for them. */
int added_delta_place(struct planner *plan);

#endif
