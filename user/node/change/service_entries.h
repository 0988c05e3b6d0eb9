/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the entries of bh_services (maps/service.h). A key that comes, changes or goes gets an
 * entry that counts from the next generation on, so nothing changes before the commit.
 */
#ifndef BULKHEAD_NODE_SERVICE_ENTRIES_H
#define BULKHEAD_NODE_SERVICE_ENTRIES_H

#include "node/change/planner.h"

/* Plans the entries of Services that the new policy brings, changes or takes, or whose backends'
 * places it changes. Reads all of the policy's Services, but only the endpoints that are such
 * backends. Returns as planner.h says. */
int services_plan(struct planner *plan);

/* To be called for an endpoint that is added or gets other labels, with its assignment word @place.
 * Services of the endpoint's namespace may lead to it from now on. If the endpoint's place differs
 * from that of a Service's backends, @change makes the Service's entry say that its backends
 * differ: calls are then evaluated at the backend alone. Returns 0 or -ENOMEM. */
int services_may_have(const struct node_handle *handle, const char *ns, bool ipv4, uint64_t place,
		      struct change *change);

/* Makes @change clear the values that a killed command stored for a generation that never came, and
 * delete the entries that are not active. @have: the map. Returns 0 or -ENOMEM. */
int services_repair(struct node_handle *handle, const struct table *have, struct change *change);

#endif
