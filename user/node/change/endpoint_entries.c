// SPDX-License-Identifier: GPL-2.0-only
#include "node/change/endpoint_entries.h"

#include <errno.h>
#include <string.h>

#include "maps/endpoint.h"
#include "node/change/added_delta.h"
#include "node/change/assignment.h"
#include "node/change/prefix_entries.h"
#include "node/change/record.h"
#include "node/change/discovery.h"

void endpoints_init(struct endpoints *endpoints, struct planner *plan)
{
	endpoints->plan = plan;
	table_init(&endpoints->addresses, sizeof(uint32_t), 0);
	table_init(&endpoints->own, sizeof(uint32_t), sizeof(struct bh_endpoint));
	own_endpoints_init(&endpoints->interfaces, plan->handle, plan->change);
}

void endpoints_free(struct endpoints *endpoints)
{
	table_free(&endpoints->addresses);
	table_free(&endpoints->own);
	own_endpoints_free(&endpoints->interfaces);
}

/* Search for the endpoints and addresses that the delta concerns */

static const struct delta_table *table_of(const struct planner *plan, enum blob_table table)
{
	return &plan->delta->tables[table];
}

static bool is_here(const struct planner *plan, const struct lazy_policy *policy, uint32_t endpoint)
{
	const struct policy_endpoint *record = delta_endpoint(policy, endpoint);

	return record->node &&
	       !strcmp(lazy_read_string(policy, record->node), plan->handle->blob.node);
}

static struct bh_added name_of(const struct lazy_policy *policy,
			       const struct policy_endpoint *endpoint)
{
	const struct policy_namespace *ns =
		lazy_read(policy, &policy->namespaces[endpoint->ns], sizeof(*ns));

	return record_name(lazy_read_string(policy, ns->name),
			   lazy_read_string(policy, endpoint->name));
}

/* Returns the index in the old policy of an endpoint that was on this node; UINT32_MAX: none. */
static uint32_t was_here(const struct planner *plan, uint32_t index)
{
	const uint32_t before = delta_origin(table_of(plan, BLOB_TABLE_endpoints), index);

	return before != UINT32_MAX && is_here(plan, plan->old, before) ? before : UINT32_MAX;
}

static bool has_own(const struct endpoints *endpoints, uint32_t index)
{
	for (size_t i = 0; i < endpoints->own.n; i++)
		if (*(uint32_t *)table_key(&endpoints->own, i) == index)
			return true;
	return false;
}

/* Lists the addresses of an endpoint that the delta adds or changes, and notes the endpoint if it
 * is this node's. */
static int take_endpoint(struct endpoints *endpoints, uint32_t index)
{
	struct planner *plan = endpoints->plan;
	const struct policy_endpoint *endpoint = delta_endpoint(plan->new, index);
	const struct bh_added name = name_of(plan->new, endpoint);
	const struct bh_endpoint nothing = {};
	int error = 0;

	if (has_own(endpoints, index))
		return 0;
	if (is_here(plan, plan->new, index))
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

/* Takes the endpoints of this node that get or lose an address: their own records may be as they
 * were. */
static int take_readdressed(struct endpoints *endpoints)
{
	struct planner *plan = endpoints->plan;
	const struct delta_table *addresses = table_of(plan, BLOB_TABLE_addresses);
	int error = 0;
	uint32_t i;

	for (i = delta_next_new(addresses, 0); !error && i < addresses->n;
	     i = delta_next_new(addresses, i + 1)) {
		const uint32_t endpoint = delta_address(plan->new, i)->endpoint;

		if (delta_origin(addresses, i) == UINT32_MAX && is_here(plan, plan->new, endpoint))
			error = take_endpoint(endpoints, endpoint);
	}
	for (i = delta_next_deleted(addresses, 0); !error && i < addresses->n_base;
	     i = delta_next_deleted(addresses, i + 1)) {
		const uint32_t endpoint = delta_place(plan->delta, BLOB_TABLE_endpoints,
						      delta_address(plan->old, i)->endpoint);

		if (endpoint != UINT32_MAX && is_here(plan, plan->new, endpoint))
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
		if (delta_next_new(table_of(plan, BLOB_TABLE_cidrs), sources.at) <
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
	if (!delta_keeps_records(table_of(plan, BLOB_TABLE_cidrs)))
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

/* Takes all endpoints of a namespace, which is audited from now on, or no more. */
static int take_namespace(struct endpoints *endpoints, uint32_t ns)
{
	struct planner *plan = endpoints->plan;
	const struct policy_namespace *record =
		lazy_read(plan->new, &plan->new->namespaces[ns], sizeof(*record));
	uint32_t low = 0, high = plan->new->n_endpoints;
	int error = 0;

	if (has_added_in(plan, lazy_read_string(plan->new, record->name)))
		return COMPARE_ALL;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (delta_endpoint(plan->new, middle)->ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (; !error && low < plan->new->n_endpoints &&delta_endpoint(plan->new, low)->ns == ns;
	     low++)
		error = take_endpoint(endpoints, low);
	return error;
}

static int take_namespaces(struct endpoints *endpoints)
{
	const struct planner *plan = endpoints->plan;
	const struct delta_table *table = table_of(plan, BLOB_TABLE_namespaces);
	int error = 0;

	for (uint32_t i = delta_next_new(table, 0); !error && i < table->n;
	     i = delta_next_new(table, i + 1)) {
		const uint32_t before = delta_origin(table, i);
		const struct policy_namespace *is, *was;

		if (before == UINT32_MAX)
			continue;
		is = lazy_read(plan->new, &plan->new->namespaces[i], sizeof(*is));
		was = lazy_read(plan->old, &plan->old->namespaces[before], sizeof(*was));
		if ((is->flags ^ was->flags) & POLICY_AUDIT)
			error = take_namespace(endpoints, i);
	}
	return error;
}

/* Lists the addresses that are new or changed, and the addresses of endpoints that are new or
 * changed. */
static int list_addresses(struct endpoints *endpoints)
{
	const struct delta_table *table = table_of(endpoints->plan, BLOB_TABLE_endpoints);
	const struct delta_table *addresses = table_of(endpoints->plan, BLOB_TABLE_addresses);
	int error = 0;
	uint32_t i;

	for (i = delta_next_new(table, 0); !error && i < table->n; i = delta_next_new(table, i + 1))
		error = take_endpoint(endpoints, i);
	if (!error)
		error = take_readdressed(endpoints);
	if (!error)
		error = take_sources(endpoints);
	if (!error)
		error = take_namespaces(endpoints);
	for (i = delta_next_new(addresses, 0); !error && i < addresses->n;
	     i = delta_next_new(addresses, i + 1))
		error = table_add(&endpoints->addresses, &i, NULL);
	table_sort(&endpoints->addresses);
	table_sort(&endpoints->own);
	return error;
}

/* Finds the entries that the maps have of an address that the delta concerns. @own: its endpoint is
 * in endpoints.own, and `endpoint add` may have added it. */
static int find_entry(const struct planner *plan, const struct address *address, bool own,
		      struct bh_endpoint *entry)
{
	if (!own && table_find(&plan->added, address))
		return COMPARE_ALL;
	return maps_lookup(plan->handle, MAP_endpoints, address, entry);
}

/* Addresses of the new policy that the delta concerns: each gets its segment */

/* Moves an address that the old policy has as well. The address stays with the endpoint, whose node
 * stays this one or another one, or passes from one endpoint of another node to another such
 * endpoint. */
static int move_address(struct planner *plan, const struct policy_address *to, uint32_t before,
			const struct bh_endpoint *entry, struct bh_endpoint *want)
{
	const struct policy_address *from = delta_address(plan->old, before);
	const bool same =
		delta_place(plan->delta, BLOB_TABLE_endpoints, from->endpoint) == to->endpoint;
	const bool was = is_here(plan, plan->old, from->endpoint),
		   is = is_here(plan, plan->new, to->endpoint);

	if (same ? was != is : was || is)
		return COMPARE_ALL;
	want->ifindex = entry->ifindex;
	return 0;
}

/* Sets the interface and MAC of an endpoint that stays or comes. An endpoint of this node has the
 * MAC of its interface, which a container runtime may have told. */
static int find_host_side(struct planner *plan, const struct policy_address *to, uint32_t before,
			  const struct bh_endpoint *entry, struct bh_endpoint *want)
{
	const struct policy_endpoint *endpoint = delta_endpoint(plan->new, to->endpoint);
	int error = 0;

	if (endpoint->flags & POLICY_MAC)
		memcpy(want->mac, endpoint->mac, sizeof(want->mac));
	if (entry && before != UINT32_MAX)
		error = move_address(plan, to, before, entry, want);
	else if (entry || is_here(plan, plan->new, to->endpoint))
		error = COMPARE_ALL;
	if (!error && want->ifindex)
		memcpy(want->mac, entry->mac, sizeof(want->mac));
	return error;
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

static int plan_address(struct endpoints *endpoints, uint32_t index)
{
	struct planner *plan = endpoints->plan;
	const struct policy_address *to = delta_address(plan->new, index);
	const struct bh_endpoint *own = table_find(&endpoints->own, &to->endpoint);
	const uint32_t before = delta_origin(table_of(plan, BLOB_TABLE_addresses), index);
	struct bh_endpoint entry, want = {};
	int error = find_entry(plan, &to->address, own, &entry);
	const bool there = !error;

	/* the maps and the old policy disagree about the address */
	if ((error && error != -ENOENT) || (!there && before != UINT32_MAX))
		return COMPARE_ALL;
	if (own)
		want = *own;
	error = own ? 0 : find_host_side(plan, to, before, there ? &entry : NULL, &want);
	if (!error)
		error = place_address(plan, to, there ? &entry : NULL, &want);
	plan->own |= is_here(plan, plan->new, to->endpoint);
	return error ? error : table_add(&plan->concerned, &to->address, NULL);
}

/* Addresses that the new policy lacks: endpoints and addresses that go */

/* Accepts an address that is gone. Returns -ENOENT if `endpoint del` took an endpoint of this node
 * off already. */
static int find_deleted(struct planner *plan, const struct policy_address *from,
			struct bh_endpoint *entry)
{
	const bool here = is_here(plan, plan->old, from->endpoint);
	int error = find_entry(plan, &from->address, false, entry);

	if (error && !(here && error == -ENOENT))
		return COMPARE_ALL;
	plan->own |= here;
	return !error && entry->ifindex && !here ? COMPARE_ALL : error;
}

/* Returns true if an endpoint of the old policy is one of this node's in the new policy, too. */
static bool stays_here(const struct planner *plan, uint32_t endpoint)
{
	const uint32_t then = delta_place(plan->delta, BLOB_TABLE_endpoints, endpoint);

	return then != UINT32_MAX && is_here(plan, plan->new, then);
}

static int plan_deleted(struct endpoints *endpoints, uint32_t deleted)
{
	struct planner *plan = endpoints->plan;
	const struct policy_address *from = delta_address(plan->old, deleted);
	struct bh_endpoint entry;
	struct bh_addr addr;
	int error = table_add(&plan->concerned, &from->address, NULL);

	if (!error)
		error = find_deleted(plan, from, &entry);
	if (error)
		return error == -ENOENT ? 0 : error;
	memcpy(&addr, &from->address, sizeof(addr));
	error = table_add(&plan->change->maps[MAP_endpoints].deleted, &addr, &entry);
	if (!error && entry.ifindex && !stays_here(plan, from->endpoint))
		error = own_endpoints_delete(&endpoints->interfaces, entry.ifindex);
	return error;
}

static int plan_all_deleted(struct endpoints *endpoints)
{
	const struct delta_table *addresses = table_of(endpoints->plan, BLOB_TABLE_addresses);
	int error = 0;

	for (uint32_t i = delta_next_deleted(addresses, 0); !error && i < addresses->n_base;
	     i = delta_next_deleted(addresses, i + 1))
		error = plan_deleted(endpoints, i);
	return error;
}

/* Makes an endpoint that goes count as its covering prefix, which may move to another segment. */
static int plan_leave(struct planner *plan, const struct bh_addr *addr,
		      const struct bh_endpoint *entry)
{
	struct address address;
	uint32_t segment, slot;
	int error;

	if (!prefixes_may_move(plan))
		return assign_leave(plan->handle, addr, entry, plan->change);
	memcpy(&address, addr, sizeof(address));
	segment = policy_prefix_find(planner_outside(plan), &address) - plan->outside.segments;
	error = planner_slot(plan, segment, &slot);
	return error ? error
		     : assign_leave_to(plan->handle, addr, entry, bh_assignment(0, slot, 0),
				       plan->change);
}

/* Everything: all addresses of the policy and of the maps */

static int compare_address(struct planner *plan, const struct policy_address *to)
{
	const struct policy_endpoint *endpoint = &plan->new->endpoints[to->endpoint];
	struct bh_endpoint entry, want = {.ifindex = plan->local->ifindexes[to->endpoint]};
	const struct bh_iface *iface =
		want.ifindex ? discovery_iface(plan->local, want.ifindex) : NULL;
	const int error = maps_lookup(plan->handle, MAP_endpoints, &to->address, &entry);

	if (iface && iface->flags & BH_IFACE_MAC)
		memcpy(want.mac, iface->mac, sizeof(want.mac));
	else if (endpoint->flags & POLICY_MAC)
		memcpy(want.mac, endpoint->mac, sizeof(want.mac));
	return error && error != -ENOENT ? error
					 : place_address(plan, to, error ? NULL : &entry, &want);
}

/* Deletes the addresses that no endpoint of the policy has. */
static int compare_gone(struct planner *plan)
{
	const struct table *have = &plan->have->map[MAP_endpoints];
	struct table *deleted = &plan->change->maps[MAP_endpoints].deleted;
	int error = 0;

	for (size_t i = 0; !error && i < have->n; i++) {
		const struct bh_addr *addr = table_key(have, i);
		const struct bh_endpoint *entry = table_value(have, i);
		struct address address;

		memcpy(&address, addr, sizeof(address));
		if (lazy_address_find(plan->new, &address))
			continue;
		error = plan_leave(plan, addr, entry);
		if (!error)
			error = table_add(deleted, addr, entry);
	}
	return error;
}

/* Deletes the records of added endpoints that do not stay: the policy has them, or they are
 * gone. */
static int compare_added(struct planner *plan)
{
	const struct table *added = &plan->have->map[MAP_added];
	int error = 0;

	for (size_t i = 0; !error && i < added->n; i++)
		if (!table_find(&plan->local->kept, table_key(added, i)))
			error = table_add(&plan->change->maps[MAP_added].deleted,
					  table_key(added, i), table_value(added, i));
	return error;
}

static int compare_all(struct planner *plan)
{
	int error = 0;

	for (size_t i = 0; !error && i < plan->new->n_addresses; i++)
		error = compare_address(plan, &plan->new->addresses[i]);
	if (!error)
		error = compare_gone(plan);
	return error ? error : compare_added(plan);
}

int endpoints_place(struct endpoints *endpoints)
{
	struct planner *plan = endpoints->plan;
	const struct table *addresses = &endpoints->addresses;
	const struct table *deleted = &plan->change->maps[MAP_endpoints].deleted;
	size_t there;
	int error = 0;

	if (!plan->delta)
		error = compare_all(plan);
	for (size_t i = 0; plan->delta && !error && i < deleted->n; i++)
		error = plan_leave(plan, table_key(deleted, i), table_value(deleted, i));
	for (size_t i = 0; !error && i < addresses->n; i++) {
		const uint32_t index = *(uint32_t *)table_key(addresses, i);

		if (!i || index != *(uint32_t *)table_key(addresses, i - 1))
			error = plan_address(endpoints, index);
	}
	there = plan->delta ? plan->delta->tables[BLOB_TABLE_addresses].n + plan->added.n
			    : plan->have->map[MAP_endpoints].n;
	change_want(plan->change, MAP_endpoints, there + plan->change->maps[MAP_endpoints].put.n);
	return error;
}

/* Interfaces of the endpoints that come to this node, or change here */

/* Finds out whether `endpoint add` added the endpoint: then all of the endpoint's addresses must be
 * at one interface, *before. Otherwise nothing may have the addresses, and *before is 0. */
static int find_added(struct planner *plan, const struct policy_endpoint *endpoint,
		      uint32_t *before)
{
	const struct bh_added name = name_of(plan->new, endpoint);
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
	const struct delta_table *addresses = table_of(plan, BLOB_TABLE_addresses);

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
	const struct bh_added name = name_of(plan->new, endpoint);
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
	const struct bh_added name = name_of(plan->new, record);
	struct own_before before;
	int error = find_before(plan, index, &before);

	if (!error)
		error = make_pod(plan, record, &name, &pod);
	if (error)
		return error;
	plan->own = true;
	return own_endpoints_add(&endpoints->interfaces, &pod.endpoint, before, want);
}

static int plan_all_own(struct endpoints *endpoints)
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

int endpoints_begin(struct endpoints *endpoints)
{
	int error = list_addresses(endpoints);

	if (!error)
		error = plan_all_deleted(endpoints);
	return error ? error : plan_all_own(endpoints);
}
