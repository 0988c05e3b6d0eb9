/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds one endpoint on this node as a load would, by a policy with that endpoint only. */
#ifndef BULKHEAD_NODE_ONE_ENDPOINT_H
#define BULKHEAD_NODE_ONE_ENDPOINT_H

#include "model/cluster.h"
#include "node/change/local_entries.h"

/* Finds the endpoint's interface. An endpoint of another node has none here. @audit: the endpoint
 * is only audited. @ifaces: the active ones (bh_ifaces). Returns 0 or -errno, reported. */
int single_local(struct node_handle *handle, const struct endpoint *endpoint, bool audit,
		 const struct table *ifaces, struct local *local);

#endif
