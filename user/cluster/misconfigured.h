/* SPDX-License-Identifier: GPL-2.0-only */
/* The last words of a follower that ends at its start, since its options are refused: its node's
 * NodePolicyStatus says why, so that nobody has to read the log of a pod that ends again and
 * again. */
#ifndef BULKHEAD_CLUSTER_MISCONFIGURED_H
#define BULKHEAD_CLUSTER_MISCONFIGURED_H

#include "api/api.h"

/* The reason of the condition Ready. */
#define MISCONFIGURED "Misconfigured"

/* Writes the condition Ready=False with @why into the node's status, and leaves the node's
 * heartbeat and its other conditions as they are. Runs the API's loop until that is written, the
 * server fails an attempt, or @stop can be read. */
void misconfigured_tell(struct api *api, const char *node, const char *why, int stop);

#endif
