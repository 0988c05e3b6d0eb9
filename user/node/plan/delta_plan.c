// SPDX-License-Identifier: GPL-2.0-only
/* Plans a delta: which records may differ, whether it moves endpoints, and the node's extension of
 * the policy that it makes. */
#include <string.h>

#include "compile/extend.h"
#include "policy/blob_file.h"
#include "policy/delta_view.h"
#include "node/kernel/pinned_policy.h"
#include "node/plan/added_endpoints.h"
#include "node/plan/capacity.h"
#include "node/plan/compare_maps.h"
#include "node/plan/delta_plan.h"
#include "node/plan/effect.h"
#include "node/plan/extension.h"
#include "node/plan/planner_parts.h"

static const enum policy_moves moves[BLOB_TABLES] = {
#define MOVES(type, name, moves) [BLOB_TABLE_##name] = POLICY_##moves,
	POLICY_TABLES(MOVES)
#undef MOVES
};

static bool wants_more_prefixes(const struct node_handle *handle)
{
	const struct node_options *options = handle->options;

	return (options->name && strcmp(options->name, handle->blob.node)) || options->n_uplinks ||
	       options->n_resolvers || options->n_settings || options->dry_run ||
	       options->audit != node_audits(handle);
}

static int check_node(const struct planner *plan)
{
	const struct delta_header *header = &plan->delta->header;
	const struct lazy_policy *old = plan->old;

	return wants_more_prefixes(plan->handle) || header->lineage != old->lineage ||
			       header->parent != old->checksum ||
			       header->uplinks_n != old->uplinks_n ||
			       header->node !=
				       delta_place(plan->delta, BLOB_TABLE_strings, old->node) ||
			       !plan->delta->tables[BLOB_TABLE_endpoints].n
		       ? COMPARE_ALL
		       : 0;
}

/* Returns true if the uplinks that the policy names stay as they are. */
static bool keeps_uplinks(const struct planner *plan)
{
	const struct delta_table *texts = &plan->delta->tables[BLOB_TABLE_texts];
	const uint32_t n = plan->old->uplinks_n;

	if (!n)
		return true;
	return !delta_origin(texts, 0) && delta_origin(texts, n - 1) == n - 1 &&
	       delta_next_new(texts, 0) >= n;
}

/* Returns true if a segment comes or changes, or a segment that was not deleted before goes. */
static bool moves_segments(const struct planner *plan)
{
	const struct delta_table *table = &plan->delta->tables[BLOB_TABLE_segments];

	if (table->n_fresh)
		return true;
	for (uint32_t i = delta_next_deleted(table, 0); i < table->n_base;
	     i = delta_next_deleted(table, i + 1))
		if (!LAZY_ONE(plan->old, segments, i)->delete_generation)
			return true;
	return false;
}

/* Returns true if the table's difference moves no endpoint into another segment. */
static bool moves_nothing(const struct delta_table *table, enum policy_moves moves)
{
	switch (moves) {
	case POLICY_MOVES:
		return delta_is_final(table);
	case POLICY_REFERS:
		return delta_keeps_records(table);
	case POLICY_APART:
		return true;
	}
	return false;
}

static bool keeps_segments(const struct planner *plan)
{
	const struct delta_table *tables = plan->delta->tables;

	for (enum blob_table table = 0; table < BLOB_TABLES; table++)
		if (!moves_nothing(&tables[table], moves[table]))
			return false;
	return plan->delta->header.next_rule == plan->old->next_rule && !moves_segments(plan);
}

static int check_tables(struct planner *plan)
{
	if (!delta_is_final(&plan->delta->tables[BLOB_TABLE_resolvers]))
		return COMPARE_ALL;
	if (!keeps_uplinks(plan))
		return COMPARE_ALL;
	plan->keeps_segments = keeps_segments(plan);
	return 0;
}

/* Finds the slots of the policy's segments if it is staged. If another policy is staged, a whole
 * load is needed: it forgets that policy. */
static int find_staged(struct planner *plan, struct pinned_staged *staged)
{
	int error = pinned_read_staged_head(plan->handle, staged);

	if (error || !staged->generation)
		return error;
	if (staged->checksum != plan->delta->header.checksum ||
	    staged->flags != plan->handle->blob.flags)
		return COMPARE_ALL;
	plan->ports_end = staged->ports_end;
	plan->staged = staged->slots;
	return 0;
}

/* Makes larger maps if the active ones have too little room. */
static int plan_room(struct planner *plan)
{
	const uint32_t rules = plan->delta->header.next_rule;

	return capacity_suffices(plan->handle, rules, plan->change)
		       ? 0
		       : capacity_plan(plan->handle, rules, plan->change);
}

/* @delta: what is pinned, without the node's extension. */
static struct bh_blob header_of(const struct planner *plan, const struct delta *delta)
{
	const struct node_handle *handle = plan->handle;
	struct bh_blob header = {
		.generation = (uint64_t)node_generation(handle) + 1,
		.length = delta_blob_header(delta).length,
		.segments = plan->n_slots,
		.ids = handle->blob.ids,
		.policy = plan->delta->header.generation,
		.local_next = handle->blob.local_next,
		.ports_end = plan->ports_end,
		.flags = handle->blob.flags,
	};

	strcpy(header.node, handle->blob.node);
	return header;
}

/* Returns true if the load is to say whom it opens. A follower logs what a change of policy opens,
 * or of an endpoint's audit. Pods that come and go open nothing that their cluster does not know.
 */
static bool may_open(const struct planner *plan)
{
	return !plan->handle->options->quarantine || !plan->keeps_segments ||
	       plan->change->maps[MAP_ifaces].late.n;
}

static int plan_view(struct planner *plan, bool stages)
{
	const struct where where = {.file = "the change"};
	struct delta_view *view = NULL;
	struct lazy_policy *new = NULL;
	int error =
		delta_view_open(plan->delta, plan->old, &where, plan->handle->diag, &view, &new);

	if (error)
		return error;
	plan->new = new;
	error = plan_parts(plan);
	if (!error)
		error = plan_room(plan);
	if (!error && !stages && may_open(plan)) {
		error = effect_find(plan);
		if (error)
			node_fail(plan->handle, error, "cannot compare with the active policy");
	}
	if (lazy_error(new))
		error = lazy_error(new);
	plan->new = NULL;
	lazy_policy_free(new);
	delta_view_close(view);
	return error;
}

static int plan_all(struct planner *plan, bool stages)
{
	CLEANUP(pinned_staged_free) struct pinned_staged staged = {};
	int error = check_node(plan);

	if (!error)
		error = check_tables(plan);
	if (!error)
		error = find_staged(plan, &staged);
	return error ? error : plan_view(plan, stages);
}

int delta_make_whole(struct node_handle *handle, const struct delta *delta, struct policy **policy)
{
	const struct where where = {.file = "the change"};
	const struct policy *base = NULL;
	const int error = node_policy(handle, &base);

	return error ? error
		     : delta_apply(delta, policy_lazy(base), "active", &where, handle->diag,
				   policy);
}

/* The node's extension of the policy that a delta makes, and the delta to the extended policy. */
struct extended {
	struct delta *local, *joined; /* NULL: the policy is not extended */
	uint32_t next; /* of bh_blob.local_next, with `joined` */
};

static void extended_free(struct extended *extended)
{
	delta_free(extended->local);
	delta_free(extended->joined);
}

static int join(const struct delta *delta, const struct delta *local, struct diag *diag,
		struct delta **joined)
{
	const struct where where = {.file = "the change"};
	void *payload;
	size_t size;
	int error = delta_compose(delta, local, &payload, &size);

	if (!error)
		error = delta_open(payload, size, &where, diag, joined);
	/* the extended policy counts as the policy itself */
	if (!error)
		(*joined)->header.checksum = delta->header.checksum;
	return error;
}

/* Extends the policy that the delta makes for added endpoints. Reads all of the policy: its rules
 * are evaluated for these endpoints. If that is not possible, warns and leaves @extended empty. */
static int extend(struct node_handle *handle, const struct delta *delta,
		  const struct cluster *needy, struct extended *extended)
{
	struct policy *policy = NULL, *with = NULL;
	int error = delta_make_whole(handle, delta, &policy);

	if (!error)
		error = extension_load(handle, policy, needy, &with, &extended->local);
	if (!error && with)
		extended->next = extend_next(with);
	if (!error && extended->local)
		error = join(delta, extended->local, handle->diag, &extended->joined);
	policy_free(with);
	policy_free(policy);
	return error;
}

/* Plans a delta with an extension of the policy that it makes. @needy: lists the endpoints that
 * need another extension, and returns COMPARE_ALL then; NULL: these are isolated. */
static int plan_with(struct node_handle *handle, const struct delta *delta,
		     struct extended *extended, struct cluster *needy, bool stages,
		     struct change *change, bool *own)
{
	CLEANUP(planner_free)
	struct planner plan = {.handle = handle,
			       .delta = extended->joined ? extended->joined : delta,
			       .old = lazy_plain(handle->policy),
			       .ids = handle->blob.ids,
			       .ports_end = handle->blob.ports_end,
			       .needy = needy,
			       .change = change};
	int error;

	plan.extension = TAKE_PTR(extended->local);
	table_init(&plan.concerned, sizeof(struct address), 0);
	error = plan_all(&plan, stages);
	if (error)
		return error;
	change->policy.header = header_of(&plan, delta);
	if (extended->joined)
		change->policy.header.local_next = extended->next;
	change->policy.delta = delta;
	change->policy.slots = TAKE_PTR(plan.slots);
	change->policy.local = TAKE_PTR(plan.extension);
	change->commits = change->complete = change->may_go = true;
	*own = plan.concerns_node;
	return 0;
}

int delta_plan(struct node_handle *handle, const struct delta *delta, bool stages,
	       struct change *change, bool *own)
{
	CLEANUP(extended_free) struct extended extended = {};
	CLEANUP(cluster_free) struct cluster needy;
	int error;

	cluster_init(&needy);
	/* the node extends a staged policy when it is activated */
	error = plan_with(handle, delta, &extended, stages ? NULL : &needy, stages, change, own);
	if (error == COMPARE_ALL && needy.n_endpoints) {
		change_free(change);
		change_init(change, "load");
		error = extend(handle, delta, &needy, &extended);
		if (!error)
			error = plan_with(handle, delta, &extended, NULL, stages, change, own);
	}
	/* a staged policy is written down again when it is activated */
	if (error || stages || pinned_takes_delta(handle, delta))
		return error;
	/* The maps do not depend on how the policy is pinned. */
	return delta_make_whole(handle, delta, &change->policy.whole);
}

void delta_plan_stage(struct change *whole, struct change *stage)
{
	change_init(stage, "load --stage");
	for (int i = 0; i < N_NODE_MAPS; i++)
		if (segment_entries_has_map(i)) {
			const struct table put = stage->maps[i].put;

			stage->maps[i].put = whole->maps[i].put;
			whole->maps[i].put = put;
		}
	stage->replace = whole->replace;
	stage->capacity = whole->capacity;
	stage->policy.header = whole->policy.header;
	stage->policy.header.generation = BH_BLOB_STAGED;
	/* the node's own segments (plan->extension) follow when the policy is activated */
	stage->policy.header.segments = whole->policy.delta->n[BLOB_TABLE_segments];
	stage->policy.delta = whole->policy.delta;
	stage->policy.slots = TAKE_PTR(whole->policy.slots);
}
