/* SPDX-License-Identifier: GPL-2.0-only */
/* The effect of a delta for this node, as effect.h finds the effect of a whole policy. */
#ifndef BULKHEAD_NODE_EFFECT_DELTA_H
#define BULKHEAD_NODE_EFFECT_DELTA_H

#include "node/change/planner.h"

/* Finds the effect, which the handle owns. Reads the policies that the delta names. If the delta
 * may move an endpoint of this node to another segment, reads this node's endpoints, and the
 * isolations of all policies: a follower only if such an endpoint may be isolated otherwise. */
int effect_delta_find(struct planner *plan);

#endif
