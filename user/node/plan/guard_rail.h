/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Protects against an operator's mistake: refuses a load that would take off protection, unless the
 * options say `force`. Checks before anything changes.
 */
#ifndef BULKHEAD_NODE_GUARD_RAIL_H
#define BULKHEAD_NODE_GUARD_RAIL_H

#include "node/local/local_entries.h"

/* Refuses a policy without objects, as an empty file or folder makes, or a pipe that failed.
 * Returns 0 or -EINVAL, reported. */
int guard_rail_check_policy(const struct node_handle *handle, const struct policy *policy);

/* Refuses a policy of @n policy objects if the active policy has more than twice as many, unless
 * the policy of that checksum is staged: its stage was checked. Returns 0 or -EINVAL, reported. */
int guard_rail_check_count(struct node_handle *handle, size_t n, uint64_t checksum);

/*
 * Checks that each guarded endpoint of @ifaces (bh_ifaces active) stays guarded by @local, unless
 * its interface is gone. Returns 0, or -EINVAL with every endpoint reported that would lose its
 * guard. With `force`, warns of these endpoints.
 */
int guard_rail_check_guard(struct node_handle *handle, const struct table *ifaces,
			   const struct local *local);

#endif
