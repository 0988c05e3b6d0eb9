/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Carries out a change. Only apply() writes what is active: it marks the node as busy, takes the
 * steps of change_order, waits for a grace period before and after it collects, and marks the node
 * as idle. Two writers are no part of a change: a reader of events takes its own place
 * (kernel/event_reader.h), and attach_guard() isolates an interface that has no entry in the maps
 * yet.
 */
#ifndef BULKHEAD_NODE_APPLY_H
#define BULKHEAD_NODE_APPLY_H

#include "node/plan/change.h"

struct outcome {
	bool counts; /* the change is active; the next command completes what failed */
	enum change_act failed; /* the step that failed */
	uint32_t adopted; /* number of connections taken over */
	uint32_t lost; /* number of interfaces that were gone when their turn came */
};

/*
 * Applies @change. Returns 0 or -errno, reported. Without outcome->counts the node is as it was,
 * as far as undoing succeeded. @outcome may be NULL.
 */
int apply(struct node_handle *handle, const struct change *change, struct outcome *outcome);

/* Notes the policies' generations that a load wants, whether the load succeeds or not. Commands
 * read them, programs do not. Not for dry runs. */
void apply_desired(struct node_handle *handle, uint32_t policy, uint32_t endpoint);

/* Completes or undoes the change of a killed command. Returns 0 or -errno, reported. */
int apply_repair(struct node_handle *handle);

#endif
