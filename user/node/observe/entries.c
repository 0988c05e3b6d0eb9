// SPDX-License-Identifier: GPL-2.0-only
/* The entries of the maps that are not as the active policy says: what a load of it would change.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "maps/assign.h"
#include "maps/dns.h"
#include "maps/endpoint.h"
#include "maps/service.h"
#include "node/change/dry_run.h"
#include "node/kernel/attach.h"
#include "node/kernel/maps.h"
#include "node/kernel/pinned_policy.h"
#include "node/kernel/programs.h"
#include "node/local/iface_entry.h"
#include "node/local/local_entries.h"
#include "node/plan/active_endpoints.h"
#include "node/plan/compare_maps.h"
#include "node/plan/planner_parts.h"

struct entry_search {
	struct node_handle *handle;
	struct image have;
	struct local local;
	struct cluster staying; /* added endpoints */
	struct planner plan, later;
	struct policy *staged;
	struct change change; /* what a load of the active policy changes */
	struct change of_staged; /* only its `wrong` counts */
	bool moved; /* endpoints were added or deleted since the load */
	bool gone; /* interfaces are gone, of which the next command deletes the entries */
	bool told; /* options of the load named the resolvers */
	node_found *found;
	void *data;
};

static void search_end(struct entry_search *search)
{
	local_free(&search->local);
	cluster_free(&search->staying);
	planner_free(&search->plan);
	planner_free(&search->later);
	policy_free(search->staged);
	change_free(&search->change);
	change_free(&search->of_staged);
	image_free(&search->have);
}

static bool is_gone(uint32_t ifindex)
{
	char name[IF_NAMESIZE];

	return !if_indextoname(ifindex, name);
}

/* Returns true if a Service's entry is as the policy says, but for what commands leave to the
 * backends: after `endpoint add` the entry says that they differ, and after `endpoint del` it still
 * counts the deleted one. */
static bool service_is_fine(const struct entry_search *search, const struct bh_service_key *key,
			    const struct bh_assign *request)
{
	const struct bh_service *service = table_find(&search->have.map[MAP_services], key);
	const int valid = bh_service_valid(service, node_generation(search->handle));
	struct bh_service_at want = request->at, there;

	if (valid < 0)
		return false;
	there = service->at[valid];
	want.from = there.from;
	if (search->moved || !there.backend) {
		want.backend = there.backend;
		want.point = there.point;
	}
	if (search->moved)
		want.flags ^= (want.flags ^ there.flags) & BH_SERVICE_ENFORCED;
	return !memcmp(&want, &there, sizeof(want));
}

static bool endpoint_is_gone(const struct entry_search *search, const void *key)
{
	const struct bh_endpoint *entry = table_find(&search->have.map[MAP_endpoints], key);

	return entry && entry->ifindex && is_gone(entry->ifindex);
}

/* Returns true if a difference of an interface's entry is told elsewhere, or goes by itself. */
static bool iface_is_known(const struct entry_search *search, const uint32_t *ifindex,
			   enum node_fault fault)
{
	const struct bh_iface *iface = table_find(&search->have.map[MAP_ifaces], ifindex);

	/* node_status() finds interfaces that have come up since */
	return fault == NODE_ENTRY_MISSING || is_gone(*ifindex) ||
	       (search->gone && iface && !(iface->flags & BH_IFACE_ENDPOINT));
}

/* Returns true if an entry that a load would write or delete is no fault. */
static bool is_fine(const struct entry_search *search, enum node_map_id map, const void *key,
		    const void *value, enum node_fault fault)
{
	if (map == MAP_ports) /* the entries that refer to a list are named */
		return true;
	if (map == MAP_added) /* the endpoints that were added count as they are */
		return true;
	if (map == MAP_ifaces)
		return iface_is_known(search, key, fault);
	if (iface_entry_deletes(map))
		return search->gone && fault == NODE_ENTRY_SURPLUS;
	if (map == MAP_resolvers) /* another container may have another resolv.conf */
		return search->told ||
		       ((const struct bh_resolver *)value)->flags & BH_RESOLVER_NODE;
	if (map == MAP_endpoints)
		return endpoint_is_gone(search, key);
	return false;
}

static void name(const struct entry_search *search, enum node_map_id map, const void *key,
		 enum node_fault fault)
{
	char text[DRY_RUN_NAME];

	dry_run_name(text, map, key);
	search->found(search->data, node_map_names[map], text, fault);
}

/* Names the entries of @table, but for those of @told: these are named already. */
static void name_all(const struct entry_search *search, enum node_map_id map,
		     const struct table *table, const struct table *told, enum node_fault fault)
{
	const struct table *have = &search->have.map[map];

	for (size_t i = 0; i < table->n; i++) {
		const void *key = table_key(table, i);
		const enum node_fault as =
			fault == NODE_ENTRY_MISSING && map != MAP_segments && table_find(have, key)
				? NODE_ENTRY_DIFFERENT
				: fault;

		if (!(told && table_find(told, key)) &&
		    !is_fine(search, map, key, table_value(table, i), as))
			name(search, map, key, as);
	}
}

static void name_stores(const struct entry_search *search, enum node_map_id map)
{
	const struct change_map *changes = &search->change.maps[map];

	for (size_t i = 0; i < changes->store.n; i++) {
		const void *key = table_key(&changes->store, i);
		const struct bh_assign *request = table_value(&changes->store, i);

		if (!table_find(&changes->deleted, key) &&
		    !(map == MAP_services && service_is_fine(search, key, request)) &&
		    !is_fine(search, map, key, request, NODE_ENTRY_DIFFERENT))
			name(search, map, key, NODE_ENTRY_DIFFERENT);
	}
}

static void name_map(struct entry_search *search, enum node_map_id map)
{
	struct change_map *changes = &search->change.maps[map];

	/* an entry that is deleted is written before, too */
	table_sort(&changes->deleted);
	table_sort(&changes->late);
	name_all(search, map, &changes->put, &changes->deleted, NODE_ENTRY_MISSING);
	name_stores(search, map);
	name_all(search, map, &changes->late, NULL, NODE_ENTRY_DIFFERENT);
	name_all(search, map, &changes->wrong, NULL, NODE_ENTRY_DIFFERENT);
	name_all(search, map, &search->of_staged.maps[map].wrong, &changes->wrong,
		 NODE_ENTRY_DIFFERENT);
	name_all(search, map, &changes->deleted, NULL, NODE_ENTRY_SURPLUS);
}

static void name_roles(struct entry_search *search)
{
	const struct change *change = &search->change;

	name_all(search, MAP_ifaces, &change->role, &change->maps[MAP_ifaces].late,
		 NODE_ENTRY_DIFFERENT);
	name_all(search, MAP_ifaces, &change->late_role, NULL, NODE_ENTRY_DIFFERENT);
}

/* Looks at this node as the last load did: by the uplinks that the maps have. */
static int read_local(struct entry_search *search)
{
	struct node_handle *handle = search->handle;
	const struct table *ifaces = &search->have.map[MAP_ifaces];
	SCOPED_FREE char(*names)[IF_NAMESIZE] = calloc(ifaces->n + 1, sizeof(*names));
	SCOPED_FREE const char **uplinks = calloc(ifaces->n + 1, sizeof(*uplinks));
	const struct node_options *before = handle->options;
	struct node_options options = {
		.pin = before->pin,
		.name = handle->blob.node,
		.uplinks = uplinks,
		.audit = handle->blob.flags & BH_BLOB_AUDIT,
		.boot = true,
		.late = true,
	};
	int error = names && uplinks ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < ifaces->n; i++) {
		const uint32_t *ifindex = table_key(ifaces, i);
		const struct bh_iface *iface = table_value(ifaces, i);

		if (!if_indextoname(*ifindex, names[i]))
			search->gone = true;
		else if (iface->flags & BH_IFACE_UPLINK)
			uplinks[options.n_uplinks++] = names[i];
	}
	if (error)
		return node_fail(handle, error, "cannot compare the interfaces");
	handle->options = &options;
	error = local_choose_name(handle, pinned_whole(handle), &search->local);
	if (!error)
		error = local_read(handle, pinned_whole(handle), &search->staying, &search->local);
	handle->options = before;
	return error;
}

static int compare(struct entry_search *search)
{
	struct node_handle *handle = search->handle;
	const struct table *resolvers = &search->have.map[MAP_resolvers];
	int error = image_read(handle, &search->have);

	maps_init_table(MAP_endpoints, &search->local.kept);
	for (size_t i = 0; i < resolvers->n; i++)
		search->told |=
			((struct bh_resolver *)table_value(resolvers, i))->flags & BH_RESOLVER_SAID;
	if (!error)
		error = active_expect(handle, &search->local, &search->staying, &search->moved);
	if (!error)
		error = read_local(search);
	if (error)
		return error;
	planner_init(&search->plan, handle, pinned_whole(handle), handle->blob.ids, &search->have,
		     &search->change);
	search->plan.local = &search->local;
	search->plan.wrong = WRONG_LIST;
	error = compare_maps(&search->plan);
	if (!error)
		error = segment_entries_plan_staged(handle, &search->have, &search->staged,
						    &search->of_staged, &search->later);
	return error ? error
		     : segment_entries_collect(&search->plan,
					       search->staged ? &search->later : NULL);
}

/* The planners warn of what a load does: here nothing is loaded. */
static void print_error(FILE *to, const struct diag_message *message)
{
	if (message->level == DIAG_ERROR)
		diag_print(to, message);
}

static int name_unpinned(void *data, const char *pin, int fd)
{
	const struct entry_search *search = data;

	(void)fd;
	search->found(search->data, "pin", pin, NODE_ENTRY_MISSING);
	return 0;
}

int node_compare(const char *pin, struct diag *diag, node_found *found, void *data)
{
	const struct node_options options = {.pin = pin};
	struct diag errors = {.to = diag->to, .print = print_error};
	SCOPED_HANDLE struct node_handle *handle = NULL;
	CLEANUP(search_end) struct entry_search search = {.found = found, .data = data};
	int error = node_open(&options, false, &errors, &handle);

	search.handle = handle;
	image_init(&search.have);
	cluster_init(&search.staying);
	change_init(&search.change, "status --check");
	change_init(&search.of_staged, "status --check");
	if (!error && handle)
		error = pinned_read(handle);
	if (error || !handle || !handle->policy || node_is_busy(handle) ||
	    attach_is_elsewhere(handle))
		return error;
	error = programs_unpinned(handle, name_unpinned, &search);
	if (!error)
		error = compare(&search);
	for (enum node_map_id map = 0; !error && map < N_NODE_MAPS; map++)
		name_map(&search, map);
	if (!error)
		name_roles(&search);
	return error;
}
