/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Orphans: programs of Bulkhead at interfaces of this network namespace, whose pins are gone. XDP
 * programs and clsact filters stay at their interfaces without a pin, and go on to judge by the
 * maps that they hold.
 *
 * A program is Bulkhead's by its name and by the name of its configuration map. It is no orphan
 * where a folder of the bpffs, or of process 1's bpffs, has a pin of that map, nor while a TCX link
 * here runs a program on that map: such a link goes with its pin.
 */
#ifndef BULKHEAD_NODE_ORPHANS_H
#define BULKHEAD_NODE_ORPHANS_H

#include "node/kernel/handle.h"

struct orphan {
	uint32_t ifindex;
	uint32_t mark; /* ID of its configuration map */
	bool xdp; /* false: a filter */
};

/* Lists the orphans, to be freed. Returns 0 or -errno, reported. */
int orphans_find(struct node_handle *handle, struct orphan **orphans, size_t *n);

/* Removes the orphans, and reports each interface. Returns 0 or -errno, reported. */
int orphans_remove(struct node_handle *handle);

#endif
