/* SPDX-License-Identifier: GPL-2.0-only */
/* An endpoint in force that gets other labels or ports. */
#ifndef BULKHEAD_NODE_MOVE_H
#define BULKHEAD_NODE_MOVE_H

#include "node/change.h"

/* Has @change put it into its new segment. *isolated as arrive_plan() has it. Returns 0 or -errno,
 * reported. */
int move_plan(struct host *host, const struct node_endpoint_set *set, struct change *change,
	      bool *isolated);

#endif
