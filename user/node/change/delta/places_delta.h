/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The places in bh_ports of a delta's port lists. A list that the old policy has as well is sought
 * at an entry that leads to it; any other goes behind all lists. A load of a whole policy fills the
 * gaps.
 */
#ifndef BULKHEAD_NODE_PLACES_DELTA_H
#define BULKHEAD_NODE_PLACES_DELTA_H

#include "maps/ports.h"
#include "node/change/delta/delta_plan.h"

struct places_delta {
	struct delta_plan *plan;
	struct table
		lists; /* by index of the new policy's intervals: references to the lists there */
};

void places_delta_init(struct places_delta *places, struct delta_plan *plan);
void places_delta_free(struct places_delta *places);

/*
 * Set *@placed to the place in the maps for @ref, a reference of the new policy (both functions are
 * a layout_place, and @data is the struct places_delta). places_delta_put() is for entries that the
 * load puts. places_delta_expect() is for entries that the maps have already: the length of a list
 * is known, and `at` stays 0. places_delta_agree() tells whether such an entry (@there) refers to
 * the same list as the policy.
 */
int places_delta_put(void *data, struct bh_ports_ref ref, struct bh_ports_ref *placed);
int places_delta_expect(void *data, struct bh_ports_ref ref, struct bh_ports_ref *placed);
bool places_delta_agree(const struct places_delta *places, struct bh_ports_ref ref,
			struct bh_ports_ref there);

#endif
