// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "maps/dns.h"
#include "node/change/resolvers.h"
#include "node/change/discovery.h"

/* Returns the flags of all resolvers together. */
static uint32_t flags_of(const struct table *resolvers)
{
	uint32_t flags = 0;

	for (size_t i = 0; i < resolvers->n; i++)
		flags |= ((struct bh_resolver *)table_value(resolvers, i))->flags;
	return flags;
}

/* Makes the change delete the Service's resolvers that @want lacks. */
static int plan_deleted(struct planner *plan, const struct table *have, const struct table *want)
{
	int error = 0;

	for (size_t i = 0; !error && i < have->n; i++) {
		const struct bh_resolver *resolver = table_value(have, i);

		if (resolver->flags & BH_RESOLVER_SERVICE && !table_find(want, table_key(have, i)))
			error = table_add(&plan->change->maps[MAP_resolvers].deleted,
					  table_key(have, i), resolver);
	}
	return error;
}

int resolvers_plan(struct planner *plan)
{
	struct table *put = &plan->change->maps[MAP_resolvers].put;
	CLEANUP(table_free) struct table have = {}, want = {};
	int error;

	maps_init_table(MAP_resolvers, &have);
	maps_init_table(MAP_resolvers, &want);
	error = maps_read(plan->handle, MAP_resolvers, &have);
	if (error || flags_of(&have) & BH_RESOLVER_SAID)
		return error;
	error = discover_dns_service(plan->new, &want);
	/* the first or the last resolver of a Service changes where else the node asks */
	if (!error && !want.n != !(flags_of(&have) & BH_RESOLVER_SERVICE))
		return COMPARE_ALL;
	if (!error && want.n)
		error = table_without(&want, &have, put);
	if (!error && want.n)
		error = plan_deleted(plan, &have, &want);
	change_want(plan->change, MAP_resolvers, have.n + put->n);
	return error;
}
