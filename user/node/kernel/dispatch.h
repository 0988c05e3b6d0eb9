/* SPDX-License-Identifier: GPL-2.0-only */
/* What libxdp pins of its dispatchers: the programs that each runs, and the links to them. */
#ifndef BULKHEAD_NODE_DISPATCH_H
#define BULKHEAD_NODE_DISPATCH_H

#include "node/kernel/handle.h"

struct xdp_multiprog;

/* Whether a program (ID) is pinned as a dispatcher of the interface. */
bool dispatch_is_pinned(uint32_t ifindex, uint32_t dispatcher);

/* Whether there is anything pinned of the interface that may be left of a killed command. */
bool dispatch_may_be_left(uint32_t ifindex);

/*
 * A command that is killed as libxdp changes a dispatcher leaves the pins of one that is not on the
 * interface, and so its programs. Lets go of them where each of these is ours, or another's that
 * @running, what the interface runs (NULL: nothing), has too: what somebody else is about to attach
 * stays, and so does what is in another namespace, where the same number is another interface's.
 */
void dispatch_tidy(struct node_handle *host, uint32_t ifindex, const struct xdp_multiprog *running);

#endif
