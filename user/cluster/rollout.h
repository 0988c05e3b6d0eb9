/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A cluster whose nodes enforce the same policy. The engine compiles the API server's objects;
 * each node's follower puts the policy in force. Engine and followers know each other only
 * through custom resources of the API server (store.h). Either may be killed at any time and
 * continues after its next start. Packets do not depend on them.
 *
 * The rollout is a barrier of two phases. The engine publishes a policy and sets
 * desiredPolicyGeneration; each node installs its segments and reports latestPolicyGeneration.
 * When all have, the engine sets desiredEndpointGeneration; each node moves its endpoints and
 * reports latestEndpointGeneration. So no endpoint is in a segment that some node lacks. "All"
 * means the nodes whose heartbeat has changed within the last `node_seconds`, by the engine's
 * own clock. PolicyStatus tells the nodes this limit.
 */
#ifndef BULKHEAD_CLUSTER_ROLLOUT_H
#define BULKHEAD_CLUSTER_ROLLOUT_H

#include "api/api.h"
#include "node/node.h"

/* Limits in seconds for a silent node. The smallest is longer than a lease, so that an engine that
 * loses its network loses the lease before it counts silent nodes out. */
#define ROLLOUT_LIMIT_MIN 20
#define ROLLOUT_LIMIT_MAX 3600
#define ROLLOUT_LIMIT_DEFAULT 40 /* also where PolicyStatus has no limit */

struct engine_options {
	const char *kubeconfig; /* as for api_open() */
	const char *identity; /* this engine's name among those that want the lease */
	const char *lease_namespace; /* namespace of the lease */
	const char *listen; /* address for metrics, as for serve_open(); NULL: serve none */
	unsigned int node_seconds; /* a node that is silent for longer holds up no rollout */
};

/* Leads whenever no other engine does, until the file descriptor @stop can be read. Returns 0;
 * -EINVAL, reported, where the kubeconfig is wrong; or -ENOMEM. */
int engine_run(const struct engine_options *options, struct diag *diag, int stop);

struct follow_options {
	const char *kubeconfig;
	const char *node; /* this node's name in the cluster */
	struct node_options load; /* pin folder, uplinks, settings */
	const char *listen; /* address for metrics, as for serve_open(); NULL: serve none */
	void (*metrics)(FILE *to, const char *pin); /* writes the node's metrics, before the
						     * follower's own */
	const char *records; /* folder of the CNI plugin's endpoint records; NULL: write none */
	bool once; /* return once the policy that the cluster wants is in force here */
};

/* Follows until the file descriptor @stop (-1: none) can be read, or with `once` until nothing is
 * left to do. Returns as engine_run(); with `once`, also the error of a failed change of the node.
 */
int follow_run(const struct follow_options *options, struct diag *diag, int stop);

#endif
