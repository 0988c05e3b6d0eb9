/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of node_status(). Each fills its members of @status, which the caller frees also after
 * an error. They return 0 or -errno, reported. */
#ifndef BULKHEAD_NODE_STATUS_PARTS_H
#define BULKHEAD_NODE_STATUS_PARTS_H

#include "node/kernel/handle.h"
#include "node/kernel/maps.h"
#include "node/node.h"

/* status_ifaces.c. `ifaces`; the second one if nothing is loaded: interfaces with a program whose
 * pins are gone. */
int status_read_ifaces(struct node_handle *handle, const struct table *ifaces,
		       struct node_status *status);
int status_read_orphans(struct node_handle *handle, struct node_status *status);

/* status_connections.c. `connections` and `shares`, and one more of `maps`. After
 * status_read_ifaces(), which gives shares their names. */
int status_read_connections(struct node_handle *handle, struct node_status *status);

/* status_events.c. Readers, `suppressed`, `drops` and `recent`. After status_read_ifaces(). */
int status_read_events(struct node_handle *handle, const struct table *endpoints,
		       struct node_status *status);

#endif
