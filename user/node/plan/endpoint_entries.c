// SPDX-License-Identifier: GPL-2.0-only
#include "node/plan/endpoint_entries.h"

#include <errno.h>
#include <string.h>

#include "maps/endpoint.h"
#include "node/local/discovery.h"
#include "node/plan/added_endpoints.h"
#include "node/plan/assignment.h"
#include "node/plan/planner_parts.h"

void endpoints_init(struct endpoints *endpoints, struct planner *plan)
{
	endpoints->plan = plan;
	table_init(&endpoints->addresses, sizeof(uint32_t), 0);
	table_init(&endpoints->own, sizeof(uint32_t), sizeof(struct bh_endpoint));
	maps_init_table(MAP_endpoints, &endpoints->gone);
	own_interfaces_init(&endpoints->interfaces, plan->handle, plan->change);
}

void endpoints_free(struct endpoints *endpoints)
{
	table_free(&endpoints->addresses);
	table_free(&endpoints->own);
	table_free(&endpoints->gone);
	own_interfaces_free(&endpoints->interfaces);
}

/* Addresses of the new policy: each gets its segment */

/* Returns the entry of an endpoint, without its place. A delta comes here for another node's
 * endpoint, or for one that keeps its interface, which the maps' entry has. An endpoint of this
 * node has the MAC of its interface, which a container runtime may have told. */
static struct bh_endpoint host_side(const struct planner *plan, const struct policy_address *to,
				    const struct bh_endpoint *entry)
{
	const struct policy_endpoint *endpoint = LAZY_ONE(plan->new, endpoints, to->endpoint);
	const __u8 *mac = endpoint->flags & POLICY_MAC ? endpoint->mac : NULL;
	struct bh_endpoint want = {};

	if (plan->local)
		return discovery_host_side(plan->local, plan->local->ifindexes[to->endpoint], mac);
	if (entry->ifindex && planner_is_here(plan, plan->new, to->endpoint)) {
		want.ifindex = entry->ifindex;
		mac = entry->mac;
	}
	if (mac)
		memcpy(want.mac, mac, sizeof(want.mac));
	return want;
}

/* Puts the address into its segment. @old: the entry that the maps have of it; NULL: none. */
static int place_address(struct planner *plan, const struct policy_address *to,
			 const struct bh_endpoint *old, struct bh_endpoint *want)
{
	uint32_t slot = 0;
	int error = to->segment == POLICY_NOWHERE ? 0 : planner_slot(plan, to->segment, &slot);
	struct bh_addr addr;

	if (error)
		return error;
	want->assignment[0] = bh_assignment(0, slot, to->variation);
	memcpy(&addr, &to->address, sizeof(addr));
	return assign_add(plan->handle, &addr, old, want, plan->change);
}

/* Returns true if the maps have an address that neither the old policy nor a record has. */
static bool is_unknown(const struct planner *plan, uint32_t index, const struct address *address)
{
	const struct delta_table *addresses = planner_table(plan, BLOB_TABLE_addresses);

	return delta_origin(addresses, index) == UINT32_MAX && !table_find(&plan->added, address);
}

static int plan_address(struct endpoints *endpoints, uint32_t index)
{
	struct planner *plan = endpoints->plan;
	const struct policy_address *to = LAZY_ONE(plan->new, addresses, index);
	const struct bh_endpoint *own = table_find(&endpoints->own, &to->endpoint);
	struct bh_endpoint entry = {}, want;
	int error = maps_lookup(plan->handle, MAP_endpoints, &to->address, &entry);
	const bool there = !error;

	if (added_kept(plan, &to->address))
		return 0;
	if (error && error != -ENOENT)
		return plan->delta ? COMPARE_ALL : error;
	if (plan->delta && !own && there && is_unknown(plan, index, &to->address))
		return COMPARE_ALL;
	want = own ? *own : host_side(plan, to, &entry);
	error = place_address(plan, to, there ? &entry : NULL, &want);
	if (error || !plan->delta)
		return error;
	plan->concerns_node |= planner_is_here(plan, plan->new, to->endpoint);
	return table_add(&plan->concerned, &to->address, NULL);
}

/* Plans the listed addresses, without a delta all of them. */
static int plan_addresses(struct endpoints *endpoints)
{
	const struct table *listed = &endpoints->addresses;
	const struct planner *plan = endpoints->plan;
	const size_t n = plan->delta ? listed->n : plan->new->n_addresses;
	int error = 0;

	for (size_t i = 0; !error && i < n; i++) {
		const uint32_t *index = plan->delta ? table_key(listed, i) : NULL;

		if (!index || !i || *index != *(uint32_t *)table_key(listed, i - 1))
			error = plan_address(endpoints, index ? *index : i);
	}
	return error;
}

/* Leaves the interface of an endpoint of this node whose address another endpoint gets, or that
 * moves to another node. */
static int leave_address(struct endpoints *endpoints, uint32_t index)
{
	struct planner *plan = endpoints->plan;
	const struct policy_address *to = LAZY_ONE(plan->new, addresses, index);
	const uint32_t before = delta_origin(planner_table(plan, BLOB_TABLE_addresses), index);
	struct bh_endpoint entry;

	if (before == UINT32_MAX ||
	    !planner_is_here(plan, plan->old, LAZY_ONE(plan->old, addresses, before)->endpoint) ||
	    (planner_owner_before(plan, index) == to->endpoint &&
	     planner_is_here(plan, plan->new, to->endpoint)) ||
	    table_find(&plan->added, &to->address))
		return 0;
	plan->concerns_node = true;
	return maps_lookup(plan->handle, MAP_endpoints, &to->address, &entry)
		       ? 0
		       : own_interfaces_leave(&endpoints->interfaces, entry.ifindex);
}

/* Addresses that the new policy lacks */

/* Returns -ENOENT if no entry goes with the address: `endpoint del` took its endpoint off already,
 * or a record has the address, and says whether its entry stays. */
static int find_deleted(struct planner *plan, const struct policy_address *from,
			struct bh_endpoint *entry)
{
	const bool here = planner_is_here(plan, plan->old, from->endpoint);
	int error = table_find(&plan->added, &from->address)
			    ? -ENOENT
			    : maps_lookup(plan->handle, MAP_endpoints, &from->address, entry);

	if (error && error != -ENOENT)
		return COMPARE_ALL;
	plan->concerns_node |= here;
	return !error && entry->ifindex && !here ? COMPARE_ALL : error;
}

static int plan_deleted(struct endpoints *endpoints, uint32_t deleted)
{
	struct planner *plan = endpoints->plan;
	const struct policy_address *from = LAZY_ONE(plan->old, addresses, deleted);
	struct bh_endpoint entry;
	int error = table_add(&plan->concerned, &from->address, NULL);

	if (!error)
		error = find_deleted(plan, from, &entry);
	if (error)
		return error == -ENOENT ? 0 : error;
	error = table_add(&endpoints->gone, &from->address, &entry);
	return error ? error : own_interfaces_leave(&endpoints->interfaces, entry.ifindex);
}

static int plan_all_deleted(struct endpoints *endpoints)
{
	const struct delta_table *addresses = planner_table(endpoints->plan, BLOB_TABLE_addresses);
	int error = 0;

	for (uint32_t i = delta_next_deleted(addresses, 0); !error && i < addresses->n_base;
	     i = delta_next_deleted(addresses, i + 1))
		error = plan_deleted(endpoints, i);
	return error;
}

/* Deletes an endpoint, which counts as its covering prefix: that may move to another segment. */
static int delete_address(struct planner *plan, const struct bh_addr *addr,
			  const struct bh_endpoint *entry)
{
	struct address address;
	uint32_t segment, slot;
	int error = assign_forget(addr, entry, 0, plan->change);

	if (error)
		return error;
	if (!prefix_entries_may_move(plan))
		return assign_delete(plan->handle, addr, entry, plan->change);
	memcpy(&address, addr, sizeof(address));
	segment = policy_prefix_find(planner_outside(plan), &address) - plan->outside.segments;
	error = planner_slot(plan, segment, &slot);
	return error ? error
		     : assign_delete_to(plan->handle, addr, entry, bh_assignment(0, slot, 0),
					plan->change);
}

/* Without a delta, lists the addresses that neither the policy nor an added endpoint has. */
static int find_gone(struct endpoints *endpoints)
{
	const struct planner *plan = endpoints->plan;
	const struct table *have = &plan->have->map[MAP_endpoints];
	int error = 0;

	for (size_t i = 0; !error && i < have->n; i++) {
		struct address address;

		memcpy(&address, table_key(have, i), sizeof(address));
		if (!lazy_address_find(plan->new, &address) && !added_kept(plan, &address))
			error = table_add(&endpoints->gone, table_key(have, i),
					  table_value(have, i));
	}
	return error;
}

int endpoints_place(struct endpoints *endpoints)
{
	struct planner *plan = endpoints->plan;
	const struct table *gone = &endpoints->gone;
	int error = added_place(plan);
	size_t there;

	if (!error && !plan->delta)
		error = find_gone(endpoints);
	for (size_t i = 0; !error && i < gone->n; i++)
		error = delete_address(plan, table_key(gone, i), table_value(gone, i));
	if (!error)
		error = plan_addresses(endpoints);
	table_sort(&plan->concerned);
	there = plan->delta ? plan->delta->tables[BLOB_TABLE_addresses].n + plan->added.n
			    : plan->have->map[MAP_endpoints].n;
	change_want(plan->change, MAP_endpoints, there + plan->change->maps[MAP_endpoints].put.n);
	return error;
}

int endpoints_begin(struct endpoints *endpoints)
{
	struct planner *plan = endpoints->plan;
	int error = added_read(plan);

	if (error || !plan->delta)
		return error;
	error = endpoints_search(endpoints);
	if (!error)
		error = added_local(plan);
	if (!error)
		error = plan_all_deleted(endpoints);
	for (size_t i = 0; !error && i < endpoints->addresses.n; i++)
		error = leave_address(endpoints, *(uint32_t *)table_key(&endpoints->addresses, i));
	return error ? error : endpoints_find_own(endpoints);
}
