/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Carries out a change: the only place that writes to this node. It marks the node
 * as busy, takes the steps of change_order with a grace period before and after
 * what is collected, and marks the node as idle.
 */
#ifndef BULKHEAD_NODE_APPLY_H
#define BULKHEAD_NODE_APPLY_H

#include "node/change/change.h"

struct outcome {
	bool counts; /* all that counts is done: what failed, the next command does */
	enum change_act failed; /* where it did */
	uint32_t adopted; /* connections */
	uint32_t lost; /* interfaces that went meanwhile */
};

/*
 * Returns 0 or -errno, reported; without outcome->counts the node is as it was, as far as that
 * could be. @outcome may be NULL.
 */
int apply(struct node_handle *host, const struct change *change, struct outcome *outcome);

/* Ends, or takes back, what a killed command began. Returns 0 or -errno, reported. */
int apply_repair(struct node_handle *host);

#endif
