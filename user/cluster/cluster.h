/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A cluster whose nodes enforce the same policy: the engine compiles what the API server has, each
 * node's follower puts it in force, and custom resources of the API server (store.h) are all that
 * they know of each other. Either may be killed at any time and goes on from there. Packets do not
 * depend on them.
 *
 * The rollout is a barrier of two phases. The engine publishes a policy and sets
 * desiredPolicyGeneration; each node installs its segments and reports latestPolicyGeneration; when
 * all have, the engine sets desiredEndpointGeneration, and each node moves its endpoints and
 * reports latestEndpointGeneration. So no endpoint is in a segment that some node lacks. All: the
 * nodes whose heartbeat has changed within `node_seconds`, by the engine's own clock.
 */
#ifndef BULKHEAD_CLUSTER_CLUSTER_H
#define BULKHEAD_CLUSTER_CLUSTER_H

#include "api/api.h"
#include "node/node.h"

struct engine_options {
	const char *kubeconfig; /* as api_open() has it */
	const char *identity; /* of this engine among those that wait for its lease */
	const char *lease_namespace; /* where the lease is */
	const char *listen; /* where metrics are served, as serve_open() has it; NULL: nowhere */
	unsigned int node_seconds; /* a node that is silent for longer is not waited for */
};

/* Leads where no other engine does, until *stop. Returns 0, or -EINVAL (reported) where the
 * kubeconfig is wrong, or -ENOMEM. */
int engine_run(const struct engine_options *options, struct diag *diag, const volatile int *stop);

struct follow_options {
	const char *kubeconfig;
	const char *node; /* its name in the cluster */
	struct node_options load; /* pin folder, uplinks, settings */
	const char *listen; /* where metrics are served, as serve_open() has it; NULL: nowhere */
	void (*metrics)(FILE *to, const char *pin); /* what is served before the follower's own */
	const char *records; /* the folder for the CNI plugin's endpoint records; NULL: none */
	bool once; /* ends when all that the server has is in force here */
};

/* Follows until *stop, or with `once` until there is nothing left to do. Returns as above, or with
 * `once` what a change of the node failed with. */
int follow_run(const struct follow_options *options, struct diag *diag, const volatile int *stop);

#endif
