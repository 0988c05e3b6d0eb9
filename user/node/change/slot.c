// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "policy/lazy_policy.h"
#include "policy/place.h"
#include "maps/segment.h"
#include "node/change/slot.h"
#include "node/kernel/pinned_policy.h"

static bool slot_is_of(const struct node_handle *handle, uint32_t slot, uint32_t id)
{
	struct bh_segment segment;

	return slot && !maps_lookup(handle, MAP_segments, &slot, &segment) && segment.id == id;
}

int slot_find(const struct node_handle *handle, const struct change *change, uint32_t id,
	      uint32_t *slot)
{
	const struct table *put = &change->maps[MAP_segments].put;
	CLEANUP(table_free) struct table segments = {};
	int error;

	id ^= handle->blob.ids;
	if (slot_is_of(handle, *slot, id))
		return 0;
	for (size_t i = 0; i < put->n; i++) {
		*slot = *(uint32_t *)table_key(put, i);
		if (((struct bh_segment *)table_value(put, i))->id == id)
			return 0;
	}
	maps_init_table(MAP_segments, &segments);
	error = maps_read(handle, MAP_segments, &segments);
	for (*slot = 1; !error && *slot < segments.n; (*slot)++)
		if (((struct bh_segment *)table_value(&segments, *slot))->id == id)
			return 0;
	return error ? error : -ENOENT;
}

/* Finds the slot of a segment of the active policy. */
static int find_of(const struct node_handle *handle, const struct change *change, uint32_t segment,
		   uint32_t *slot)
{
	const struct policy_segment *record =
		lazy_read(handle->policy, &handle->policy->segments[segment], sizeof(*record));

	*slot = pinned_slot(handle, segment);
	return slot_find(handle, change, record->id, slot);
}

int slot_place(const struct node_handle *handle, const struct change *change,
	       const struct endpoint *endpoint, const struct address *address, uint64_t *place,
	       bool *isolated)
{
	struct placement placement = {};
	uint32_t slot = 0;
	int error = policy_place(handle->policy, endpoint, address, &placement);
	const bool nowhere = error == -ENOENT;

	*isolated |= nowhere;
	if (nowhere)
		error = 0;
	else if (!error)
		error = find_of(handle, change, placement.segment, &slot);
	*place = bh_assignment(0, slot, placement.variation);
	if (!error)
		return 0;
	return node_fail(handle, error, "cannot place %s/%s", endpoint->ns_name, endpoint->name);
}
