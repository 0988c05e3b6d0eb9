/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Assignment words of endpoints and prefixes. A key that is about to come or to go holds the
 * word of its cover, the shorter prefix around it, so that nothing changes for packets but at
 * the flip.
 */
#ifndef BULKHEAD_NODE_ASSIGN_H
#define BULKHEAD_NODE_ASSIGN_H

#include "node/change/layout.h"
#include "node/change/local.h"

/* Makes @change assign all keys as @layout wants, from the next generation on, with the room
 * that they need. Returns 0 or -errno, reported. */
int assign_make(struct node_handle *handle, const struct image *have, const struct layout *layout,
		const struct local *local, struct change *change);

/* As assign_make(), only for keys that the maps lack. Keys in the maps stay as they are, and so do
 * endpoints that a command removed. */
int assign_make_more(struct node_handle *handle, const struct image *have,
		     const struct layout *layout, const struct local *local, struct change *change);

/* As assign_make(), for prefixes only. Of @layout it reads the slots, and the tables of its policy
 * that lazy_read_outside() reads; of @local the name and the addresses; of @have bh_prefixes. */
int assign_make_prefixes(struct node_handle *handle, const struct image *have,
			 const struct layout *layout, const struct local *local,
			 struct change *change);

/* Returns the word of an endpoint that is not in force: its cover's. */
uint64_t assign_cover(const struct node_handle *handle, const struct bh_addr *addr);

/*
 * assign_move() puts an endpoint of the maps into a place from the next generation on.
 * assign_leave() makes it count as its cover. assign_leave_to() does the same where the cover
 * moves: @cover is the cover's new place. They return 0 or -ENOMEM.
 */
struct bh_endpoint;
int assign_move(struct node_handle *handle, const struct bh_addr *addr,
		const struct bh_endpoint *entry, uint64_t to, struct change *change);
int assign_leave(struct node_handle *handle, const struct bh_addr *addr,
		 const struct bh_endpoint *entry, struct change *change);
int assign_leave_to(struct node_handle *handle, const struct bh_addr *addr,
		    const struct bh_endpoint *entry, uint64_t cover, struct change *change);

/* Makes an endpoint be as @want says (assignment[0]: its place) from the next generation on. @old:
 * the endpoint's entry in the maps; NULL: none. Returns 0 or -ENOMEM. */
int assign_come(struct node_handle *handle, const struct bh_addr *addr,
		const struct bh_endpoint *old, const struct bh_endpoint *want,
		struct change *change);

#endif
