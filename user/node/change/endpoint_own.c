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

/* Finds the interface at which `endpoint add` placed an endpoint: all of its addresses must be
 * there. */
static int leave_added(struct endpoints *endpoints, const struct policy_endpoint *endpoint,
		       const struct bh_added *name)
{
	struct planner *plan = endpoints->plan;
	struct bh_endpoint first = {};

	for (uint32_t i = 0; i < endpoint->addresses.n; i++) {
		const struct address *address = &delta_address_of(plan->new, endpoint, i)->address;
		const struct bh_added *record = table_find(&plan->added, address);
		struct bh_endpoint entry;
		int error = maps_lookup(plan->handle, MAP_endpoints, address, &entry);

		if (!record || !record_is_of(record, name) || error || !entry.ifindex ||
		    (i && entry.ifindex != first.ifindex))
			return COMPARE_ALL;
		first = entry;
		error = table_add(&plan->taken, address, record);
		if (error)
			return error;
	}
	return own_endpoints_leave(&endpoints->interfaces, first.ifindex);
}

/* Finds the interface at which the maps have the endpoint @old of the old policy, all of it. */
static int leave_known(struct endpoints *endpoints, const struct policy_endpoint *old)
{
	struct planner *plan = endpoints->plan;
	int error = 0;

	for (uint32_t i = 0; !error && i < old->addresses.n; i++) {
		const struct address *address = &delta_address_of(plan->old, old, i)->address;
		struct bh_endpoint entry;

		/* `endpoint set` changed the endpoint, or `endpoint del` took it off */
		if (table_find(&plan->added, address) ||
		    maps_lookup(plan->handle, MAP_endpoints, address, &entry))
			return COMPARE_ALL;
		error = own_endpoints_leave(&endpoints->interfaces, entry.ifindex);
	}
	return error;
}

/* Checks that nothing but the policies' endpoints has the addresses of an endpoint of this node. */
static int check_addresses(struct planner *plan, const struct policy_endpoint *endpoint)
{
	const struct delta_table *addresses = planner_table(plan, BLOB_TABLE_addresses);

	for (uint32_t i = 0; i < endpoint->addresses.n; i++) {
		const struct policy_address *address = delta_address_of(plan->new, endpoint, i);
		struct bh_endpoint entry;
		const int error =
			maps_lookup(plan->handle, MAP_endpoints, &address->address, &entry);

		if (table_find(&plan->added, &address->address) || (error && error != -ENOENT) ||
		    (!error &&
		     delta_origin(addresses, address - plan->new->addresses) == UINT32_MAX))
			return COMPARE_ALL;
	}
	return 0;
}

/* Finds where the endpoint is before the delta. */
static int leave(struct endpoints *endpoints, uint32_t index)
{
	struct planner *plan = endpoints->plan;
	const struct policy_endpoint *endpoint = delta_endpoint(plan->new, index);
	const uint32_t was = was_here(plan, index);
	const struct bh_added name = planner_name(plan->new, endpoint);
	const size_t added = added_delta_count(plan, &name);
	int error = 0;

	if (added)
		return was == UINT32_MAX && added == endpoint->addresses.n
			       ? leave_added(endpoints, endpoint, &name)
			       : COMPARE_ALL;
	if (was != UINT32_MAX)
		error = leave_known(endpoints, delta_endpoint(plan->old, was));
	return error ? error : check_addresses(plan, endpoint);
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
	const int error = make_pod(plan, record, &name, &pod);

	return error ? error : own_endpoints_add(&endpoints->interfaces, &pod.endpoint, want);
}

int endpoints_find_own(struct endpoints *endpoints)
{
	struct planner *plan = endpoints->plan;
	struct table *deleted = &plan->change->maps[MAP_added].deleted;
	const struct table *own = &endpoints->own;
	int error = 0;

	plan->own |= own->n > 0;
	for (size_t i = 0; !error && i < own->n; i++)
		error = leave(endpoints, *(uint32_t *)table_key(own, i));
	for (size_t i = 0; !error && i < own->n; i++)
		error = plan_own(endpoints, *(uint32_t *)table_key(own, i), table_value(own, i));
	for (size_t i = 0; !error && i < plan->taken.n; i++)
		error = table_add(deleted, table_key(&plan->taken, i),
				  table_value(&plan->taken, i));
	table_sort(&plan->taken);
	return error ? error : own_endpoints_finish(&endpoints->interfaces);
}
