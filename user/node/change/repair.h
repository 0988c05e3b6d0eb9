/* SPDX-License-Identifier: GPL-2.0-only */
/* What a command that was killed, or failed, has left over. */
#ifndef BULKHEAD_NODE_REPAIR_H
#define BULKHEAD_NODE_REPAIR_H

#include "node/change/change.h"

/* Has @change bring programs to the end of their replacement, and take the maps back to what the
 * policy in force wants; what is staged stays, or is dropped. Returns 0 or -errno, reported. */
int repair_plan(struct node_handle *host, bool keep_staged, struct change *change);

#endif
