/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of a policy that goes into this node's maps: all of it, or with BH_BLOB_NEEDED only the
 * part that the node needs (compile/locality.h).
 */
#ifndef BULKHEAD_NODE_NEEDED_H
#define BULKHEAD_NODE_NEEDED_H

#include "node/change/layout.h"
#include "node/change/local.h"

struct needed {
	struct policy policy; /* the part; valid as long as the whole policy */
	struct node_needs needs;
};

void needed_free(struct needed *needed);

/* @flags are those of struct bh_blob. */
void needed_make(struct needed *needed, const struct policy *policy, const struct local *local,
		 uint32_t flags);

/*
 * Finds the part of the policy in force that the node needs with one more endpoint. @local: the
 * node's name and addresses. Returns 0 or -ENOMEM.
 */
struct arrival;
int needed_with(struct needed *needed, const struct node_handle *handle, const struct image *have,
		const struct local *local, const struct arrival *arrival);

/* Returns the slots that @layout gives the segments of the part, by index of @policy's segments;
 * 0: none. To be freed. NULL: memory is short. */
uint32_t *needed_slots(const struct needed *needed, const struct policy *policy,
		       const struct layout *layout);

/*
 * Finds the part of @policy that the maps have. @header: of @policy, which is in force or staged.
 * Without BH_BLOB_NEEDED in the header, the maps have all of it; else the part is the entries that
 * count at the generation in force, or all entries of a staged policy. For repairs and additions.
 */
void needed_in_maps(struct needed *needed, struct node_handle *handle, const struct image *have,
		    const struct policy *policy, const struct bh_blob *header);

#endif
