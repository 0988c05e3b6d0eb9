/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The pinned policies: the active policy, the policy that a load is about to activate, and the base
 * from which either is a delta (maps/blob.h).
 */
#ifndef BULKHEAD_NODE_PINNED_POLICY_H
#define BULKHEAD_NODE_PINNED_POLICY_H

#include "node/kernel/handle.h"

struct delta;

/* Returns true if anything is pinned. */
bool pinned_is_there(const struct node_handle *handle);

/*
 * Finds the active policy at handle->config's generation. Sets handle->blob, and handle->policy,
 * which is read as far as it is needed; NULL at generation 0. pinned_read() reads and checks all of
 * it. Return 0 or -errno, reported.
 */
int pinned_find(struct node_handle *handle);
int pinned_read(struct node_handle *handle);

/* pinned_whole() returns the active policy, once all of it was read; NULL: it was not, or there is
 * none. pinned_take() also makes the caller its owner. */
struct policy *pinned_whole(const struct node_handle *handle);
struct policy *pinned_take(struct node_handle *handle);

/* Returns the slot of a segment (index) of the active policy; 0: unknown. Use it only if
 * bh_segments agrees, and the policy's source reports no error. */
uint32_t pinned_slot(const struct node_handle *handle, uint32_t segment);

void pinned_free(struct pinned *pinned);

/* Reads the headers of both pins; generation 0: there is no such pin. Returns 0 or -errno,
 * reported. */
int pinned_read_headers(struct node_handle *handle, struct bh_blob *next, struct bh_blob *current);

/* Reads what is active and staged (node.h), by who holds the lock. Returns 0 or -errno, reported.
 */
int pinned_read_heads(struct node_handle *handle, struct node_heads *heads);

/* Reads the staged policy, to be freed, and its header; NULL: none is staged. Returns 0 or
 * -errno, reported. */
int pinned_read_staged(struct node_handle *handle, struct bh_blob *header, struct policy **policy);

/* The members of the staged policy that are known without reading all of it. */
struct pinned_staged {
	uint32_t generation; /* of the policy; 0: none is staged */
	uint64_t checksum;
	uint32_t flags, ports_end; /* as in bh_blob */
	uint32_t *slots; /* by index of its segments; owned */
};
int pinned_read_staged_head(struct node_handle *handle, struct pinned_staged *staged);
void pinned_staged_free(struct pinned_staged *staged);

/* Removes the staged policy, if there is one. Returns 0 or -errno, reported. */
int pinned_drop_staged(struct node_handle *handle);

/* Pins a blob as the policy that is active from @header->generation on, with the slots of its
 * segments. @local: the node's extension of the policy (compile/extend.h); NULL: none. */
int pinned_write(struct node_handle *handle, const struct bh_blob *header, const void *blob,
		 const struct delta *local, const uint32_t *slots);
/* Returns the node's extension of the active policy; NULL: none. */
const struct delta *pinned_local(const struct node_handle *handle);
/* Returns true if the pinned active policy has the extension @local. */
bool pinned_has_local(const struct node_handle *handle, const struct delta *local);

/* pinned_write_delta() pins the policy that a delta makes of the active policy; @delta NULL: the
 * policy is pinned as a delta already, and stays. pinned_takes_delta() says whether the delta,
 * joined with the pinned one, is small enough. */
bool pinned_takes_delta(const struct node_handle *handle, const struct delta *delta);
int pinned_write_delta(struct node_handle *handle, const struct bh_blob *header,
		       const struct delta *delta, const struct delta *local, const uint32_t *slots);

/* Removes the pin of the policy that is no longer active, and gives its name to the pin of the
 * active policy. Call it once the maps have nothing of the old policy. Keeps a staged policy. */
int pinned_finish(struct node_handle *handle);

#endif
