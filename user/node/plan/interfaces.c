// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "node/local/iface_entry.h"
#include "node/plan/planner_parts.h"

/* Keeps BH_IFACE_QDISC, which the loader sets for itself. */
static void keep_flags(void *want, const void *have)
{
	((struct bh_iface *)want)->flags |= ((const struct bh_iface *)have)->flags & BH_IFACE_QDISC;
}

/*
 * Plans the change of an interface's entry. An interface is guarded as an endpoint's before the
 * endpoint is active. An interface that is no uplink any more loses its XDP program before the
 * commit, too, and so before its bridge can get one: the kernel does not detach XDP from an
 * interface below another that has XDP. All other changes wait for the commit, so that a load that
 * fails before the commit changes nothing that is active.
 */
static int change_iface(struct change *change, const void *ifindex, const struct bh_iface *from,
			const struct bh_iface *to)
{
	const struct change_role role = {*from, *to};

	if (iface_entry_has_endpoint(from) && iface_entry_is_quarantined(to))
		return table_add(&change->quarantine, ifindex, to);
	if (change->early)
		return table_add(&change->role, ifindex, &role);
	if (!interfaces_change_role(from, to))
		return change_replace_iface(change, ifindex, from, to);
	if (from->flags & BH_IFACE_UPLINK || to->flags & BH_IFACE_ENDPOINT)
		return table_add(&change->role, ifindex, &role);
	return table_add(&change->late_role, ifindex, &role);
}

/* @old: the active entry; NULL: none. */
static int plan_entry(struct change *change, enum node_map_id map, const void *key, const void *old,
		      void *value)
{
	struct change_map *to = &change->maps[map];

	if (old && map == MAP_ifaces)
		keep_flags(value, old);
	if (!old)
		return table_add(&to->put, key, value);
	if (!memcmp(old, value, to->put.value_size))
		return 0;
	return map == MAP_ifaces ? change_iface(change, key, old, value)
				 : table_add(&to->late, key, value);
}

static int plan_deleted(struct change *change, enum node_map_id map, const struct table *have,
			const struct table *want, table_filter *is_concerned, const void *what)
{
	int error = 0;

	for (size_t i = 0; !error && i < have->n; i++) {
		const void *key = table_key(have, i), *value = table_value(have, i);

		if (table_find(want, key) || (is_concerned && !is_concerned(what, key, value)))
			continue;
		error = table_add(&change->maps[map].deleted, key, value);
		if (!error && map == MAP_ifaces)
			error = table_add(&change->detach, key, NULL);
	}
	return error;
}

int interfaces_plan_map(struct change *change, enum node_map_id map, const struct table *have,
			const struct table *want, table_filter *is_concerned, const void *what)
{
	const struct change_map *to = &change->maps[map];
	int error = 0;

	for (size_t i = 0; !error && i < want->n; i++)
		error = plan_entry(change, map, table_key(want, i),
				   table_find(have, table_key(want, i)), table_value(want, i));
	if (!error)
		error = plan_deleted(change, map, have, want, is_concerned, what);
	change->commits_again |= to->late.n || (map == MAP_ifaces && change->late_role.n);
	change_want(change, map, have->n + to->put.n);
	return error;
}

/* Checks that no uplink becomes an endpoint's interface or the other way round: they carry
 * different programs. A bridge's port may become either, and either may become a bridge's port. */
static int check_roles(const struct planner *plan)
{
	const struct table *want = &plan->local->ifaces, *have = &plan->have->map[MAP_ifaces];

	for (size_t i = 0; i < want->n; i++) {
		const uint32_t *ifindex = table_key(want, i);
		const struct bh_iface *iface = table_value(want, i),
				      *old = table_find(have, ifindex);
		char name[IF_NAMESIZE] = "?";

		if (!old || !interfaces_change_role(old, iface) ||
		    (old->flags | iface->flags) & (BH_IFACE_PORT | BH_IFACE_OTHER))
			continue;
		diag_error(plan->handle->diag, NULL, NULL,
			   "%s is guarded as %s: load once without it, or unload, to make it %s",
			   if_indextoname(*ifindex, name) ? name : "?",
			   old->flags & BH_IFACE_UPLINK ? "an uplink" : "an endpoint's interface",
			   old->flags & BH_IFACE_UPLINK ? "an endpoint's" : "an uplink");
		return -EINVAL;
	}
	return 0;
}

int interfaces_plan(struct planner *plan)
{
	int error = check_roles(plan);

	for (int i = 0; !error && i < N_NODE_MAPS; i++)
		if (node_map_kinds[i] == MAP_KIND_LOCAL)
			error = interfaces_plan_map(plan->change, i, &plan->have->map[i],
						    local_table(plan->local, i), NULL, NULL);
	return error;
}
