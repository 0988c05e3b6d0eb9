// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "policy/lazy_policy.h"
#include "policy/place.h"
#include "maps/assign.h"
#include "maps/endpoint.h"
#include "maps/prefix.h"
#include "maps/segment.h"
#include "node/kernel/pinned_policy.h"
#include "node/plan/slot.h"

static bool is_in(const struct node_handle *handle, const struct change *change, uint32_t slot,
		  uint32_t id)
{
	const struct bh_segment *put = table_seek(&change->maps[MAP_segments].put, &slot);
	struct bh_segment there;

	if (put)
		return put->id == id;
	return !maps_lookup(handle, MAP_segments, &slot, &there) && there.id == id;
}

static int add_used(struct table *used, const __u64 assignment[2], uint32_t generation)
{
	const uint32_t slot =
		bh_assignment_slot(bh_assignment_at(assignment[0], assignment[1], generation));

	return table_add(used, &slot, NULL);
}

/* Lists the slots in which addresses are at the active generation. */
static int read_used(const struct node_handle *handle, struct table *used)
{
	CLEANUP(table_free) struct table endpoints = {}, prefixes = {};
	const uint32_t generation = node_generation(handle);
	int error;

	maps_init_table(MAP_endpoints, &endpoints);
	maps_init_table(MAP_prefixes, &prefixes);
	table_init(used, sizeof(uint32_t), 0);
	error = maps_read(handle, MAP_endpoints, &endpoints);
	if (!error)
		error = maps_read(handle, MAP_prefixes, &prefixes);
	for (size_t i = 0; !error && i < endpoints.n; i++) {
		const struct bh_endpoint *endpoint = table_value(&endpoints, i);

		error = add_used(used, endpoint->assignment, generation);
	}
	for (size_t i = 0; !error && i < prefixes.n; i++) {
		const struct bh_prefix *prefix = table_value(&prefixes, i);

		error = add_used(used, prefix->assignment, generation);
	}
	table_sort(used);
	return error;
}

/* A load that was killed while it put a segment right left the segment in two slots. Chooses the
 * one in which addresses are. */
static int choose_slot(const struct node_handle *handle, uint32_t *slot, uint32_t *next)
{
	CLEANUP(table_free) struct table used = {};
	const int error = read_used(handle, &used);

	if (!error && table_find(&used, next))
		*slot = *next;
	*next = *slot;
	return error;
}

static int read_segments(const struct node_handle *handle, struct table *by_id)
{
	CLEANUP(table_free) struct table segments = {};
	int error;

	maps_init_table(MAP_segments, &segments);
	table_init(by_id, sizeof(uint32_t), sizeof(uint32_t));
	error = maps_read(handle, MAP_segments, &segments);
	for (uint32_t slot = 0; !error && slot < segments.n; slot++) {
		const struct bh_segment *segment = table_value(&segments, slot);

		if (segment->id)
			error = table_add(by_id, &segment->id, &slot);
	}
	table_sort(by_id);
	for (size_t i = 1; !error && i < by_id->n; i++)
		if (!memcmp(table_key(by_id, i - 1), table_key(by_id, i), by_id->key_size))
			error = choose_slot(handle, table_value(by_id, i - 1),
					    table_value(by_id, i));
	return error;
}

int slot_find(const struct node_handle *handle, const struct change *change, struct table *by_id,
	      uint32_t id, uint32_t *slot)
{
	const uint32_t *found;
	int error = 0;

	if (*slot && is_in(handle, change, *slot, id))
		return 0;
	if (!by_id->n)
		error = read_segments(handle, by_id);
	found = error ? NULL : table_find(by_id, &id);
	if (!found)
		return error ? error : -ENOENT;
	*slot = *found;
	return 0;
}

/* Finds the slot of a segment of the policy, which may be an extension that @change pins. */
static int find_of(const struct node_handle *handle, const struct change *change, uint32_t segment,
		   uint32_t *slot)
{
	CLEANUP(table_free) struct table by_id = {};
	const struct policy_segment *record = LAZY_ONE(handle->policy, segments, segment);

	*slot = change->policy.slots ? change->policy.slots[segment] : pinned_slot(handle, segment);
	return slot_find(handle, change, &by_id, record->id ^ handle->blob.ids, slot);
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
