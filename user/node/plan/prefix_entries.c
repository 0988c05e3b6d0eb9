// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "policy/frontend.h"
#include "maps/assign.h"
#include "maps/prefix.h"
#include "maps/tunnel.h"
#include "node/local/discovery.h"
#include "node/plan/assignment.h"
#include "node/plan/planner_parts.h"

/* All prefixes of the new policy and of the maps. */
struct prefixes {
	struct planner *plan;
	struct table have;
	struct table want; /* assignment[0] has the wanted slot */
	const struct local *own; /* this node's name and addresses */
	struct local found; /* holds `own` if the maps alone know the addresses */
	uint32_t generation; /* of new words: the active one plus one */
};

static void prefixes_free(struct prefixes *prefixes)
{
	table_free(&prefixes->have);
	table_free(&prefixes->want);
	local_free(&prefixes->found);
}

static struct bh_prefix_key prefix_key(const struct address *address, uint32_t length)
{
	struct bh_prefix_key key = {.length = length};

	memcpy(&key.addr, address, sizeof(key.addr));
	return key;
}

static int want_prefix(struct prefixes *prefixes, const struct address *address, uint32_t length,
		       uint32_t segment, uint32_t flags)
{
	const struct bh_prefix_key key = prefix_key(address, length);
	uint32_t slot = 0;
	int error = planner_slot(prefixes->plan, segment, &slot);
	const struct bh_prefix value = {
		.assignment = {bh_assignment(0, slot, 0)},
		.flags = flags,
	};

	return error ? error : table_add(&prefixes->want, &key, &value);
}

/* Returns the flags of a Service's address. An address that is also an endpoint's or a node's is
 * a Service's at its ports only. A cluster address is a Service's at every port, although IPVS
 * puts it on an interface of the node. */
static uint32_t frontend_flags(const struct prefixes *prefixes,
			       const struct policy_frontend *frontend)
{
	const bool ports = frontend->flags & POLICY_FRONTEND_SHARED ||
			   (frontend->flags & POLICY_FRONTEND_EXTERNAL &&
			    local_has_address(prefixes->own, &frontend->address));

	return ports ? BH_PREFIX_PORTS : BH_PREFIX_SERVICE;
}

/* Marks a prefix as a Service's. @more: wanted prefixes that are not sorted in yet. */
static int mark_service(struct prefixes *prefixes, const struct bh_prefix_key *key, uint32_t flags,
			struct table *more)
{
	struct bh_prefix *prefix = table_find(&prefixes->want, key);
	struct bh_prefix value = {.flags = flags};

	if (prefix)
		prefix->flags |= flags;
	return prefix ? 0 : table_add(more, key, &value);
}

static bool is_inside(const struct bh_prefix_key *key, const struct policy_cidr *cidr)
{
	const struct cidr outer = {cidr->address, cidr->length};
	struct address address;

	memcpy(&address, &key->addr, sizeof(address));
	return key->length >= cidr->length && cidr_contains(&outer, &address);
}

static bool is_of_a_node(const struct policy *policy, const struct bh_prefix_key *key)
{
	for (size_t i = 0; key->length == 128 && i < policy->n_node_addresses; i++)
		if (!memcmp(&policy->node_addresses[i], &key->addr, sizeof(key->addr)))
			return true;
	return false;
}

/* Marks all prefixes within a service-cidr as a Service's, except nodes' addresses. */
static void mark_inside(struct prefixes *prefixes, const struct policy_cidr *cidr)
{
	struct table *want = &prefixes->want;

	for (size_t i = 0; i < want->n; i++) {
		const struct bh_prefix_key *key = table_key(want, i);
		struct bh_prefix *prefix = table_value(want, i);

		if (is_inside(key, cidr) && !is_of_a_node(planner_outside(prefixes->plan), key))
			prefix->flags |= BH_PREFIX_SERVICE;
	}
}

static int add_marked(struct prefixes *prefixes, struct table *more)
{
	const struct policy *policy = planner_outside(prefixes->plan);
	int error = 0;

	for (size_t i = 0; !error && i < more->n; i++) {
		const struct bh_prefix_key *key = table_key(more, i);
		const struct bh_prefix *value = table_value(more, i);
		struct address address;

		memcpy(&address, &key->addr, sizeof(address));
		error = want_prefix(prefixes, &address, key->length,
				    policy_prefix_find(policy, &address) - policy->segments,
				    value->flags);
	}
	table_sort(&prefixes->want);
	return error;
}

/* Adds prefixes for Services' addresses. Their segments are those of their covering prefixes, for
 * the ports that are no Service's. */
static int want_services(struct prefixes *prefixes)
{
	const struct policy *policy = planner_outside(prefixes->plan);
	CLEANUP(table_free) struct table more = {};
	const struct address *last = NULL;
	bool node_ports = false;
	int error = 0;

	table_init(&more, sizeof(struct bh_prefix_key), sizeof(struct bh_prefix));
	for (size_t i = 0; !error && i < policy->n_frontends; i++) {
		const struct policy_frontend *frontend = &policy->frontends[i];
		const struct bh_prefix_key key = prefix_key(&frontend->address, 128);

		node_ports |= frontend_is_node_port(frontend);
		if (frontend_is_node_port(frontend) ||
		    (last && !memcmp(last, &frontend->address, sizeof(*last))))
			continue;
		last = &frontend->address;
		error = mark_service(prefixes, &key, frontend_flags(prefixes, frontend), &more);
	}
	for (size_t i = 0; !error && i < policy->n_service_cidrs; i++) {
		const struct bh_prefix_key key = prefix_key(&policy->service_cidrs[i].address,
							    policy->service_cidrs[i].length);

		error = mark_service(prefixes, &key, BH_PREFIX_SERVICE, &more);
	}
	if (!error)
		error = add_marked(prefixes, &more);
	for (size_t i = 0; i < policy->n_service_cidrs; i++)
		mark_inside(prefixes, &policy->service_cidrs[i]);
	for (size_t i = 0; node_ports && i < prefixes->want.n; i++) {
		struct bh_prefix *prefix = table_value(&prefixes->want, i);

		if (prefix->flags & BH_PREFIX_NODE)
			prefix->flags |= BH_PREFIX_PORTS;
	}
	return error;
}

/* Returns the segment of one of the node's own addresses. An address that the Node object does not
 * name gets the segment of the first named address in the same networks. */
static uint32_t segment_of_own(const struct prefixes *prefixes, const struct address *address)
{
	const struct policy *policy = planner_outside(prefixes->plan);
	const struct policy_node *node = policy_node_by_name(policy, prefixes->own->name);
	const struct policy_segment *own = policy_prefix_find(policy, address), *segment = own;

	for (uint32_t i = node ? node->addresses.n : 0; i-- > 0;) {
		const struct address *named = &policy->node_addresses[node->addresses.at + i];

		if (!memcmp(named, address, sizeof(*address)))
			return own - policy->segments;
		if (policy_prefix_around(policy, named, 127) == own)
			segment = policy_prefix_find(policy, named);
	}
	return segment - policy->segments;
}

/* Collects the policy's prefixes and the node's own addresses. */
static int want_prefixes(struct prefixes *prefixes)
{
	const struct policy *policy = planner_outside(prefixes->plan);
	const struct local *own = prefixes->own;
	const struct address *last = NULL;
	int error = 0;

	for (size_t i = 0; !error && i < policy->n_prefixes; i++) {
		const struct policy_prefix *prefix = &policy->prefixes[i];

		error = want_prefix(prefixes, &prefix->address, prefix->length, prefix->segment, 0);
	}
	table_sort(&prefixes->want);
	for (size_t i = 0; !error && i < own->n_addresses; i++) {
		const struct address *address = &own->addresses[i];
		struct bh_prefix_key key = prefix_key(address, 128);
		struct bh_prefix *prefix;

		if (last && !memcmp(last, address, sizeof(*last)))
			continue;
		last = address;
		prefix = table_find(&prefixes->want, &key);
		if (prefix) {
			prefix->flags |= BH_PREFIX_NODE;
			continue;
		}
		error = want_prefix(prefixes, address, 128, segment_of_own(prefixes, address),
				    BH_PREFIX_NODE);
		table_sort(&prefixes->want);
	}
	return error ? error : want_services(prefixes);
}

/* Returns the prefix' BH_PREFIX_SERVICES in the active generation. */
static uint32_t services_now(const struct node_handle *handle, const struct bh_prefix *prefix)
{
	return bh_prefix_flags(prefix->flags, prefix->turn, node_generation(handle)) &
	       BH_PREFIX_SERVICES;
}

/* Gives a prefix @flags from the next generation on, and @now before. */
static void update_prefix(uint32_t generation, uint32_t now, uint32_t flags,
			  struct bh_prefix *prefix)
{
	prefix->flags = flags;
	prefix->turn = 0;
	if (now == (flags & BH_PREFIX_SERVICES))
		return;
	prefix->flags |= now << BH_PREFIX_BEFORE_SHIFT;
	prefix->turn = generation;
}

/* Finds the new covering prefix of a prefix that the policy lacks: the next shorter prefix. NULL:
 * none. */
static const struct bh_prefix *covering_prefix_then(const struct prefixes *prefixes,
						    const struct bh_prefix_key *key)
{
	struct address address;

	memcpy(&address, &key->addr, sizeof(address));
	for (uint32_t length = key->length; length-- > 0;) {
		struct address shorter = address_mask(&address, length);
		struct bh_prefix_key covering_prefix = prefix_key(&shorter, length);
		const struct bh_prefix *prefix = table_find(&prefixes->want, &covering_prefix);

		if (prefix)
			return prefix;
	}
	return NULL;
}

/* Makes a prefix be as @want says (assignment[0]: its place) from the next generation on. */
static int plan_prefix(struct prefixes *prefixes, const struct bh_prefix_key *key,
		       const struct bh_prefix *want)
{
	struct change_map *map = &prefixes->plan->change->maps[MAP_prefixes];
	const struct bh_prefix *old = table_find(&prefixes->have, key);
	struct bh_prefix value = {}, covering_prefix = {};
	struct assign_word store;
	uint32_t now;
	bool moves;

	if (old)
		value = *old;
	else if (!maps_lookup(prefixes->plan->handle, MAP_prefixes, key, &covering_prefix))
		value.assignment[0] =
			bh_assignment_at(covering_prefix.assignment[0],
					 covering_prefix.assignment[1], prefixes->generation - 1);
	now = services_now(prefixes->plan->handle, old ? old : &covering_prefix);
	moves = assign_word_for(prefixes->generation, value.assignment, want->assignment[0],
				&store);
	if (moves)
		value.assignment[store.which] = store.word;
	if (old && !moves && ((old->flags & BH_PREFIX_NODE) | now) == want->flags)
		return 0;
	update_prefix(prefixes->generation, now, want->flags, &value);
	return table_add(&map->put, key, &value);
}

/* Deletes a prefix, which counts as its covering prefix from the next generation on. */
static int plan_deleted_prefix(struct prefixes *prefixes, const struct bh_prefix_key *key,
			       const struct bh_prefix *old)
{
	const struct bh_prefix *covering_prefix = covering_prefix_then(prefixes, key);
	struct bh_prefix then = {.flags = old->flags & BH_PREFIX_NODE};
	int error;

	if (covering_prefix) {
		then.assignment[0] = covering_prefix->assignment[0];
		then.flags |= covering_prefix->flags & BH_PREFIX_SERVICES;
	}
	error = plan_prefix(prefixes, key, &then);
	return error ? error
		     : table_add(&prefixes->plan->change->maps[MAP_prefixes].deleted, key, old);
}

static int compare_prefixes(struct prefixes *prefixes)
{
	const struct table *have = &prefixes->have, *want = &prefixes->want;
	int error = 0;

	for (size_t i = 0; !error && i < want->n; i++)
		error = plan_prefix(prefixes, table_key(want, i), table_value(want, i));
	for (size_t i = 0; !error && i < have->n; i++)
		if (!table_find(want, table_key(have, i)))
			error = plan_deleted_prefix(prefixes, table_key(have, i),
						    table_value(have, i));
	return error;
}

/* Counts the prefixes that need room: those that replace none. */
static size_t new_prefixes(const struct prefixes *prefixes)
{
	const struct table *have = &prefixes->have;
	const struct table *put = &prefixes->plan->change->maps[MAP_prefixes].put;
	size_t n = 0;

	for (size_t i = 0; i < put->n; i++)
		n += !table_find(have, table_key(put, i));
	return n;
}

bool prefix_entries_may_move(const struct planner *plan)
{
	const struct delta_table *tables = plan->delta ? plan->delta->tables : NULL;

	return !tables || !delta_is_final(&tables[BLOB_TABLE_prefixes]) ||
	       !delta_is_final(&tables[BLOB_TABLE_nodes]) ||
	       !delta_is_final(&tables[BLOB_TABLE_node_addresses]);
}

/* Returns true if a prefix may differ, or Services' addresses, which are prefixes in the maps. */
static bool may_differ(const struct planner *plan)
{
	return prefix_entries_may_move(plan) ||
	       !delta_is_final(&plan->delta->tables[BLOB_TABLE_frontends]) ||
	       !delta_is_final(&plan->delta->tables[BLOB_TABLE_service_cidrs]);
}

/* Finds the node's own addresses, which the maps have as prefixes. */
static int find_own(struct prefixes *prefixes)
{
	const struct table *have = &prefixes->have;
	struct local *own = &prefixes->found;

	strcpy(own->name, prefixes->plan->handle->blob.node);
	own->addresses = calloc(have->n + 1, sizeof(*own->addresses));
	if (!own->addresses)
		return -ENOMEM;
	for (size_t i = 0; i < have->n; i++) {
		const struct bh_prefix_key *key = table_key(have, i);
		const struct bh_prefix *prefix = table_value(have, i);

		if (prefix->flags & BH_PREFIX_NODE)
			memcpy(&own->addresses[own->n_addresses++], &key->addr, sizeof(key->addr));
	}
	prefixes->own = own;
	return 0;
}

/* Plans the entries of bh_tunnels for nodes that come or go. A delta leaves the tunnels' ports as
 * they are. */
static int plan_nodes(struct planner *plan)
{
	CLEANUP(table_free) struct table have = {}, want = {};
	int error;

	maps_init_table(MAP_tunnels, &have);
	maps_init_table(MAP_tunnels, &want);
	error = maps_read(plan->handle, MAP_tunnels, &have);
	for (size_t i = 0; !error && i < have.n; i++)
		if (((struct bh_tunnel_key *)table_key(&have, i))->port)
			error = table_add(&want, table_key(&have, i), table_value(&have, i));
	if (!error)
		error = discover_nodes(planner_outside(plan), &want);
	return error ? error
		     : interfaces_plan_map(plan->change, MAP_tunnels, &have, &want, NULL, NULL);
}

int prefix_entries_plan(struct planner *plan)
{
	CLEANUP(prefixes_free)
	struct prefixes prefixes = {
		.plan = plan, .own = plan->local, .generation = node_generation(plan->handle) + 1};
	int error;

	maps_init_table(MAP_prefixes, &prefixes.have);
	maps_init_table(MAP_prefixes, &prefixes.want);
	if (!may_differ(plan))
		return 0;
	error = maps_read(plan->handle, MAP_prefixes, &prefixes.have);
	if (!error && !prefixes.own)
		error = find_own(&prefixes);
	if (!error)
		error = want_prefixes(&prefixes);
	if (!error)
		error = compare_prefixes(&prefixes);
	if (!error && !plan->local && prefix_entries_may_move(plan))
		error = plan_nodes(plan);
	change_want(plan->change, MAP_prefixes, prefixes.have.n + new_prefixes(&prefixes));
	return error;
}
