// SPDX-License-Identifier: GPL-2.0-only
/* The active endpoints, address by address. */
#include <errno.h>
#include <string.h>

#include "maps/added.h"
#include "maps/endpoint.h"
#include "maps/segment.h"
#include "node/kernel/maps.h"
#include "node/kernel/pinned_policy.h"
#include "node/plan/endpoint_find.h"

static void name_member(const struct policy *policy, const struct policy_address *known,
			struct node_member *member)
{
	const struct policy_endpoint *endpoint = &policy->endpoints[known->endpoint];

	member->ns = policy_string(policy, policy->namespaces[endpoint->ns].name);
	member->name = policy_string(policy, endpoint->name);
}

/* Returns false if neither the policy nor an added entry knows the address. The names live as long
 * as @handle and @added. */
static bool describe(const struct node_handle *handle, const struct bh_addr *addr,
		     const struct bh_endpoint *entry, const struct bh_added *added,
		     struct node_member *member)
{
	const struct policy *policy = pinned_whole(handle);
	const struct policy_address *known;

	*member = (struct node_member){.ifindex = entry->ifindex, .added = added};
	memcpy(&member->address, addr, sizeof(member->address));
	if (added) {
		member->ns = added->ns;
		member->name = added->name;
		return true;
	}
	known = policy_address_find(policy, &member->address);
	if (!known)
		return false;
	name_member(policy, known, member);
	return true;
}

static int read_members(struct node_handle *handle, struct table *endpoints, struct table *added,
			struct table *segments)
{
	int error;

	maps_init_table(MAP_endpoints, endpoints);
	maps_init_table(MAP_added, added);
	maps_init_table(MAP_segments, segments);
	error = maps_read(handle, MAP_endpoints, endpoints);
	if (!error)
		error = maps_read(handle, MAP_added, added);
	if (!error)
		error = maps_read(handle, MAP_segments, segments);
	return error ? node_fail(handle, error, "cannot read the endpoints of %s", handle->pin) : 0;
}

int node_endpoint_each(struct node_handle *handle,
		       int (*visit)(void *data, const struct node_member *member), void *data)
{
	CLEANUP(table_free) struct table endpoints = {}, added = {}, segments = {};
	int status = pinned_read(handle);

	if (status || !handle->policy)
		return status;
	status = read_members(handle, &endpoints, &added, &segments);
	for (size_t i = 0; !status && i < endpoints.n; i++) {
		const struct bh_endpoint *entry = table_value(&endpoints, i);
		const struct bh_addr *addr = table_key(&endpoints, i);
		uint64_t word = bh_assignment_at(entry->assignment[0], entry->assignment[1],
						 node_generation(handle));
		uint32_t slot = bh_assignment_slot(word);
		struct node_member member;

		if (bh_assignment_is_cover(word) ||
		    !describe(handle, addr, entry, table_find(&added, addr), &member))
			continue;
		member.variation = bh_assignment_variation(word);
		if (slot && slot < segments.n) {
			const struct bh_segment *segment = table_value(&segments, slot);

			member.segment = segment->id ^ handle->blob.ids;
		}
		status = visit(data, &member);
	}
	return status;
}

int node_name_places(struct node_handle *handle, const char *ns, const char *name,
		     struct node_place **places, size_t *n)
{
	const struct bh_added wanted = record_name(ns, name);
	CLEANUP(table_free) struct table members = {};
	struct node_place *found;
	int error = endpoint_find(handle, &wanted, &members);

	if (error)
		return node_fail(handle, error, "cannot look for %s/%s", ns, name);
	found = calloc(members.n + 1, sizeof(*found));
	if (!found)
		return node_fail(handle, -ENOMEM, "cannot look for %s/%s", ns, name);
	*places = found;
	*n = members.n;
	for (size_t i = 0; i < members.n; i++, found++) {
		found->ifindex = ((struct bh_endpoint *)table_value(&members, i))->ifindex;
		memcpy(&found->address, table_key(&members, i), sizeof(found->address));
	}
	return 0;
}
