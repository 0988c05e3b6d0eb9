/* SPDX-License-Identifier: GPL-2.0-only */
/* Plans the repair of the node after a command that was killed or failed. */
#ifndef BULKHEAD_NODE_REPAIR_H
#define BULKHEAD_NODE_REPAIR_H

#include "node/plan/change.h"

/* Makes @change complete a replacement of programs, and bring the maps back to the active policy.
 * Keeps or drops the staged policy. Returns 0 or -errno, reported. */
int repair_plan(struct node_handle *handle, bool keep_staged, struct change *change);

#endif
