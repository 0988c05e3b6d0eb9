/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes this node for its follower: the node's own pods, as soon as the API server knows them.
 * Each function opens the pin folder, changes the node and closes the folder again, so that other
 * commands can run in between.
 */
#ifndef BULKHEAD_CLUSTER_FOLLOWED_PODS_H
#define BULKHEAD_CLUSTER_FOLLOWED_PODS_H

#include <json-c/json.h>

#include "node/node.h"

/* Adds each Pod of this node as an endpoint, or sets its labels and ports. A Pod that fails stops
 * no other one. *waits: one is isolated, since its labels fit no segment and a policy is staged.
 * Returns 0; -EAGAIN if nothing is active yet; or another -errno, reported. */
int followed_pods_place(const struct node_options *options, struct json_object *const *pods,
			size_t n, struct diag *diag, bool *waits);
/* Returns true if the Pod's address is active, at an interface of this node. */
bool followed_pod_has_interface(const struct node_options *options, struct json_object *pod,
				struct diag *diag);
/* Removes a Pod that is gone or has ended. Its interface stays guarded until it is gone. */
int followed_pod_delete(const struct node_options *options, struct json_object *pod,
			struct diag *diag);

#endif
