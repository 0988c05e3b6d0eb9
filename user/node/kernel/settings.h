/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Settings of the programs and tables that the first load makes: how many connections they hold,
 * how long connections last, how many events are reported.
 */
#ifndef BULKHEAD_NODE_SETTINGS_H
#define BULKHEAD_NODE_SETTINGS_H

#include "node/kernel/handle.h"

struct bh_tc;
struct bh_xdp;

/*
 * Converts the times of an open object to this kernel's jiffies, and sets its constants: to those
 * of the pinned programs, or if none are pinned, to the options' settings. @connections: how many
 * the table has room for; 0: as the pinned programs have it. Returns 0 or -errno, reported: -EINVAL
 * if a setting does not exist or is out of range.
 */
int settings_apply(struct node_handle *handle, struct bh_tc *tc, uint32_t connections);

/* Gives the uplink's program the constants of the pinned ones. Returns 0 or -errno, reported. */
int settings_copy(struct node_handle *handle, struct bh_xdp *xdp);

/*
 * Checks that the active programs have the options' settings. Only the table of connections can
 * change while they run, and only grow: sets *@connections to its new size, or to 0 if it stays.
 * With `keep_connections`, a note says that a larger table stays. Returns 0; -EINVAL, reported, if
 * another setting differs, or memory lacks; or another -errno.
 */
int settings_check(struct node_handle *handle, uint32_t *connections);

/* Sets *capacity to the number of connections for which the pinned programs' table has room.
 * Returns 0 or -errno, not reported. */
int settings_connections(struct node_handle *handle, uint32_t *capacity);

/* Returns true if the setting `rcu` is normal, or cannot be read. Before the first load has pinned
 * programs, the options say so. */
bool settings_rcu_is_normal(struct node_handle *handle);

/* Sets *seed to the seed of the pinned programs' hash of connections. Returns 0 or -errno, not
 * reported. */
int settings_seed(struct node_handle *handle, uint64_t *seed);

/* Reads the key of the programs' hash of domain names (maps/domain_hash.h) into
 * handle->domain_key; if no programs are pinned, makes it. Returns 0 or -errno, not reported. */
int settings_domain_key(struct node_handle *handle);

#endif
