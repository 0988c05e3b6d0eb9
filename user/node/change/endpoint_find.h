/* SPDX-License-Identifier: GPL-2.0-only */
/* One endpoint that is in force, by its name, at a cost that does not depend on how many there are.
 */
#ifndef BULKHEAD_NODE_ENDPOINT_FIND_H
#define BULKHEAD_NODE_ENDPOINT_FIND_H

#include "node/change/record.h"

/* The addresses of that name that are in force: in the maps, with their entries there; or left out
 * of them, with none. Returns 0 or -errno, not reported. */
int endpoint_find(struct node_handle *host, const struct bh_added *name, struct table *members,
		  struct table *left_out);

/* Refuses an endpoint whose name, or an address of which, is in force. Returns 0, -EINVAL or
 * another -errno, reported. */
int endpoint_check_free(struct node_handle *host, const struct endpoint *endpoint);

/* Refuses one address of it that is another's. Returns as endpoint_check_free() does. */
int endpoint_check_address(struct node_handle *host, const struct endpoint *endpoint,
			   const struct address *address);

#endif
