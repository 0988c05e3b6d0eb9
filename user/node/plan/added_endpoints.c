// SPDX-License-Identifier: GPL-2.0-only
#include "node/plan/added_endpoints.h"

#include <errno.h>
#include <string.h>

#include "policy/delta_rebase.h"
#include "policy/expected.h"
#include "maps/assign.h"
#include "maps/endpoint.h"
#include "node/kernel/pinned_policy.h"
#include "node/plan/added_record.h"
#include "node/plan/assignment.h"
#include "node/plan/extension.h"

int added_read(struct planner *plan)
{
	const struct table *added = &plan->added;
	int error;

	maps_init_table(MAP_added, &plan->added);
	maps_init_table(MAP_added, &plan->added_gone);
	table_init(&plan->added_words, sizeof(struct address), sizeof(uint64_t));
	error = maps_read(plan->handle, MAP_added, &plan->added);
	if (error)
		return node_fail(plan->handle, error, "cannot read %s/added", plan->handle->pin);
	for (size_t i = 0; !error && plan->local && i < added->n; i++)
		if (!table_find(&plan->local->kept, table_key(added, i)))
			error = table_add(&plan->added_gone, table_key(added, i),
					  table_value(added, i));
	return error;
}

int added_knows(const struct planner *plan, const struct bh_added *record, bool *known)
{
	CLEANUP(cluster_free) struct cluster cluster;
	struct endpoint *endpoint;
	int error;

	cluster_init(&cluster);
	error = record_read(record, &cluster, &endpoint);
	if (error)
		return node_fail(plan->handle, error, "cannot read %s/added", plan->handle->pin);
	/* a note without a name says no more than that the entry is gone */
	*known = !*record->name || record_is_known(plan->new, endpoint);
	return 0;
}

const struct bh_added *added_kept(const struct planner *plan, const struct address *address)
{
	return table_find(&plan->added_gone, address) ? NULL : table_find(&plan->added, address);
}

/* Returns true if the delta brings, changes, moves or deletes the policy's pod of that name. A
 * sandbox of the pod at another address has the place that the pod has (policy/expected.h). */
static bool changes_pod(const struct planner *plan, const struct bh_added *name)
{
	const struct lazy_policy *new = plan->new;
	const struct policy_endpoint *pod = lazy_endpoint_by_name(new, name->ns, name->name);

	if (!pod)
		return lazy_endpoint_by_name(plan->old, name->ns, name->name);
	if (planner_is_fresh(plan, BLOB_TABLE_endpoints, pod - new->endpoints))
		return true;
	for (uint32_t i = 0; i < pod->addresses.n; i++)
		if (planner_is_fresh(plan, BLOB_TABLE_addresses,
				     lazy_address_of(new, pod, i) - new->addresses))
			return true;
	return false;
}

bool added_changes(const struct planner *plan, const struct bh_added *added)
{
	const struct lazy_policy *old = plan->old, *new = plan->new;
	const struct policy_namespace *ns = lazy_namespace_by_name(new, added->ns);
	struct bh_added pod = *added;

	/* a second sandbox of a pod has the interface's name behind the pod's */
	pod.name[strcspn(pod.name, ":")] = '\0';
	if (ns ? planner_is_fresh(plan, BLOB_TABLE_namespaces, ns - new->namespaces)
	       : lazy_namespace_by_name(old, added->ns) != NULL)
		return true;
	if (changes_pod(plan, &pod))
		return true;
	return !delta_is_final(planner_table(plan, BLOB_TABLE_expected)) &&
	       (lazy_expected_by_name(old, pod.ns, pod.name) ||
		lazy_expected_by_name(new, pod.ns, pod.name));
}

/* Returns true if an added endpoint may get another place. */
static bool may_move(const struct planner *plan, const struct address *address,
		     const struct bh_added *added)
{
	return !table_find(&plan->added_gone, address) &&
	       (!plan->keeps_segments || plan->extension_ends || added_changes(plan, added));
}

/* Lists the endpoints for which the node has to extend the new policy. */
static int find_needy(struct planner *plan)
{
	bool any = false;
	int error;

	for (size_t i = 0; i < plan->added.n && !any; i++)
		any = may_move(plan, table_key(&plan->added, i), table_value(&plan->added, i));
	if (!any)
		return 0;
	error = extension_needy(plan->handle, plan->new, &plan->added_gone, plan->needy);
	return !error && plan->needy->n_endpoints ? COMPARE_ALL : error;
}

int added_local(struct planner *plan)
{
	const struct delta *local = pinned_local(plan->handle);
	int error = 0;

	plan->extension_ends = local && (plan->extension || !plan->keeps_segments ||
					 extension_is_for(plan->handle, &plan->added_gone));
	if (local && !plan->extension_ends)
		error = delta_rebase(local, plan->delta, &plan->extension);
	if (error == -EOPNOTSUPP)
		plan->extension_ends = true;
	else if (error)
		return node_fail(plan->handle, error, "cannot write the policy down");
	return plan->needy ? find_needy(plan) : 0;
}

int added_find(const struct planner *plan, const struct bh_added *added,
	       const struct address *address, struct placement *placement)
{
	CLEANUP(cluster_free) struct cluster cluster;
	struct endpoint *endpoint;
	int error;

	cluster_init(&cluster);
	error = record_read(added, &cluster, &endpoint);
	if (error)
		return error;
	expected_find(plan->new, &cluster, endpoint);
	return policy_place(plan->new, endpoint, address, placement);
}

/* Moves an address of an added endpoint from where the maps have it to where the new policy places
 * it. Without a segment it is isolated. A delta leaves the endpoint's interface as it is. */
static int place_anew(struct planner *plan, const struct address *address,
		      const struct bh_added *added)
{
	struct placement placement = {};
	struct bh_endpoint entry, want;
	struct bh_addr addr;
	uint32_t slot = 0;
	int error = added_find(plan, added, address, &placement);

	if (!error)
		error = planner_slot(plan, placement.segment, &slot);
	if (error && error != -ENOENT)
		return error;
	error = maps_lookup(plan->handle, MAP_endpoints, address, &entry);
	if (error && (error != -ENOENT || plan->delta))
		return error == -ENOENT ? 0 : error;
	want = plan->local ? *(struct bh_endpoint *)table_find(&plan->local->kept, address) : entry;
	want.assignment[0] = bh_assignment(0, slot, placement.variation);
	memcpy(&addr, address, sizeof(addr));
	error = assign_add(plan->handle, &addr, error ? NULL : &entry, &want, plan->change);
	if (!error)
		error = table_add(&plan->added_words, address, &want.assignment[0]);
	return error ? error : table_add(&plan->concerned, address, NULL);
}

int added_place(struct planner *plan)
{
	const struct table *gone = &plan->added_gone;
	int error = 0;

	for (size_t i = 0; !error && i < gone->n; i++)
		error = table_add(&plan->change->maps[MAP_added].deleted, table_key(gone, i),
				  table_value(gone, i));
	for (size_t i = 0; !error && i < plan->added.n; i++) {
		const struct address *address = table_key(&plan->added, i);
		const struct bh_added *added = table_value(&plan->added, i);

		if (may_move(plan, address, added))
			error = place_anew(plan, address, added);
	}
	return error;
}

int added_word(const struct planner *plan, const struct address *address, uint64_t *word)
{
	const uint64_t *placed = table_find(&plan->added_words, address);
	struct bh_endpoint entry;
	int error = placed ? 0 : maps_lookup(plan->handle, MAP_endpoints, address, &entry);

	if (placed)
		*word = *placed;
	else if (!error)
		*word = bh_assignment_at(entry.assignment[0], entry.assignment[1],
					 node_generation(plan->handle));
	return error;
}
