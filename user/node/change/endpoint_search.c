// SPDX-License-Identifier: GPL-2.0-only
#include "node/change/endpoint_search.h"

#include <string.h>

#include "maps/iface.h"
#include "node/change/added_delta.h"
#include "node/change/record.h"

/* Lists the addresses of an endpoint that the delta adds or changes, and notes the endpoint if it
 * is this node's. */
static int take_endpoint(struct endpoints *endpoints, uint32_t index)
{
	struct planner *plan = endpoints->plan;
	const struct policy_endpoint *endpoint = delta_endpoint(plan->new, index);
	const struct bh_added name = planner_name(plan->new, endpoint);
	const struct bh_endpoint nothing = {};
	int error = 0;

	if (table_seek(&endpoints->own, &index))
		return 0;
	if (planner_is_here(plan, plan->new, index))
		error = table_add(&endpoints->own, &index, &nothing);
	else if (added_delta_count(plan, &name))
		error = COMPARE_ALL;
	for (uint32_t i = 0; !error && i < endpoint->addresses.n; i++) {
		const uint32_t address =
			delta_address_of(plan->new, endpoint, i) - plan->new->addresses;

		error = table_add(&endpoints->addresses, &address, NULL);
	}
	return error;
}

/* Takes the endpoints of this node that get an address: their own records may be as they were, if
 * they lose another. */
static int take_readdressed(struct endpoints *endpoints)
{
	struct planner *plan = endpoints->plan;
	const struct delta_table *addresses = planner_table(plan, BLOB_TABLE_addresses);
	int error = 0;

	for (uint32_t i = delta_next_new(addresses, 0); !error && i < addresses->n;
	     i = delta_next_new(addresses, i + 1)) {
		const uint32_t endpoint = delta_address(plan->new, i)->endpoint;

		if (endpoint != planner_owner_before(plan, i) &&
		    planner_is_here(plan, plan->new, endpoint))
			error = take_endpoint(endpoints, endpoint);
	}
	return error;
}

/* Takes the endpoint at an interface if a CIDR changes that the endpoint may send from. */
static int take_source(struct endpoints *endpoints, const struct bh_iface *iface)
{
	struct planner *plan = endpoints->plan;
	const struct bh_addr *addrs[] = {&iface->ipv4, &iface->ipv6};

	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++) {
		const struct policy_address *found;
		struct policy_range sources;
		struct address address;

		memcpy(&address, addrs[i], sizeof(address));
		found = lazy_address_find(plan->new, &address);
		if (!found)
			continue;
		sources = delta_endpoint(plan->new, found->endpoint)->allow_source;
		if (delta_next_new(planner_table(plan, BLOB_TABLE_cidrs), sources.at) <
		    sources.at + sources.n)
			return take_endpoint(endpoints, found->endpoint);
	}
	return 0;
}

static int take_sources(struct endpoints *endpoints)
{
	struct planner *plan = endpoints->plan;
	CLEANUP(table_free) struct table ifaces = {};
	int error = 0;

	maps_init_table(MAP_ifaces, &ifaces);
	if (!delta_keeps_records(planner_table(plan, BLOB_TABLE_cidrs)))
		error = maps_read(plan->handle, MAP_ifaces, &ifaces);
	for (size_t i = 0; !error && i < ifaces.n; i++) {
		const struct bh_iface *iface = table_value(&ifaces, i);

		if (iface->flags & BH_IFACE_ALLOW_SOURCE)
			error = take_source(endpoints, iface);
	}
	return error;
}

static bool has_added_in(const struct planner *plan, const char *ns)
{
	for (size_t i = 0; i < plan->added.n; i++)
		if (!strcmp(((struct bh_added *)table_value(&plan->added, i))->ns, ns))
			return true;
	return false;
}

/* Returns true if the audit changes of a namespace in which `endpoint add` brought an endpoint. The
 * policy's own endpoints have their namespace's audit in their records. */
static bool audits_added(const struct planner *plan)
{
	const struct delta_table *table = planner_table(plan, BLOB_TABLE_namespaces);

	for (uint32_t i = delta_next_new(table, 0); i < table->n;
	     i = delta_next_new(table, i + 1)) {
		const uint32_t before = delta_origin(table, i);
		const struct policy_namespace *is, *was;

		if (before == UINT32_MAX)
			continue;
		is = lazy_read(plan->new, &plan->new->namespaces[i], sizeof(*is));
		was = lazy_read(plan->old, &plan->old->namespaces[before], sizeof(*was));
		if ((is->flags ^ was->flags) & POLICY_AUDIT &&
		    has_added_in(plan, lazy_read_string(plan->new, is->name)))
			return true;
	}
	return false;
}

int endpoints_search(struct endpoints *endpoints)
{
	const struct delta_table *table = planner_table(endpoints->plan, BLOB_TABLE_endpoints);
	const struct delta_table *addresses = planner_table(endpoints->plan, BLOB_TABLE_addresses);
	int error = 0;
	uint32_t i;

	for (i = delta_next_new(table, 0); !error && i < table->n; i = delta_next_new(table, i + 1))
		error = take_endpoint(endpoints, i);
	if (!error)
		error = take_readdressed(endpoints);
	if (!error)
		error = take_sources(endpoints);
	if (!error && audits_added(endpoints->plan))
		error = COMPARE_ALL;
	for (i = delta_next_new(addresses, 0); !error && i < addresses->n;
	     i = delta_next_new(addresses, i + 1))
		error = table_add(&endpoints->addresses, &i, NULL);
	table_sort(&endpoints->addresses);
	table_sort(&endpoints->own);
	return error;
}
