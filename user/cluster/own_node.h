/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * This node, for its follower: policies into force, and its own pods as soon as the API server
 * tells of them. Each function opens the pin folder, changes it and closes it again, so that other
 * commands work beside.
 */
#ifndef BULKHEAD_CLUSTER_OWN_NODE_H
#define BULKHEAD_CLUSTER_OWN_NODE_H

#include <json-c/json.h>

#include "node/node.h"

/* In the cluster's count; 0: none. */
struct own_node_state {
	uint32_t installed, active;
	uint64_t installed_checksum, active_checksum;
};

/* 0 or -errno, reported. */
int own_node_read(const struct node_options *options, struct diag *diag,
		  struct own_node_state *state);

/* Puts the policy in force whole. */
int own_node_load(const struct node_options *options, const struct policy *policy,
		  struct diag *diag);
/* Installs it beside the one in force. */
int own_node_stage(const struct node_options *options, const struct policy *policy,
		   struct diag *diag);
/* Puts what is staged in force. -ENOENT: nothing of that generation is. */
int own_node_activate(const struct node_options *options, uint32_t generation, struct diag *diag);

/* A pod of this node, as it is now: it comes into force, or its labels and ports do. *in_force: it
 * has an address, lives, and is no hostNetwork pod. Returns 0; -EAGAIN: nothing is in force yet; or
 * -errno, reported. */
int own_node_pod(const struct node_options *options, struct json_object *pod, struct diag *diag,
		 bool *in_force);
/* It has gone, or ended. */
int own_node_pod_gone(const struct node_options *options, const char *ns, const char *name,
		      struct diag *diag);

#endif
