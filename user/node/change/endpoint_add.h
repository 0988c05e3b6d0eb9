/* SPDX-License-Identifier: GPL-2.0-only */
/* One endpoint that comes. */
#ifndef BULKHEAD_NODE_ENDPOINT_ADD_H
#define BULKHEAD_NODE_ENDPOINT_ADD_H

#include "model/cluster.h"
#include "node/change/change.h"
#include "node/change/local.h"

/*
 * Has @change put it into its segment, and guard it by what @local found of it here; @ifaces: of
 * bh_ifaces, those that are there. It takes no other endpoint's place. *isolated is set where it
 * fits none of the segments in force. Returns 0 or -errno, reported.
 */
int endpoint_add_plan(struct node_handle *host, const struct endpoint *endpoint,
		      const struct table *ifaces, const struct local *local, struct change *change,
		      bool *isolated);

/* One address more of an endpoint that is at @ifindex (0: elsewhere) already. */
int endpoint_add_address(struct node_handle *host, struct change *change,
			 const struct endpoint *endpoint, const struct address *address,
			 uint32_t ifindex, bool *isolated);

#endif
