// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "maps/endpoint.h"
#include "maps/prefix.h"
#include "node/kernel/pinned_policy.h"
#include "node/local/iface_entry.h"
#include "node/plan/assignment.h"
#include "node/plan/endpoint_del.h"
#include "node/plan/own_interfaces.h"
#include "node/plan/planner_parts.h"
#include "node/plan/repair.h"

/* Returns true if an interface had the address before a killed command: while its addresses change,
 * the first one is of those that it had. */
static bool had(const struct bh_iface *iface, const struct bh_addr *addr,
		const struct policy *policy)
{
	const struct bh_addr none = {};
	const bool ipv4 = memcmp(&iface->ipv4, &none, sizeof(none));
	const struct policy_address *of, *first;
	struct address address, known;

	memcpy(&address, addr, sizeof(address));
	memcpy(&known, ipv4 ? &iface->ipv4 : &iface->ipv6, sizeof(known));
	of = policy_address_find(policy, &address);
	first = policy_address_find(policy, &known);
	if (of && first)
		return of->endpoint == first->endpoint;
	return !memcmp(&iface->ipv4, addr, sizeof(*addr)) ||
	       !memcmp(&iface->ipv6, addr, sizeof(*addr));
}

/* Finds where the endpoint was before a killed command, which may have moved it to another
 * interface already. */
static void find_home(const struct table *ifaces, const struct bh_addr *addr,
		      const struct policy *policy, struct bh_endpoint *endpoint)
{
	const uint32_t now = endpoint->ifindex;

	for (size_t i = 0; now && i < ifaces->n; i++) {
		const uint32_t ifindex = *(uint32_t *)table_key(ifaces, i);
		const struct bh_iface *iface = table_value(ifaces, i);

		if (!iface_entry_has_endpoint(iface) ||
		    (ifindex == now ? endpoint->ifindex != now : !had(iface, addr, policy)))
			continue;
		endpoint->ifindex = ifindex;
		memcpy(endpoint->mac, iface->mac, sizeof(endpoint->mac));
	}
}

/* Clears words that a killed command stored for a generation that never came, and with them puts
 * the endpoint back to its interface. */
static int repair_endpoint(struct node_handle *handle, const struct image *have,
			   const struct bh_addr *addr, const struct policy *policy,
			   struct bh_endpoint *endpoint, struct change *change)
{
	int error = 0;

	for (uint32_t which = 0; !error && which < 2; which++) {
		const struct assign_word none = {.which = which};

		if (bh_assignment_generation(endpoint->assignment[which]) <=
		    node_generation(handle))
			continue;
		find_home(&have->map[MAP_ifaces], addr, policy, endpoint);
		error = assign_host_side(addr, &none, endpoint, change);
	}
	return error;
}

static int repair_prefix(struct node_handle *handle, const struct bh_prefix_key *key,
			 const struct bh_prefix *prefix, struct change *change)
{
	struct bh_prefix value = *prefix;

	for (int which = 0; which < 2; which++)
		if (bh_assignment_generation(value.assignment[which]) > node_generation(handle))
			value.assignment[which] = 0;
	if (value.turn > node_generation(handle)) {
		value.flags = bh_prefix_flags(value.flags, value.turn, node_generation(handle));
		value.turn = 0;
	}
	return memcmp(&value, prefix, sizeof(value))
		       ? table_add(&change->maps[MAP_prefixes].put, key, &value)
		       : 0;
}

static bool policy_has_prefix(const struct policy *policy, const struct bh_prefix_key *key)
{
	for (size_t i = 0; i < policy->n_prefixes; i++)
		if (policy->prefixes[i].length == key->length &&
		    !memcmp(&policy->prefixes[i].address, &key->addr, sizeof(key->addr)))
			return true;
	return false;
}

/* Returns true if an endpoint is active. Words of later generations do not count: an endpoint
 * without any other word never came. */
static bool is_active(const struct node_handle *handle, const struct bh_endpoint *endpoint,
		      bool known)
{
	const uint64_t word = bh_assignment_at(endpoint->assignment[0], endpoint->assignment[1],
					       node_generation(handle));

	return known && word && !bh_assignment_is_cover(word);
}

/* Returns true if a killed command took the endpoint off: the endpoint has no segment, and its
 * interface is quarantined. A quarantined interface's entry no longer says which addresses belong
 * to the interface. */
static bool is_leaving(const struct node_handle *handle, const struct image *have,
		       const struct bh_endpoint *endpoint)
{
	const struct bh_iface *iface = table_find(&have->map[MAP_ifaces], &endpoint->ifindex);

	return iface && iface_entry_is_quarantined(iface) &&
	       !bh_assignment_slot(bh_assignment_at(
		       endpoint->assignment[0], endpoint->assignment[1], node_generation(handle)));
}

static bool has_endpoint(const struct table *endpoints, uint32_t ifindex)
{
	for (size_t i = 0; i < endpoints->n; i++)
		if (((struct bh_endpoint *)table_value(endpoints, i))->ifindex == ifindex)
			return true;
	return false;
}

/* Removes interfaces that guard no endpoint. Keeps interfaces that another endpoint has by now. */
static int repair_ifaces(struct own_interfaces *own, const struct table *ifaces,
			 const struct table *stay, const struct table *deleted)
{
	const bool closed = own->closed;
	int error = 0;

	for (size_t i = 0; i < deleted->n; i++) {
		struct bh_endpoint *endpoint = table_value(deleted, i);

		if (endpoint->ifindex && has_endpoint(stay, endpoint->ifindex))
			endpoint->ifindex = 0;
	}
	for (size_t i = 0; !error && i < ifaces->n; i++) {
		const uint32_t *ifindex = table_key(ifaces, i);
		const struct bh_iface *iface = table_value(ifaces, i);

		if (!(iface->flags & BH_IFACE_ENDPOINT) || has_endpoint(stay, *ifindex) ||
		    has_endpoint(deleted, *ifindex))
			continue;
		/* a container runtime's pod was quarantined before its ADD, too */
		own->closed = closed || iface->flags & BH_IFACE_TOLD;
		error = own_interfaces_leave(own, *ifindex);
	}
	own->closed = closed;
	return error;
}

static int drop_endpoint(const struct image *have, const struct bh_addr *addr,
			 const struct bh_endpoint *endpoint, struct change *change)
{
	const struct bh_added *added = table_find(&have->map[MAP_added], addr);
	int error = table_add(&change->maps[MAP_endpoints].deleted, addr, endpoint);

	return error || !added ? error : table_add(&change->maps[MAP_added].deleted, addr, added);
}

/* Returns true if the connections of the address belong to the endpoint that goes, and so go with
 * it: not if the endpoint never came. */
static bool has_connections_of_its_own(const struct node_handle *handle,
				       const struct bh_endpoint *endpoint)
{
	const uint32_t generation = node_generation(handle);

	return bh_assignment_generation(endpoint->assignment[0]) <= generation &&
	       bh_assignment_generation(endpoint->assignment[1]) <= generation;
}

/*
 * Forgets the connections that an endpoint's address had at another interface, as a killed command
 * that gave the endpoint the address may not have done. That command committed once or twice, and
 * the endpoint's word is of its first generation.
 */
static int forget_former(const struct node_handle *handle, const struct bh_addr *addr,
			 const struct bh_endpoint *endpoint, struct change *change)
{
	const uint32_t generation = node_generation(handle);
	const uint64_t word =
		bh_assignment_at(endpoint->assignment[0], endpoint->assignment[1], generation);

	return endpoint->ifindex && bh_assignment_generation(word) + 1 >= generation
		       ? table_add(&change->forget_former, addr, &endpoint->ifindex)
		       : 0;
}

/* Decides for one endpoint: it stays, goes with its connections, or goes without them. */
static int repair_one(struct node_handle *handle, const struct image *have,
		      const struct policy *policy, size_t i, struct table *stay,
		      struct table *deleted, struct change *change)
{
	const struct bh_addr *addr = table_key(&have->map[MAP_endpoints], i);
	struct bh_endpoint endpoint =
		*(struct bh_endpoint *)table_value(&have->map[MAP_endpoints], i);
	struct address address;
	bool known;
	int error = repair_endpoint(handle, have, addr, policy, &endpoint, change);

	memcpy(&address, addr, sizeof(address));
	known = policy_address_find(policy, &address) || table_find(&have->map[MAP_added], addr);
	if (error)
		return error;
	if (is_active(handle, &endpoint, known) && !is_leaving(handle, have, &endpoint)) {
		error = forget_former(handle, addr, &endpoint, change);
		return error ? error : table_add(stay, addr, &endpoint);
	}
	return has_connections_of_its_own(handle, &endpoint)
		       ? table_add(deleted, addr, &endpoint)
		       : drop_endpoint(have, addr, &endpoint, change);
}

static int repair_endpoints(struct node_handle *handle, const struct image *have,
			    const struct policy *policy, struct change *change)
{
	CLEANUP(table_free) struct table stay = {}, deleted = {};
	CLEANUP(own_interfaces_free) struct own_interfaces own;
	int error = 0;

	own_interfaces_init(&own, handle, change);
	own.alone = true;
	maps_init_table(MAP_endpoints, &stay);
	maps_init_table(MAP_endpoints, &deleted);
	for (size_t i = 0; !error && i < have->map[MAP_endpoints].n; i++)
		error = repair_one(handle, have, policy, i, &stay, &deleted, change);
	table_sort(&change->forget_former);
	if (!error)
		error = repair_ifaces(&own, &have->map[MAP_ifaces], &stay, &deleted);
	if (!error)
		error = endpoint_del_members(&own, &deleted);
	return error ? error : own_interfaces_finish(&own);
}

static int repair_prefixes(struct node_handle *handle, const struct table *prefixes,
			   const struct policy *policy, struct change *change)
{
	int error = 0;

	for (size_t i = 0; !error && i < prefixes->n; i++) {
		const struct bh_prefix_key *key = table_key(prefixes, i);
		const struct bh_prefix *prefix = table_value(prefixes, i);

		error = repair_prefix(handle, key, prefix, change);
		/* prefixes of the node's and Services' addresses stay: the next load finds out
		 * which of them are right */
		if (!error &&
		    !bh_prefix_flags(prefix->flags, prefix->turn, node_generation(handle)) &&
		    !policy_has_prefix(policy, key))
			error = table_add(&change->maps[MAP_prefixes].deleted, key, prefix);
	}
	return error;
}

/*
 * Clears words above the active generation. Removes entries that are not active without those
 * words: prefixes that @policy does not have, endpoints that count as their covering prefixes, and
 * interfaces that guard no endpoint.
 */
static int repair_assignments(struct node_handle *handle, const struct image *have,
			      const struct policy *policy, struct change *change)
{
	int error = repair_prefixes(handle, &have->map[MAP_prefixes], policy, change);

	if (!error)
		error = repair_endpoints(handle, have, policy, change);
	if (!error)
		error = service_entries_repair(handle, &have->map[MAP_services], change);
	return error ? node_fail(handle, error, "cannot clear up after a killed command") : 0;
}

static int plan(struct node_handle *handle, bool keep_staged, struct image *have,
		struct change *change)
{
	CLEANUP(cleanup_policy) struct policy *staged = NULL;
	const struct policy *policy = pinned_whole(handle);
	CLEANUP(planner_free) struct planner plan = {}, later = {};
	CLEANUP(change_free) struct change unused;
	int error;

	change_init(&unused, "staged");
	planner_init(&plan, handle, policy, handle->blob.ids, have, change);
	/* a load of the active policy puts it right, which repairs first */
	plan.wrong = WRONG_LIST;
	error = planner_compare(&plan, segment_entries_plan);
	if (!error && keep_staged)
		error = segment_entries_plan_staged(handle, have, &staged, &unused, &later);
	if (!error && segment_entries_puts(change)) {
		diag_error(handle->diag, NULL, NULL,
			   "%s: the maps lack parts of the active policy; " NODE_ANEW, handle->pin);
		return -EILSEQ;
	}
	if (!error)
		error = repair_assignments(handle, have, policy, change);
	return error ? error : segment_entries_collect(&plan, staged ? &later : NULL);
}

int repair_plan(struct node_handle *handle, bool keep_staged, struct change *change)
{
	CLEANUP(image_free) struct image have;
	int error = pinned_read(handle);

	image_init(&have);
	change->finish = change->complete = true;
	change->drop_staged = !keep_staged;
	if (!error)
		error = image_read(handle, &have);
	return error ? error : plan(handle, keep_staged, &have, change);
}
