/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an operator's slip would take off: a load is checked before it changes
 * anything, and refused unless the options say that it is meant (force).
 */
#ifndef BULKHEAD_NODE_SLIP_H
#define BULKHEAD_NODE_SLIP_H

#include "node/change/local.h"

/* A policy of no objects is what an empty file or folder makes, or a pipe that failed. Returns 0 or
 * -EINVAL, reported. */
int slip_check_policy(const struct node_handle *host, const struct policy *policy);

/*
 * Each endpoint that is guarded, by @ifaces (of bh_ifaces, in force), stays guarded by @local,
 * unless its interface is gone. Returns 0; -EINVAL, reported with every endpoint that would be
 * taken off; or another -errno, reported.
 */
int slip_check_guard(struct node_handle *host, const struct table *ifaces,
		     const struct local *local);

#endif
