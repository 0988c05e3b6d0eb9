/* SPDX-License-Identifier: GPL-2.0-only */
/* One pinned policy: its layout in the pin (maps/blob.h), and its view, which is read as far as it
 * is needed. */
#ifndef BULKHEAD_NODE_PINNED_POLICY_VIEW_H
#define BULKHEAD_NODE_PINNED_POLICY_VIEW_H

#include <zstd.h>

#include "node/kernel/pinned_policy.h"
#include "policy/delta_view.h"
#include "policy/lazy_policy.h"

#define PINNED "blob"
#define PINNED_NEXT "blob_next"
#define PINNED_BASE "blob_base"

struct pinned {
	struct policy_source source;
	const struct node_handle *handle;
	const char *name; /* name of the pin */
	/* owned: the header, with all that its checksum covers, and in a delta's pin with the
	 * node's extension; NULL: not pinned */
	struct bh_blob *header;
	size_t n_read; /* bytes of it */
	int fd; /* of the pin, if there is a header */
	const unsigned char *pages; /* the whole pin, mapped; NULL: not needed so far */
	size_t size;
	const struct bh_blob_block *blocks;
	unsigned char *content; /* the blob and the slots, as far as they have been read */
	bool *known; /* by block: the block has been read */
	size_t n_known;
	ZSTD_DCtx *zstd;
	/* For a policy that is pinned as a delta of another: */
	struct pinned *base;
	struct lazy_policy *base_policy;
	struct delta *delta;
	struct delta_view *view;
	struct where where;
	/* The node's extension of the policy: */
	struct delta *local;
	struct delta_view *local_view;
};

/* Layout. The content is the blob and, at pinned_slots_at(its length), the slots; it is stored in
 * blocks. A policy that is pinned as a delta has its slots behind the header, and the delta at
 * pinned_delta_at(). All in bytes. */
size_t pinned_slots_at(size_t length);
size_t pinned_content_size(const struct bh_blob *header);
size_t pinned_blocks(size_t size); /* how many blocks the content has */
size_t pinned_delta_at(const struct bh_blob *header);
uint64_t pinned_checksum(const struct bh_blob *header);

/* Opens a pin and reads its header, and not its policy. @pinned->header is NULL if there is no such
 * pin. Returns 0 or -errno, reported. */
int pinned_open(const struct node_handle *handle, const char *name, struct pinned *pinned);

/* Closes the pin. Free its policy first. */
void pinned_close(struct pinned *pinned);

/* Returns true if the pin has a staged policy. */
bool pinned_is_staged(const struct pinned *next);

/* Set *@policy to the pin's policy, which is read as far as it is needed: pinned_view_whole() of a
 * pin that is no delta, without the node's extension. Return 0; -ESTALE, not reported: the pin is a
 * delta whose base is gone, which a reader may see while a load removes pins; or another
 * -errno, reported. */
int pinned_view(struct pinned *pinned, struct lazy_policy **policy);
int pinned_view_whole(struct pinned *pinned, struct lazy_policy **policy);

/* Reads and checks the rest of a policy. Returns 0 or -errno, reported. */
int pinned_complete(struct pinned *pinned, struct lazy_policy **policy);

/* Returns the slot of a segment; 0: unknown. */
uint32_t pinned_slot_at(struct pinned *pinned, uint32_t segment);

/* Reports that the pin is damaged. Returns -EILSEQ. */
int pinned_damaged(const struct pinned *pinned);

#endif
