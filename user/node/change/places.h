/* SPDX-License-Identifier: GPL-2.0-only */
/* Port lists in bh_ports: where each stands, and where there is room for more. */
#ifndef BULKHEAD_NODE_PLACES_H
#define BULKHEAD_NODE_PLACES_H

#include "maps/ports.h"
#include "node/kernel/maps.h"

/* A port list in bh_ports, known by its content. */
struct list {
	uint64_t hash;
	uint32_t at, count;
};

/* Where port lists stand in bh_ports, and what of it is free. */
struct places {
	struct bh_interval *intervals; /* bh_ports itself, and what it is to be made larger by */
	size_t n_intervals, n_there;
	uint32_t *starts; /* by index of bh_ports: the count of the list that starts there */
	bool *used; /* by index of bh_ports */
	size_t cursor; /* everything below it is used */
	size_t n_used; /* the policy's lists end below it */
	struct list *lists; /* sorted by hash */
	size_t n, room;
	struct list *placed; /* by index of the policy's intervals; count 0: not yet */
};

void places_free(struct places *places);

/* Enters what @have refers to. @more: entries beyond the end of bh_ports, which may be made larger.
 * Returns 0 or -errno. */
int places_init(struct places *places, const struct image *have, size_t more);

/* Whether a reference is to a list that stands in bh_ports. */
static inline bool places_is_list(struct bh_ports_ref ref)
{
	return ref.count && ref.count != BH_PORTS_NAMED;
}

/* A list that stands in the map already; NULL: none does. */
const struct list *places_find(const struct places *places, const struct bh_interval *intervals,
			       uint32_t count);

/* The first place with @count free entries; the end where there is none. */
size_t places_free_run(struct places *places, uint32_t count);

/* How many entries of a map are in use: of an array, those that anything refers to. */
size_t places_used(const struct image *image, enum node_map_id map);

#endif
