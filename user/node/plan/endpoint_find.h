/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds an active endpoint by its name, at a cost that does not grow with the number of
 * endpoints. */
#ifndef BULKHEAD_NODE_ENDPOINT_FIND_H
#define BULKHEAD_NODE_ENDPOINT_FIND_H

#include "node/plan/added_record.h"

/* Finds the active addresses of that name, with their entries. Returns 0 or -errno, not
 * reported. */
int endpoint_find(struct node_handle *handle, const struct bh_added *name, struct table *members);

/* Refuses an endpoint whose name or address another active endpoint has. Returns 0, -EINVAL or
 * another -errno, reported. */
int endpoint_check_free(struct node_handle *handle, const struct endpoint *endpoint);

/* Refuses one address of an endpoint if another endpoint has the address. Returns as
 * endpoint_check_free() does. */
int endpoint_check_address(struct node_handle *handle, const struct endpoint *endpoint,
			   const struct address *address);

#endif
