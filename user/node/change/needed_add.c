// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "compile/lazy_policy.h"
#include "maps/endpoint.h"
#include "maps/iface.h"
#include "maps/prefix.h"
#include "maps/segment.h"
#include "node/change/assign.h"
#include "node/change/needed_add.h"
#include "node/change/needed.h"
#include "node/change/replace.h"
#include "node/kernel/pinned.h"

/* Returns the ID in the maps of an address' segment; 0: none. */
static uint32_t segment_at(const struct node_handle *handle, const struct bh_addr *addr,
			   uint32_t ifindex)
{
	struct bh_endpoint entry;
	struct bh_segment segment;
	uint32_t slot;

	if (maps_lookup(handle, MAP_endpoints, addr, &entry) || entry.ifindex != ifindex)
		return 0;
	slot = bh_assignment_slot(bh_assignment_at(entry.assignment[0], entry.assignment[1],
						   node_generation(handle)));
	return maps_lookup(handle, MAP_segments, &slot, &segment) ? 0 : segment.id;
}

/* Whether an endpoint on this node is in the segment. If so, the maps have every entry that the
 * segment needs. */
static bool is_covered(const struct node_handle *handle, const struct table *ifaces, uint32_t id)
{
	for (size_t i = 0; i < ifaces->n; i++) {
		const struct bh_iface *iface = table_value(ifaces, i);
		const uint32_t ifindex = *(const uint32_t *)table_key(ifaces, i);

		if (iface->flags & BH_IFACE_ENDPOINT &&
		    (segment_at(handle, &iface->ipv4, ifindex) == id ||
		     segment_at(handle, &iface->ipv6, ifindex) == id))
			return true;
	}
	return false;
}

/* Whether the maps have a segment of the policy (index) under this ID. */
static bool has_segment(const struct node_handle *handle, uint32_t number, uint32_t id)
{
	uint32_t slot = pinned_slot(handle, number);
	struct bh_segment segment;

	return slot && !maps_lookup(handle, MAP_segments, &slot, &segment) && segment.id == id;
}

static bool is_brought(const struct node_handle *handle, const struct arrival *arrival)
{
	const struct lazy_policy *policy = handle->policy;

	for (size_t i = 0; i < arrival->n; i++) {
		const uint32_t number = arrival->places[i].segment;
		const struct policy_segment *segment = &policy->segments[number];
		uint32_t id;

		lazy_read(policy, segment, sizeof(*segment));
		id = segment->id ^ handle->blob.ids;
		if (arrival->here ? !is_covered(handle, arrival->ifaces, id)
				  : !has_segment(handle, number, id))
			return false;
	}
	return !(arrival->here && arrival->bridged);
}

/* Reads the node's own addresses from the maps. */
static int read_addresses(const struct image *have, struct local *local)
{
	const struct table *prefixes = &have->map[MAP_prefixes];

	local->addresses = calloc(prefixes->n + 1, sizeof(*local->addresses));
	if (!local->addresses)
		return -ENOMEM;
	for (size_t i = 0; i < prefixes->n; i++) {
		const struct bh_prefix_key *key = table_key(prefixes, i);

		if (((struct bh_prefix *)table_value(prefixes, i))->flags & BH_PREFIX_NODE)
			memcpy(&local->addresses[local->n_addresses++], &key->addr,
			       sizeof(key->addr));
	}
	return 0;
}

/* Puts the entries that the node needs once the endpoint is there, and that the maps lack. */
static int bring(struct node_handle *handle, const struct arrival *arrival, struct image *have,
		 struct local *local, struct needed *needed, struct change *change)
{
	CLEANUP(layout_free) struct layout layout = {};
	int error = image_read(handle, have);

	if (error)
		return error;
	strcpy(local->name, handle->blob.node);
	local->ifindexes = calloc(handle->policy->n_endpoints + 1, sizeof(*local->ifindexes));
	error = local->ifindexes ? read_addresses(have, local) : -ENOMEM;
	if (!error)
		error = needed_with(needed, handle, have, local, arrival);
	if (error)
		return node_fail(handle, error,
				 "cannot find the part of the policy that an endpoint needs");
	error = layout_make(handle, have, &needed->policy, handle->blob.ids, change, &layout);
	if (!error)
		error = assign_make_more(handle, have, &layout, local, change);
	return error ? error : replace_plan(handle, handle->policy->next_rule, change);
}

int needed_add(struct node_handle *handle, const struct arrival *arrival, struct change *change)
{
	CLEANUP(needed_free) struct needed needed = {};
	CLEANUP(local_free) struct local local = {};
	CLEANUP(image_free) struct image have;
	int error;

	image_init(&have);
	if (is_brought(handle, arrival))
		return 0;
	error = pinned_read(handle);
	return error ? error : bring(handle, arrival, &have, &local, &needed, change);
}
