/* SPDX-License-Identifier: GPL-2.0-only */
/* Plans to add one endpoint. */
#ifndef BULKHEAD_NODE_ENDPOINT_ADD_H
#define BULKHEAD_NODE_ENDPOINT_ADD_H

#include "model/cluster.h"
#include "node/change/change.h"
#include "node/change/local_entries.h"

/*
 * Makes @change put the endpoint into its segment, and guard it as @local says. Takes nothing from
 * another endpoint. Sets *isolated if the endpoint fits no active segment. Returns 0 or -errno,
 * reported.
 */
int endpoint_add_plan(struct node_handle *handle, const struct endpoint *endpoint,
		      const struct local *local, struct change *change, bool *isolated);

/*
 * Makes @change, before the commit, guard the other ports of a bridge that gets its first endpoint,
 * and let packets of endpoints come in by the bridge or another way to the endpoint. @active:
 * bh_ifaces. For any other endpoint, that is done. Returns 0 or -errno, reported.
 */
int endpoint_add_others(struct node_handle *handle, const struct local *local,
			const struct table *active, struct change *change);

/* Adds one more address of an endpoint that is at @ifindex already (0: on another node). */
int endpoint_add_address(struct node_handle *handle, struct change *change,
			 const struct endpoint *endpoint, const struct address *address,
			 uint32_t ifindex, bool *isolated);

#endif
