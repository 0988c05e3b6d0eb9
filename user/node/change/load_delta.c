// SPDX-License-Identifier: GPL-2.0-only
/* Loads and stages a delta: by the plan of a delta, or of the whole policy if that is needed. */
#include <string.h>

#include "policy/blob_file.h"
#include "node/change/apply.h"
#include "node/kernel/rights.h"
#include "node/local/iface_entry.h"
#include "node/plan/delta_plan.h"
#include "node/plan/effect.h"
#include "node/plan/guard_rail.h"
#include "node/plan/planner.h"
#include "node/plan/planner_parts.h"

/* A whole load repairs what a killed command left. */
static int plan_idle(struct node_handle *handle, const struct delta *delta, bool stages,
		     struct change *change, bool *own)
{
	const struct delta_header *header = &delta->header;
	int error = node_is_busy(handle) ? COMPARE_ALL : 0;

	if (!error)
		error = guard_rail_check_count(handle, delta->tables[BLOB_TABLE_given].n,
					       header->checksum);
	return error ? error : delta_plan(handle, delta, stages, change, own);
}

/* Counts the interfaces that are guarded now. */
static void count_guarded(struct node_handle *handle, struct node_change *change)
{
	CLEANUP(table_free) struct table ifaces = {};
	int error;

	maps_init_table(MAP_ifaces, &ifaces);
	error = maps_read(handle, MAP_ifaces, &ifaces);
	for (size_t i = 0; i < ifaces.n; i++) {
		const struct bh_iface *iface = table_value(&ifaces, i);

		change->endpoints += iface_entry_has_endpoint(iface);
		change->uplinks += !!(iface->flags & BH_IFACE_UPLINK);
		change->ports += !!(iface->flags & BH_IFACE_PORT);
	}
	if (error)
		node_fail(handle, error, "cannot read %s/ifaces", handle->pin);
}

/* Once the new policy is active, a failure is a warning, and 0 is returned. */
static int apply_or_warn(struct node_handle *handle, const struct change *change)
{
	struct outcome outcome;
	int error = apply(handle, change, &outcome);

	if (!error || !outcome.counts)
		return error;
	diag_warn(handle->diag, NULL, NULL,
		  "policy: active, but not complete; the next load of a whole policy completes it");
	return 0;
}

/* Loads or stages the policy that the delta makes, with everything compared. */
static int compare_all(struct node_handle *handle, const struct delta *delta,
		       int (*load)(struct node_handle *handle, const struct policy *policy,
				   struct node_change *result),
		       struct node_change *result, struct policy **whole)
{
	struct policy *policy = NULL;
	int error = delta_make_whole(handle, delta, &policy);

	if (!error)
		error = load(handle, policy, result);
	if (!error)
		result->own = result->whole = true;
	if (!error && whole)
		*whole = TAKE_PTR(policy);
	policy_free(policy);
	return error;
}

int node_load_delta(struct node_handle *handle, const struct delta *delta,
		    struct node_change *result, struct policy **whole)
{
	CLEANUP(change_free) struct change change;
	int error = rights_to_change(handle);

	change_init(&change, "load");
	*result = (struct node_change){.policy_generation = delta->header.generation,
				       .endpoint_generation = delta->header.generation};
	strcpy(result->node, handle->blob.node);
	if (!error)
		error = plan_idle(handle, delta, false, &change, &result->own);
	if (error == COMPARE_ALL)
		return compare_all(handle, delta, node_load, result, whole);
	if (error)
		return error;
	effect_warn(handle);
	apply_desired(handle, delta->header.generation, delta->header.generation);
	error = apply_or_warn(handle, &change);
	if (error)
		return error;
	if (whole)
		*whole = TAKE_PTR(change.policy.whole);
	count_guarded(handle, result);
	result->generation = node_generation(handle);
	result->map_writes = handle->writes;
	result->replaced = change.replace;
	result->tc = handle->tc;
	result->effect = handle->effect;
	return 0;
}

int node_stage_delta(struct node_handle *handle, const struct delta *delta, bool always,
		     struct node_change *result)
{
	CLEANUP(change_free) struct change whole, stage;
	int error = rights_to_change(handle);

	change_init(&whole, "load");
	change_init(&stage, "load --stage");
	*result = (struct node_change){.policy_generation = delta->header.generation,
				       .endpoint_generation = handle->policy->generation};
	strcpy(result->node, handle->blob.node);
	if (!error)
		error = plan_idle(handle, delta, true, &whole, &result->own);
	if (error == COMPARE_ALL)
		return compare_all(handle, delta, node_stage, result, NULL);
	if (error)
		return error;
	if (always || segment_entries_puts(&whole)) {
		delta_plan_stage(&whole, &stage);
		apply_desired(handle, delta->header.generation, handle->policy->generation);
		error = apply(handle, &stage, NULL);
		result->staged = true;
	}
	result->generation = node_generation(handle);
	result->map_writes = handle->writes;
	return error;
}
