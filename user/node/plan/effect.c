// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/isolation.h"
#include "maps/endpoint.h"
#include "maps/iface.h"
#include "node/kernel/pinned_policy.h"
#include "node/local/iface_entry.h"
#include "node/plan/added_endpoints.h"
#include "node/plan/added_record.h"
#include "node/plan/effect.h"
#include "node/plan/isolated.h"
#include "node/plan/object_names.h"

/* Returns the active policy, to compare with; NULL: there is none, or not all of it can be read. */
static const struct lazy_policy *active_of(const struct planner *plan)
{
	return plan->delta || pinned_whole(plan->handle) ? plan->handle->policy : NULL;
}

struct object_sides {
	struct object_names before, after;
};

static void object_sides_free(struct object_sides *sides)
{
	object_names_free(&sides->before);
	object_names_free(&sides->after);
}

static int add_before(void *sides, const struct lazy_policy *policy, uint32_t index)
{
	return object_names_add(&((struct object_sides *)sides)->before, policy, index);
}

static int add_after(void *sides, const struct lazy_policy *policy, uint32_t index)
{
	return object_names_add(&((struct object_sides *)sides)->after, policy, index);
}

static int compare_policies(struct planner *plan, struct node_effect *effect)
{
	const struct lazy_policy *old = active_of(plan), *new = plan->new;
	CLEANUP(object_sides_free) struct object_sides sides = {};
	int error;

	effect->policies = new->n_given;
	effect->policies_before = old ? old->n_given : new->n_given;
	for (size_t i = 0; !plan->delta && i < new->n_given; i++)
		if (new->given[i].flags & POLICY_AUDIT)
			effect->policies_audited++;
	if (!plan->delta && (!old || old->checksum == new->checksum))
		return 0;
	error = planner_walk(plan, BLOB_TABLE_given, add_after, add_before, &sides);
	for (uint32_t i = 0; !error && !plan->delta && i < old->n_given; i++)
		error = add_before(&sides, old, i);
	object_names_sort(&sides.before);
	object_names_sort(&sides.after);
	return error ? error : object_names_compare(&sides.before, &sides.after, effect);
}

/* Both policies' isolations, which are read for the first endpoint that needs them: of a large
 * cluster they are many. */
struct both {
	struct isolations before, after;
	bool read;
};

static int read_both(const struct planner *plan, struct both *both)
{
	const struct lazy_policy *old = active_of(plan);
	int error = both->read || !old ? 0 : isolations_make(&both->before, old);

	if (!error && !both->read)
		error = isolations_make(&both->after, plan->new);
	both->read = true;
	return error;
}

static void both_free(struct both *both)
{
	isolations_free(&both->before);
	isolations_free(&both->after);
}

/* Finds the directions in which the active policy isolates an endpoint of this node that has the
 * address; 0: none has it. */
static int find_before(const struct planner *plan, const struct both *both,
		       const struct address *address, uint8_t *directions)
{
	struct bh_endpoint entry;

	*directions = 0;
	if (!active_of(plan) || maps_lookup(plan->handle, MAP_endpoints, address, &entry) ||
	    !entry.ifindex)
		return 0;
	return isolated_at(plan->handle, &both->before, address, directions);
}

/* Finds the segment that the new policy has for an address; NULL: none. *known: an endpoint of the
 * policy or a record has the address. */
static int find_after(const struct planner *plan, const struct address *address,
		      const struct policy_segment **segment, bool *known)
{
	const struct bh_added *record = added_kept(plan, address);
	const struct policy_address *found = record ? NULL : lazy_address_find(plan->new, address);
	struct placement placement = {.segment = POLICY_NOWHERE};
	int error = record ? added_find(plan, record, address, &placement) : 0;

	if (found)
		placement.segment = found->segment;
	*known = record || found;
	*segment = error || placement.segment == POLICY_NOWHERE
			   ? NULL
			   : LAZY_ONE(plan->new, segments, placement.segment);
	return error && error != -ENOENT ? error : lazy_error(plan->new);
}

static int open_endpoint(const struct planner *plan, const struct address *address,
			 struct node_opened opened, struct node_effect *effect)
{
	const struct bh_added *record = added_kept(plan, address);
	const struct policy_address *found = lazy_address_find(plan->new, address);
	struct bh_added owner;

	if ((!opened.directions && !opened.audited) || !(record || found))
		return 0;
	owner = record ? *record
		       : record_name_of(plan->new, LAZY_ONE(plan->new, endpoints, found->endpoint));
	if (asprintf(&opened.name, "%s/%s", owner.ns, owner.name) < 0)
		return -ENOMEM;
	effect->opened[effect->n_opened++] = opened;
	return 0;
}

/* Returns true if both policies isolate the same endpoints, but for those that move to another
 * segment. */
static bool keeps_isolations(const struct planner *plan)
{
	const struct delta_table *tables = plan->delta ? plan->delta->tables : NULL;

	return tables && delta_is_final(&tables[BLOB_TABLE_isolations]) &&
	       delta_is_final(&tables[BLOB_TABLE_matchers]);
}

/* Returns true if the policy has the endpoint of @iface in the segment in which it was, and that
 * segment has the members that it had. */
static bool stays(const struct planner *plan, const struct bh_iface *iface)
{
	const struct bh_addr *addrs[] = {&iface->ipv4, &iface->ipv6};
	const struct bh_addr none = {};
	bool any = false;

	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++) {
		const struct policy_address *found;
		struct address address;

		if (!memcmp(addrs[i], &none, sizeof(none)))
			continue;
		memcpy(&address, addrs[i], sizeof(address));
		found = lazy_address_find(plan->new, &address);
		if (!found || added_kept(plan, &address) ||
		    planner_is_fresh(plan, BLOB_TABLE_addresses, found - plan->new->addresses) ||
		    planner_is_fresh(plan, BLOB_TABLE_segments, found->segment))
			return false;
		any = true;
	}
	return any;
}

/* Compares the endpoint of an interface. @was: the interface's entry before; NULL: none. */
static int compare_endpoint(const struct planner *plan, const struct bh_iface *was,
			    const struct bh_iface *iface, const struct both *both,
			    struct node_effect *effect)
{
	const struct bh_addr *addrs[] = {&iface->ipv4, &iface->ipv6};
	const bool audited = iface->flags & BH_IFACE_AUDIT;
	struct node_opened opened = {.audited = audited && was && was->flags & BH_IFACE_ENDPOINT &&
						!(was->flags & BH_IFACE_AUDIT)};
	struct address address, first = {};
	uint8_t before, after = 0;
	bool any = false;
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(addrs); i++) {
		const struct policy_segment *segment;
		bool known = false;

		memcpy(&address, addrs[i], sizeof(address));
		error = find_before(plan, both, &address, &before);
		if (!error)
			error = find_after(plan, &address, &segment, &known);
		if (error || !known)
			continue;
		if (!any)
			first = address;
		any = true;
		after |= isolations_of(&both->after, segment);
		opened.directions |= before & ~isolations_of(&both->after, segment);
	}
	for (enum direction d = INGRESS; d <= EGRESS; d++)
		effect->isolated[d] += after >> d & 1;
	effect->audited += audited;
	return error ? error : open_endpoint(plan, &first, opened, effect);
}

/* Lists the interfaces as they are once the change is active. */
static int list_then(const struct change *change, const struct table *have, struct table *then)
{
	const struct change_map *map = &change->maps[MAP_ifaces];
	int error = 0;

	for (size_t i = 0; !error && i < have->n; i++) {
		const void *ifindex = table_key(have, i), *entry = table_seek(&map->late, ifindex);
		const struct change_role *role = table_seek(&change->role, ifindex);

		if (!role)
			role = table_seek(&change->late_role, ifindex);
		if (!entry)
			entry = table_seek(&change->quarantine, ifindex);
		if (!entry)
			entry = role ? &role->to : table_value(have, i);
		if (!table_seek(&map->deleted, ifindex))
			error = table_add(then, ifindex, entry);
	}
	for (size_t i = 0; !error && i < map->put.n; i++)
		error = table_add(then, table_key(&map->put, i), table_value(&map->put, i));
	return error;
}

static int compare_endpoints(const struct planner *plan, const struct table *have,
			     struct node_effect *effect)
{
	CLEANUP(both_free) struct both both = {};
	CLEANUP(table_free) struct table then = {};
	/* a follower tells whom a change opens, and no numbers */
	const bool few = plan->handle->options->quarantine && keeps_isolations(plan);
	int error;

	maps_init_table(MAP_ifaces, &then);
	error = list_then(plan->change, have, &then);
	effect->opened = calloc(then.n + 1, sizeof(*effect->opened));
	if (error || !effect->opened)
		return -ENOMEM;
	effect->counted = !few;
	for (size_t i = 0; !error && i < then.n; i++) {
		const struct bh_iface *iface = table_value(&then, i);
		const struct bh_iface *was = table_find(have, table_key(&then, i));

		if (!iface_entry_has_endpoint(iface) ||
		    (few && was && was->flags == iface->flags && stays(plan, iface)))
			continue;
		error = read_both(plan, &both);
		if (!error)
			error = compare_endpoint(plan, was, iface, &both, effect);
	}
	return error ? error : lazy_error(plan->new);
}

int effect_find(struct planner *plan)
{
	CLEANUP(table_free) struct table ifaces = {};
	struct node_handle *handle = plan->handle;
	int error;

	node_effect_free(handle->effect);
	handle->effect = calloc(1, sizeof(*handle->effect));
	if (!handle->effect)
		return -ENOMEM;
	maps_init_table(MAP_ifaces, &ifaces);
	error = maps_read(handle, MAP_ifaces, &ifaces);
	for (size_t i = 0; i < ifaces.n; i++)
		handle->effect->endpoints_before +=
			iface_entry_has_endpoint(table_value(&ifaces, i));
	if (!error)
		error = compare_policies(plan, handle->effect);
	if (!error && (!plan->keeps_segments || plan->concerns_node))
		error = compare_endpoints(plan, &ifaces, handle->effect);
	return error;
}

void effect_warn(const struct node_handle *handle)
{
	const struct node_effect *effect = handle->effect;

	for (size_t i = 0; effect && i < effect->n_deleted; i++)
		diag_warn(handle->diag, NULL, NULL, "policy %s is deleted: the input lacks it",
			  effect->deleted[i]);
	for (size_t i = 0; effect && i < effect->n_audits; i++)
		diag_warn(handle->diag, NULL, NULL,
			  "policy %s is audited only: it denies nothing any more",
			  effect->audits[i]);
	for (size_t i = 0; effect && i < effect->n_opened; i++) {
		const struct node_opened *opened = &effect->opened[i];

		if (opened->directions)
			diag_warn(handle->diag, NULL, NULL, "endpoint %s is isolated no longer %s",
				  opened->name, isolation_directions(opened->directions));
		if (opened->audited)
			diag_warn(handle->diag, NULL, NULL,
				  "endpoint %s is audited only: policy denies it nothing any more",
				  opened->name);
	}
}
