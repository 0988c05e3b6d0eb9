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
#include "node/change/extension.h"
#include "node/change/load_delta.h"
#include "node/change/own_endpoints.h"
#include "node/change/record.h"
#include "node/change/services_delta.h"
#include "node/change/slot.h"
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
	BLOB_TABLE_named,
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
	bool own; /* it concerns endpoints of this node */
	struct own_endpoints interfaces;
	struct table came; /* by index of @new's endpoints: entries of this node's that come */
	struct table concerned; /* addresses that come, move or go */
	struct table taken; /* records of bh_added, of endpoints that the policy takes over */
	struct change *change;
};

static void planner_end(struct planner *planner)
{
	lazy_policy_free(planner->result);
	delta_free(planner->local);
	delta_view_close(planner->view);
	table_free(&planner->addresses);
	table_free(&planner->added);
	own_endpoints_free(&planner->interfaces);
	table_free(&planner->came);
	table_free(&planner->taken);
	table_free(&planner->concerned);
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

/* Returns 0, -EOPNOTSUPP, or another -errno, reported. */
static int check_node(struct planner *planner)
{
	const struct delta_header *header = &planner->delta->header;
	const struct lazy_policy *old = planner->old;
	struct bh_blob next, current;
	int error;

	if (asks_for_more(planner->handle) || header->lineage != old->lineage ||
	    header->parent != old->checksum || header->next_rule != old->next_rule ||
	    header->uplinks_n != old->uplinks_n ||
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
	if (tables[BLOB_TABLE_segments].n_fresh || !services_delta_fits(planner->delta))
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

static struct bh_added name_of(const struct lazy_policy *policy,
			       const struct policy_endpoint *endpoint)
{
	const struct policy_namespace *ns =
		lazy_read(policy, &policy->namespaces[endpoint->ns], sizeof(*ns));

	return record_name(lazy_read_string(policy, ns->name),
			   lazy_read_string(policy, endpoint->name));
}

/* Counts the addresses of an endpoint of that name that `endpoint add` added. */
static size_t count_added(const struct planner *planner, const struct bh_added *name)
{
	size_t n = 0;

	for (size_t i = 0; i < planner->added.n; i++)
		n += record_is_of(table_value(&planner->added, i), name);
	return n;
}

static const struct policy_address *address_of(const struct lazy_policy *policy,
					       const struct policy_endpoint *endpoint, uint32_t i)
{
	const uint32_t *address = lazy_read(
		policy, &policy->endpoint_addresses[endpoint->addresses.at + i], sizeof(*address));

	return address_at(policy, *address);
}

/* Notes an endpoint that comes to this node. One that changes here needs a whole load. */
static int take_own(struct planner *planner, uint32_t index, bool here)
{
	const struct bh_endpoint nothing = {};

	return here && origin(planner, BLOB_TABLE_endpoints, index) == UINT32_MAX
		       ? table_add(&planner->came, &index, &nothing)
		       : -EOPNOTSUPP;
}

/* Takes a fresh endpoint's addresses into account. */
static int take_endpoint(struct planner *planner, uint32_t index)
{
	const uint32_t before = origin(planner, BLOB_TABLE_endpoints, index);
	const struct policy_endpoint *endpoint = endpoint_at(planner->new, index);
	const struct bh_added name = name_of(planner->new, endpoint);
	const bool here = is_here(planner, planner->new, index);
	int error = 0;

	if (here || (before != UINT32_MAX && is_here(planner, planner->old, before)) ||
	    count_added(planner, &name))
		error = take_own(planner, index, here);
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
	table_sort(&planner->came);
	return error;
}

/* Finds what the maps have of an address that the delta concerns. @came: its endpoint comes to this
 * node, where `endpoint add` may have added it. */
static int find_entry(const struct planner *planner, const struct address *address, bool came,
		      struct bh_endpoint *entry)
{
	if (!came && table_find(&planner->added, address))
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

/* Sets the interface and MAC of an endpoint that stays or comes. An endpoint of this node has the
 * MAC of its interface, which a container runtime may have told. */
static int find_host_side(struct planner *planner, const struct policy_address *to, uint32_t before,
			  const struct bh_endpoint *entry, struct bh_endpoint *want)
{
	const struct policy_endpoint *endpoint = endpoint_at(planner->new, to->endpoint);
	int error = 0;

	if (endpoint->flags & POLICY_MAC)
		memcpy(want->mac, endpoint->mac, sizeof(want->mac));
	if (entry && before != UINT32_MAX)
		error = move_address(planner, to, before, entry, want);
	else if (entry || is_here(planner, planner->new, to->endpoint))
		error = -EOPNOTSUPP;
	if (!error && want->ifindex)
		memcpy(want->mac, entry->mac, sizeof(want->mac));
	return error;
}

/* Puts the address into its segment, which the maps have. */
static int place_in(struct planner *planner, const struct policy_address *to,
		    struct bh_endpoint *want)
{
	const struct lazy_policy *new = planner->new;
	const struct policy_segment *segment =
		lazy_read(new, &new->segments[to->segment], sizeof(*segment));
	uint32_t *slot = &planner->slots[to->segment];

	if (slot_find(planner->handle, planner->change, segment->id, slot))
		return -EOPNOTSUPP;
	want->assignment[0] = bh_assignment(0, *slot, to->variation);
	return 0;
}

static int plan_address(struct planner *planner, uint32_t index)
{
	const struct policy_address *to = address_at(planner->new, index);
	const struct bh_endpoint *came = table_find(&planner->came, &to->endpoint);
	const uint32_t before = origin(planner, BLOB_TABLE_addresses, index);
	struct bh_endpoint entry, want = {};
	struct bh_addr addr;
	int error = find_entry(planner, &to->address, came, &entry);
	const bool there = !error;

	/* the maps and the old policy disagree */
	if ((error && error != -ENOENT) || (!there && before != UINT32_MAX) ||
	    (came && before != UINT32_MAX))
		return -EOPNOTSUPP;
	if (came)
		want = *came;
	error = came ? 0 : find_host_side(planner, to, before, there ? &entry : NULL, &want);
	if (error)
		return error;
	error = place_in(planner, to, &want);
	if (error)
		return error;
	planner->own |= is_here(planner, planner->new, to->endpoint);
	error = table_add(&planner->concerned, &to->address, NULL);
	if (error)
		return error;
	memcpy(&addr, &to->address, sizeof(addr));
	return assign_come(planner->handle, &addr, there ? &entry : NULL, &want, planner->change);
}

/* Accepts an address that is gone if it belongs to another node, or if its endpoint is gone.
 * Returns -ENOENT where `endpoint del` took an endpoint of this node off already. */
static int find_gone(struct planner *planner, const struct policy_address *from,
		     struct bh_endpoint *entry)
{
	const bool here = is_here(planner, planner->old, from->endpoint);
	int error = find_entry(planner, &from->address, false, entry);

	if (error && !(here && error == -ENOENT))
		return -EOPNOTSUPP;
	if (here && delta_place(planner->delta, BLOB_TABLE_endpoints, from->endpoint) != UINT32_MAX)
		return -EOPNOTSUPP;
	planner->own |= here;
	return !error && entry->ifindex && !here ? -EOPNOTSUPP : error;
}

static int plan_gone(struct planner *planner, uint32_t gone)
{
	const struct policy_address *from = address_at(planner->old, gone);
	struct bh_endpoint entry;
	struct bh_addr addr;
	int error = table_add(&planner->concerned, &from->address, NULL);

	if (!error)
		error = find_gone(planner, from, &entry);
	if (error)
		return error == -ENOENT ? 0 : error;
	memcpy(&addr, &from->address, sizeof(addr));
	error = assign_leave(planner->handle, &addr, &entry, planner->change);
	if (!error)
		error = table_add(&planner->change->maps[MAP_endpoints].gone, &addr, &entry);
	if (!error && entry.ifindex)
		error = own_endpoints_go(&planner->interfaces, entry.ifindex);
	return error;
}

/* Finds whether `endpoint add` added the endpoint, with all of its addresses at one interface, or
 * nothing has them. *before: the interface, or 0. */
static int find_before(struct planner *planner, const struct policy_endpoint *endpoint,
		       uint32_t *before)
{
	const struct bh_added name = name_of(planner->new, endpoint);
	const size_t added = count_added(planner, &name);

	if (added && added != endpoint->addresses.n)
		return -EOPNOTSUPP;
	for (uint32_t i = 0; i < endpoint->addresses.n; i++) {
		const struct address *address = &address_of(planner->new, endpoint, i)->address;
		const struct bh_added *record = table_find(&planner->added, address);
		struct bh_endpoint entry = {};
		int error = maps_lookup(planner->handle, MAP_endpoints, address, &entry);

		if (added ? !record || !record_is_of(record, &name) || error || !entry.ifindex
			  : record || error != -ENOENT)
			return -EOPNOTSUPP;
		if (i && entry.ifindex != *before)
			return -EOPNOTSUPP;
		*before = entry.ifindex;
		error = record ? table_add(&planner->taken, address, record) : 0;
		if (error)
			return error;
	}
	return 0;
}

/* An endpoint of the policy, as a node looks for it. */
struct sought {
	struct endpoint endpoint;
	struct address *addresses;
	struct cidr *sources;
};

static void sought_free(struct sought *sought)
{
	free(sought->addresses);
	free(sought->sources);
}

static int fill_sought(const struct planner *planner, const struct policy_endpoint *record,
		       struct sought *sought)
{
	const struct lazy_policy *new = planner->new;

	sought->addresses = calloc(record->addresses.n + 1, sizeof(*sought->addresses));
	sought->sources = calloc(record->allow_source.n + 1, sizeof(*sought->sources));
	if (!sought->addresses || !sought->sources)
		return -ENOMEM;
	for (uint32_t i = 0; i < record->addresses.n; i++)
		sought->addresses[i] = address_of(new, record, i)->address;
	for (uint32_t i = 0; i < record->allow_source.n; i++) {
		const struct policy_cidr *cidr =
			lazy_read(new, &new->cidrs[record->allow_source.at + i], sizeof(*cidr));

		sought->sources[i] = (struct cidr){cidr->address, cidr->length};
	}
	return 0;
}

static int make_sought(const struct planner *planner, const struct policy_endpoint *record,
		       const struct bh_added *name, struct sought *sought)
{
	const struct lazy_policy *new = planner->new;
	const struct policy_namespace *ns =
		lazy_read(new, &new->namespaces[record->ns], sizeof(*ns));

	if (fill_sought(planner, record, sought))
		return -ENOMEM;
	sought->endpoint = (struct endpoint){
		.ns_name = name->ns,
		.name = name->name,
		.interface = record->interface ? lazy_read_string(new, record->interface) : NULL,
		.addresses = sought->addresses,
		.n_addresses = record->addresses.n,
		.allow_source = sought->sources,
		.n_allow_source = record->allow_source.n,
		.has_mac = record->flags & POLICY_MAC,
		.l2 = record->flags & POLICY_L2,
		.audit = (record->flags | ns->flags) & POLICY_AUDIT,
	};
	memcpy(sought->endpoint.mac, record->mac, sizeof(record->mac));
	return 0;
}

/* Finds the interface of an endpoint that comes. */
static int plan_own(struct planner *planner, uint32_t index, struct bh_endpoint *want)
{
	CLEANUP(sought_free) struct sought sought = {};
	const struct policy_endpoint *record = endpoint_at(planner->new, index);
	const struct bh_added name = name_of(planner->new, record);
	uint32_t before = 0;
	int error = find_before(planner, record, &before);

	if (!error)
		error = make_sought(planner, record, &name, &sought);
	if (error)
		return error;
	planner->own = true;
	return own_endpoints_come(&planner->interfaces, &sought.endpoint, before, want);
}

static int plan_all_own(struct planner *planner)
{
	struct table *gone = &planner->change->maps[MAP_added].gone;
	int error = 0;

	for (size_t i = 0; !error && i < planner->came.n; i++)
		error = plan_own(planner, *(uint32_t *)table_key(&planner->came, i),
				 table_value(&planner->came, i));
	for (size_t i = 0; !error && i < planner->taken.n; i++)
		error = table_add(gone, table_key(&planner->taken, i),
				  table_value(&planner->taken, i));
	if (!error && extension_is_for(planner->handle, &planner->taken))
		error = -EOPNOTSUPP;
	return error ? error : own_endpoints_finish(&planner->interfaces);
}

/* Whether an endpoint that `endpoint add` brought keeps its place: it has the place by its
 * namespace's labels, or as a pod that the policy expects. */
static bool keeps_place(const struct planner *planner, const struct bh_added *added)
{
	const struct delta *delta = planner->delta;
	const struct lazy_policy *old = planner->old, *new = planner->new;
	const struct policy_namespace *was = lazy_namespace_by_name(old, added->ns),
				      *is = lazy_namespace_by_name(new, added->ns);
	struct bh_added pod = *added;

	/* a second sandbox of a pod has the interface's name behind the pod's */
	pod.name[strcspn(pod.name, ":")] = '\0';
	if (!was != !is || (was && delta_place(delta, BLOB_TABLE_namespaces,
					       was - old->namespaces) != is - new->namespaces))
		return false;
	return delta_is_settled(&delta->tables[BLOB_TABLE_expected]) ||
	       (!lazy_expected_by_name(old, pod.ns, pod.name) &&
		!lazy_expected_by_name(new, pod.ns, pod.name));
}

static int check_added(struct planner *planner)
{
	for (size_t i = 0; i < planner->added.n; i++)
		if (!table_find(&planner->taken, table_key(&planner->added, i)) &&
		    !keeps_place(planner, table_value(&planner->added, i)))
			return -EOPNOTSUPP;
	return 0;
}

static int plan_addresses(struct planner *planner)
{
	int error = list_addresses(planner);

	if (!error)
		error = each_gone(planner, BLOB_TABLE_addresses, plan_gone);
	if (!error)
		error = plan_all_own(planner);
	table_sort(&planner->taken);
	if (!error)
		error = check_added(planner);
	for (size_t i = 0; !error && i < planner->addresses.n; i++) {
		const uint32_t index = *(uint32_t *)table_key(&planner->addresses, i);

		if (i && index == *(uint32_t *)table_key(&planner->addresses, i - 1))
			continue;
		error = plan_address(planner, index);
	}
	return error;
}

/* Services whose backends come, go or move. */
static int plan_services(struct planner *planner)
{
	const struct services_delta services = {.handle = planner->handle,
						.delta = planner->delta,
						.policy = planner->new,
						.slots = planner->slots,
						.addresses = &planner->concerned,
						.taken = &planner->taken,
						.change = planner->change};

	table_sort(&planner->concerned);
	return services_delta_plan(&services);
}

/* What `endpoint add` brought. */
static int read_added(struct planner *planner)
{
	int error = maps_read(planner->handle, MAP_added, &planner->added);

	return error ? node_fail(planner->handle, error, "cannot read %s/added",
				 planner->handle->pin)
		     : 0;
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
		error = read_added(planner);
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
		error = plan_services(planner);
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
	maps_init_table(MAP_added, &planner.taken);
	table_init(&planner.came, sizeof(uint32_t), sizeof(struct bh_endpoint));
	table_init(&planner.concerned, sizeof(struct address), 0);
	own_endpoints_init(&planner.interfaces, handle, change);
	error = plan(&planner);
	if (error)
		return error;
	change->policy.header = header_of(&planner);
	change->policy.delta = delta;
	change->policy.slots = TAKE_PTR(planner.slots);
	change->policy.local = TAKE_PTR(planner.local);
	change->flips = change->settle = change->may_go = true;
	*own = planner.own;
	return 0;
}

/* A whole load repairs what a killed command left. */
static int plan_idle(struct node_handle *handle, const struct delta *delta, struct change *change,
		     bool *own)
{
	return node_is_busy(handle) ? -EOPNOTSUPP : load_delta_plan(handle, delta, change, own);
}

/* Counts what is guarded now. */
static void count_guarded(struct node_handle *handle, struct node_change *change)
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
	if (error)
		node_fail(handle, error, "cannot read %s/ifaces", handle->pin);
}

/* Once the new policy is in force, a failure is a warning, and 0 is returned. */
static int apply_or_warn(struct node_handle *handle, const struct change *change)
{
	struct outcome outcome;
	int error = apply(handle, change, &outcome);

	if (!error || !outcome.counts)
		return error;
	diag_warn(handle->diag, NULL, NULL,
		  "the policy is in force; the next load of a whole policy makes up for the rest");
	return 0;
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
		error = plan_idle(handle, delta, &change, &result->own);
	if (error)
		return error;
	write_desired(handle, delta->header.generation, delta->header.generation);
	error = apply_or_warn(handle, &change);
	if (error)
		return error;
	count_guarded(handle, result);
	result->generation = node_generation(handle);
	result->map_writes = handle->writes;
	return 0;
}

int node_check_delta(struct node_handle *handle, const struct delta *delta)
{
	CLEANUP(change_free) struct change change;
	bool own;

	change_init(&change, "load");
	return plan_idle(handle, delta, &change, &own);
}
