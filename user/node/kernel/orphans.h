/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Orphans: programs of Bulkhead whose pins are gone. XDP programs and clsact filters stay at their
 * interfaces without a pin, and go on to evaluate by the maps that they hold.
 *
 * A program is Bulkhead's by its name and by the name of its configuration map. It is no orphan
 * where a folder of the bpffs, or of process 1's bpffs, has a pin of that map, nor while a TCX link
 * runs a program on that map: such a link goes with its pin.
 */
#ifndef BULKHEAD_NODE_ORPHANS_H
#define BULKHEAD_NODE_ORPHANS_H

#include "node/kernel/handle.h"

/* Returns the ID of an orphan's configuration map, given the ID of a program that is not this pin
 * folder's; 0: the program is no orphan. */
uint32_t orphan_mark(const struct node_handle *handle, uint32_t program);

#endif
