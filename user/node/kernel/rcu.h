/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_NODE_RCU_H
#define BULKHEAD_NODE_RCU_H

#include "node/kernel/handle.h"

/*
 * Waits until every program that runs now has ended. Afterwards no program reads an entry that no
 * other entry led to when the call began. Returns 0 or -errno, reported.
 */
int rcu_wait(struct node_handle *handle);

#endif
