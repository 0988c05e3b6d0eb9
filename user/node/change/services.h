/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plans the entries of bh_services (maps/service.h). A key that comes, changes or goes says so
 * for the next generation, and changes nothing before the flip.
 */
#ifndef BULKHEAD_NODE_SERVICES_H
#define BULKHEAD_NODE_SERVICES_H

#include "node/change/layout.h"
#include "node/change/local.h"

/* Makes @change bring the map to what @layout's policy says, from the next generation on, with
 * the room for it. Returns 0 or -errno, reported. */
int services_make(struct node_handle *handle, const struct image *have, const struct layout *layout,
		  const struct local *local, struct change *change);

/* To be called for an endpoint that is added or gets other labels, with its assignment word
 * @place. Services of its namespace may lead to it from now on, so @change makes their entries
 * say that their backends differ, where this one differs: calls are then judged by the backend
 * alone. Returns 0 or -ENOMEM. */
int services_may_have(const struct node_handle *handle, const char *ns, bool ipv4, uint64_t place,
		      struct change *change);

/* Makes @change clear what a killed command stored for a generation that never came, and delete
 * what is not in force. @have: the map. Returns 0 or -ENOMEM. */
int services_repair(struct node_handle *handle, const struct table *have, struct change *change);

#endif
