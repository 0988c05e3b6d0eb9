// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "maps/domain.h"
#include "node/kernel/domain_maps.h"
#include "node/plan/planner_parts.h"

static struct table *wanted(struct planner *plan, enum node_map_id map)
{
	return map == MAP_domains ? &plan->domains : &plan->by_domain;
}

/* Adds the entries of one record of the policy. *last: the name of the record before. */
static int want(struct planner *plan, const struct policy_domain *domain, uint32_t *last)
{
	const struct lazy_policy *policy = plan->new;
	struct bh_domain_key key = {.class = planner_id(plan, domain->class)};
	struct bh_domain_segment value = {
		.id = planner_id(plan, LAZY_ONE(policy, segments, domain->segment)->id)};
	struct bh_domain name;
	int error = planner_slot(plan, domain->segment, &value.slot);

	if (!error)
		error = domains_hash(plan->handle, lazy_read_string(policy, domain->name),
				     &key.domain, &name);
	if (!error && (!*last || strcmp(policy->strings + *last, policy->strings + domain->name)))
		error = table_add(&plan->domains, &key.domain, &name);
	*last = domain->name;
	return error ? error : table_add(&plan->by_domain, &key, &value);
}

/* Compares a map with the entries that the policy has. */
static int compare(struct planner *plan, enum node_map_id map)
{
	struct change_map *to = &plan->change->maps[map];
	const struct table *want = wanted(plan, map);
	CLEANUP(table_free) struct table have = {};
	int error;

	maps_init_table(map, &have);
	error = maps_read(plan->handle, map, &have);
	for (size_t i = 0; !error && i < want->n; i++) {
		const void *there = table_find(&have, table_key(want, i));

		if (!there)
			error = -ENOENT;
		else if (memcmp(there, table_value(want, i), want->value_size))
			error = planner_differs(plan, map, table_key(want, i));
		if (error == -ENOENT)
			error = table_add(&to->put, table_key(want, i), table_value(want, i));
	}
	if (!error && plan->delta)
		error = table_without(&have, want, &to->deleted);
	change_want(plan->change, map, have.n + to->put.n);
	return error;
}

int domain_entries_plan(struct planner *plan)
{
	const struct lazy_policy *policy = plan->new;
	const struct policy_domain *domains = LAZY_ALL(policy, domains);
	uint32_t last = 0;
	int error = 0;

	maps_init_table(MAP_domains, &plan->domains);
	maps_init_table(MAP_by_domain, &plan->by_domain);
	/* the extension that goes may have entries, too */
	if (plan->delta && delta_is_final(&plan->delta->tables[BLOB_TABLE_domains]) &&
	    !plan->extension_ends)
		return 0;
	for (size_t i = 0; !error && i < policy->n_domains; i++)
		error = want(plan, &domains[i], &last);
	table_sort(&plan->domains);
	table_sort(&plan->by_domain);
	if (!error)
		error = compare(plan, MAP_domains);
	return error ? error : compare(plan, MAP_by_domain);
}
