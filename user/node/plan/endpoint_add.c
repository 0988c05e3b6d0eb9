// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "maps/endpoint.h"
#include "node/plan/added_record.h"
#include "node/plan/assignment.h"
#include "node/plan/endpoint_add.h"
#include "node/plan/own_interfaces.h"
#include "node/plan/planner.h"
#include "node/plan/planner_parts.h"
#include "node/plan/slot.h"

/* The record of an address that stays is written after the commit: a command that is killed before
 * leaves the place and the record as they were. */
static int add_record(const struct endpoint_placing *placing, const struct address *address,
		      bool stays)
{
	struct change_map *map = &placing->change->maps[MAP_added];
	struct bh_added added = {};
	int error = record_make(placing->handle, placing->endpoint, &added);

	return error ? error : table_add(stays ? &map->late : &map->put, address, &added);
}

int endpoint_add_address(const struct endpoint_placing *placing, const struct address *address,
			 const struct bh_endpoint *old, const struct bh_endpoint *host_side)
{
	struct bh_endpoint want = *host_side;
	struct node_handle *handle = placing->handle;
	const struct endpoint *endpoint = placing->endpoint;
	struct change *change = placing->change;
	struct bh_addr addr;
	uint64_t place;
	int error = slot_place(handle, change, endpoint, address, &place, placing->isolated);

	if (!error)
		error = service_entries_mark_differing(handle, endpoint->ns_name,
						       address_is_ipv4(address), place, change);
	if (error)
		return error;
	memcpy(&addr, address, sizeof(addr));
	want.assignment[0] = place;
	error = old ? assign_add(handle, &addr, old, &want, change)
		    : assign_new(handle, &addr, &want, placing->closed, change);
	return error ? error : add_record(placing, address, old);
}

/* Forgets the connections of an address's former owner, whom no map may have had. */
static int forget_former(const struct node_handle *handle, const struct address *address,
			 struct change *change)
{
	return handle->options->sandbox_is_new ? table_add(&change->forget, address, NULL) : 0;
}

/* Plans the endpoint's interface, and what changes beside it. */
static int add_interface(struct node_handle *handle, const struct endpoint *endpoint,
			 const struct local *local, struct change *change, struct bh_endpoint *want)
{
	CLEANUP(own_interfaces_free) struct own_interfaces own;
	int error;

	own_interfaces_init(&own, handle, change);
	memcpy(want->mac, endpoint->mac, sizeof(want->mac));
	/* no active endpoint has an entry that changes */
	change->early = true;
	error = own_interfaces_take(&own, local, want);
	if (!error)
		error = own_interfaces_finish(&own);
	if (error != COMPARE_ALL)
		return error;
	diag_error(handle->diag, NULL, NULL,
		   "endpoint %s/%s: its interface or MAC is another endpoint's", endpoint->ns_name,
		   endpoint->name);
	return -EINVAL;
}

int endpoint_add_plan(struct node_handle *handle, const struct endpoint *endpoint,
		      const struct local *local, struct change *change, bool *isolated)
{
	/* until the commit, a container runtime's pod is isolated: its guarded interface let no
	 * packet pass, and so the pod never counted as its covering prefix */
	const struct endpoint_placing placing = {handle, change, endpoint, endpoint->attachment,
						 isolated};
	struct bh_endpoint host_side = {};
	int error = add_interface(handle, endpoint, local, change, &host_side);

	for (size_t i = 0; !error && i < endpoint->n_addresses; i++) {
		error = endpoint_add_address(&placing, &endpoint->addresses[i], NULL, &host_side);
		if (!error)
			error = forget_former(handle, &endpoint->addresses[i], change);
	}
	change->commits = !error;
	return error;
}
