/* SPDX-License-Identifier: GPL-2.0-only */
/* Endpoints and guarded interfaces of this node whose interfaces are gone. */
#ifndef BULKHEAD_NODE_VANISHED_H
#define BULKHEAD_NODE_VANISHED_H

#include "maps/added.h"
#include "node/plan/own_interfaces.h"

/*
 * Makes @own leave the interfaces that are gone, and its change remove their endpoints. @ifaces
 * gets the entries of bh_ifaces whose interfaces exist. *went: the endpoint named @wanted (NULL:
 * none) went with its interface. @patient leaves entries of interfaces without an endpoint to the
 * next removal, while bh_ifaces has few entries: no other entry leads to them. Returns 0 or -errno,
 * reported.
 */
int vanished_plan(struct own_interfaces *own, const struct bh_added *wanted, bool patient,
		  struct table *ifaces, bool *went);

#endif
