/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the maps hold, and what a policy wants them to hold of the tables that
 * never change once they are in force: segments, pairs, port lists, names.
 */
#ifndef BULKHEAD_NODE_IMAGE_H
#define BULKHEAD_NODE_IMAGE_H

#include "node/inside.h"
#include "node/table.h"

/* Every map of NODE_MAPS; `segments` and `ports` by index, the rest sorted by key. */
struct image {
	struct table map[N_NODE_MAPS];
};

void image_init(struct image *image);
void image_free(struct image *image);

/* Reads every map. Returns 0 or -errno, reported. */
int image_read(struct host *host, struct image *image);

/* How many entries of a map are in use: of an array, those that anything refers to. */
size_t image_used(const struct image *image, enum node_map_id map);

/*
 * A policy laid out for the maps. Its segments keep the slots, and its port
 * lists the places, that the maps give the same ones already; the rest is put
 * where nothing is. `want` holds what has to be there, `put` what is not yet.
 */
struct layout {
	const struct policy *policy;
	uint32_t ids; /* bh_blob.ids */
	uint32_t *slots; /* by the policy's segments; 0: deleted, it has none */
	uint32_t last_slot;
	struct image want, put;
};

void layout_free(struct layout *layout);

/* Wants the room that it needs of the maps (replace.h). Returns 0 or -errno, reported. */
int layout_make(struct host *host, const struct image *have, const struct policy *policy,
		uint32_t ids, struct layout *layout);

/* Writes what is not there yet. Returns 0 or -errno, reported. */
int layout_stage(struct host *host, const struct layout *layout);
bool layout_is_staged(const struct layout *layout);

/* Deletes what was in @have and neither wants; @later: what is staged, or NULL. Returns 0 or
 * -errno, reported. */
int layout_collect(struct host *host, const struct image *have, const struct layout *layout,
		   const struct layout *later);

/* An ID of the policy as it stands in the maps; 0 is nothing in both. */
static inline uint32_t layout_id(const struct layout *layout, uint32_t id)
{
	return id ? id ^ layout->ids : 0;
}

/* Wants room for @more entries beside those of @have. */
void image_want(struct host *host, const struct image *have, enum node_map_id map, size_t more);

#endif
