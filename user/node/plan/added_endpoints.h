/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Endpoints that `endpoint add` brought, beside the policy that is loaded: the policy takes some of
 * them over, and the others may move to other segments. With a delta, the node's extension for them
 * (extension.h) follows into the new policy, or goes with the last endpoint that needs it; a load
 * of a whole policy makes it anew before (active_keep()).
 */
#ifndef BULKHEAD_NODE_ADDED_ENDPOINTS_H
#define BULKHEAD_NODE_ADDED_ENDPOINTS_H

#include "policy/place.h"
#include "node/plan/planner.h"

/* Reads the records of added endpoints into @plan->added. Without a delta, sets @plan->added_gone,
 * too: the records of endpoints that @plan->local does not keep. */
int added_read(struct planner *plan);

/* With a delta, finds whether the new policy takes the endpoint of a record over. Returns 0 or
 * -errno, reported. */
int added_knows(const struct planner *plan, const struct bh_added *record, bool *known);

/* With a delta, returns true if it changes what the policy says of the record's namespace, or of
 * the pod that it has or expects by the record's name. */
bool added_changes(const struct planner *plan, const struct bh_added *added);

/* Returns the record of the added endpoint that has an address and keeps it; NULL: there is none.
 * @plan->added_gone is known. */
const struct bh_added *added_kept(const struct planner *plan, const struct address *address);

/* Finds the place that the new policy has for an address of an added endpoint. Returns 0, and else
 * as policy_place() and record_read(). */
int added_find(const struct planner *plan, const struct bh_added *added,
	       const struct address *address, struct placement *placement);

/* With a delta, sets @plan->extension and @plan->extension_ends, and lists @plan->needy, once
 * @plan->added_gone is known. */
int added_local(struct planner *plan);

/* Moves the added endpoints that stay to the segments that the new policy has for them, and deletes
 * the records of the others. */
int added_place(struct planner *plan);

/* Finds the assignment word that an added endpoint which stays has at an address once the change is
 * active, after added_place(). Returns 0 or -errno. */
int added_word(const struct planner *plan, const struct address *address, uint64_t *word);

#endif
