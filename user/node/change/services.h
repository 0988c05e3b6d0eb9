/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What bh_services has of the policy's Services (maps/service.h): a key that comes,
 * changes or goes says so of the generation to come, and changes nothing before.
 */
#ifndef BULKHEAD_NODE_SERVICES_H
#define BULKHEAD_NODE_SERVICES_H

#include "node/change/layout.h"
#include "node/change/local.h"

/* Has @change make the map say what @layout's policy does, from the next generation on, and want
 * the room that it needs. Returns 0 or -errno, reported. */
int services_make(struct node_handle *host, const struct image *have, const struct layout *layout,
		  const struct local *local, struct change *change);

/* An endpoint of a namespace comes, or gets other labels: @place, its assignment word. The
 * namespace's Services may lead to it from now on, so that @change forgets what their backends have
 * in common where it has not: their calls are judged by the backend alone. Returns 0 or -ENOMEM. */
int services_may_have(const struct node_handle *host, const char *ns, bool ipv4, uint64_t place,
		      struct change *change);

/* Has @change clear what a killed command had stored for a generation that never came, and delete
 * what is not in force; @have: the map. Returns 0 or -ENOMEM. */
int services_repair(struct node_handle *host, const struct table *have, struct change *change);

#endif
