/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The places of a policy's port lists in bh_ports. A list that the maps have keeps its place. For a
 * load of a whole policy, it is found by its content, and a new list fills a gap; for a delta, it
 * is found at an entry of the old policy that leads to it, and a new list goes behind all others,
 * until the map is full: then the delta fills gaps, too.
 */
#ifndef BULKHEAD_NODE_PORT_LISTS_H
#define BULKHEAD_NODE_PORT_LISTS_H

#include "maps/ports.h"
#include "node/plan/planner.h"

/* The lists in bh_ports, by content. */
struct port_lists_index {
	struct bh_interval *intervals; /* copy of bh_ports, with the entries by which it may grow */
	size_t n_intervals, n_there;
	uint32_t *starts; /* by index of bh_ports: the length of the list that starts there */
	bool *used; /* by index of bh_ports */
	size_t cursor; /* all entries below this one are used */
	struct port_lists_list *lists; /* sorted by hash */
	size_t n, capacity;
};

struct port_lists {
	struct planner *plan;
	struct port_lists_index *index; /* NULL: lists are sought in the old policy */
	struct bh_ports_ref *placed; /* by index of the policy's intervals; count 0: not placed */
	uint32_t end; /* without an index: entries from here on are free */
};

/* Returns 0 or -errno. */
int port_lists_init(struct port_lists *lists, struct planner *plan);
void port_lists_free(struct port_lists *lists);

/* Returns true if a reference is to a list in bh_ports. */
static inline bool port_lists_is_list(struct bh_ports_ref ref)
{
	return ref.count && ref.count != BH_PORTS_NAMED;
}

/*
 * port_lists_put() finds the place in the maps for a reference of the new policy, or makes one.
 * port_lists_expect() is for entries that the maps have already: of a list it gives the length
 * only, and leaves `at` 0. Both return 0 or -errno.
 */
typedef int port_lists_find(struct port_lists *lists, struct bh_ports_ref ref,
			    struct bh_ports_ref *placed);
int port_lists_put(struct port_lists *lists, struct bh_ports_ref ref, struct bh_ports_ref *placed);
int port_lists_expect(struct port_lists *lists, struct bh_ports_ref ref,
		      struct bh_ports_ref *placed);

/* Returns true if a reference of the maps says what one of the new policy says. A list is compared
 * once with each place. */
bool port_lists_agree(struct port_lists *lists, struct bh_ports_ref ref, struct bh_ports_ref there);

/* Returns the first entry above 0 behind all lists. */
uint32_t port_lists_end(const struct port_lists *lists);

/* Returns the number of entries in use. In an array, an entry is in use if another entry refers to
 * it, or if it has an ID. */
size_t port_lists_used(const struct image *image, enum node_map_id map);

#endif
