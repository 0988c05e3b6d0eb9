/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The effect of a load for this node: the policies and the endpoints that the load protects more or
 * less than before (struct node_effect).
 */
#ifndef BULKHEAD_NODE_EFFECT_H
#define BULKHEAD_NODE_EFFECT_H

#include "node/change/local_entries.h"
#include "node/kernel/maps.h"

/*
 * Finds the effect of a change from the active policy, which @have holds, to @policy, which has the
 * endpoints of @local. The handle owns the effect. If not all of the active policy was read
 * (pinned_policy.h), the effect names no policies. Returns 0 or -errno, reported.
 */
int effect_find(struct node_handle *handle, const struct policy *policy, const struct local *local,
		const struct image *have);

/* Warns of each policy and endpoint that the handle's effect opens. */
void effect_warn(const struct node_handle *handle);

#endif
