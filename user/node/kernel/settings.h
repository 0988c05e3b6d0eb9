/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a user may choose of the programs and tables that the first load makes:
 * how many connections they hold, how long those last, how much is reported.
 */
#ifndef BULKHEAD_NODE_SETTINGS_H
#define BULKHEAD_NODE_SETTINGS_H

#include "node/kernel/handle.h"

struct bh_tc;
struct bh_xdp;

/*
 * Turns the times of an open object into this kernel's jiffies, and puts into it what the pinned
 * programs have; where none are, what the options set. Returns 0 or -errno, reported: -EINVAL where
 * there is no such setting, or it is out of range.
 */
int settings_apply(struct node_handle *host, struct bh_tc *tc);

/* Gives the uplink's program what the pinned ones have. Returns 0 or -errno, reported. */
int settings_copy(struct node_handle *host, struct bh_xdp *xdp);

/* Whether the programs in force have what the options set: they cannot be changed under way.
 * Returns 0; -EINVAL, reported, where one differs; or another -errno. */
int settings_check(struct node_handle *host);

/* How many connections the pinned programs hold, and how many of them half-open. Returns 0 or
 * -errno, not reported. */
int settings_connections(struct node_handle *host, uint32_t *room, uint32_t *half_open);

/* What the pinned programs hash connections with. Returns 0 or -errno, not reported. */
int settings_seed(struct node_handle *host, uint64_t *seed);

#endif
