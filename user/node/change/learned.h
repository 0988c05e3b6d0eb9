/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the entries about domain names: the hash of each name, and the segments as which subjects
 * are evaluated by it (maps/domain.h). All names of a policy are compared: they are few.
 */
#ifndef BULKHEAD_NODE_LEARNED_H
#define BULKHEAD_NODE_LEARNED_H

#include "node/change/planner.h"

/* Sets @plan->learned too, and with a delta also deletes the entries that the new policy lacks. To
 * be called once segments have their slots. Returns as planner.h says. */
int learned_plan(struct planner *plan);

#endif
