/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The places of active maps (maps/active_map.bpf.h): arrays of one element, pinned as at_<name>.
 * What is in a place is what the programs read; the pin <name> follows.
 */
#ifndef BULKHEAD_NODE_ACTIVE_MAP_H
#define BULKHEAD_NODE_ACTIVE_MAP_H

#include "node/kernel/handle.h"

/* Find the ID of an active map: by the pinned place, or by the maps that @ingress uses. Programs of
 * an older build use the map itself. 0: there is no such pin; @ingress uses neither. Return 0 or
 * -errno, not reported. */
int active_map_pinned(const struct node_handle *handle, enum node_map_id map, uint32_t *id);
int active_map_of(const struct program *ingress, enum node_map_id map, uint32_t *id);

/* Makes an empty map like another one, for @entries. Returns an fd or -errno, not reported. */
int active_map_like(int map, uint32_t entries);

/* Puts a map into its place, by one store, and waits until no program reads the former one. Returns
 * 0 or -errno, not reported. */
int active_map_put(const struct node_handle *handle, enum node_map_id map, int fd);

#endif
