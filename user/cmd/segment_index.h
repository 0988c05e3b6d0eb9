/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds a policy's endpoints, prefixes and segments by the segment or class that they have, so that
 * a walk over all segments or pairs does not walk over the other table for each of them. */
#ifndef BULKHEAD_CMD_SEGMENT_INDEX_H
#define BULKHEAD_CMD_SEGMENT_INDEX_H

#include "policy/policy.h"

struct index_entry {
	uint32_t key, number;
};

/* Sorted, each entry once. */
struct index_entries {
	struct index_entry *at;
	size_t n;
};

struct segment_index {
	/* by index of a segment: indexes of endpoints; behind them, from n_endpoints on, of
	 * prefixes */
	struct index_entries members;
	/* by class, of segments that are not deleted: as a subject, 2 * index + direction; as a
	 * peer, the index */
	struct index_entries subjects, own, common;
	uint32_t *peers; /* room for segment_index_peers() */
};

/* Returns 0, and the index is to be freed; or -ENOMEM. */
int segment_index_make(struct segment_index *index, const struct policy *policy);
void segment_index_free(struct segment_index *index);

/* Returns the entries that have the key. */
struct index_entries index_find(const struct index_entries *entries, uint32_t key);

/*
 * Lists, sorted, the indexes of all segments that are not deleted and that the subject's policy may
 * let use a port in that direction, and perhaps of others. They last until the next call.
 */
size_t segment_index_peers(const struct segment_index *index, const struct policy *policy,
			   const struct policy_segment *subject, enum direction direction);

#endif
