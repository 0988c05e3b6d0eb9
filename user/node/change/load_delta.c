// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "compile/delta_rebase.h"
#include "compile/delta_view.h"
#include "compile/lazy_policy.h"
#include "maps/added.h"
#include "maps/endpoint.h"
#include "node/change/apply.h"
#include "node/change/assign.h"
#include "node/change/load_delta.h"
#include "node/kernel/rights.h"
#include "node/kernel/pinned.h"
#include "node/kernel/write.h"

/* Tables about more than endpoints' places. A delta that is planned here changes nothing in
 * them. */
static const enum blob_table settled[] = {
	BLOB_TABLE_requirements, BLOB_TABLE_clauses,	    BLOB_TABLE_matchers,
	BLOB_TABLE_nodes,	 BLOB_TABLE_node_addresses, BLOB_TABLE_prefixes,
	BLOB_TABLE_rules,	 BLOB_TABLE_isolations,	    BLOB_TABLE_variations,
	BLOB_TABLE_given,	 BLOB_TABLE_given_rules,    BLOB_TABLE_given_peers,
	BLOB_TABLE_given_ports,	 BLOB_TABLE_resolutions,    BLOB_TABLE_classes,
	BLOB_TABLE_lists,	 BLOB_TABLE_pairs,	    BLOB_TABLE_intervals,
	BLOB_TABLE_named,	 BLOB_TABLE_services,	    BLOB_TABLE_service_ports,
	BLOB_TABLE_backends,	 BLOB_TABLE_frontends,	    BLOB_TABLE_service_cidrs,
};

/* Tables whose records may come and go, but not change. */
static const enum blob_table kept[] = {
	BLOB_TABLE_texts,	BLOB_TABLE_numbers,    BLOB_TABLE_cidrs,
	BLOB_TABLE_named_ports, BLOB_TABLE_namespaces, BLOB_TABLE_segments,
};

struct planner {
	struct node_handle *handle;
	const struct delta *delta;
	/* Without what this node adds to them, read as far as needed. */
	const struct lazy_policy *old, *new;
	struct delta *local; /* what this node adds to @new; NULL: nothing */
	struct delta_view *view;
	struct lazy_policy *result; /* the policy of `view` */
	struct table addresses; /* indexes of the addresses of @new that the delta concerns */
	struct table added; /* bh_added */
	uint32_t *slots; /* by index of the segments of @new, and of those that this node adds */
	uint32_t n_slots;
	bool own; /* it moves endpoints of this node */
	struct change *change;
};

static void planner_end(struct planner *planner)
{
	lazy_policy_free(planner->result);
	delta_free(planner->local);
	delta_view_close(planner->view);
	table_free(&planner->addresses);
	table_free(&planner->added);
	free(planner->slots);
}

/* Whether no record of the base changes. */
static bool is_kept(const struct delta_table *table)
{
	for (uint32_t i = 0; i < table->n_fresh; i++) {
		const struct delta_fresh *fresh = &table->fresh[i];
		const uint32_t run = delta_first_run(table, fresh->at);

		if (run < table->n_runs && table->runs[run].to < fresh->at + fresh->n)
			return false;
	}
	return true;
}

/* Calls @visit for each record of the base that is gone, until it returns non-zero. */
static int each_gone(struct planner *planner, enum blob_table number,
		     int (*visit)(struct planner *planner, uint32_t gone))
{
	const struct delta_table *table = &planner->delta->tables[number];
	uint32_t at = 0;
	int error = 0;

	for (uint32_t i = 0; !error && i <= table->n_runs; i++) {
		const struct delta_run end = {.from = table->n_base};
		const struct delta_run *run = i < table->n_runs ? &table->by_from[i] : &end;

		while (!error && at < run->from)
			error = visit(planner, at++);
		at = run->from + run->n;
	}
	return error;
}

/* Accepts a segment that is gone if the old policy had deleted it already. */
static int check_segment(struct planner *planner, uint32_t gone)
{
	const struct policy_segment *segment =
		lazy_read(planner->old, &planner->old->segments[gone], sizeof(*segment));

	return segment->delete_generation ? 0 : -EOPNOTSUPP;
}

static bool asks_for_more(const struct node_handle *handle)
{
	const struct node_options *options = handle->options;

	return (options->name && strcmp(options->name, handle->blob.node)) || options->n_uplinks ||
	       options->n_settings || options->audit || options->rehearse || options->peers ||
	       handle->blob.flags;
}

/* An endpoint that `endpoint add` brought has its place by its namespace's labels, or as a pod that
 * the policy expects. Where either changes, it gets a new place. */
static int check_added(struct planner *planner)
{
	const struct delta_table *tables = planner->delta->tables;
	int error = maps_read(planner->handle, MAP_added, &planner->added);

	if (error)
		return node_fail(planner->handle, error, "cannot read %s/added",
				 planner->handle->pin);
	return planner->added.n && (!delta_is_settled(&tables[BLOB_TABLE_namespaces]) ||
				    !delta_is_settled(&tables[BLOB_TABLE_expected]))
		       ? -EOPNOTSUPP
		       : 0;
}

/* Returns 0, -EOPNOTSUPP, or another -errno, reported. */
static int check_node(struct planner *planner)
{
	const struct delta_header *header = &planner->delta->header;
	const struct lazy_policy *old = planner->old;
	struct bh_blob next, current;
	int error;

	if (asks_for_more(planner->handle) || node_is_busy(planner->handle) ||
	    header->lineage != old->lineage || header->parent != old->checksum ||
	    header->next_rule != old->next_rule || header->uplinks_n != old->uplinks_n ||
	    header->node != delta_place(planner->delta, BLOB_TABLE_strings, old->node) ||
	    !planner->delta->tables[BLOB_TABLE_endpoints].n ||
	    !pinned_takes_delta(planner->handle, planner->delta))
		return -EOPNOTSUPP;
	error = pinned_read_headers(planner->handle, &next, &current);
	return error ? error : next.generation ? -EOPNOTSUPP : 0;
}

static int check_tables(struct planner *planner)
{
	const struct delta_table *tables = planner->delta->tables;

	for (size_t i = 0; i < ARRAY_SIZE(settled); i++)
		if (!delta_is_settled(&tables[settled[i]]))
			return -EOPNOTSUPP;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (!is_kept(&tables[kept[i]]))
			return -EOPNOTSUPP;
	if (tables[BLOB_TABLE_segments].n_fresh)
		return -EOPNOTSUPP;
	return each_gone(planner, BLOB_TABLE_segments, check_segment);
}

static const struct policy_endpoint *endpoint_at(const struct lazy_policy *policy, uint32_t index)
{
	return lazy_read(policy, &policy->endpoints[index], sizeof(struct policy_endpoint));
}

static const struct policy_address *address_at(const struct lazy_policy *policy, uint32_t index)
{
	return lazy_read(policy, &policy->addresses[index], sizeof(struct policy_address));
}

static bool is_here(const struct planner *planner, const struct lazy_policy *policy,
		    uint32_t endpoint)
{
	const struct policy_endpoint *record = endpoint_at(policy, endpoint);

	return record->node &&
	       !strcmp(lazy_read_string(policy, record->node), planner->handle->blob.node);
}

/* Returns the record of the base that is at this place now; UINT32_MAX: none. */
static uint32_t origin(const struct planner *planner, enum blob_table number, uint32_t index)
{
	const struct delta_table *table = &planner->delta->tables[number];
	const uint32_t i = delta_first_run(table, index);

	if (i == table->n_runs || table->runs[i].to > index)
		return UINT32_MAX;
	return table->runs[i].from + index - table->runs[i].to;
}

/* Whether `endpoint add` added an endpoint of that name. */
static bool is_added(const struct planner *planner, const struct policy_endpoint *endpoint)
{
	const struct lazy_policy *new = planner->new;
	const struct policy_namespace *ns =
		lazy_read(new, &new->namespaces[endpoint->ns], sizeof(*ns));

	for (size_t i = 0; i < planner->added.n; i++) {
		const struct bh_added *added = table_value(&planner->added, i);

		if (!strcmp(added->name, lazy_read_string(new, endpoint->name)) &&
		    !strcmp(added->ns, lazy_read_string(new, ns->name)))
			return true;
	}
	return false;
}

/* Takes a fresh endpoint's addresses into account. An endpoint of this node needs a whole load. */
static int take_endpoint(struct planner *planner, uint32_t index)
{
	const uint32_t before = origin(planner, BLOB_TABLE_endpoints, index);
	const struct policy_endpoint *endpoint = endpoint_at(planner->new, index);
	int error = 0;

	if (is_here(planner, planner->new, index) ||
	    (before != UINT32_MAX && is_here(planner, planner->old, before)) ||
	    is_added(planner, endpoint))
		return -EOPNOTSUPP;
	for (uint32_t i = 0; !error && i < endpoint->addresses.n; i++) {
		const uint32_t *address = lazy_read(
			planner->new, &planner->new->endpoint_addresses[endpoint->addresses.at + i],
			sizeof(*address));

		error = table_add(&planner->addresses, address, NULL);
	}
	return error;
}

/* Lists fresh addresses and those of fresh endpoints, each once. */
static int list_addresses(struct planner *planner)
{
	const struct delta_table *endpoints = &planner->delta->tables[BLOB_TABLE_endpoints];
	const struct delta_table *addresses = &planner->delta->tables[BLOB_TABLE_addresses];
	int error = 0;

	table_init(&planner->addresses, sizeof(uint32_t), 0);
	for (uint32_t i = 0; !error && i < endpoints->n_fresh; i++)
		for (uint32_t k = 0; !error && k < endpoints->fresh[i].n; k++)
			error = take_endpoint(planner, endpoints->fresh[i].at + k);
	for (uint32_t i = 0; !error && i < addresses->n_fresh; i++)
		for (uint32_t k = 0; !error && k < addresses->fresh[i].n; k++) {
			const uint32_t index = addresses->fresh[i].at + k;

			error = table_add(&planner->addresses, &index, NULL);
		}
	table_sort(&planner->addresses);
	return error;
}

/* Whether the address is a Service's backend, so that the Service's entry changes. */
static bool is_backend(const struct planner *planner, const struct address *address)
{
	const struct lazy_policy *old = planner->old;
	const struct policy_backend *backends =
		lazy_read(old, old->backends, old->n_backends * sizeof(*backends));

	for (size_t i = 0; i < old->n_backends; i++)
		if (!memcmp(&backends[i].address, address, sizeof(*address)))
			return true;
	return false;
}

/* Finds what the maps have of an address that the delta concerns. */
static int find_entry(const struct planner *planner, const struct address *address,
		      struct bh_endpoint *entry)
{
	if (table_find(&planner->added, address) || is_backend(planner, address))
		return -EOPNOTSUPP;
	return maps_lookup(planner->handle, MAP_endpoints, address, entry);
}

/* Moves an address that the old policy has as well. It belongs to the same endpoint, or to two
 * of other nodes. */
static int move_address(struct planner *planner, const struct policy_address *to, uint32_t before,
			const struct bh_endpoint *entry, struct bh_endpoint *want)
{
	const struct policy_address *from = address_at(planner->old, before);
	const bool same =
		delta_place(planner->delta, BLOB_TABLE_endpoints, from->endpoint) == to->endpoint;

	if (!same && (is_here(planner, planner->old, from->endpoint) ||
		      is_here(planner, planner->new, to->endpoint)))
		return -EOPNOTSUPP;
	want->ifindex = entry->ifindex;
	return 0;
}

static int plan_address(struct planner *planner, uint32_t index)
{
	const struct policy_address *to = address_at(planner->new, index);
	const struct policy_endpoint *endpoint = endpoint_at(planner->new, to->endpoint);
	const uint32_t before = origin(planner, BLOB_TABLE_addresses, index);
	struct bh_endpoint entry, want = {};
	struct bh_addr addr;
	int error = find_entry(planner, &to->address, &entry);

	/* the maps and the old policy disagree */
	if ((!error && before == UINT32_MAX) || (error == -ENOENT && before != UINT32_MAX))
		return -EOPNOTSUPP;
	if (!error)
		error = move_address(planner, to, before, &entry, &want);
	else if (error == -ENOENT)
		error = is_here(planner, planner->new, to->endpoint) ? -EOPNOTSUPP : 0;
	if (error)
		return error;
	planner->own |= is_here(planner, planner->new, to->endpoint);
	want.assignment[0] = bh_assignment(0, planner->slots[to->segment], to->variation);
	if (endpoint->flags & POLICY_MAC)
		memcpy(want.mac, endpoint->mac, sizeof(want.mac));
	memcpy(&addr, &to->address, sizeof(addr));
	return assign_come(planner->handle, &addr, before == UINT32_MAX ? NULL : &entry, &want,
			   planner->change);
}

static int plan_gone(struct planner *planner, uint32_t gone)
{
	const struct policy_address *from = address_at(planner->old, gone);
	struct bh_endpoint entry;
	struct bh_addr addr;
	int error = find_entry(planner, &from->address, &entry);

	if (!error && (entry.ifindex || is_here(planner, planner->old, from->endpoint)))
		error = -EOPNOTSUPP;
	memcpy(&addr, &from->address, sizeof(addr));
	if (!error)
		error = assign_leave(planner->handle, &addr, &entry, planner->change);
	if (!error)
		error = table_add(&planner->change->maps[MAP_endpoints].gone, &addr, &entry);
	return error == -ENOENT ? -EOPNOTSUPP : error;
}

static int plan_addresses(struct planner *planner)
{
	int error = list_addresses(planner);

	for (size_t i = 0; !error && i < planner->addresses.n; i++) {
		const uint32_t index = *(uint32_t *)table_key(&planner->addresses, i);

		if (i && index == *(uint32_t *)table_key(&planner->addresses, i - 1))
			continue;
		error = plan_address(planner, index);
	}
	return error ? error : each_gone(planner, BLOB_TABLE_addresses, plan_gone);
}

/* Has what this node adds stay as it is, on top of the new policy. */
static int plan_local(struct planner *planner)
{
	const struct delta *local = pinned_local(planner->handle);
	int error = local ? delta_rebase(local, planner->delta, &planner->local) : 0;

	return error == -ENOMEM ? node_fail(planner->handle, error, "cannot write the policy down")
				: error;
}

/* Gives each segment the slot that it has. */
static int plan_slots(struct planner *planner)
{
	const struct delta_table *segments = &planner->delta->tables[BLOB_TABLE_segments];
	const uint32_t n = segments->n;

	planner->n_slots = planner->local ? planner->local->n[BLOB_TABLE_segments] : n;
	planner->slots = calloc(planner->n_slots + 1, sizeof(*planner->slots));
	for (uint32_t i = 0; planner->slots && i < planner->n_slots; i++)
		planner->slots[i] =
			pinned_slot(planner->handle, i < n ? origin(planner, BLOB_TABLE_segments, i)
							   : segments->n_base + i - n);
	return planner->slots ? 0 : -ENOMEM;
}

/* Checks that the maps have room. Only a whole load makes larger maps. */
static int check_room(struct planner *planner)
{
	const struct table *put = &planner->change->maps[MAP_endpoints].put;

	return planner->delta->tables[BLOB_TABLE_addresses].n + planner->added.n + put->n <=
			       planner->handle->room[MAP_endpoints]
		       ? 0
		       : -EOPNOTSUPP;
}

static struct bh_blob header_of(const struct planner *planner)
{
	const struct node_handle *handle = planner->handle;
	struct bh_blob header = {
		.generation = (uint64_t)node_generation(handle) + 1,
		.length = delta_blob_header(planner->delta).length,
		.segments = planner->n_slots,
		.ids = handle->blob.ids,
		.policy = planner->delta->header.generation,
		.local_next = handle->blob.local_next,
	};

	strcpy(header.node, handle->blob.node);
	return header;
}

static int plan(struct planner *planner)
{
	const struct where where = {.file = "the change"};
	int error = check_node(planner);

	if (!error)
		error = check_tables(planner);
	if (!error)
		error = check_added(planner);
	if (!error)
		error = delta_view_open(planner->delta, planner->old, &where, planner->handle->diag,
					&planner->view, &planner->result);
	if (error)
		return error;
	planner->new = planner->result;
	error = plan_local(planner);
	if (!error)
		error = plan_slots(planner);
	if (!error)
		error = plan_addresses(planner);
	if (!error)
		error = check_room(planner);
	return lazy_error(planner->new) ? lazy_error(planner->new) : error;
}

int load_delta_plan(struct node_handle *handle, const struct delta *delta, struct change *change,
		    bool *own)
{
	CLEANUP(planner_end)
	struct planner planner = {.handle = handle,
				  .delta = delta,
				  .old = lazy_plain(handle->policy),
				  .change = change};
	int error;

	maps_init_table(MAP_added, &planner.added);
	error = plan(&planner);
	if (error)
		return error;
	change->policy.header = header_of(&planner);
	change->policy.delta = delta;
	change->policy.slots = TAKE_PTR(planner.slots);
	change->policy.local = TAKE_PTR(planner.local);
	change->flips = change->settle = true;
	*own = planner.own;
	return 0;
}

/* The endpoints guarded here stay the same. */
static int count_guarded(struct node_handle *handle, struct node_change *change)
{
	CLEANUP(table_free) struct table ifaces = {};
	int error;

	maps_init_table(MAP_ifaces, &ifaces);
	error = maps_read(handle, MAP_ifaces, &ifaces);
	for (size_t i = 0; i < ifaces.n; i++) {
		const uint32_t flags = ((struct bh_iface *)table_value(&ifaces, i))->flags;

		change->endpoints += !!(flags & BH_IFACE_ENDPOINT);
		change->uplinks += !!(flags & BH_IFACE_UPLINK);
		change->ports += !!(flags & BH_IFACE_PORT);
	}
	return error ? node_fail(handle, error, "cannot read %s/ifaces", handle->pin) : 0;
}

int node_load_delta(struct node_handle *handle, const struct delta *delta,
		    struct node_change *result)
{
	CLEANUP(change_free) struct change change;
	int error = rights_to_change(handle);

	change_init(&change, "load");
	*result = (struct node_change){.policy_generation = delta->header.generation,
				       .endpoint_generation = delta->header.generation};
	strcpy(result->node, handle->blob.node);
	if (!error)
		error = load_delta_plan(handle, delta, &change, &result->own);
	if (!error)
		error = count_guarded(handle, result);
	if (error)
		return error;
	write_desired(handle, delta->header.generation, delta->header.generation);
	error = apply(handle, &change, NULL);
	result->generation = node_generation(handle);
	result->map_writes = handle->writes;
	return error;
}

int node_check_delta(struct node_handle *handle, const struct delta *delta)
{
	CLEANUP(change_free) struct change change;
	bool own;

	change_init(&change, "load");
	return load_delta_plan(handle, delta, &change, &own);
}
