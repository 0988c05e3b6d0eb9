/* SPDX-License-Identifier: GPL-2.0-only */
/* Plans to give an active endpoint other addresses. */
#ifndef BULKHEAD_NODE_READDRESS_H
#define BULKHEAD_NODE_READDRESS_H

#include "model/cluster.h"
#include "node/change/change.h"

/*
 * Makes @change replace @members (entries of bh_endpoints) by @endpoint, at one commit: new
 * addresses come, addresses that stay move to the segment of @endpoint, and the other addresses go
 * with their connections. The interface stays guarded. Packets from a new address pass its source
 * check after the commit. Sets *isolated as endpoint_add_plan() does. Returns 0 or -errno,
 * reported.
 */
int readdress_plan(struct node_handle *handle, const struct endpoint *endpoint,
		   const struct table *members, struct change *change, bool *isolated);

/* Keeps one address, with its entry of bh_endpoints, and moves it to the segment of @endpoint.
 * Returns 0 or -errno. */
struct bh_endpoint;
int readdress_keep(struct node_handle *handle, const struct endpoint *endpoint,
		   const struct bh_addr *addr, const struct bh_endpoint *entry,
		   struct change *change, bool *isolated);

#endif
