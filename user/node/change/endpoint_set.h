/* SPDX-License-Identifier: GPL-2.0-only */
/* An endpoint in force that gets other labels, ports or addresses. */
#ifndef BULKHEAD_NODE_ENDPOINT_SET_H
#define BULKHEAD_NODE_ENDPOINT_SET_H

#include "model/cluster.h"
#include "node/change/change.h"

/* Has @change put it into its new segment. *isolated as endpoint_add_plan() has it. Returns 0 or
 * -errno, reported. */
int endpoint_set_plan(struct node_handle *host, const struct node_endpoint_set *set,
		      struct change *change, bool *isolated);

/* One of its addresses, with its entry of bh_endpoints, into the segment of @endpoint. Returns 0 or
 * -errno. */
struct bh_endpoint;
int endpoint_set_address(struct node_handle *host, const struct endpoint *endpoint,
			 const struct bh_addr *addr, const struct bh_endpoint *entry,
			 struct change *change, bool *isolated);

#endif
