// SPDX-License-Identifier: GPL-2.0-only
/* Finds the endpoints and addresses that a delta concerns, and the interfaces of this node's
 * endpoints among them. */
#include <errno.h>
#include <string.h>

#include "maps/endpoint.h"
#include "maps/iface.h"
#include "node/local/local_pod.h"
#include "node/plan/active_endpoints.h"
#include "node/plan/added_endpoints.h"
#include "node/plan/added_record.h"
#include "node/plan/endpoint_entries.h"

/* Whom the delta concerns */

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
			error = table_add(&plan->added_gone, table_key(added, i),
					  table_value(added, i));
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
		if (!memcmp(&lazy_address_of(plan->new, endpoint, i)->address, address,
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
	const struct policy_endpoint *endpoint = LAZY_ONE(plan->new, endpoints, index);
	struct bh_added name = {};
	int error = 0;

	if (added->n)
		name = record_name_of(plan->new, endpoint);
	for (size_t i = 0; !error && i < added->n; i++) {
		const struct address *address = table_key(added, i);
		const struct bh_added *record = table_value(added, i);
		bool known = false;

		if (table_seek(&plan->added_gone, address) ||
		    !(record_is_of(record, &name) || has_address(plan, endpoint, address)))
			continue;
		error = added_knows(plan, record, &known);
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
	const struct policy_endpoint *endpoint = LAZY_ONE(plan->new, endpoints, index);
	const struct bh_endpoint nothing = {};
	int error = 0;

	if (table_seek(&endpoints->own, &index))
		return 0;
	if (planner_is_here(plan, plan->new, index))
		error = table_add(&endpoints->own, &index, &nothing);
	for (uint32_t i = 0; !error && i < endpoint->addresses.n; i++) {
		const uint32_t address =
			lazy_address_of(plan->new, endpoint, i) - plan->new->addresses;

		error = table_add(&endpoints->addresses, &address, NULL);
	}
	return error ? error : take_records(endpoints, index);
}

/* Returns true if an endpoint of this node comes to an address: from another endpoint, whose record
 * may be as it was if it loses another address; or anew, after `endpoint del`. */
static bool comes_to(const struct planner *plan, uint32_t address)
{
	const struct policy_address *to = LAZY_ONE(plan->new, addresses, address);
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
		const uint32_t endpoint = LAZY_ONE(plan->new, addresses, i)->endpoint;

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
		sources = LAZY_ONE(plan->new, endpoints, found->endpoint)->allow_source;
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
	table_sort(&endpoints->plan->added_gone);
	return error;
}

/* Where this node's endpoints among them are, before the delta and after */

/* Returns the index in the old policy of an endpoint that was on this node; UINT32_MAX: none. */
static uint32_t was_here(const struct planner *plan, uint32_t index)
{
	const uint32_t before = delta_origin(planner_table(plan, BLOB_TABLE_endpoints), index);

	return before != UINT32_MAX && planner_is_here(plan, plan->old, before) ? before
										: UINT32_MAX;
}

/* Leaves the interface at which the maps have an address; if they lack it, `endpoint del` took its
 * endpoint off. */
static int leave_address(struct endpoints *endpoints, const struct address *address)
{
	struct bh_endpoint entry;
	const int error = maps_lookup(endpoints->plan->handle, MAP_endpoints, address, &entry);

	if (error)
		return error == -ENOENT ? 0 : COMPARE_ALL;
	return own_interfaces_leave(&endpoints->interfaces, entry.ifindex);
}

/* Leaves the interface of an added endpoint that the policy takes over. Deletes the address if the
 * policy lacks it. */
static int leave_gone(struct endpoints *endpoints, const struct address *address)
{
	struct planner *plan = endpoints->plan;
	struct bh_endpoint entry;
	int error = leave_address(endpoints, address);

	if (error || lazy_address_find(plan->new, address) ||
	    maps_lookup(plan->handle, MAP_endpoints, address, &entry))
		return error;
	error = table_add(&endpoints->gone, address, &entry);
	return error ? error : table_add(&plan->concerned, address, NULL);
}

/* Finds the interfaces at which the maps have the endpoint @old of the old policy. An added
 * endpoint that has one of its addresses leaves, or keeps, its own interface. */
static int leave_known(struct endpoints *endpoints, const struct policy_endpoint *old)
{
	struct planner *plan = endpoints->plan;
	int error = 0;

	for (uint32_t i = 0; !error && i < old->addresses.n; i++) {
		const struct address *address = &lazy_address_of(plan->old, old, i)->address;

		if (!table_find(&plan->added, address))
			error = leave_address(endpoints, address);
	}
	return error;
}

/* Checks that no entry of the maps has an address of an endpoint of this node unless a policy's
 * endpoint or an added one has it. */
static int check_addresses(struct planner *plan, const struct policy_endpoint *endpoint)
{
	const struct delta_table *addresses = planner_table(plan, BLOB_TABLE_addresses);

	for (uint32_t i = 0; i < endpoint->addresses.n; i++) {
		const struct policy_address *address = lazy_address_of(plan->new, endpoint, i);
		struct bh_endpoint entry;

		if (!table_find(&plan->added, &address->address) &&
		    delta_origin(addresses, address - plan->new->addresses) == UINT32_MAX &&
		    maps_lookup(plan->handle, MAP_endpoints, &address->address, &entry) != -ENOENT)
			return COMPARE_ALL;
	}
	return 0;
}

/* Finds where the endpoint is before the delta. */
static int leave(struct endpoints *endpoints, uint32_t index)
{
	struct planner *plan = endpoints->plan;
	const uint32_t was = was_here(plan, index);
	int error = 0;

	if (was != UINT32_MAX)
		error = leave_known(endpoints, LAZY_ONE(plan->old, endpoints, was));
	return error ? error : check_addresses(plan, LAZY_ONE(plan->new, endpoints, index));
}

/* Finds the interface of an endpoint that comes or changes. */
static int plan_own(struct endpoints *endpoints, uint32_t index, struct bh_endpoint *want)
{
	struct planner *plan = endpoints->plan;
	CLEANUP(local_pod_free) struct local_pod pod;
	const int error = local_pod_read(plan->new, LAZY_ONE(plan->new, endpoints, index), &pod);

	if (error)
		return error;
	local_pod_leave_out(&pod, &plan->added, &plan->added_gone);
	return pod.endpoint.n_addresses
		       ? own_interfaces_add(&endpoints->interfaces, &pod.endpoint, want)
		       : 0;
}

/* Plans the interfaces of added endpoints that stay, for what the new policy says of their
 * namespaces and of the pods that it expects by their names: whether they are audited, and where
 * the pods may send from. */
static int plan_all_added(struct endpoints *endpoints)
{
	struct planner *plan = endpoints->plan;
	const char *node = plan->handle->blob.node;
	int error = 0;

	for (size_t i = 0; !error && i < plan->added.n; i++) {
		CLEANUP(cluster_free) struct cluster cluster;
		const struct address *address = table_key(&plan->added, i);
		const struct bh_added *record = table_value(&plan->added, i);
		struct bh_endpoint want = {};
		struct endpoint *endpoint;
		uint32_t ifindex;

		cluster_init(&cluster);
		if (table_find(&plan->added_gone, address) || !added_changes(plan, record))
			continue;
		error = record_read(record, &cluster, &endpoint);
		if (error || !endpoint->n_addresses ||
		    memcmp(&endpoint->addresses[0], address, sizeof(*address)) ||
		    !active_added(plan->handle, plan->new, node, &cluster, endpoint, &ifindex) ||
		    !ifindex)
			continue;
		plan->concerns_node = true;
		error = own_interfaces_leave(&endpoints->interfaces, ifindex);
		if (!error)
			error = own_interfaces_add(&endpoints->interfaces, endpoint, &want);
	}
	return error;
}

/* Returns true if this node's object keeps its addresses, for which the node's MACs stand. */
static bool keeps_node(const struct planner *plan)
{
	const char *name = plan->handle->blob.node;
	const struct policy_node *old, *new;

	if (delta_is_final(planner_table(plan, BLOB_TABLE_nodes)) &&
	    delta_is_final(planner_table(plan, BLOB_TABLE_node_addresses)))
		return true;
	old = lazy_node_by_name(plan->old, name);
	new = lazy_node_by_name(plan->new, name);
	if (!old || !new || old->addresses.n != new->addresses.n)
		return !old && !new;
	return !memcmp(LAZY_SOME(plan->old, node_addresses, old->addresses.at, old->addresses.n),
		       LAZY_SOME(plan->new, node_addresses, new->addresses.at, new->addresses.n),
		       old->addresses.n * sizeof(struct address));
}

int endpoints_find_own(struct endpoints *endpoints)
{
	struct planner *plan = endpoints->plan;
	const struct table *own = &endpoints->own, *gone = &plan->added_gone;
	int error = keeps_node(plan) ? 0 : COMPARE_ALL;

	plan->concerns_node |= own->n > 0 || gone->n > 0;
	for (size_t i = 0; !error && i < gone->n; i++)
		error = leave_gone(endpoints, table_key(gone, i));
	for (size_t i = 0; !error && i < own->n; i++)
		error = leave(endpoints, *(uint32_t *)table_key(own, i));
	for (size_t i = 0; !error && i < own->n; i++)
		error = plan_own(endpoints, *(uint32_t *)table_key(own, i), table_value(own, i));
	if (!error)
		error = plan_all_added(endpoints);
	return error ? error : own_interfaces_finish(&endpoints->interfaces);
}
