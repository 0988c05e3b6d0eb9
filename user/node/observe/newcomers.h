/* SPDX-License-Identifier: GPL-2.0-only */
/* What has come up on this node since the last load, which guards it: interfaces, tunnels and
 * default routes; and the node's addresses. */
#ifndef BULKHEAD_NODE_NEWCOMERS_H
#define BULKHEAD_NODE_NEWCOMERS_H

#include "node/kernel/handle.h"
#include "node/kernel/rtnl.h"
#include "node/kernel/table.h"

/* Returns true if an interface without a hook can bring or take packets. @ifaces: bh_ifaces. */
bool newcomers_has(const struct table *ifaces, const struct link *link);

struct newcomers {
	/* interfaces without a hook; a pod's that the CNI plugin is about to add is one, too */
	struct newcomer {
		uint32_t ifindex;
		char name[IF_NAMESIZE];
	} * ifaces;
	size_t n;
	uint32_t tunnel; /* a tunnel's UDP port that endpoints may still reach; 0: none */
	uint32_t uplink; /* an interface of a default route that is no uplink; 0: none */
	/* all that the node's interfaces have now, each once, sorted */
	struct address *addresses;
	size_t n_addresses;
};

/* Returns true if the node's interfaces had other addresses. */
bool newcomers_moved(const struct newcomers *before, const struct newcomers *now);

/* A policy is active. Returns 0 or -errno, reported; newcomers_free() in any case. */
int newcomers_read(struct node_handle *handle, struct newcomers *newcomers);
void newcomers_free(struct newcomers *newcomers);

#endif
