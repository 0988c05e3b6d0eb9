/* SPDX-License-Identifier: GPL-2.0-only */
/* The maps in which programs count how often each rule decided (maps/rule_hit.h). */
#ifndef BULKHEAD_NODE_RULE_HITS_H
#define BULKHEAD_NODE_RULE_HITS_H

#include "node/kernel/handle.h"

/* Sets *room to true if the maps count the rules 0 to @rules - 1. Returns 0 or -errno, reported. */
int rule_hits_have_room(const struct node_handle *handle, uint32_t rules, bool *room);

/* Adds the maps that are missing for so many rules. Returns 0 or -errno, reported. */
int rule_hits_add(struct node_handle *handle, uint32_t rules);

/* Calls @visit for each rule that is counted, with a value of each CPU, until a call returns
 * another number than 0. Returns that number; 0; or -errno, not reported. */
int rule_hits_each(const struct node_handle *handle,
		   int (*visit)(void *data, const void *rule, const void *hits), void *data);

#endif
