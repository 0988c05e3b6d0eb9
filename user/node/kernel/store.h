/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The policies that are pinned: the one in force, the one that a load is about to
 * put in force, and the one that either is a change of (maps/blob.h).
 */
#ifndef BULKHEAD_NODE_STORE_H
#define BULKHEAD_NODE_STORE_H

#include "node/kernel/handle.h"

/* Whether anything is pinned. */
bool store_is_there(const struct node_handle *host);

/*
 * Finds the policy in force at host->config's generation: host->blob, and host->policy as one that
 * is read as far as it is needed; NULL at generation 0. store_read() then reads, and checks, all of
 * it. Return 0 or -errno, reported.
 */
int store_find(struct node_handle *host);
int store_read(struct node_handle *host);

/* Where the maps have a segment (index) of the policy in force; 0: that is not known. To be
 * believed only where bh_segments says the same, and the policy's source reports no error. */
uint32_t store_slot(const struct node_handle *host, uint32_t segment);

void store_free(struct store *store);

/* The headers of what is pinned under either name; generation 0: nothing is. Returns 0 or -errno,
 * reported. */
int store_read_headers(struct node_handle *host, struct bh_blob *next, struct bh_blob *current);

/* The policy that is staged, to be freed, and its header; NULL: none is. Returns 0 or -errno,
 * reported. */
int store_read_staged(struct node_handle *host, struct bh_blob *header, struct policy **policy);

/* Forgets what is staged, if anything is. Returns 0 or -errno, reported. */
int store_drop_staged(struct node_handle *host);

/* Pins a blob as the policy to be in force from @header->generation on, with the slots of its
 * segments. */
int store_write(struct node_handle *host, const struct bh_blob *header, const void *blob,
		const uint32_t *slots);

/* The same of the policy that a delta makes of the one in force. @store_takes_delta: there is room
 * for it beside those before it. */
struct delta;
bool store_takes_delta(const struct node_handle *host, const struct delta *delta);
int store_write_delta(struct node_handle *host, const struct bh_blob *header,
		      const struct delta *delta, const uint32_t *slots);

/* Settles the pins once the generation says which of the two is in force, and nothing is left of
 * the other one, which goes; unless it is staged. */
int store_settle(struct node_handle *host);

#endif
