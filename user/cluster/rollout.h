/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A cluster whose nodes enforce the same policy. The engine compiles the API server's objects; each
 * node's follower activates the policy. Engine and followers know each other only through custom
 * resources of the API server (store.h). Either may be killed at any time and continues after its
 * next start. Packets do not depend on them.
 *
 * The rollout is a barrier of two phases. The engine publishes a policy and sets
 * desiredPolicyGeneration; each node installs its segments and reports latestPolicyGeneration.
 * When all have, the engine sets desiredEndpointGeneration; each node moves its endpoints and
 * reports latestEndpointGeneration. So no endpoint is in a segment that some node lacks. "All"
 * means the nodes whose heartbeat has changed within the last `node_seconds`, by the engine's
 * own clock. PolicyStatus tells the nodes this limit.
 *
 * If nothing but Pods has changed, the engine publishes the next policy while nodes install this
 * one. It then sets desiredEndpointGeneration to this one and desiredPolicyGeneration to the next
 * by one write. A node moves its endpoints before it installs a policy (next_step() in follower.c),
 * so a report that the next policy is installed says that endpoints are in this one, as it would
 * after two writes.
 *
 * A node whose heartbeat goes on, and which for three limits comes no nearer to the policy that is
 * wanted, counts no more, so that it does not hold up all others. Its status then has the condition
 * Ready=False with the reason NoProgress. It counts again once its endpoints are in the policy that
 * it lacked, or in a later one. The status of a silent node has Ready=Unknown with the reason
 * Silent, until its heartbeat changes. A node that is slow each time, so that steps of one rollout
 * after another take it more than a limit, has one limit in place of three until it has been
 * quicker: else each change of the whole cluster would wait for almost three limits.
 *
 * Why the barrier may go on without a node, silent or late:
 *   A node evaluates both ends of a packet by its own tables, and no other node writes these.
 *   A node that does not count keeps the generation that is active there whole: on that node all
 *   endpoints, its own and others', are in segments of that generation, which the node has.
 *   On the other nodes its endpoints are in segments of the newer policy, which those nodes have.
 *   So on no node is an endpoint in a segment that the node lacks. The node that does not count
 *   evaluates an older policy, as it would if it were cut off.
 *   A node that comes back never mixes two generations: it loads, or has staged, the whole policy
 *   that endpoints may be in, and activates that policy by one store (next_step() in follower.c).
 *   Only then does it count, so the barrier never takes a report of an older policy for one of the
 *   wanted policy, and the next rollout waits for the node as for all others.
 * If no node counts, nothing goes on.
 */
#ifndef BULKHEAD_CLUSTER_ROLLOUT_H
#define BULKHEAD_CLUSTER_ROLLOUT_H

#include "api/api.h"
#include "cluster/denials.h"
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
	const char *health; /* Unix socket for `bulkhead probe`; NULL: none */
	unsigned int node_seconds; /* a node that is silent for longer holds up no rollout */
};

/* Leads whenever no other engine does, until the file descriptor @stop can be read. Returns 0;
 * -EINVAL, reported, if the kubeconfig is wrong; or -ENOMEM. */
int engine_run(const struct engine_options *options, struct diag *diag, int stop);

struct follow_options {
	const char *kubeconfig;
	const char *node; /* this node's name in the cluster */
	struct node_options load; /* pin folder, uplinks, settings */
	const char *state; /* as for saved_dir() */
	const char *listen; /* address for metrics, as for serve_open(); NULL: serve none */
	const char *health; /* Unix socket for `bulkhead probe`; NULL: none */
	/* writes the node's metrics, before the follower's own */
	void (*metrics)(FILE *to, const char *pin);
	const char *records; /* folder of the CNI plugin's endpoint records; NULL: write none */
	/* folders of the networks' lists and of the runtimes' plugins; NULL: the lists are not kept
	 */
	const char *networks, *plugins;
	denials_print *denials; /* prints a denial as a line; NULL: denials are not reported */
	bool once; /* return once the policy that the cluster wants is active here */
};

/* Follows until the file descriptor @stop (-1: none) can be read, or with `once` until nothing is
 * left to do. Returns as engine_run(), and -EINVAL, reported, also if a setting is refused; with
 * `once`, also the error of a failed change of the node. */
int follow_run(const struct follow_options *options, struct diag *diag, int stop);

#endif
