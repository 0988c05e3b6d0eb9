/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes this node for its follower: installs policies and activates them. Each function opens the
 * pin folder, changes the node and closes the folder again, so that other commands can run in
 * between.
 */
#ifndef BULKHEAD_CLUSTER_FOLLOWED_NODE_H
#define BULKHEAD_CLUSTER_FOLLOWED_NODE_H

#include <json-c/json.h>

#include "cluster/saves.h"
#include "cluster/store.h"
#include "node/node.h"

/* Generations as the cluster counts them; 0: none. */
struct followed_node_state {
	uint32_t installed, active;
	uint64_t installed_checksum, active_checksum;
};

struct followed_node {
	const struct node_options *options;
	const char *records; /* the CNI plugin's folder of endpoint records; NULL: the default */
	/* a staged delta, whose segments the maps have; NULL: none */
	struct delta *held;
	/* the maps have these segments only while the policy is pinned as staged */
	bool held_pinned;
	/* a whole policy was loaded with `options`, so that a delta can be loaded without them */
	bool loaded;
	struct saves saves;
	bool own; /* the last change may have moved endpoints of this node */
	/* Called after a change that has opened pods of this node, or audits them from now on.
	 * @line: node_change_print()'s. NULL: not called. */
	void (*opened)(void *data, uint64_t generation, const char *line);
	void *data;
};
void followed_node_free(struct followed_node *node);

/* Returns 0 or -errno, reported. */
int followed_node_read(struct followed_node *node, struct diag *diag,
		       struct followed_node_state *state);

/*
 * Checks the options' settings. Loads the active policy again if it audits and the options do not,
 * or the other way round, and if they want a larger table of connections: a node must not wait for
 * the cluster's next policy before it is as they say. Returns 0 or -errno, reported: -EINVAL if a
 * setting is refused.
 */
int followed_node_begin(struct followed_node *node, struct diag *diag);

/* Finds what has come up on the node since the last load (observe/newcomers.h); nothing, if no
 * policy is active. Returns 0 or -errno, reported; newcomers_free() in any case. */
struct newcomers;
int followed_node_newcomers(const struct followed_node *node, struct diag *diag,
			    struct newcomers *newcomers);
/* Loads the active policy again, which guards what has come up. A policy that is staged is staged
 * again. Returns 0 or -errno, reported. Sets @state in any case. */
int followed_node_load_again(struct followed_node *node, struct diag *diag,
			     struct followed_node_state *state);

/*
 * Puts the policy that @chain leads to active. The chain begins with a whole policy, or with a
 * delta from a policy that is active or staged here. Of a single delta, only the entries that the
 * delta changes are read and written, if the delta allows that. Returns 0 and sets @state to what
 * the node has then; -ESTALE, not reported: the node has other policies by now, since another
 * command has changed it; -EBADMSG, reported: the policy cannot be made; or another -errno,
 * reported.
 */
int followed_node_load(struct followed_node *node, struct store_chain *chain, struct diag *diag,
		       struct followed_node_state *state);
/* As followed_node_load(), but installs the policy beside the active policy. */
int followed_node_stage(struct followed_node *node, struct store_chain *chain, struct diag *diag,
			struct followed_node_state *state);
/* Puts the staged policy active. Returns as followed_node_load() does; -ESTALE if no policy of that
 * generation is staged. */
int followed_node_activate(struct followed_node *node, uint32_t generation, struct diag *diag,
			   struct followed_node_state *state);

#endif
