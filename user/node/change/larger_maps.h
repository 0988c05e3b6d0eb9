/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replaces maps by larger ones, which the programs read from one store on. The programs stay. No
 * map changes meanwhile, so that the old map and the new one answer alike. If a command is killed
 * in between, each map is active that is in its place (kernel/active_map.h), and the next command
 * that changes anything pins it. The hits of rules get more maps instead (kernel/rule_hits.h).
 */
#ifndef BULKHEAD_NODE_LARGER_MAPS_H
#define BULKHEAD_NODE_LARGER_MAPS_H

#include "node/kernel/programs.h"

/* Replaces each map for which @capacity has a number of entries, unless it is a first load's, and
 * makes room for the hits of its rules. handle->maps are the new ones afterwards. Returns 0 or
 * -errno, reported; without memory for all of them no map is replaced. */
int larger_maps(struct node_handle *handle, const struct capacity *capacity);

/* Pins the maps that are in their places. Returns 0 or -errno, reported. */
int larger_maps_finish(struct node_handle *handle);

#endif
