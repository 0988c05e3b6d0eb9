/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BULKHEAD_NODE_RCU_H
#define BULKHEAD_NODE_RCU_H

#include "node/kernel/handle.h"

/*
 * Waits until every program that runs now has ended: what nothing led to before the call, no
 * program reads after it. Returns 0 or -errno, reported: it could not wait.
 */
int rcu_wait(struct node_handle *host);

#endif
