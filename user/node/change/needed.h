/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What of a policy goes into this node's maps: all of it, or what the node needs
 * (compile/locality.h), if the policy is loaded so (BH_BLOB_NEEDED).
 */
#ifndef BULKHEAD_NODE_NEEDED_H
#define BULKHEAD_NODE_NEEDED_H

#include "node/change/layout.h"
#include "node/change/local.h"

struct needed {
	struct policy policy; /* what goes in; good as long as the policy that it is of is */
	struct node_needs needs;
};

void needed_free(struct needed *needed);

/* @flags: of struct bh_blob. */
void needed_make(struct needed *needed, const struct policy *policy, const struct local *local,
		 uint32_t flags);

/*
 * What the policy in force needs where one more endpoint comes, beside those that the maps have.
 * @local: the node's name and addresses. Returns 0 or -ENOMEM.
 */
struct arrival;
int needed_with(struct needed *needed, const struct node_handle *host, const struct image *have,
		const struct local *local, const struct arrival *arrival);

/* By the segments of @policy, the slots that @layout gives those that are needed; 0: none. To be
 * freed; NULL: no memory. */
uint32_t *needed_slots(const struct needed *needed, const struct policy *policy,
		       const struct layout *layout);

/*
 * What the maps have of the policy in force, or of a staged one, with this @header: of a part, what
 * counts at the generation in force. For whoever clears up, or adds to it.
 */
void needed_in_maps(struct needed *needed, const struct node_handle *host, const struct image *have,
		    const struct policy *policy, const struct bh_blob *header);

#endif
