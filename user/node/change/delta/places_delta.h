/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The places in bh_ports of a delta's port lists. A list that the old policy has as well is sought
 * at an entry that leads to it; any other goes behind all lists. A load of a whole policy fills the
 * gaps.
 */
#ifndef BULKHEAD_NODE_PLACES_DELTA_H
#define BULKHEAD_NODE_PLACES_DELTA_H

#include "maps/ports.h"
#include "node/change/planner.h"

struct places_delta {
	struct planner *plan;
	struct table
		lists; /* by interval of the new policy: the place of the list that begins there */
};

void places_delta_init(struct places_delta *places, struct planner *plan);
void places_delta_free(struct places_delta *places);

/*
 * places_delta_put() finds the place in the maps for a reference of the new policy, or makes one
 * (layout_place; @data: the places). places_delta_expect() is for entries that the maps have
 * already: of a list it gives the length only, and leaves `at` 0. places_delta_agree() says whether
 * such an entry and a reference of the policy have equal lengths, and are equal where they are no
 * lists.
 */
int places_delta_put(void *data, struct bh_ports_ref ref, struct bh_ports_ref *placed);
int places_delta_expect(void *data, struct bh_ports_ref ref, struct bh_ports_ref *placed);
bool places_delta_agree(const struct places_delta *places, struct bh_ports_ref ref,
			struct bh_ports_ref there);

#endif
