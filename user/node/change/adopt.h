/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking a live node under policy: the connections that the kernel's own
 * conntrack knows become entries of ours, so that the first load cuts none that
 * policy allows.
 */
#ifndef BULKHEAD_NODE_ADOPT_H
#define BULKHEAD_NODE_ADOPT_H

#include "node/change/local.h"

/*
 * Imports TCP, UDP and SCTP connections of this node's endpoints, by ctnetlink,
 * each in its original direction; where addresses are translated, under both
 * tuples, as they pass on either side of the translation. Nothing has judged
 * them: policy does at their next packet. A TCP connection that is only begun or
 * already over is left out. Where the kernel tracks nothing, says so. Returns 0 or
 * -errno, reported.
 */
int adopt_connections(struct node_handle *host, const struct policy *policy,
		      const struct local *local, uint32_t *adopted);

#endif
