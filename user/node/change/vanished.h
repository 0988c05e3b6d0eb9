/* SPDX-License-Identifier: GPL-2.0-only */
/* Plans to remove interfaces that are gone, with their endpoints. */
#ifndef BULKHEAD_NODE_VANISHED_H
#define BULKHEAD_NODE_VANISHED_H

#include "node/change/change.h"

/*
 * Makes @change remove the entries about interfaces that are gone, and their endpoints. @ifaces
 * gets the entries of bh_ifaces whose interfaces exist. *went: the endpoint named @wanted (NULL:
 * none) went with its interface. @patient leaves entries of interfaces without an endpoint to the
 * next removal, while bh_ifaces has few entries: no other entry leads to them. Returns 0 or -errno,
 * reported.
 */
struct bh_added;
int vanished_plan(struct node_handle *handle, const struct bh_added *wanted, bool patient,
		  struct change *change, struct table *ifaces, bool *went);

#endif
