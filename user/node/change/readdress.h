/* SPDX-License-Identifier: GPL-2.0-only */
/* An endpoint in force that gets other addresses. */
#ifndef BULKHEAD_NODE_READDRESS_H
#define BULKHEAD_NODE_READDRESS_H

#include "model/cluster.h"
#include "node/change/change.h"

/*
 * Has @change put @endpoint, as it is to be, in the place of @members, entries of bh_endpoints: new
 * addresses come, those that it keeps move to its segment, the others go with their connections; at
 * one flip. Its interface stays guarded: packets by a new address pass its source check once that
 * has happened. *isolated as endpoint_add_plan() has it. Returns 0 or -errno, reported.
 */
int readdress_plan(struct node_handle *host, const struct endpoint *endpoint,
		   const struct table *members, struct change *change, bool *isolated);

#endif
