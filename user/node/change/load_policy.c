// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "policy/blob_file.h"
#include "compile/extend.h"
#include "maps/iface.h"
#include "node/change/apply.h"
#include "node/kernel/attach.h"
#include "node/kernel/folder.h"
#include "node/kernel/pinned_policy.h"
#include "node/kernel/programs.h"
#include "node/kernel/rights.h"
#include "node/kernel/settings.h"
#include "node/local/local_entries.h"
#include "node/plan/active_endpoints.h"
#include "node/plan/capacity.h"
#include "node/plan/compare_maps.h"
#include "node/plan/effect.h"
#include "node/plan/guard_rail.h"
#include "node/plan/planner_parts.h"
#include "node/plan/repair.h"

struct load {
	struct node_handle *handle;
	bool stage; /* stage the policy, do not activate it */
	struct policy policy; /* a copy, with its checksum */
	struct policy *extended; /* holds `policy` where this node adds segments; NULL: none */
	struct delta *added; /* the node's extension; NULL: none */
	void *bytes; /* the policy's blob, without the extension */
	size_t length;
	struct bh_blob header;
	struct bh_blob staged; /* header of the same policy where it is staged */
	bool new_policy; /* the policy is not the active one */
	struct local local;
	struct cluster staying; /* added endpoints that the policy does not know */
	struct image have;
	struct planner plan;
	struct change change;
	struct outcome outcome;
};

static void load_init(struct load *load, struct node_handle *handle, const char *name)
{
	*load = (struct load){.handle = handle};
	cluster_init(&load->staying);
	image_init(&load->have);
	change_init(&load->change, name);
}

static void load_end(struct load *load)
{
	free(load->bytes);
	local_free(&load->local);
	cluster_free(&load->staying);
	image_free(&load->have);
	planner_free(&load->plan);
	change_free(&load->change);
	policy_free(load->extended);
	delta_free(load->added);
}

/* Returns true if the policy is the active one, which is loaded again. */
static bool is_active(const struct load *load)
{
	const struct lazy_policy *old = load->handle->policy;

	return old && load->policy.checksum == old->checksum;
}

/* Chooses the IDs in the maps. The active policy and its direct successor share IDs. In any other
 * policy equal numbers may mean something else, so that policy gets the other half of the IDs. */
static void choose_header(struct load *load)
{
	const struct node_handle *handle = load->handle;
	const struct lazy_policy *old = handle->policy;
	const struct policy *policy = &load->policy;
	const bool same = is_active(load);
	bool child = old && policy->lineage == old->lineage && policy->parent == old->checksum;

	load->header = (struct bh_blob){
		.generation = (uint64_t)node_generation(handle) + 1,
		.length = load->length,
		.segments = policy->n_segments,
		.ids = handle->blob.ids ^ (old && !same && !child ? BH_IDS_OTHER : 0),
		.policy = policy->generation,
		.local_next = load->extended ? extend_next(policy) : handle->blob.local_next,
	};
	strcpy(load->header.node, load->local.name);
	load->header.flags = handle->options->audit ? BH_BLOB_AUDIT : 0;
	load->new_policy = !same || load->header.flags != handle->blob.flags ||
			   strcmp(load->header.node, handle->blob.node) ||
			   !pinned_has_local(handle, load->added);
}

/* Plans to put our programs before another's, which may pass packets by. */
static void find_before(struct load *load, uint32_t ifindex, const struct attached *attached)
{
	char name[IF_NAMESIZE] = "?", program[PROGRAM_NAME];

	if (!attached->before)
		return;
	load->change.advance = true;
	diag_warn(load->handle->diag, NULL, NULL,
		  "%s: %s ran before Bulkhead's, and may have let packets pass: Bulkhead's are "
		  "put before it",
		  if_indextoname(ifindex, name) ? name : "?",
		  attach_program_name(attached->before, program));
}

/* Finds the wanted interfaces that lack a program; at a first load, all of them. */
static int find_unguarded_interfaces(struct load *load)
{
	const struct table *ifaces = &load->local.ifaces;
	int error = 0;

	for (size_t i = 0; !error && i < ifaces->n; i++) {
		const uint32_t *ifindex = table_key(ifaces, i);
		const struct bh_iface *iface = table_value(ifaces, i);
		const struct bh_iface *old = table_find(&load->have.map[MAP_ifaces], ifindex);
		struct attached attached = {};
		char name[IF_NAMESIZE] = "?";

		if (!load->change.anew || iface->flags & BH_IFACE_UPLINK)
			error = attach_read(load->handle, *ifindex, iface->flags, &attached);
		if (!error && iface->flags & BH_IFACE_UPLINK && attached.xdp == NODE_XDP_TAKEN &&
		    !attached.orphan)
			diag_warn(load->handle->diag, NULL, NULL,
				  "uplink %s has an XDP program that libxdp does not manage: it "
				  "stays, and a TC program guards the uplink",
				  if_indextoname(*ifindex, name) ? name : "?");
		find_before(load, *ifindex, &attached);
		/* an interface that gets a role gets its programs together with its entry */
		if (!error && !(old && interfaces_change_role(old, iface)) &&
		    (load->change.anew || attached.stale || attached.excess || attached.orphan ||
		     !attach_is_complete(&attached, iface->flags)))
			error = change_attach(&load->change, ifindex, iface->flags);
	}
	return error;
}

static int plan_policy(struct load *load)
{
	struct change_policy *policy = &load->change.policy;

	policy->header = load->header;
	policy->header.ports_end = load->plan.ports_end;
	policy->bytes = TAKE_PTR(load->bytes);
	policy->local = TAKE_PTR(load->added);
	policy->slots = calloc(load->policy.n_segments + 1, sizeof(*policy->slots));
	if (policy->slots)
		memcpy(policy->slots, load->plan.slots,
		       load->policy.n_segments * sizeof(*policy->slots));
	return policy->slots ? 0 : node_fail(load->handle, -ENOMEM, "cannot write the policy down");
}

static int load_plan(struct load *load)
{
	struct node_handle *handle = load->handle;
	struct change *change = &load->change;
	int error;

	planner_init(&load->plan, handle, &load->policy, load->header.ids, &load->have, change);
	load->plan.local = &load->local;
	load->plan.wrong = is_active(load) ? WRONG_CORRECT : WRONG_REFUSE;
	error = compare_maps(&load->plan);
	if (!error)
		error = find_unguarded_interfaces(load);
	change->commits |= load->new_policy;
	change->may_go = true;
	if (change->anew && !handle->options->no_adopt) {
		change->adopt = &load->policy;
		change->local = &load->local;
	}
	if (!error)
		error = segment_entries_collect(&load->plan, NULL);
	/* a part that the active policy does not have may have decided connections */
	change->commits |= segment_entries_deletes(change);
	change->complete = !change_is_empty(change);
	if (!error && load->new_policy)
		error = plan_policy(load);
	return error ? error : capacity_plan(handle, load->policy.next_rule, change);
}

static int load_apply(struct load *load)
{
	struct node_handle *handle = load->handle;
	int error = apply(handle, &load->change, &load->outcome);

	load->local.endpoints -= load->outcome.lost;
	if (!error || !load->outcome.counts)
		return error;
	/* The new policy is active all the same: an interface that keeps its old entry is guarded
	 * as before. */
	diag_warn(handle->diag, NULL, NULL,
		  load->outcome.failed == ACT_REPLACE_LATE ||
				  load->outcome.failed == ACT_SET_ROLE_LATE
			  ? "the policy is active, but not the changes of interfaces: the next "
			    "load makes them"
			  : "the policy is active; the next load collects the old entries");
	return 0;
}

/* Notes the generations that the load wants, whether the load then succeeds or not. */
static void note_wanted_generations(struct load *load)
{
	struct node_handle *handle = load->handle;
	const uint32_t active = handle->policy ? handle->policy->generation : 0;

	load->change.desired_policy = load->policy.generation;
	load->change.desired_endpoint = load->stage ? active : load->policy.generation;
	if (node_generation(handle) && !handle->options->dry_run)
		apply_desired(handle, load->change.desired_policy, load->change.desired_endpoint);
}

/* Plans a first load: every entry of the maps is new. */
static int start_anew(struct load *load)
{
	struct node_handle *handle = load->handle;
	bool grow;
	int error = node_check_settings(handle, &grow);

	if (error)
		return error;
	/* the folder holds the rest of an interrupted first load or unload */
	load->change.clear = load->change.anew = true;
	load->change.capacity = capacity_first(&load->policy, &load->local);
	/* a dry run makes no folder */
	return handle->lock < 0 ? 0 : folder_check(handle);
}

/* Drops a staged policy other than the one that is loaded. */
static int drop_other_staged(struct load *load)
{
	CLEANUP(cleanup_policy) struct policy *staged = NULL;
	CLEANUP(change_free) struct change change;
	struct node_handle *handle = load->handle;
	int error = pinned_read_staged(handle, &load->staged, &staged);

	change_init(&change, "what was staged");
	if (error || !staged || staged->checksum == load->policy.checksum)
		return error;
	load->staged.generation = 0;
	error = repair_plan(handle, false, &change);
	return error ? error : apply(handle, &change, NULL);
}

/* Refuses an older generation of the same lineage. Generations of two lineages cannot be
 * compared. */
static int check_order(const struct load *load)
{
	const struct lazy_policy *old = load->handle->policy;

	if (!old || load->handle->options->rollback || load->policy.lineage != old->lineage ||
	    load->policy.generation >= old->generation)
		return 0;
	diag_error(load->handle->diag, NULL, NULL,
		   "the policy is of generation %u, and %u is active: --rollback goes back to it",
		   load->policy.generation, old->generation);
	return -EINVAL;
}

/* Reads the interfaces of this node for the policy, and for the added endpoints that stay. */
static int read_local(struct load *load)
{
	struct node_handle *handle = load->handle;
	struct local *local = &load->local;
	int error = local_choose_name(handle, &load->policy, local);

	maps_init_table(MAP_endpoints, &local->kept);
	if (!error && node_generation(handle))
		error = active_keep(handle, &load->policy, local, &load->staying,
				    load->stage ? NULL : &load->extended, &load->added);
	return error ? error : local_read(handle, &load->policy, &load->staying, local);
}

/* Checks that no endpoint loses its guard. Runs before anything changes, and before a staged policy
 * is dropped. */
static int check_guard(struct load *load)
{
	CLEANUP(table_free) struct table ifaces = {};
	struct node_handle *handle = load->handle;
	int error;

	table_init(&ifaces, sizeof(uint32_t), sizeof(struct bh_iface));
	error = maps_read(handle, MAP_ifaces, &ifaces);
	if (error)
		return node_fail(handle, error, "cannot read %s/ifaces", handle->pin);
	return guard_rail_check_guard(handle, &ifaces, &load->local);
}

/* Looks at this node, and refuses what the load must not change. */
static int examine(struct load *load)
{
	struct node_handle *handle = load->handle;
	int error = 0;

	if (node_generation(handle) && node_is_busy(handle))
		error = apply_repair(handle);
	if (!error)
		error = read_local(load);
	if (error)
		return error;
	if (!node_generation(handle))
		return start_anew(load);
	error = settings_check(handle, &load->change.capacity.connections);
	load->change.replace |= load->change.capacity.connections;
	return error ? error : check_guard(load);
}

static int prepare(struct load *load, const struct policy *policy)
{
	struct node_handle *handle = load->handle;
	int error;

	load->policy = *policy;
	error = rights_to_change(handle);
	if (error)
		return error;
	error = blob_write(&load->policy, &load->bytes, &load->length);
	if (error)
		return node_fail(handle, error, "cannot lay out the policy");
	error = check_order(load);
	if (!error)
		error = guard_rail_check_policy(handle, policy);
	if (!error)
		error = guard_rail_check_count(handle, policy->n_given, load->policy.checksum);
	if (error)
		return error;
	if (node_generation(handle) && !handle->options->force && attach_is_elsewhere(handle)) {
		diag_error(handle->diag, NULL, NULL,
			   "the policy of %s is active in another network namespace than this: "
			   "load there, or --force",
			   handle->pin);
		return -EINVAL;
	}
	error = examine(load);
	/* A refused load changes nothing, while one that fails is to be loaded again. */
	if (error != -EINVAL)
		note_wanted_generations(load);
	return error || !node_generation(handle) ? error : drop_other_staged(load);
}

static struct node_change load_change(const struct load *load, uint32_t endpoint_generation)
{
	struct node_change change = {
		.generation = node_generation(load->handle),
		.policy_generation = load->policy.generation,
		.endpoint_generation = endpoint_generation,
		.map_writes = load->handle->writes,
		.endpoints = load->local.endpoints,
		.uplinks = load->local.uplinks,
		.ports = load->local.ports,
		.adopted = load->outcome.adopted,
		.replaced = load->change.replace,
		.tc = load->handle->tc,
		.first = load->change.anew,
		.effect = load->handle->effect,
	};

	strcpy(change.node, load->local.name);
	return change;
}

/* a first load finds no maps */
static int read_maps(struct load *load)
{
	return load->change.anew ? 0 : image_read(load->handle, &load->have);
}

static int load_begin(struct load *load, const struct policy *policy)
{
	const int error = prepare(load, policy);

	return error ? error : read_maps(load);
}

/* Plans a first load on empty maps. */
static int plan_on_maps(struct load *load)
{
	struct node_handle *handle = load->handle;
	int error;

	choose_header(load);
	if (load->change.anew)
		handle->seen = &load->have;
	error = load_plan(load);
	if (load->change.anew)
		handle->seen = NULL;
	return error;
}

/* Reads all of the active policy, with which another one is compared. One that is damaged is
 * reported and replaced. */
static void read_old(struct node_handle *handle, const struct policy *new)
{
	if (handle->policy && handle->policy->checksum != new->checksum)
		pinned_read(handle);
}

int node_load(struct node_handle *handle, const struct policy *policy, struct node_change *change)
{
	CLEANUP(load_end) struct load load;
	int error;

	load_init(&load, handle, "load");
	read_old(handle, policy);
	error = load_begin(&load, policy);
	if (!error && node_generation(handle) && !handle->options->dry_run)
		error = programs_pin_again(handle);
	if (!error)
		error = plan_on_maps(&load);
	if (!error)
		error = planner_compare(&load.plan, effect_find);
	if (error)
		return error;
	local_warn(handle, &load.local);
	effect_warn(handle);
	error = load_apply(&load);
	if (error)
		return error;
	*change = load_change(&load, policy->generation);
	return 0;
}

int node_staged(struct node_handle *handle, struct policy **policy)
{
	struct bh_blob header;

	return pinned_read_staged(handle, &header, policy);
}

static bool is_staged(const struct load *load)
{
	return load->staged.generation && load->staged.flags == load->header.flags &&
	       !strcmp(load->staged.node, load->header.node) &&
	       !segment_entries_puts(&load->change);
}

static int stage(struct load *load)
{
	struct node_handle *handle = load->handle;
	int error;

	choose_header(load);
	load->header.generation = BH_BLOB_STAGED;
	planner_init(&load->plan, handle, &load->policy, load->header.ids, &load->have,
		     &load->change);
	error = planner_compare(&load->plan, segment_entries_plan);
	if (error || !load->new_policy || is_staged(load))
		return error;
	error = plan_policy(load);
	if (!error)
		error = capacity_plan(handle, load->policy.next_rule, &load->change);
	return error ? error : apply(handle, &load->change, NULL);
}

int node_stage(struct node_handle *handle, const struct policy *policy, struct node_change *change)
{
	CLEANUP(load_end) struct load load;
	int error;

	load_init(&load, handle, "load --stage");
	load.stage = true;
	if (!handle->policy) {
		diag_error(handle->diag, NULL, NULL,
			   "no policy is active: load a first one before another is staged");
		return -EINVAL;
	}
	error = load_begin(&load, policy);
	if (!error)
		error = stage(&load);
	if (error)
		return error;
	*change = load_change(&load, handle->policy->generation);
	change->staged = load.new_policy;
	return 0;
}
