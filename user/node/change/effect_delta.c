// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/isolation.h"
#include "maps/iface.h"
#include "node/change/effect_delta.h"
#include "node/change/added_delta.h"
#include "node/change/iface_entry.h"
#include "node/change/isolated.h"
#include "node/change/object_names.h"

static int compare_policies(const struct planner *plan, struct node_effect *effect)
{
	const struct delta_table *table = &plan->delta->tables[BLOB_TABLE_given];
	CLEANUP(object_names_free) struct object_names before = {}, after = {};
	int error = 0;

	effect->policies = table->n;
	effect->policies_before = table->n_base;
	for (uint32_t i = delta_next_deleted(table, 0); !error && i < table->n_base;
	     i = delta_next_deleted(table, i + 1))
		error = object_names_add(&before, plan->old, i);
	for (uint32_t i = delta_next_new(table, 0); !error && i < table->n;
	     i = delta_next_new(table, i + 1)) {
		const uint32_t replaced = delta_origin(table, i);

		if (replaced != UINT32_MAX)
			error = object_names_add(&before, plan->old, replaced);
		if (!error)
			error = object_names_add(&after, plan->new, i);
	}
	object_names_sort(&before);
	object_names_sort(&after);
	return error ? error : object_names_compare(&before, &after, effect);
}

/* Finds the segment that the new policy has for an address; NULL: none. *known: an endpoint of this
 * node or a record has the address. */
static int find_after(const struct planner *plan, const struct address *address,
		      const struct policy_segment **segment, bool *known)
{
	const struct bh_added *record = added_delta_kept(plan, address);
	const struct policy_address *found = lazy_address_find(plan->new, address);
	struct placement placement = {};
	int error;

	*segment = NULL;
	*known = record || (found && planner_is_here(plan, plan->new, found->endpoint));
	if (!*known)
		return lazy_error(plan->new);
	if (!record) {
		*segment = delta_segment(plan->new, found->segment);
		return lazy_error(plan->new);
	}
	error = added_delta_find(plan, record, address, &placement);
	if (!error)
		*segment = delta_segment(plan->new, placement.segment);
	return error == -ENOENT ? 0 : error;
}

/* Both policies' isolations, which are read for the first endpoint that needs them: of a large
 * cluster they are many. */
struct both {
	struct isolations before, after;
	bool read;
};

static int read_both(const struct planner *plan, struct both *both)
{
	int error = both->read ? 0 : isolations_make(&both->before, plan->handle->policy);

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

/* Returns the flags of an interface once the change is active. */
static uint32_t flags_then(const struct planner *plan, uint32_t ifindex,
			   const struct bh_iface *iface)
{
	const struct bh_iface *then = table_seek(&plan->change->maps[MAP_ifaces].late, &ifindex);

	return then ? then->flags : iface->flags;
}

static int open_endpoint(const struct planner *plan, const struct address *address,
			 struct node_opened opened, struct node_effect *effect)
{
	const struct bh_added *record = added_delta_kept(plan, address);
	const struct policy_address *found = lazy_address_find(plan->new, address);
	struct bh_added owner;

	if ((!opened.directions && !opened.audited) || !(record || found))
		return 0;
	owner = record ? *record
		       : planner_name(plan->new, delta_endpoint(plan->new, found->endpoint));
	if (asprintf(&opened.name, "%s/%s", owner.ns, owner.name) < 0)
		return -ENOMEM;
	effect->opened[effect->n_opened++] = opened;
	return 0;
}

/* Returns true if both policies isolate the same endpoints, but for those that move to another
 * segment. */
static bool keeps_isolations(const struct planner *plan)
{
	const struct delta_table *tables = plan->delta->tables;

	return delta_is_final(&tables[BLOB_TABLE_isolations]) &&
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
		if (!found || added_delta_kept(plan, &address) ||
		    planner_is_fresh(plan, BLOB_TABLE_addresses, found - plan->new->addresses) ||
		    planner_is_fresh(plan, BLOB_TABLE_segments, found->segment))
			return false;
		any = true;
	}
	return any;
}

/* @flags: the interface's, once the change is active. */
static int compare_endpoint(const struct planner *plan, const struct bh_iface *iface,
			    uint32_t flags, const struct both *both, struct node_effect *effect)
{
	const struct bh_addr *addrs[] = {&iface->ipv4, &iface->ipv6};
	struct node_opened opened = {.audited = flags & ~iface->flags & BH_IFACE_AUDIT};
	struct address address, first = {};
	uint8_t after = 0;
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(addrs); i++) {
		const struct policy_segment *segment = NULL;
		uint8_t before = 0;
		bool known = false;

		memcpy(&address, addrs[i], sizeof(address));
		error = isolated_at(plan->handle, &both->before, &address, &before);
		if (!error)
			error = find_after(plan, &address, &segment, &known);
		if (error || !known)
			continue;
		after |= isolations_of(&both->after, segment);
		if (!opened.directions)
			first = address;
		opened.directions |= before & ~isolations_of(&both->after, segment);
	}
	for (enum direction d = INGRESS; d <= EGRESS; d++)
		effect->isolated[d] += after >> d & 1;
	effect->audited += !!(flags & BH_IFACE_AUDIT);
	return error ? error : open_endpoint(plan, &first, opened, effect);
}

static int compare_endpoints(const struct planner *plan, const struct table *ifaces,
			     struct node_effect *effect)
{
	CLEANUP(both_free) struct both both = {};
	/* a follower tells whom a change opens, and no numbers */
	const bool few = plan->handle->options->quarantine && keeps_isolations(plan);
	int error = 0;

	effect->opened = calloc(ifaces->n + 1, sizeof(*effect->opened));
	if (!effect->opened)
		return -ENOMEM;
	effect->counted = !few;
	for (size_t i = 0; !error && i < ifaces->n; i++) {
		const struct bh_iface *iface = table_value(ifaces, i);
		const uint32_t flags =
			flags_then(plan, *(const uint32_t *)table_key(ifaces, i), iface);

		if (!(iface->flags & BH_IFACE_ENDPOINT) ||
		    (few && flags == iface->flags && stays(plan, iface)))
			continue;
		error = read_both(plan, &both);
		if (!error)
			error = compare_endpoint(plan, iface, flags, &both, effect);
	}
	return error ? error : lazy_error(plan->new);
}

int effect_delta_find(struct planner *plan)
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
	if (!error && (!plan->kept || plan->own))
		error = compare_endpoints(plan, &ifaces, handle->effect);
	return error ? node_fail(handle, error, "cannot compare with the active policy") : 0;
}
