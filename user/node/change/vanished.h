/* SPDX-License-Identifier: GPL-2.0-only */
/* Interfaces that are gone, and whoever was on them. */
#ifndef BULKHEAD_NODE_VANISHED_H
#define BULKHEAD_NODE_VANISHED_H

#include "node/change/change.h"

/*
 * Has @change take off what is left of them; @ifaces: the others of bh_ifaces. *went: the endpoint
 * of the name @wanted (NULL: none) went with its interface. Returns 0 or -errno, reported.
 */
struct bh_added;
int vanished_plan(struct node_handle *host, const struct bh_added *wanted, struct change *change,
		  struct table *ifaces, bool *went);

#endif
