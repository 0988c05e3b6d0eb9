/* SPDX-License-Identifier: GPL-2.0-only */
/* Port lists in bh_ports: their places, and the free ones. */
#ifndef BULKHEAD_NODE_PLACES_H
#define BULKHEAD_NODE_PLACES_H

#include "maps/ports.h"
#include "node/kernel/maps.h"

/* A port list in bh_ports, identified by its content. */
struct list {
	uint64_t hash;
	uint32_t at, count;
};

/* The state of bh_ports. */
struct places {
	struct bh_interval *intervals; /* copy of bh_ports, with the entries by which it may grow */
	size_t n_intervals, n_there;
	uint32_t *starts; /* by index of bh_ports: the length of the list that starts there */
	bool *used; /* by index of bh_ports */
	size_t cursor; /* all entries below this one are used */
	size_t n_used; /* the policy's lists end below this entry */
	struct list *lists; /* sorted by hash */
	size_t n, room;
	struct list *placed; /* by index of the policy's intervals; count 0: not placed yet */
};

void places_free(struct places *places);

/* Notes the lists that @have refers to. @more: number of entries by which bh_ports may grow.
 * Returns 0 or -errno. */
int places_init(struct places *places, const struct image *have, size_t more);

/* Whether a reference is to a list in bh_ports. */
static inline bool places_is_list(struct bh_ports_ref ref)
{
	return ref.count && ref.count != BH_PORTS_NAMED;
}

/* Finds the list in bh_ports. NULL: bh_ports lacks the list. */
const struct list *places_find(const struct places *places, const struct bh_interval *intervals,
			       uint32_t count);

/* Returns the first place with @count free entries; the end where there is none. */
size_t places_free_run(struct places *places, uint32_t count);

/* Returns the first entry above 0 behind the last used one. */
uint32_t places_end(const struct places *places);

/* Returns the number of entries in use. In an array, an entry is in use if another entry refers to
 * it, or if it has an ID. */
size_t places_used(const struct image *image, enum node_map_id map);

#endif
