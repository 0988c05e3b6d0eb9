/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replaces the active programs by others, which use the same maps, and the table of connections by
 * a larger one. Each hook changes from the old program to the new one in one step. No other map
 * changes meanwhile, so both programs answer alike.
 *
 * The replacement counts once PROGRAM_INGRESS is pinned: the maps that this program uses are
 * active, and the other pins and the hooks follow. If a command is killed in between, the next
 * command that changes anything completes the replacement.
 */
#ifndef BULKHEAD_NODE_REPLACE_H
#define BULKHEAD_NODE_REPLACE_H

#include "node/plan/change.h"

/* Replaces the active programs by @programs, and the table of connections if @capacity says so.
 * handle->maps are the new ones afterwards. Returns 0 or -errno, reported. */
int replace(struct node_handle *handle, const struct programs *programs,
	    const struct capacity *capacity);

/* Completes the replacement of a killed command. Returns 0 or -errno, reported. */
int replace_finish(struct node_handle *handle);

#endif
