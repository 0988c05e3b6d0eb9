// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "compile/blob.h"
#include "maps/iface.h"
#include "node/adopt.h"
#include "node/assign.h"
#include "node/attach.h"
#include "node/folder.h"
#include "node/image.h"
#include "node/inforce.h"
#include "node/local.h"
#include "node/needed.h"
#include "node/programs.h"
#include "node/rcu.h"
#include "node/repair.h"
#include "node/replace.h"
#include "node/rights.h"
#include "node/services.h"
#include "node/settings.h"
#include "node/slip.h"
#include "node/store.h"
#include "node/write.h"

/* The maps that describe this node only. What they say counts at every generation. */
static const enum node_map_id local_maps[] = {MAP_macs, MAP_allow_source, MAP_link_locals,
					      MAP_tunnels, MAP_ifaces};

#define N_LOCAL_MAPS ARRAY_SIZE(local_maps)

struct load {
	struct host *host;
	bool stage; /* only */
	struct policy policy; /* a copy, with its checksum */
	void *bytes; /* its blob */
	size_t length;
	uint32_t flags; /* of the header */
	struct bh_blob header;
	struct bh_blob staged; /* the header of the same policy where it is staged */
	bool new_policy; /* not the one in force */
	struct local local;
	struct needed needed; /* of the policy, in the maps */
	struct image have;
	struct layout layout;
	struct assign assign;
	struct services services;
	struct table come[N_LOCAL_MAPS], change[N_LOCAL_MAPS], go[N_LOCAL_MAPS];
	uint32_t adopted; /* connections */
	bool replaced; /* the programs */
	struct table bare; /* wanted interfaces that lack a program of ours: ifindex, flags */
	struct table turn; /* those whose role changes before the flip */
};

static void load_end(struct load *load)
{
	free(load->bytes);
	local_free(&load->local);
	needed_free(&load->needed);
	image_free(&load->have);
	layout_free(&load->layout);
	assign_free(&load->assign);
	services_free(&load->services);
	for (size_t i = 0; i < N_LOCAL_MAPS; i++) {
		table_free(&load->come[i]);
		table_free(&load->change[i]);
		table_free(&load->go[i]);
	}
	table_free(&load->bare);
	table_free(&load->turn);
	enroll_free(&load->policy);
}

static const struct table *local_table(const struct load *load, enum node_map_id map)
{
	switch (map) {
	case MAP_macs:
		return &load->local.macs;
	case MAP_allow_source:
		return &load->local.allow_source;
	case MAP_link_locals:
		return &load->local.link_locals;
	case MAP_tunnels:
		return &load->local.tunnels;
	default:
		return &load->local.ifaces;
	}
}

/* The same policy: the IDs in the maps are its own. Its child: so are the child's. Another's: the
 * same number may mean something else. */
static void choose_header(struct load *load)
{
	const struct host *host = load->host;
	const struct policy *old = host->policy, *policy = &load->policy;
	bool same = old && policy->checksum == old->checksum;
	bool child = old && policy->lineage == old->lineage && policy->parent == old->checksum;

	load->header = (struct bh_blob){
		.generation = (uint64_t)node_generation(host) + 1,
		.length = load->length,
		.segments = policy->n_segments,
		.ids = host->blob.ids ^ (old && !same && !child ? BH_IDS_OTHER : 0),
		.policy = policy->generation,
	};
	strcpy(load->header.node, load->local.name);
	load->header.flags = load->flags;
	load->new_policy = !same || load->header.flags != host->blob.flags ||
			   strcmp(load->header.node, host->blob.node);
}

/* A policy that was staged is loaded as it was staged. */
static void choose_flags(struct load *load)
{
	const struct host *host = load->host;
	const enum node_peers peers = host->options->peers;
	bool part =
		(load->staged.generation ? load->staged.flags : host->blob.flags) & BH_BLOB_NEEDED;

	if (peers != NODE_PEERS_AS_BEFORE)
		part = peers == NODE_PEERS_NEEDED;
	load->flags =
		(part ? BH_BLOB_NEEDED : 0) | (load->host->options->audit ? BH_BLOB_AUDIT : 0);
	needed_make(&load->needed, &load->policy, &load->local, load->flags);
}

/* The qdisc's flag is the loader's own: it stays as it is. */
static void keep_flags(void *want, const void *have)
{
	((struct bh_iface *)want)->flags |= ((const struct bh_iface *)have)->flags & BH_IFACE_QDISC;
}

static bool turns(const struct bh_iface *from, const struct bh_iface *to)
{
	return (from->flags ^ to->flags) & BH_IFACE_ROLES;
}

/* How an interface was that is known, NULL: it was not. */
static const struct bh_iface *iface_before(const struct load *load, const void *ifindex)
{
	return table_find(&load->have.map[MAP_ifaces], ifindex);
}

/*
 * An endpoint's interface is guarded as such before the endpoint is in force. From a port that is
 * no uplink any more XDP goes before it may come to the bridge: the kernel takes it off no
 * interface below another that has it. What else an interface is to be waits for the flip.
 */
static struct table *changes(struct load *load, size_t i, const void *old, const void *want)
{
	const struct bh_iface *from = old, *to = want;

	if (local_maps[i] == MAP_ifaces && turns(from, to) &&
	    (from->flags & BH_IFACE_UPLINK || to->flags & BH_IFACE_ENDPOINT))
		return &load->turn;
	return &load->change[i];
}

static int compare_local(struct load *load, size_t i)
{
	const enum node_map_id map = local_maps[i];
	const struct table *want = local_table(load, map), *have = &load->have.map[map];
	int error = 0;

	table_init(&load->come[i], want->key_size, want->value_size);
	table_init(&load->change[i], want->key_size, want->value_size);
	table_init(&load->go[i], want->key_size, want->value_size);
	for (size_t j = 0; !error && j < want->n; j++) {
		const void *old = table_find(have, table_key(want, j));
		void *value = table_value(want, j);

		if (old && map == MAP_ifaces)
			keep_flags(value, old);
		if (!old)
			error = table_add(&load->come[i], table_key(want, j), value);
		else if (memcmp(old, value, want->value_size))
			error = table_add(changes(load, i, old, value), table_key(want, j), value);
	}
	if (!error)
		error = table_without(have, want, &load->go[i]);
	if (error)
		return node_fail(load->host, error, "cannot compare %s", node_map_names[map]);
	image_want(load->host, &load->have, map, load->come[i].n);
	return 0;
}

/* An interface keeps its programs from one load to the next, and an uplink's are others than an
 * endpoint's. A bridge's port becomes either, and either may become that. */
static int check_roles(const struct load *load)
{
	const struct table *want = &load->local.ifaces, *have = &load->have.map[MAP_ifaces];

	for (size_t i = 0; i < want->n; i++) {
		const uint32_t *ifindex = table_key(want, i);
		const struct bh_iface *iface = table_value(want, i),
				      *old = table_find(have, ifindex);
		char name[IF_NAMESIZE] = "?";

		if (!old || !turns(old, iface) ||
		    (old->flags | iface->flags) & (BH_IFACE_PORT | BH_IFACE_OTHER))
			continue;
		diag_error(load->host->diag, NULL, NULL,
			   "%s is guarded as %s: load once without it, or unload, to make it %s",
			   if_indextoname(*ifindex, name) ? name : "?",
			   old->flags & BH_IFACE_UPLINK ? "an uplink" : "an endpoint's interface",
			   old->flags & BH_IFACE_UPLINK ? "an endpoint's" : "an uplink");
		return -EINVAL;
	}
	return 0;
}

static int find_bare(struct load *load)
{
	const struct table *ifaces = &load->local.ifaces;

	for (size_t i = 0; i < ifaces->n; i++) {
		const uint32_t *ifindex = table_key(ifaces, i);
		const struct bh_iface *iface = table_value(ifaces, i);
		const struct bh_iface *old = iface_before(load, ifindex);
		struct attached attached;
		int error = attach_read(load->host, *ifindex, iface->flags, &attached);
		char name[IF_NAMESIZE] = "?";

		if (!error && iface->flags & BH_IFACE_UPLINK && attached.xdp == NODE_XDP_TAKEN)
			diag_warn(load->host->diag, NULL, NULL,
				  "uplink %s has an XDP program that libxdp does not manage: it "
				  "stays, and a TC program guards the uplink",
				  if_indextoname(*ifindex, name) ? name : "?");
		/* One that turns gets its programs with its entry. */
		if (!error && !(old && turns(old, iface)) &&
		    (attached.stale || attached.excess ||
		     !attach_is_complete(&attached, iface->flags)))
			error = table_add(&load->bare, ifindex, &iface->flags);
		if (error)
			return error;
	}
	return 0;
}

/* All that is to be done is known before any of it is done. */
static int load_plan(struct load *load)
{
	struct host *host = load->host;
	int error;

	table_init(&load->bare, sizeof(uint32_t), sizeof(uint32_t));
	table_init(&load->turn, sizeof(uint32_t), sizeof(struct bh_iface));
	choose_header(load);
	error = image_read(host, &load->have);
	if (!error)
		error = layout_make(host, &load->have, &load->needed.policy, load->header.ids,
				    &load->layout);
	if (!error)
		error = assign_make(host, &load->have, &load->layout, &load->local, &load->assign);
	if (!error)
		error = services_make(host, &load->have, &load->layout, &load->local,
				      &load->services);
	if (!error)
		error = check_roles(load);
	for (size_t i = 0; !error && i < N_LOCAL_MAPS; i++)
		error = compare_local(load, i);
	return error ? error : find_bare(load);
}

static bool needs_flip(const struct load *load)
{
	/* A tunnel that has come: connections through it are judged again. */
	for (size_t i = 0; i < N_LOCAL_MAPS; i++)
		if (local_maps[i] == MAP_tunnels && load->come[i].n)
			return true;
	return load->new_policy || !assign_is_empty(&load->assign) ||
	       !services_is_empty(&load->services);
}

static bool is_nothing(const struct load *load)
{
	for (size_t i = 0; i < N_LOCAL_MAPS; i++)
		if (load->come[i].n || load->change[i].n || load->go[i].n)
			return false;
	return !needs_flip(load) && !load->assign.gone_added.n && !load->bare.n && !load->turn.n &&
	       layout_is_staged(&load->layout);
}

/*
 * After the flip: a load that fails before it changes nothing that counts. The kernel gives a
 * replaced hash element to the next key that comes: not while programs read it.
 */
static int change_local(struct load *load, size_t i)
{
	struct host *host = load->host;
	struct table one;
	int error = 0;

	for (size_t j = 0; !error && j < load->change[i].n; j++) {
		const void *key = table_key(&load->change[i], j);
		const void *value = table_value(&load->change[i], j);

		if (local_maps[i] == MAP_ifaces && turns(iface_before(load, key), value)) {
			error = attach_turn(host, *(const uint32_t *)key, value);
			continue;
		}
		one = load->change[i];
		one.n = 1;
		one.entries = table_key(&load->change[i], j);
		error = write_table(host, &one, local_maps[i]);
		if (!error)
			error = rcu_wait(host);
	}
	return error;
}

static int change_locals(struct load *load)
{
	struct host *host = load->host;
	bool any = false;
	int error = 0;

	for (size_t i = 0; i < N_LOCAL_MAPS; i++)
		any |= load->change[i].n;
	if (!any)
		return 0;
	error = rcu_wait(host);
	for (size_t i = 0; !error && i < N_LOCAL_MAPS; i++)
		error = change_local(load, i);
	/* What was judged meanwhile, by what the interface was, is judged again. */
	write_flip(host, (uint64_t)node_generation(host) + 1);
	return error;
}

/* A pod whose interface goes meanwhile is a pod that went: what is written of it the next command
 * collects, as if it had gone after the load. */
static int attached(struct load *load, uint32_t flags, int error)
{
	if (error != -ENODEV)
		return error;
	if (!(flags & BH_IFACE_ENDPOINT))
		return node_fail(load->host, error, "cannot attach to an uplink");
	diag_note(load->host->diag, NULL, NULL,
		  "an endpoint's interface is gone since the load began: the others are guarded");
	load->local.endpoints--;
	return 0;
}

static int attach_bare(struct load *load, uint32_t roles)
{
	int error = 0;

	for (size_t i = 0; !error && i < load->bare.n; i++) {
		const uint32_t flags = *(uint32_t *)table_value(&load->bare, i);
		const uint32_t ifindex = *(uint32_t *)table_key(&load->bare, i);

		if (flags & roles)
			error = attached(load, flags, attach_add(load->host, ifindex, flags));
	}
	return error;
}

static int stage_local(struct load *load)
{
	struct host *host = load->host;
	int error = 0;

	for (size_t i = 0; !error && i < N_LOCAL_MAPS; i++)
		error = write_table(host, &load->come[i], local_maps[i]);
	for (size_t i = 0; !error && i < load->turn.n; i++) {
		const struct bh_iface *iface = table_value(&load->turn, i);

		error = attach_turn(host, *(uint32_t *)table_key(&load->turn, i), iface);
		error = attached(load, iface->flags, error);
	}
	if (!error)
		error = attach_bare(load, BH_IFACE_PORT | BH_IFACE_OTHER);
	return error ? error : attach_bare(load, BH_IFACE_ENDPOINT | BH_IFACE_UPLINK);
}

static int load_write(struct load *load)
{
	SCOPED_FREE uint32_t *slots = needed_slots(&load->needed, &load->policy, &load->layout);

	if (!slots)
		return node_fail(load->host, -ENOMEM, "cannot write the policy down");
	return store_write(load->host, &load->header, load->bytes, slots);
}

static int load_stage(struct load *load)
{
	struct host *host = load->host;
	int error = layout_stage(host, &load->layout);

	/* Before the hooks: those of an endpoint that is not in bh_endpoints isolate it. */
	if (!error)
		error = assign_stage(host, &load->assign);
	if (!error)
		error = services_stage(host, &load->services);
	if (!error)
		error = stage_local(load);
	if (!error && !node_generation(host) && !host->options->no_adopt)
		error = adopt_connections(host, &load->policy, &load->local, &load->adopted);
	return error || !load->new_policy ? error : load_write(load);
}

static int collect_local(struct load *load)
{
	struct host *host = load->host;
	int error = 0;

	for (size_t i = 0; !error && i < N_LOCAL_MAPS; i++) {
		const enum node_map_id map = local_maps[i];

		for (size_t j = 0; !error && map == MAP_ifaces && j < load->go[i].n; j++)
			error = attach_remove(host, *(uint32_t *)table_key(&load->go[i], j));
		if (!error)
			error = write_delete(host, &load->go[i], map);
	}
	return error;
}

/* Nothing in force leads any more to what goes here, once the programs that run have ended; and
 * nothing new comes into its place before those that run then have. */
static int load_collect(struct load *load)
{
	struct host *host = load->host;
	int error = rcu_wait(host);

	if (!error)
		error = collect_local(load);
	if (!error)
		error = assign_collect(host, &load->assign);
	if (!error)
		error = services_collect(host, &load->services);
	if (!error)
		error = layout_collect(host, &load->have, &load->layout, NULL);
	/* As long as anything is left of the policy before, its pin is. */
	if (!error)
		error = store_settle(host);
	return error ? error : rcu_wait(host);
}

/* What was staged goes; what carried no program of ours carries none again, and what was to be an
 * endpoint's interface is a bridge's port again (repair()). */
static void load_undo(struct load *load)
{
	struct host *host = load->host;

	if (!node_generation(host)) {
		node_clear(host);
		return;
	}
	for (size_t i = 0; i < load->bare.n; i++)
		if (!iface_before(load, table_key(&load->bare, i)))
			attach_remove(host, *(uint32_t *)table_key(&load->bare, i));
	for (size_t i = 0; i < load->turn.n; i++) {
		const uint32_t *ifindex = table_key(&load->turn, i);
		const struct bh_iface *old = iface_before(load, ifindex);

		if (old->flags & BH_IFACE_UPLINK)
			attach_turn(host, *ifindex, old);
	}
	for (size_t i = 0; i < N_LOCAL_MAPS; i++)
		table_delete(&load->come[i], host->maps[local_maps[i]]);
	if (!repair(host))
		write_busy(host, false);
}

static int load_apply(struct load *load)
{
	struct host *host = load->host;
	int error;

	write_busy(host, true);
	error = load_stage(load);
	if (error) {
		load_undo(load);
		return error;
	}
	if (needs_flip(load))
		write_flip(host, load->header.generation);
	/* The policy is in force, whatever becomes of the rest: an interface that stays as it was
	 * guards no less than it did. */
	if (change_locals(load))
		diag_warn(
			host->diag, NULL, NULL,
			"the policy is in force, but not what changed of the interfaces: the next "
			"load changes it");
	else if (load_collect(load))
		diag_warn(host->diag, NULL, NULL,
			  "the policy is in force; the next load collects what it replaced");
	else
		write_busy(host, false);
	return 0;
}

/* What is asked for, whether or not it comes about. */
static void desire(struct load *load)
{
	struct bh_config *config = load->host->config;
	const uint32_t generation = load->policy.generation;
	const uint32_t in_force = load->host->policy ? load->host->policy->generation : 0;
	const uint32_t endpoint = load->stage ? in_force : generation;

	if (config->desired_policy == generation && config->desired_endpoint == endpoint)
		return;
	__atomic_store_n(&config->desired_policy, generation, __ATOMIC_RELAXED);
	__atomic_store_n(&config->desired_endpoint, endpoint, __ATOMIC_RELAXED);
	load->host->writes++;
}

/* At generation 0 nothing is in force: what is there is of a first load, or an unload, that did not
 * get to its end. */
static int start_anew(struct load *load)
{
	const struct room room = programs_room(&load->needed.policy, &load->local);
	CLEANUP(programs_free) struct programs programs = {};
	struct host *host = load->host;
	int error = folder_check(host);

	if (error)
		return error;
	error = node_clear(host);
	if (!error)
		error = programs_load(host, &room, &programs);
	if (!error)
		error = programs_pin(host, &programs);
	if (!error)
		error = node_find(host);
	if (error) {
		node_clear(host);
		return error;
	}
	host->config->abi = BH_ABI;
	desire(load);
	return 0;
}

/* Its numbers may be the same as this one's and mean something else. */
static int drop_other_staged(struct load *load)
{
	CLEANUP(cleanup_policy) struct policy *staged = NULL;
	int error = store_read_staged(load->host, &load->staged, &staged);

	if (error || !staged || staged->checksum == load->policy.checksum)
		return error;
	load->staged.generation = 0;
	write_busy(load->host, true);
	error = store_drop_staged(load->host);
	return error ? error : repair(load->host);
}

/* Of its own lineage only: another's generations count on their own. */
static int check_order(const struct load *load)
{
	const struct policy *old = load->host->policy;

	if (!old || load->host->options->rollback || load->policy.lineage != old->lineage ||
	    load->policy.generation >= old->generation)
		return 0;
	diag_error(load->host->diag, NULL, NULL,
		   "the policy is of generation %u, and %u is in force: --rollback goes back to it",
		   load->policy.generation, old->generation);
	return -EINVAL;
}

/* What the policy, and what was added to the one in force, finds here. */
static int read_local(struct load *load)
{
	struct host *host = load->host;
	struct local *local = &load->local;
	int error = local_choose_name(host, &load->policy, local);

	table_init(&local->kept, sizeof(struct bh_addr), 0);
	if (!error && node_generation(host))
		error = inforce_keep(host, &load->policy, local->name, &local->kept);
	return error ? error : local_read(host, &load->policy, local);
}

/* Before anything is changed, what is staged included. */
static int check_guard(const struct load *load)
{
	CLEANUP(table_free) struct table ifaces = {};
	struct host *host = load->host;
	int error;

	table_init(&ifaces, sizeof(uint32_t), sizeof(struct bh_iface));
	error = table_read(&ifaces, host->maps[MAP_ifaces]);
	if (error)
		return node_fail(host, error, "cannot read %s/ifaces", host->pin);
	return slip_check_guard(host, &ifaces, &load->local);
}

static int prepare(struct load *load, const struct policy *policy)
{
	struct host *host = load->host;
	int error;

	load->policy = *policy;
	error = rights_to_change(host);
	if (error)
		return error;
	error = blob_write(&load->policy, &load->bytes, &load->length);
	if (error)
		return node_fail(host, error, "cannot lay out the policy");
	error = check_order(load);
	if (!error)
		error = slip_check_policy(host, policy);
	if (error)
		return error;
	if (node_generation(host))
		desire(load);
	if (node_generation(host) && node_is_busy(host))
		error = repair(host);
	if (!error)
		error = read_local(load);
	if (error)
		return error;
	if (!node_generation(host)) {
		choose_flags(load);
		return start_anew(load);
	}
	error = settings_check(host);
	if (!error)
		error = check_guard(load);
	if (!error)
		error = drop_other_staged(load);
	if (!error)
		choose_flags(load);
	return error;
}

static struct node_change load_change(const struct load *load, uint32_t endpoint_generation)
{
	struct node_change change = {
		.generation = node_generation(load->host),
		.policy_generation = load->policy.generation,
		.endpoint_generation = endpoint_generation,
		.map_writes = load->host->writes,
		.endpoints = load->local.endpoints,
		.uplinks = load->local.uplinks,
		.ports = load->local.ports,
		.adopted = load->adopted,
		.replaced = load->replaced,
		.needs = load->needed.needs,
		.tc = load->host->tc,
	};

	strcpy(change.node, load->local.name);
	return change;
}

/* What is planned has room, and this command's programs are in force. */
static int make_room(struct load *load)
{
	int error =
		replace_programs(load->host, &load->have, load->policy.next_rule, &load->replaced);

	if (error && load->replaced)
		load_undo(load);
	return error;
}

int node_load(struct host *host, const struct policy *policy, struct node_change *change)
{
	CLEANUP(load_end) struct load load = {.host = host};
	int error;

	image_init(&load.have);
	error = prepare(&load, policy);
	if (!error)
		error = load_plan(&load);
	if (!error)
		error = make_room(&load);
	if (!error)
		local_warn(host, &load.local);
	if (!error && is_nothing(&load)) {
		if (node_is_busy(host))
			write_busy(host, false);
	} else if (!error) {
		error = load_apply(&load);
	}
	if (error)
		return error;
	*change = load_change(&load, policy->generation);
	return 0;
}

int node_staged(struct host *host, struct policy **policy)
{
	struct bh_blob header;

	return store_read_staged(host, &header, policy);
}

static bool is_staged(const struct load *load)
{
	return load->staged.generation && load->staged.flags == load->header.flags &&
	       !strcmp(load->staged.node, load->header.node) && layout_is_staged(&load->layout);
}

static int stage(struct load *load)
{
	struct host *host = load->host;
	int error;

	choose_header(load);
	load->header.generation = BH_BLOB_STAGED;
	error = image_read(host, &load->have);
	if (!error)
		error = layout_make(host, &load->have, &load->needed.policy, load->header.ids,
				    &load->layout);
	if (error || !load->new_policy || is_staged(load))
		return error;
	error = make_room(load);
	if (error)
		return error;
	write_busy(host, true);
	error = layout_stage(host, &load->layout);
	if (!error)
		error = load_write(load);
	if (error)
		load_undo(load);
	else
		write_busy(host, false);
	return error;
}

int node_stage(struct host *host, const struct policy *policy, struct node_change *change)
{
	CLEANUP(load_end) struct load load = {.host = host, .stage = true};
	int error;

	if (!host->policy) {
		diag_error(host->diag, NULL, NULL,
			   "no policy is in force: load a first one before another is staged");
		return -EINVAL;
	}
	image_init(&load.have);
	error = prepare(&load, policy);
	if (!error)
		error = stage(&load);
	if (error)
		return error;
	*change = load_change(&load, host->policy->generation);
	return 0;
}
