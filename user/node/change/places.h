/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The places of a policy's port lists in bh_ports. A list that the maps have keeps its place. For a
 * load of a whole policy, it is found by its content, and a new list fills a gap; for a delta, it
 * is found at an entry of the old policy that leads to it, and a new list goes behind all others.
 */
#ifndef BULKHEAD_NODE_PLACES_H
#define BULKHEAD_NODE_PLACES_H

#include "maps/ports.h"
#include "node/change/planner.h"

/* The lists in bh_ports, by content. */
struct places_index {
	struct bh_interval *intervals; /* copy of bh_ports, with the entries by which it may grow */
	size_t n_intervals, n_there;
	uint32_t *starts; /* by index of bh_ports: the length of the list that starts there */
	bool *used; /* by index of bh_ports */
	size_t cursor; /* all entries below this one are used */
	struct places_list *lists; /* sorted by hash */
	size_t n, capacity;
};

struct places {
	struct planner *plan;
	struct places_index *index; /* NULL: lists are sought in the old policy */
	struct bh_ports_ref *placed; /* by index of the policy's intervals; count 0: not placed */
	uint32_t end; /* without an index: entries from here on are free */
};

/* Returns 0 or -errno. */
int places_init(struct places *places, struct planner *plan);
void places_free(struct places *places);

/* Returns true if a reference is to a list in bh_ports. */
static inline bool places_is_list(struct bh_ports_ref ref)
{
	return ref.count && ref.count != BH_PORTS_NAMED;
}

/*
 * places_put() finds the place in the maps for a reference of the new policy, or makes one.
 * places_expect() is for entries that the maps have already: of a list it gives the length only,
 * and leaves `at` 0. Both return 0 or -errno.
 */
typedef int places_find(struct places *places, struct bh_ports_ref ref,
			struct bh_ports_ref *placed);
int places_put(struct places *places, struct bh_ports_ref ref, struct bh_ports_ref *placed);
int places_expect(struct places *places, struct bh_ports_ref ref, struct bh_ports_ref *placed);

/* Returns true if a reference of the maps says what one of the new policy says. */
bool places_agree(const struct places *places, struct bh_ports_ref ref, struct bh_ports_ref there);

/* Returns the first entry above 0 behind all lists. */
uint32_t places_end(const struct places *places);

/* Returns the number of entries in use. In an array, an entry is in use if another entry refers to
 * it, or if it has an ID. */
size_t places_used(const struct image *image, enum node_map_id map);

#endif
