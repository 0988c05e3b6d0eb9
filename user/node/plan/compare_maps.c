// SPDX-License-Identifier: GPL-2.0-only
#include "node/plan/compare_maps.h"
#include "node/plan/endpoint_entries.h"
#include "node/plan/planner_parts.h"

static bool needs_commit(const struct change *change)
{
	const struct change_map *maps = change->maps;

	/* a new tunnel, or a part of the policy that was not there or wrong: connections are
	 * evaluated again */
	return segment_entries_puts(change) || maps[MAP_tunnels].put.n ||
	       maps[MAP_prefixes].put.n || maps[MAP_endpoints].put.n ||
	       maps[MAP_endpoints].store.n || maps[MAP_services].put.n ||
	       maps[MAP_services].store.n;
}

int plan_parts(struct planner *plan)
{
	CLEANUP(endpoints_free) struct endpoints endpoints;
	int error;

	endpoints_init(&endpoints, plan);
	error = endpoints_begin(&endpoints);
	if (!error)
		error = segment_entries_plan(plan);
	if (!error)
		error = endpoints_place(&endpoints);
	if (!error)
		error = prefix_entries_plan(plan);
	if (!error)
		error = service_entries_plan(plan);
	if (!error)
		error = plan->delta ? resolvers_plan(plan) : interfaces_plan(plan);
	return error;
}

int compare_maps(struct planner *plan)
{
	const int error = planner_compare(plan, plan_parts);

	plan->change->commits = needs_commit(plan->change);
	return error;
}
