/* SPDX-License-Identifier: GPL-2.0-only */
/* One endpoint as a policy of its own, so that what it finds on this node is read as a load's is.
 */
#ifndef BULKHEAD_NODE_SINGLE_H
#define BULKHEAD_NODE_SINGLE_H

#include "model/cluster.h"
#include "node/change/local.h"

/* One of another node finds no interface here. @ifaces: those in force (bh_ifaces). Returns 0 or
 * -errno, reported. */
int single_local(struct node_handle *host, const struct endpoint *endpoint,
		 const struct table *ifaces, struct local *local);

#endif
