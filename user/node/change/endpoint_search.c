// SPDX-License-Identifier: GPL-2.0-only
#include "node/change/endpoint_search.h"

#include <errno.h>
#include <string.h>

#include "maps/endpoint.h"
#include "maps/iface.h"
#include "node/change/added_delta.h"
#include "node/change/added_record.h"

static int take_endpoint(struct endpoints *endpoints, uint32_t index);

static int take_owner(struct endpoints *endpoints, const struct policy_endpoint *owner)
{
	return owner ? take_endpoint(endpoints, owner - endpoints->plan->new->endpoints) : 0;
}

/* Takes over the added endpoint of a record, with the endpoints by which the policy knows it. */
static int take_record(struct endpoints *endpoints, const struct bh_added *record)
{
	struct planner *plan = endpoints->plan;
	const struct table *added = &plan->added;
	int error = 0;

	for (size_t i = 0; !error && i < added->n; i++)
		if (record_is_of(table_value(added, i), record))
			error = table_add(&plan->taken, table_key(added, i), table_value(added, i));
	if (!error)
		error = take_owner(endpoints,
				   lazy_endpoint_by_name(plan->new, record->ns, record->name));
	for (size_t i = 0; !error && i < added->n; i++) {
		const struct policy_address *found =
			record_is_of(table_value(added, i), record)
				? lazy_address_find(plan->new, table_key(added, i))
				: NULL;

		if (found)
			error = take_endpoint(endpoints, found->endpoint);
	}
	return error;
}

static bool has_address(const struct planner *plan, const struct policy_endpoint *endpoint,
			const struct address *address)
{
	for (uint32_t i = 0; i < endpoint->addresses.n; i++)
		if (!memcmp(&delta_address_of(plan->new, endpoint, i)->address, address,
			    sizeof(*address)))
			return true;
	return false;
}

/* Takes over the added endpoints that are known by an endpoint that the delta names. `endpoint set`
 * changed such an endpoint, or `endpoint add` brought it before the policy had it. */
static int take_records(struct endpoints *endpoints, uint32_t index)
{
	struct planner *plan = endpoints->plan;
	const struct table *added = &plan->added;
	const struct policy_endpoint *endpoint = delta_endpoint(plan->new, index);
	struct bh_added name = {};
	int error = 0;

	if (added->n)
		name = planner_name(plan->new, endpoint);
	for (size_t i = 0; !error && i < added->n; i++) {
		const struct address *address = table_key(added, i);
		const struct bh_added *record = table_value(added, i);
		bool known = false;

		if (table_seek(&plan->taken, address) ||
		    !(record_is_of(record, &name) || has_address(plan, endpoint, address)))
			continue;
		error = added_delta_knows(plan, record, &known);
		if (!error && known)
			error = take_record(endpoints, record);
	}
	return error;
}

/* Lists the addresses of an endpoint that the delta adds or changes, and notes the endpoint if it
 * is this node's. */
static int take_endpoint(struct endpoints *endpoints, uint32_t index)
{
	struct planner *plan = endpoints->plan;
	const struct policy_endpoint *endpoint = delta_endpoint(plan->new, index);
	const struct bh_endpoint nothing = {};
	int error = 0;

	if (table_seek(&endpoints->own, &index))
		return 0;
	if (planner_is_here(plan, plan->new, index))
		error = table_add(&endpoints->own, &index, &nothing);
	for (uint32_t i = 0; !error && i < endpoint->addresses.n; i++) {
		const uint32_t address =
			delta_address_of(plan->new, endpoint, i) - plan->new->addresses;

		error = table_add(&endpoints->addresses, &address, NULL);
	}
	return error ? error : take_records(endpoints, index);
}

/* Returns true if an endpoint of this node comes to an address: from another endpoint, whose record
 * may be as it was if it loses another address; or anew, after `endpoint del`. */
static bool comes_to(const struct planner *plan, uint32_t address)
{
	const struct policy_address *to = delta_address(plan->new, address);
	struct bh_endpoint entry;

	return planner_is_here(plan, plan->new, to->endpoint) &&
	       (planner_owner_before(plan, address) != to->endpoint ||
		maps_lookup(plan->handle, MAP_endpoints, &to->address, &entry) == -ENOENT);
}

/* Takes the endpoints whose addresses come or change. */
static int take_addresses(struct endpoints *endpoints)
{
	struct planner *plan = endpoints->plan;
	const struct delta_table *addresses = planner_table(plan, BLOB_TABLE_addresses);
	int error = 0;

	for (uint32_t i = delta_next_new(addresses, 0); !error && i < addresses->n;
	     i = delta_next_new(addresses, i + 1)) {
		const uint32_t endpoint = delta_address(plan->new, i)->endpoint;

		error = table_add(&endpoints->addresses, &i, NULL);
		if (!error)
			error = comes_to(plan, i) ? take_endpoint(endpoints, endpoint)
						  : take_records(endpoints, endpoint);
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

int endpoints_search(struct endpoints *endpoints)
{
	const struct delta_table *table = planner_table(endpoints->plan, BLOB_TABLE_endpoints);
	int error = 0;

	for (uint32_t i = delta_next_new(table, 0); !error && i < table->n;
	     i = delta_next_new(table, i + 1))
		error = take_endpoint(endpoints, i);
	if (!error)
		error = take_addresses(endpoints);
	if (!error)
		error = take_sources(endpoints);
	table_sort(&endpoints->addresses);
	table_sort(&endpoints->own);
	table_sort(&endpoints->plan->taken);
	return error;
}
