/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who is in which segment: the assignment words of endpoints and prefixes. A
 * key that is new, or about to go, holds what its cover (the prefix around it)
 * says, so that its coming and going changes nothing but at the flip.
 */
#ifndef BULKHEAD_NODE_ASSIGN_H
#define BULKHEAD_NODE_ASSIGN_H

#include "node/change/layout.h"
#include "node/change/local.h"

/* Has @change make the maps say what @layout wants, from the next generation on, and want the room
 * that it needs. Returns 0 or -errno, reported. */
int assign_make(struct node_handle *host, const struct image *have, const struct layout *layout,
		const struct local *local, struct change *change);

/* The same for what is not there yet and was not taken off; what is there stays as it is. */
int assign_make_more(struct node_handle *host, const struct image *have,
		     const struct layout *layout, const struct local *local, struct change *change);

/* The word of an endpoint that is not in force: what the maps say of its address without it. */
uint64_t assign_cover(const struct node_handle *host, const struct bh_addr *addr);

/*
 * Has an endpoint that is there be in a place from the next generation on, or be what its cover is.
 * Return 0 or -ENOMEM.
 */
struct bh_endpoint;
int assign_move(struct node_handle *host, const struct bh_addr *addr,
		const struct bh_endpoint *entry, uint64_t to, struct change *change);
int assign_leave(struct node_handle *host, const struct bh_addr *addr,
		 const struct bh_endpoint *entry, struct change *change);

/* Has an endpoint be as @want says (assignment[0]: its place) from the next generation on; @old: as
 * it is there, or NULL. Returns 0 or -ENOMEM. */
int assign_come(struct node_handle *host, const struct bh_addr *addr, const struct bh_endpoint *old,
		const struct bh_endpoint *want, struct change *change);

#endif
