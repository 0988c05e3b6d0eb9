/* SPDX-License-Identifier: GPL-2.0-only */
/* Plans the resolvers (maps/dns.h) of a delta that changes the Service of the cluster's DNS, or a
 * resolver's backends. */
#ifndef BULKHEAD_NODE_RESOLVERS_H
#define BULKHEAD_NODE_RESOLVERS_H

#include "node/change/planner.h"

/* Returns as planner.h says. */
int resolvers_plan(struct planner *plan);

#endif
