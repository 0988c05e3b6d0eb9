// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "node/kernel/pinned_policy.h"
#include "node/plan/planner.h"
#include "node/plan/slot.h"
#include "policy/references.h"

void planner_init(struct planner *plan, struct node_handle *handle, const struct policy *policy,
		  uint32_t ids, struct image *have, struct change *change)
{
	*plan = (struct planner){
		.handle = handle,
		.new = policy_lazy(policy),
		.ids = ids,
		.have = have,
		.outside = *policy,
		.outside_read = true,
		.change = change,
	};
	table_init(&plan->concerned, sizeof(struct address), 0);
}

void planner_free(struct planner *plan)
{
	delta_free(plan->extension);
	free(plan->slots);
	table_free(&plan->added);
	table_free(&plan->added_gone);
	table_free(&plan->added_words);
	table_free(&plan->concerned);
	table_free(&plan->domains);
	table_free(&plan->by_domain);
	table_free(&plan->by_id);
}

const struct policy *planner_outside(struct planner *plan)
{
	if (!plan->outside_read)
		lazy_read_outside(plan->new, &plan->outside);
	plan->outside_read = true;
	return &plan->outside;
}

int planner_compare(struct planner *plan, int (*part)(struct planner *plan))
{
	struct node_handle *handle = plan->handle;
	struct image *const seen = handle->seen;
	int error;

	handle->seen_generation = node_generation(handle);
	handle->seen = plan->have;
	error = part(plan);
	handle->seen = seen;
	/* a part reports -EINVAL itself */
	return error && error != -EINVAL
		       ? node_fail(handle, error, "cannot compare the policy with the maps of %s",
				   handle->pin)
		       : error;
}

/* Calls @visit for the records of the extension that goes. */
static int walk_extension(const struct planner *plan, enum blob_table table, planner_visit *visit,
			  void *what)
{
	const struct delta_table *gone = &pinned_local(plan->handle)->tables[table];
	int error = 0;

	for (uint32_t i = delta_next_new(gone, 0); !error && i < gone->n;
	     i = delta_next_new(gone, i + 1))
		error = visit(what, plan->handle->policy, i);
	return error;
}

int planner_walk(struct planner *plan, enum blob_table table, planner_visit *visit_new,
		 planner_visit *visit_old, void *what)
{
	const struct delta_table *of = plan->delta ? &plan->delta->tables[table] : NULL;
	const size_t n = lazy_table_count(plan->new, table);
	int error = 0;

	for (uint32_t i = of ? delta_next_new(of, 0) : 0; !error && i < n;
	     i = of ? delta_next_new(of, i + 1) : i + 1) {
		const uint32_t before = of ? delta_origin(of, i) : UINT32_MAX;

		error = visit_new(what, plan->new, i);
		if (!error && before != UINT32_MAX)
			error = visit_old(what, plan->old, before);
	}
	for (uint32_t i = of ? delta_next_deleted(of, 0) : 0; !error && of && i < of->n_base;
	     i = delta_next_deleted(of, i + 1))
		error = visit_old(what, plan->old, i);
	if (!error && plan->extension_ends)
		error = walk_extension(plan, table, visit_old, what);
	return error;
}

int planner_differs(struct planner *plan, enum node_map_id map, const void *key)
{
	if (plan->wrong == WRONG_LIST)
		return table_add(&plan->change->maps[map].wrong, key, NULL);
	if (plan->wrong == WRONG_CORRECT)
		return -ENOENT;
	diag_error(plan->handle->diag, NULL, NULL,
		   "%s: an active entry is not as the policy says: load the active policy again, "
		   "which puts it right",
		   node_map_names[map]);
	return -EINVAL;
}

int planner_find_segment(struct planner *plan, uint32_t id, uint32_t *slot)
{
	return slot_find(plan->handle, plan->change, &plan->by_id, planner_id(plan, id), slot);
}

int planner_slot(struct planner *plan, uint32_t segment, uint32_t *slot)
{
	*slot = plan->slots[segment];
	if (!plan->delta)
		return 0;
	if (planner_find_segment(plan, LAZY_ONE(plan->new, segments, segment)->id, slot))
		return COMPARE_ALL;
	plan->slots[segment] = *slot;
	return 0;
}

bool planner_is_here(const struct planner *plan, const struct lazy_policy *policy,
		     uint32_t endpoint)
{
	const struct policy_endpoint *record = LAZY_ONE(policy, endpoints, endpoint);

	return record->node &&
	       !strcmp(lazy_read_string(policy, record->node), plan->handle->blob.node);
}

uint32_t planner_owner_before(const struct planner *plan, uint32_t address)
{
	const uint32_t before = delta_origin(planner_table(plan, BLOB_TABLE_addresses), address);

	return before == UINT32_MAX ? UINT32_MAX
				    : delta_place(plan->delta, BLOB_TABLE_endpoints,
						  LAZY_ONE(plan->old, addresses, before)->endpoint);
}
