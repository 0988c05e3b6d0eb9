/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Takes over open connections: each connection that the kernel's conntrack knows becomes an entry
 * of bh_ct, so that the first load cuts no connection that policy allows.
 */
#ifndef BULKHEAD_NODE_ADOPT_H
#define BULKHEAD_NODE_ADOPT_H

#include "node/local/local_entries.h"

/*
 * Adopts TCP connections of this node's endpoints by ctnetlink, and those of UDP and SCTP that
 * others have opened to them, in their original direction. A connection with translated addresses
 * gets an entry for each of its two tuples. The new entries are not evaluated yet: policy evaluates
 * each connection at its next packet. Leaves out TCP connections that have only begun or are over.
 * Reports where the kernel tracks no connections. Returns 0 or -errno, reported.
 */
int adopt_connections(struct node_handle *handle, const struct policy *policy,
		      const struct local *local, uint32_t *adopted);

#endif
