// SPDX-License-Identifier: GPL-2.0-only
#include "node/change/endpoint_own.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "maps/endpoint.h"
#include "node/change/added_delta.h"
#include "node/change/record.h"

/* Returns the index in the old policy of an endpoint that was on this node; UINT32_MAX: none. */
static uint32_t was_here(const struct planner *plan, uint32_t index)
{
	const uint32_t before = delta_origin(planner_table(plan, BLOB_TABLE_endpoints), index);

	return before != UINT32_MAX && planner_is_here(plan, plan->old, before) ? before
										: UINT32_MAX;
}

/* Finds out whether `endpoint add` added the endpoint: then all of the endpoint's addresses must be
 * at one interface, *before. Otherwise nothing may have the addresses, and *before is 0. */
static int find_added(struct planner *plan, const struct policy_endpoint *endpoint,
		      uint32_t *before)
{
	const struct bh_added name = planner_name(plan->new, endpoint);
	const size_t added = added_delta_count(plan, &name);

	if (added && added != endpoint->addresses.n)
		return COMPARE_ALL;
	for (uint32_t i = 0; i < endpoint->addresses.n; i++) {
		const struct address *address = &delta_address_of(plan->new, endpoint, i)->address;
		const struct bh_added *record = table_find(&plan->added, address);
		struct bh_endpoint entry = {};
		int error = maps_lookup(plan->handle, MAP_endpoints, address, &entry);

		if (added ? !record || !record_is_of(record, &name) || error || !entry.ifindex
			  : record || error != -ENOENT)
			return COMPARE_ALL;
		if (i && entry.ifindex != *before)
			return COMPARE_ALL;
		*before = entry.ifindex;
		error = record ? table_add(&plan->taken, address, record) : 0;
		if (error)
			return error;
	}
	return 0;
}

/* Finds the interface at which the maps have the endpoint @old of the old policy, all of it. */
static int find_known(struct planner *plan, const struct policy_endpoint *old, uint32_t *before)
{
	for (uint32_t i = 0; i < old->addresses.n; i++) {
		const struct address *address = &delta_address_of(plan->old, old, i)->address;
		struct bh_endpoint entry;

		/* `endpoint set` changed the endpoint, or `endpoint del` took it off */
		if (table_find(&plan->added, address) ||
		    maps_lookup(plan->handle, MAP_endpoints, address, &entry) ||
		    (i && entry.ifindex != *before))
			return COMPARE_ALL;
		*before = entry.ifindex;
	}
	return 0;
}

/* Checks that nothing has the addresses that an endpoint of this node gets. @was: its index in the
 * old policy. */
static int check_new_addresses(struct planner *plan, const struct policy_endpoint *endpoint,
			       uint32_t was)
{
	const struct delta_table *addresses = planner_table(plan, BLOB_TABLE_addresses);

	for (uint32_t i = 0; i < endpoint->addresses.n; i++) {
		const struct policy_address *address = delta_address_of(plan->new, endpoint, i);
		const uint32_t before = delta_origin(addresses, address - plan->new->addresses);
		struct bh_endpoint entry;

		if (before != UINT32_MAX && delta_address(plan->old, before)->endpoint == was)
			continue;
		if (table_find(&plan->added, &address->address) ||
		    maps_lookup(plan->handle, MAP_endpoints, &address->address, &entry) != -ENOENT)
			return COMPARE_ALL;
	}
	return 0;
}

/* Finds where the endpoint is before the delta. */
static int find_before(struct planner *plan, uint32_t index, struct own_before *before)
{
	const struct policy_endpoint *endpoint = delta_endpoint(plan->new, index);
	const uint32_t was = was_here(plan, index);
	const struct bh_added name = planner_name(plan->new, endpoint);
	int error;

	*before = (struct own_before){.known = was != UINT32_MAX};
	if (!before->known)
		return find_added(plan, endpoint, &before->ifindex);
	if (added_delta_count(plan, &name))
		return COMPARE_ALL;
	error = find_known(plan, delta_endpoint(plan->old, was), &before->ifindex);
	return error ? error : check_new_addresses(plan, endpoint, was);
}

/* An endpoint of the policy, as a node looks for it. */
struct local_pod {
	struct endpoint endpoint;
	struct address *addresses;
	struct cidr *sources;
};

static void local_pod_free(struct local_pod *pod)
{
	free(pod->addresses);
	free(pod->sources);
}

static int fill_pod(const struct planner *plan, const struct policy_endpoint *record,
		    struct local_pod *pod)
{
	const struct lazy_policy *new = plan->new;

	pod->addresses = calloc(record->addresses.n + 1, sizeof(*pod->addresses));
	pod->sources = calloc(record->allow_source.n + 1, sizeof(*pod->sources));
	if (!pod->addresses || !pod->sources)
		return -ENOMEM;
	for (uint32_t i = 0; i < record->addresses.n; i++)
		pod->addresses[i] = delta_address_of(new, record, i)->address;
	for (uint32_t i = 0; i < record->allow_source.n; i++) {
		const struct policy_cidr *cidr =
			lazy_read(new, &new->cidrs[record->allow_source.at + i], sizeof(*cidr));

		pod->sources[i] = (struct cidr){cidr->address, cidr->length};
	}
	return 0;
}

static int make_pod(const struct planner *plan, const struct policy_endpoint *record,
		    const struct bh_added *name, struct local_pod *pod)
{
	const struct lazy_policy *new = plan->new;
	const struct policy_namespace *ns =
		lazy_read(new, &new->namespaces[record->ns], sizeof(*ns));

	if (fill_pod(plan, record, pod))
		return -ENOMEM;
	pod->endpoint = (struct endpoint){
		.ns_name = name->ns,
		.name = name->name,
		.interface = record->interface ? lazy_read_string(new, record->interface) : NULL,
		.addresses = pod->addresses,
		.n_addresses = record->addresses.n,
		.allow_source = pod->sources,
		.n_allow_source = record->allow_source.n,
		.has_mac = record->flags & POLICY_MAC,
		.l2 = record->flags & POLICY_L2,
		.audit = (record->flags | ns->flags) & POLICY_AUDIT,
	};
	memcpy(pod->endpoint.mac, record->mac, sizeof(record->mac));
	return 0;
}

/* Finds the interface of an endpoint that comes or changes. */
static int plan_own(struct endpoints *endpoints, uint32_t index, struct bh_endpoint *want)
{
	struct planner *plan = endpoints->plan;
	CLEANUP(local_pod_free) struct local_pod pod = {};
	const struct policy_endpoint *record = delta_endpoint(plan->new, index);
	const struct bh_added name = planner_name(plan->new, record);
	struct own_before before;
	int error = find_before(plan, index, &before);

	if (!error)
		error = make_pod(plan, record, &name, &pod);
	if (error)
		return error;
	plan->own = true;
	return own_endpoints_add(&endpoints->interfaces, &pod.endpoint, before, want);
}

int endpoints_find_own(struct endpoints *endpoints)
{
	struct planner *plan = endpoints->plan;
	struct table *deleted = &plan->change->maps[MAP_added].deleted;
	int error = 0;

	for (size_t i = 0; !error && i < endpoints->own.n; i++)
		error = plan_own(endpoints, *(uint32_t *)table_key(&endpoints->own, i),
				 table_value(&endpoints->own, i));
	for (size_t i = 0; !error && i < plan->taken.n; i++)
		error = table_add(deleted, table_key(&plan->taken, i),
				  table_value(&plan->taken, i));
	table_sort(&plan->taken);
	return error ? error : own_endpoints_finish(&endpoints->interfaces);
}
