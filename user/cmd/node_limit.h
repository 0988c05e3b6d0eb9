/* SPDX-License-Identifier: GPL-2.0-only */
/* --node-limit, of the engine and of followers. */
#ifndef BULKHEAD_CMD_NODE_LIMIT_H
#define BULKHEAD_CMD_NODE_LIMIT_H

#include "cmd/command.h"

/* Returns the option's seconds. Exits where it is no such number. */
unsigned int node_limit(const struct call *call);

#endif
