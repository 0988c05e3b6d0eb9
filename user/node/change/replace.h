/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Other programs, or larger maps, in the place of those in force. New maps
 * first hold what the old ones do; new programs work on them, and on all other
 * maps of the old; then each hook changes from the old program to the new one in
 * one step. As long as that lasts no map is changed, so that both answer alike.
 *
 * It counts once PROGRAM_INGRESS is pinned: the maps that it works on are those
 * in force, and the other pins and the hooks follow. The next command that
 * changes anything brings to its end what a killed one left.
 */
#ifndef BULKHEAD_NODE_REPLACE_H
#define BULKHEAD_NODE_REPLACE_H

#include "node/change/change.h"
#include "node/change/local.h"

/* What a first load needs. */
struct room replace_first_room(const struct policy *policy, const struct local *local);

/*
 * Has @change replace the programs unless they are this command's own and the maps have all the
 * room that it wants, and for rules up to @rules. Returns 0 or -errno, reported: -ENOSPC where no
 * map can be that large.
 */
int replace_plan(struct node_handle *host, uint32_t rules, struct change *change);

/* Puts programs that are loaded, and their maps of @room, in the place of those in force. Returns 0
 * or -errno, reported. host->maps are the new ones then. */
int replace(struct node_handle *host, const struct programs *programs, const struct room *room);

/* For what a killed command left. Returns 0 or -errno, reported. */
int replace_finish(struct node_handle *host);

#endif
