// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "maps/dns.h"
#include "node/local/discovery.h"
#include "node/plan/planner_parts.h"

/* Returns the flags of all resolvers together. */
static uint32_t flags_of(const struct table *resolvers)
{
	uint32_t flags = 0;

	for (size_t i = 0; i < resolvers->n; i++)
		flags |= ((struct bh_resolver *)table_value(resolvers, i))->flags;
	return flags;
}

static bool is_of_service(const void *what, const void *key, const void *value)
{
	const struct bh_resolver *resolver = value;

	(void)what;
	(void)key;
	return resolver->flags & (BH_RESOLVER_SERVICE | BH_RESOLVER_BACKEND);
}

/* Adds the resolvers with one of the flags: they stay. */
static int add_kept(const struct table *have, uint32_t flags, struct table *want)
{
	int error = 0;

	for (size_t i = 0; !error && i < have->n; i++) {
		const struct bh_resolver *resolver = table_value(have, i);

		if (resolver->flags & flags)
			error = table_insert(want, table_key(have, i), resolver);
	}
	return error;
}

/* Adds the resolvers that the node itself has, which depend on whether a Service has any. */
static int add_others(const struct planner *plan, struct table *want)
{
	static const struct policy none;
	CLEANUP(local_free) struct local local = {};
	struct discovery discovery = {.handle = plan->handle, .policy = &none, .local = &local};
	int error = discover_addresses(&discovery);

	if (!error)
		error = discover_node_resolvers(&discovery, want);
	free(discovery.link_locals);
	return error;
}

/* Returns true if the delta leaves all Services as they are, so that their addresses, which may be
 * many, need not be read. A Service's record stays the same if only its name changes. */
static bool keeps_services(const struct planner *plan)
{
	static const enum blob_table tables[] = {BLOB_TABLE_services, BLOB_TABLE_service_ports,
						 BLOB_TABLE_backends, BLOB_TABLE_frontends};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (!delta_is_final(planner_table(plan, tables[i])))
			return false;
	return discover_dns_place(plan->old) == discover_dns_place(plan->new);
}

int resolvers_plan(struct planner *plan)
{
	CLEANUP(table_free) struct table have = {}, want = {};
	bool said, others = false;
	int error;

	if (keeps_services(plan))
		return 0;

	maps_init_table(MAP_resolvers, &have);
	maps_init_table(MAP_resolvers, &want);
	error = maps_read(plan->handle, MAP_resolvers, &have);
	said = flags_of(&have) & BH_RESOLVER_SAID;
	if (!error && !said) {
		error = discover_dns_service(plan->new, &want);
		others = !want.n != !(flags_of(&have) & BH_RESOLVER_SERVICE);
	}
	if (!error)
		error = others ? add_others(plan, &want)
			       : add_kept(&have, said ? BH_RESOLVER_SAID : BH_RESOLVER_NODE, &want);
	if (!error)
		error = discover_resolver_backends(plan->new, &want);
	return error ? error
		     : interfaces_plan_map(plan->change, MAP_resolvers, &have, &want,
					   others ? NULL : is_of_service, NULL);
}
