/* SPDX-License-Identifier: GPL-2.0-only */
/* An endpoint in force that gets other labels, ports or addresses. */
#ifndef BULKHEAD_NODE_MOVE_H
#define BULKHEAD_NODE_MOVE_H

#include "model/cluster.h"
#include "node/change/change.h"

/* Has @change put it into its new segment. *isolated as arrive_plan() has it. Returns 0 or -errno,
 * reported. */
int move_plan(struct host *host, const struct node_endpoint_set *set, struct change *change,
	      bool *isolated);

/* One of its addresses, with its entry of bh_endpoints, into the segment of @endpoint. Returns 0 or
 * -errno. */
struct bh_endpoint;
int move_address(struct host *host, const struct endpoint *endpoint, const struct bh_addr *addr,
		 const struct bh_endpoint *entry, struct change *change, bool *isolated);

#endif
