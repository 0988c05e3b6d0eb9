/* SPDX-License-Identifier: GPL-2.0-only */
/* Plans to give an active endpoint other labels, ports or addresses. */
#ifndef BULKHEAD_NODE_ENDPOINT_SET_H
#define BULKHEAD_NODE_ENDPOINT_SET_H

#include "model/cluster.h"
#include "node/plan/extension.h"

/* Makes @change put the endpoint into its new segment. *isolated as in endpoint_add_plan().
 * Returns 0 or -errno, reported. */
int endpoint_set_plan(struct node_handle *handle, const struct node_endpoint_set *set,
		      struct change *change, struct extension *extension, bool *isolated);

#endif
