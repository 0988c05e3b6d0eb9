/* SPDX-License-Identifier: GPL-2.0-only */
/* What a command that was killed, or failed, has left over. */
#ifndef BULKHEAD_NODE_REPAIR_H
#define BULKHEAD_NODE_REPAIR_H

#include "node/inside.h"

/* Brings programs to the end of their replacement, and takes the maps back to what the policy in
 * force wants; what is staged stays. Returns 0 or -errno, reported. */
int repair(struct host *host);

#endif
