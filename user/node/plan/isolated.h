/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads in which directions policies isolate an active endpoint, at a cost that follows the number
 * of policies, not of endpoints. */
#ifndef BULKHEAD_NODE_ISOLATED_H
#define BULKHEAD_NODE_ISOLATED_H

#include "node/plan/added_record.h"

struct isolations;

/* Sets *directions to 1 << enum direction for each; 0: no endpoint of this name is active. Opens
 * the pins anew, so that it sees what a change has just activated. Returns 0 or -errno,
 * reported. */
int isolated_read(const struct node_handle *handle, const struct bh_added *name,
		  uint8_t *directions);

/* As isolated_read(), for an active address, by the isolations of handle->policy. Returns 0 or
 * -errno, not reported. */
int isolated_at(const struct node_handle *handle, const struct isolations *isolations,
		const struct address *address, uint8_t *directions);

#endif
