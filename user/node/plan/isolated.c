// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "policy/isolation.h"
#include "policy/lazy_policy.h"
#include "maps/endpoint.h"
#include "maps/segment.h"
#include "node/kernel/maps.h"
#include "node/plan/endpoint_find.h"
#include "node/plan/isolated.h"

/* Finds the segment of an assignment word; NULL: none. */
static int find_segment(const struct node_handle *handle, uint64_t word,
			const struct policy_segment **segment)
{
	const uint32_t slot = bh_assignment_slot(word);
	struct bh_segment entry;
	int error = slot ? maps_lookup(handle, MAP_segments, &slot, &entry) : -ENOENT;

	*segment = error ? NULL : lazy_segment_by_id(handle->policy, entry.id ^ handle->blob.ids);
	return error == -ENOENT ? 0 : error;
}

int isolated_at(const struct node_handle *handle, const struct isolations *isolations,
		const struct address *address, uint8_t *directions)
{
	const struct policy_segment *segment;
	struct bh_endpoint entry;
	uint64_t word;
	int error = maps_lookup(handle, MAP_endpoints, address, &entry);

	*directions = 0;
	if (error)
		return error == -ENOENT ? 0 : error;
	word = bh_assignment_at(entry.assignment[0], entry.assignment[1], node_generation(handle));
	if (bh_assignment_is_cover(word))
		return 0;
	error = find_segment(handle, word, &segment);
	if (!error)
		*directions = isolations_of(isolations, segment);
	return error ? error : lazy_error(handle->policy);
}

static int read_members(struct node_handle *handle, const struct bh_added *name,
			const struct isolations *isolations, uint8_t *directions)
{
	CLEANUP(table_free) struct table members = {};
	int error = endpoint_find(handle, name, &members);

	for (size_t i = 0; !error && i < members.n; i++) {
		uint8_t one = 0;

		error = isolated_at(handle, isolations, table_key(&members, i), &one);
		*directions |= one;
	}
	return error;
}

int isolated_read(const struct node_handle *handle, const struct bh_added *name,
		  uint8_t *directions)
{
	CLEANUP(isolations_free) struct isolations isolations = {};
	SCOPED_HANDLE struct node_handle *now = NULL;
	int error = node_new(handle->options, handle->diag, &now);

	*directions = 0;
	if (!error)
		error = node_find(now);
	if (error || !now->policy)
		return error;
	error = isolations_make(&isolations, now->policy);
	if (!error)
		error = read_members(now, name, &isolations, directions);
	return error ? node_fail(handle, error, "cannot read the policy of the endpoint") : 0;
}
