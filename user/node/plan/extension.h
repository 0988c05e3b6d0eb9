/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The node's extension of the active policy: the segments of endpoints that `endpoint add` brought
 * and the policy has no segment for (compile/extend.h). The extension is pinned with the policy,
 * follows the policy into the next load, and goes with the last endpoint that needs it.
 */
#ifndef BULKHEAD_NODE_EXTENSION_H
#define BULKHEAD_NODE_EXTENSION_H

#include "model/cluster.h"
#include "node/plan/change.h"

/* While an extension is open, handle->policy is the extended policy, so that planners place
 * endpoints in its segments. */
struct extension {
	struct node_handle *handle;
	struct policy *extended, *before; /* NULL: the extension stays as it is */
};

/* Gives handle->policy back. */
void extension_close(struct extension *extension);

/*
 * Makes @change extend the active policy, if @endpoint has labels that fit none of its segments.
 * Otherwise the part of the extension goes that only the endpoint's former records @before needed,
 * of which an endpoint that is added has none. Returns 0 or -errno, reported.
 */
int extension_set(struct node_handle *handle, const struct endpoint *endpoint,
		  const struct table *before, struct change *change, struct extension *extension);

/* Makes @change, which deletes records of endpoints, give up the part of the extension that only
 * these endpoints needed. */
int extension_del(struct node_handle *handle, struct change *change);

/* Returns true if one of these records (of bh_added) is of an endpoint that needs the extension. */
bool extension_is_for(const struct node_handle *handle, const struct table *records);

/* Makes @change make the room that the extension needs in the maps. */
int extension_capacity(struct node_handle *handle, struct change *change);

/* Makes handle->policy the active policy again, after a change of the extension. */
int extension_renew(struct node_handle *handle, const struct change *change);

/* Lists the added endpoints for which @policy, the next one, needs an extension, but for those
 * whose records are in @gone. Returns 0 or -errno, reported. */
int extension_needy(struct node_handle *handle, const struct lazy_policy *policy,
		    const struct table *gone, struct cluster *needy);

/*
 * Extends @policy, which is about to be loaded and has its checksum, for the @endpoints that need
 * segments. *@extended and *@delta stay NULL if no endpoint does. Returns 0 or -errno, reported.
 */
int extension_load(struct node_handle *handle, const struct policy *policy,
		   const struct cluster *endpoints, struct policy **extended, struct delta **delta);

#endif
