// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "maps/abi.h"
#include "node/change/apply.h"
#include "node/change/dry_run.h"
#include "node/change/adopt.h"
#include "node/change/larger_maps.h"
#include "node/change/replace.h"
#include "node/kernel/attach.h"
#include "node/kernel/connections.h"
#include "node/kernel/folder.h"
#include "node/kernel/pin_folder.h"
#include "node/kernel/pinned_policy.h"
#include "node/kernel/rcu.h"
#include "node/kernel/socket_link.h"
#include "node/kernel/tallies.h"
#include "node/kernel/write.h"
#include "node/plan/repair.h"

struct applier {
	struct node_handle *handle;
	const struct change *change;
	struct programs programs; /* the new programs */
	struct outcome outcome;
	/* of the current step: its map, and its change_table() */
	enum node_map_id map;
	const struct table *table;
};

static void applier_end(struct applier *applier)
{
	programs_free(&applier->programs);
}

static int act_clear(struct applier *applier)
{
	return node_clear(applier->handle);
}

static int act_remove_folder(struct applier *applier)
{
	return folder_remove(applier->handle);
}

static int act_anew(struct applier *applier)
{
	struct node_handle *handle = applier->handle;
	int error = programs_load(handle, &applier->change->capacity, &applier->programs);

	if (!error)
		error = programs_pin(handle, &applier->programs);
	if (!error)
		error = node_find(handle);
	if (!error)
		error = socket_attach(handle);
	if (error)
		return error;
	handle->config->abi = BH_ABI;
	write_desired(handle, applier->change->desired_policy, applier->change->desired_endpoint);
	return 0;
}

static int act_load(struct applier *applier)
{
	return programs_load(applier->handle, &applier->change->capacity, &applier->programs);
}

static int act_replace(struct applier *applier)
{
	return replace(applier->handle, &applier->programs, &applier->change->capacity);
}

static int act_grow(struct applier *applier)
{
	return larger_maps(applier->handle, &applier->change->capacity);
}

static int act_finish(struct applier *applier)
{
	int error = rcu_wait(applier->handle);

	return error ? error : replace_finish(applier->handle);
}

static int act_drop_staged(struct applier *applier)
{
	return pinned_drop_staged(applier->handle);
}

static int act_write(struct applier *applier)
{
	return write_table(applier->handle, applier->table, applier->map);
}

static int act_store(struct applier *applier)
{
	return write_stores(applier->handle, applier->table, applier->map);
}

/* Returns @error, but 0 if it says that a pod's interface is gone meanwhile, as it may be. The next
 * command removes the entries about the pod, as if the interface had gone after the load. */
static int accept_gone(struct applier *applier, uint32_t ifindex, uint32_t flags, int error)
{
	if (error != -ENODEV)
		return error;
	if (!(flags & BH_IFACE_ENDPOINT) || !applier->change->may_go)
		return node_fail(applier->handle, error, "cannot attach to interface %u", ifindex);
	diag_note(applier->handle->diag, NULL, NULL,
		  "an endpoint's interface is gone since the load began: the others are guarded");
	applier->outcome.lost++;
	return 0;
}

static int act_set_roles(struct applier *applier)
{
	const struct table *roles = applier->table;
	int error = 0;

	for (size_t i = 0; !error && i < roles->n; i++) {
		const struct change_role *role = table_value(roles, i);
		const uint32_t ifindex = *(uint32_t *)table_key(roles, i);

		error = accept_gone(applier, ifindex, role->to.flags,
				    attach_set_role(applier->handle, ifindex, &role->to));
	}
	return error;
}

static int act_attach(struct applier *applier)
{
	const struct table *attach = applier->table;
	int error = 0;

	for (size_t i = 0; !error && i < attach->n; i++) {
		const uint32_t ifindex = *(uint32_t *)table_key(attach, i);
		const uint32_t flags = *(uint32_t *)table_value(attach, i);

		error = accept_gone(applier, ifindex, flags,
				    attach_add(applier->handle, ifindex, flags));
	}
	return error;
}

static int act_adopt(struct applier *applier)
{
	return adopt_connections(applier->handle, applier->change->adopt, applier->change->local,
				 &applier->outcome.adopted);
}

static int act_pin(struct applier *applier)
{
	const struct change_policy *policy = &applier->change->policy;
	const void *blob = policy->whole ? policy->whole->blob : policy->bytes;

	if (!blob)
		return pinned_write_delta(applier->handle, &policy->header, policy->delta,
					  policy->local, policy->slots);
	return pinned_write(applier->handle, &policy->header, blob, policy->local, policy->slots);
}

static int act_commit(struct applier *applier)
{
	write_commit(applier->handle, (uint64_t)node_generation(applier->handle) + 1);
	return 0;
}

/* The kernel reuses a replaced hash element for the next key, so no program may still read it. */
static int act_replace_late(struct applier *applier)
{
	int error = 0;

	for (size_t i = 0; !error && i < applier->table->n; i++) {
		error = write_one(applier->handle, applier->table, i, applier->map);
		if (!error)
			error = rcu_wait(applier->handle);
	}
	return error;
}

static int act_detach(struct applier *applier)
{
	const struct table *detach = applier->table;
	int error = 0;

	for (size_t i = 0; !error && i < detach->n; i++)
		error = attach_remove(applier->handle, *(uint32_t *)table_key(detach, i));
	return error;
}

/* An array's entry is emptied, not deleted. */
static int act_delete(struct applier *applier)
{
	return applier->map == MAP_segments
		       ? act_write(applier)
		       : write_delete(applier->handle, applier->table, applier->map);
}

static int check_forgotten(struct applier *applier, int error)
{
	return error ? node_fail(applier->handle, error, "cannot forget an endpoint's connections")
		     : 0;
}

/* Removes the address' connections, so that its next owner inherits none. */
static int act_forget(struct applier *applier)
{
	uint64_t forgotten;

	return check_forgotten(applier,
			       connections_forget(applier->handle, applier->table, &forgotten));
}

/* Does so for a command that was killed before it did, and spares the next owner's own. */
static int act_forget_former(struct applier *applier)
{
	uint64_t forgotten;

	return check_forgotten(
		applier, connections_forget_former(applier->handle, applier->table, &forgotten));
}

static int act_complete(struct applier *applier)
{
	return pinned_finish(applier->handle);
}

static int (*const acts[N_CHANGE_ACTS])(struct applier *applier) = {
	[ACT_CLEAR] = act_clear,
	[ACT_REMOVE_FOLDER] = act_remove_folder,
	[ACT_ANEW] = act_anew,
	[ACT_LOAD] = act_load,
	[ACT_REPLACE] = act_replace,
	[ACT_GROW] = act_grow,
	[ACT_FINISH] = act_finish,
	[ACT_DROP_STAGED] = act_drop_staged,
	[ACT_PUT] = act_write,
	[ACT_STORE] = act_store,
	[ACT_SET_ROLE] = act_set_roles,
	[ACT_ATTACH_OTHERS] = act_attach,
	[ACT_ATTACH] = act_attach,
	[ACT_ADOPT] = act_adopt,
	[ACT_PIN] = act_pin,
	[ACT_COMMIT] = act_commit,
	[ACT_RECORD] = act_write,
	/* Needs no grace period: a program that still reads the reused element finds the entry of a
	 * quarantined interface there, and drops. */
	[ACT_QUARANTINE] = act_write,
	[ACT_DETACH] = act_detach,
	[ACT_REPLACE_LATE] = act_replace_late,
	[ACT_SET_ROLE_LATE] = act_set_roles,
	[ACT_DELETE] = act_delete,
	[ACT_COMMIT_AGAIN] = act_commit,
	[ACT_FORGET] = act_forget,
	[ACT_FORGET_FORMER] = act_forget_former,
	[ACT_COMPLETE] = act_complete,
};

static bool is_new(const struct applier *applier, uint32_t ifindex)
{
	const struct table *put = &applier->change->maps[MAP_ifaces].put;

	for (size_t i = 0; i < put->n; i++)
		if (*(uint32_t *)table_key(put, i) == ifindex)
			return true;
	return false;
}

/* Detaches the programs from interfaces that carried none before. */
static void undo_attach(struct applier *applier, const struct table *attach)
{
	for (size_t i = 0; i < attach->n; i++) {
		const uint32_t ifindex = *(uint32_t *)table_key(attach, i);

		if (is_new(applier, ifindex))
			attach_remove(applier->handle, ifindex);
	}
}

/* Gives interfaces the roles, and endpoints' interfaces the addresses, that they had. */
static void undo_roles(struct applier *applier, const struct table *roles)
{
	for (size_t i = 0; i < roles->n; i++)
		attach_set_role(applier->handle, *(uint32_t *)table_key(roles, i),
				&((const struct change_role *)table_value(roles, i))->from);
}

static void undo_put(struct applier *applier, const struct table *put)
{
	table_delete(put, applier->handle->maps[applier->map]);
}

/* Of the steps that change_order marks as undone. */
static void (*const undos[N_CHANGE_ACTS])(struct applier *applier, const struct table *table) = {
	[ACT_PUT] = undo_put,
	[ACT_SET_ROLE] = undo_roles,
	[ACT_ATTACH_OTHERS] = undo_attach,
	[ACT_ATTACH] = undo_attach,
};

static void undo_step(struct applier *applier, const struct change_step *step)
{
	applier->map = step->map;
	undos[step->act](applier, change_table(applier->change, step));
}

/* Undoes the steps that the table marks, the last one first. A repair undoes the others. */
static void undo(struct applier *applier, size_t steps)
{
	struct node_handle *handle = applier->handle;

	if (applier->change->anew) {
		node_clear(handle);
		return;
	}
	/* A repair that fails leaves the rest to the next command. */
	if (applier->change->finish)
		return;
	while (steps-- > 0)
		if (change_order[steps].undone)
			undo_step(applier, &change_order[steps]);
	if (!pins_open_maps(handle))
		apply_repair(handle);
}

/* Returns true if a step frees storage that programs may still read. Programs never read a pinned
 * policy, and removing that pin may be all that a delta collects. */
static bool needs_grace(const struct change *change, const struct change_step *step)
{
	return step->phase == PHASE_COLLECT && step->act != ACT_FORGET &&
	       !(step->act == ACT_COMPLETE && (change->policy.delta || change->policy.stays));
}

static int take_step(struct applier *applier, size_t i, bool *waited)
{
	const struct change_step *step = &change_order[i];
	struct node_handle *handle = applier->handle;
	int error = 0;

	if (step->phase > PHASE_STAGE)
		applier->outcome.counts = true;
	if (!change_count(applier->change, step))
		return 0;
	applier->outcome.failed = step->act;
	if (step->phase > PHASE_PREPARE)
		write_busy(handle, true);
	if (needs_grace(applier->change, step) && !*waited) {
		*waited = true;
		error = rcu_wait(handle);
	}
	applier->map = step->map;
	applier->table = change_table(applier->change, step);
	return error ? error : acts[step->act](applier);
}

int apply(struct node_handle *handle, const struct change *change, struct outcome *outcome)
{
	CLEANUP(applier_end) struct applier applier = {.handle = handle, .change = change};
	bool waited = false;
	size_t i;
	int error = 0;

	if (outcome)
		*outcome = (struct outcome){};
	if (handle->options->dry_run)
		return dry_run(handle, change);
	for (i = 0; !error && i < n_change_order; i++)
		error = take_step(&applier, i, &waited);
	if (!error && waited)
		error = rcu_wait(handle);
	if (!error && waited)
		error = tally_collect(handle);
	if (!error && handle->config)
		write_busy(handle, false);
	if (error && !applier.outcome.counts &&
	    (change_order[i - 1].phase == PHASE_STAGE || change->anew))
		undo(&applier, i);
	if (outcome)
		*outcome = applier.outcome;
	return error;
}

void apply_desired(struct node_handle *handle, uint32_t policy, uint32_t endpoint)
{
	write_desired(handle, policy, endpoint);
}

int apply_repair(struct node_handle *handle)
{
	CLEANUP(change_free) struct change change;
	int error;

	change_init(&change, "repair");
	error = repair_plan(handle, true, &change);
	return error ? error : apply(handle, &change, NULL);
}
