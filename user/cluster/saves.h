/* SPDX-License-Identifier: GPL-2.0-only */
/* Saves what the follower activates for the node's next start, and knows if that has failed. */
#ifndef BULKHEAD_CLUSTER_SAVES_H
#define BULKHEAD_CLUSTER_SAVES_H

#include "node/change/saved.h"

struct saves {
	const char *dir; /* NULL: nothing is saved */
	/* 0, or the -errno of the last save: the file has an older policy than the active one */
	int error;
	bool warned; /* of that error */
	struct node_change change; /* the change that could not be saved */
};

/* Compares the file with the policy that is active at the follower's start. */
void saves_begin(struct saves *saves, const struct node_options *options);

/* As saved_save() and saved_save_delta(). Reports only the first failure of several. */
void saves_policy(struct saves *saves, const struct node_options *options,
		  const struct node_change *change, const struct policy *policy, struct diag *diag);
void saves_delta(struct saves *saves, const struct node_options *options,
		 const struct node_change *change, const struct delta *delta,
		 const struct policy *whole, struct diag *diag);

/* Saves the active policy if the last save has failed. Says so once it succeeds. */
void saves_again(struct saves *saves, const struct node_options *options, struct diag *diag);

#endif
