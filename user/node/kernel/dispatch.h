/* SPDX-License-Identifier: GPL-2.0-only */
/* libxdp's pins of its dispatchers: the programs that each runs, and the links to them. */
#ifndef BULKHEAD_NODE_DISPATCH_H
#define BULKHEAD_NODE_DISPATCH_H

#include "node/kernel/handle.h"

struct xdp_multiprog;

/* Returns true if the program with this ID is pinned as a dispatcher of the interface. */
bool dispatch_is_pinned(uint32_t ifindex, uint32_t dispatcher);

/* Returns true if anything of the interface is pinned that a killed command may have left. */
bool dispatch_may_remain(uint32_t ifindex);

/*
 * Removes pins that a killed command left. A command that is killed while libxdp changes a
 * dispatcher leaves the pins of a dispatcher that is on no interface. Such pins are removed where
 * each of the dispatcher's programs is ours, or is also one of @running, the interface's present
 * programs (NULL: none). So programs that another process is about to attach stay, and so do pins
 * of another network namespace, where the same number is another interface's.
 */
void dispatch_tidy(struct node_handle *handle, uint32_t ifindex,
		   const struct xdp_multiprog *running);

#endif
