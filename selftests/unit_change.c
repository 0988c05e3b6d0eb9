// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plans changes without a kernel, on maps in memory. A command that is killed after any step leaves
 * the state before or after the change active; the repair planned then keeps that state, and a load
 * of the same policy finds nothing to do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compile/compile.h"
#include "policy/delta.h"
#include "input/input.h"
#include "maps/added.h"
#include "maps/allow_source.h"
#include "maps/assign.h"
#include "maps/endpoint.h"
#include "maps/link_local.h"
#include "maps/mac.h"
#include "maps/pair.h"
#include "maps/prefix.h"
#include "maps/segment.h"
#include "maps/service.h"
#include "node/plan/endpoint_add.h"
#include "node/plan/compare_maps.h"
#include "node/plan/delta_plan.h"
#include "node/plan/endpoint_del.h"
#include "node/local/iface_entry.h"
#include "node/plan/endpoint_find.h"
#include "node/plan/endpoint_set.h"
#include "node/plan/extension.h"
#include "node/plan/planner_parts.h"
#include "node/plan/added_record.h"
#include "node/plan/repair.h"
#include "node/plan/vanished.h"
#include "node/local/discovery.h"
#include "node/kernel/pinned_policy.h"
#include "node/kernel/pinned_policy_view.h"
#include "node/kernel/rtnl.h"

#define NOWHERE_LINK 0x7ffffff0 /* the index of an interface that does not exist */
#define OWN_LINK 100 /* the index of the interface `own`, which make_interface() makes */

#define PODS                                                                  \
	"[bulkhead]\nnode = one\n"                                            \
	"[endpoint shop/db]\nnode = two\nip = 10.1.0.5, fd00:1::5\n"          \
	"labels = role=db\nport = sql TCP/5432\n"                             \
	"[endpoint shop/web]\nnode = two\nip = 10.1.0.6\nlabels = role=web\n" \
	"[service shop/db]\naddress = 10.96.0.1\nport = TCP/80 to 5432\n"     \
	"backends = endpoints(role=db)\n"
static const char *const texts[] = {
	PODS "[network-policy shop/db]\nendpoints = role=db\n"
	     "ingress = from endpoints(role=web) ports TCP/5432\n"
	     "ingress = from cidr(192.0.2.0/24) ports TCP/443\n",
	/* Another rule and another prefix; batch in place of web. */
	"[bulkhead]\nnode = one\n"
	"[endpoint shop/db]\nnode = two\nip = 10.1.0.5, fd00:1::5\n"
	"labels = role=db\nport = sql TCP/5433\n"
	"[service shop/db]\naddress = 10.96.0.1, fd96::1\nport = TCP/80 to 5433\n"
	"backends = endpoints(role=db)\n"
	"[endpoint shop/batch]\nnode = two\nip = 10.1.0.7\nlabels = role=batch\n"
	"[network-policy shop/db]\nendpoints = role=db\n"
	"ingress = from endpoints(role=batch) ports TCP/sql\n"
	"ingress = from cidr(198.51.100.0/24) ports TCP/80-90\n",
};

/* Addresses to probe: endpoints of both policies, an added one, and others. */
static const char *const probes[] = {"10.1.0.5", "fd00:1::5", "10.1.0.6",  "10.1.0.7",
				     "10.1.0.8", "fd00:1::8", "192.0.2.9", "198.51.100.7",
				     "10.9.0.1", "9.9.9.9",   "10.96.5.1"};

struct world {
	struct image image;
	struct node_handle handle;
	struct node_options options;
	struct diag diag;
	struct local local;
	struct policy *policies[2];
	struct cluster clusters[2];
	struct bh_blob pin;
	struct pinned pinned; /* the active policy, once it has an extension */
};

static void parse(struct world *world, const char *text, struct cluster *cluster)
{
	cluster_init(cluster);
	assert_int_equal(input_parse_ini(cluster, text, strlen(text), "t", &world->diag), 0);
	assert_int_equal(cluster_finish(cluster, &world->diag), 0);
}

static void compile(struct world *world, size_t i)
{
	struct cluster *cluster = &world->clusters[i];

	parse(world, texts[i], cluster);
	assert_int_equal(compile_cluster(cluster, i ? world->policies[0] : NULL, &world->diag,
					 &world->policies[i]),
			 0);
}

static void set_policy(struct world *world, struct policy *policy)
{
	world->handle.policy = policy ? &policy->lazy : NULL;
}

static void init_local(struct local *local, const struct policy *policy)
{
	strcpy(local->name, "one");
	local->ifindexes = calloc(policy->n_endpoints + 1, sizeof(*local->ifindexes));
	maps_init_table(MAP_ifaces, &local->ifaces);
	maps_init_table(MAP_macs, &local->macs);
	maps_init_table(MAP_allow_source, &local->allow_source);
	maps_init_table(MAP_link_locals, &local->link_locals);
	maps_init_table(MAP_tunnels, &local->tunnels);
	assert_int_equal(discover_nodes(policy, &local->tunnels), 0);
	maps_init_table(MAP_endpoints, &local->kept);
}

/* Plans the change from the image to a policy. @kept: the address of an added endpoint of another
 * node that stays; NULL: none stays. */
static void plan_with(struct world *world, const struct policy *policy, enum planner_wrong wrong,
		      const char *kept, struct change *change)
{
	const struct bh_endpoint elsewhere = {};
	struct address address;
	CLEANUP(planner_free) struct planner plan = {};
	CLEANUP(local_free) struct local local = {};

	init_local(&local, policy);
	if (kept) {
		assert_int_equal(address_parse(kept, &address), 0);
		assert_int_equal(table_add(&local.kept, &address, &elsewhere), 0);
	}
	planner_init(&plan, &world->handle, policy, 0, &world->image, change);
	plan.local = &local;
	plan.wrong = wrong;
	assert_int_equal(compare_maps(&plan), 0);
	assert_int_equal(segment_entries_collect(&plan, NULL), 0);
	world->handle.blob.ports_end = plan.ports_end;
}

static void plan_load(struct world *world, const struct policy *policy, struct change *change)
{
	plan_with(world, policy, WRONG_REFUSE, NULL, change);
}

static void simulate(struct world *world, const struct change *change, size_t steps)
{
	assert_int_equal(
		change_simulate(change, &world->image, &world->handle.seen_generation, steps), 0);
}

static int world_setup(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	CLEANUP(change_free) struct change change;

	world->diag.to = stderr;
	world->handle = (struct node_handle){.options = &world->options,
					     .diag = &world->diag,
					     .pin = "nowhere",
					     .lock = -1,
					     .seen = &world->image};
	strcpy(world->handle.blob.node, "one");
	image_init(&world->image);
	compile(world, 0);
	compile(world, 1);
	change_init(&change, "first load");
	plan_load(world, world->policies[0], &change);
	assert_true(change.commits);
	simulate(world, &change, n_change_order);
	set_policy(world, world->policies[0]);
	*state = world;
	return 0;
}

static int world_teardown(void **state)
{
	struct world *world = *state;

	image_free(&world->image);
	delta_free(world->pinned.local);
	for (size_t i = 0; i < 2; i++) {
		policy_free(world->policies[i]);
		cluster_free(&world->clusters[i]);
	}
	free(world);
	return 0;
}

/* The segment's record and the variation that a packet finds for an address. */
static bool find_place(const struct world *world, const char *text, struct bh_segment *segment,
		       uint32_t *variation)
{
	const struct node_handle *handle = &world->handle;
	struct bh_prefix_key key = {.length = 128};
	struct bh_endpoint endpoint;
	struct bh_prefix prefix;
	uint64_t word = 0;
	uint32_t slot;
	struct address address;

	assert_int_equal(address_parse(text, &address), 0);
	memcpy(&key.addr, &address, sizeof(key.addr));
	if (!maps_lookup(handle, MAP_endpoints, &address, &endpoint))
		word = bh_assignment_at(endpoint.assignment[0], endpoint.assignment[1],
					handle->seen_generation);
	else if (!maps_lookup(handle, MAP_prefixes, &key, &prefix))
		word = bh_assignment_at(prefix.assignment[0], prefix.assignment[1],
					handle->seen_generation);
	slot = bh_assignment_slot(word);
	*variation = bh_assignment_is_cover(word) ? 0 : bh_assignment_variation(word);
	return slot && !maps_lookup(handle, MAP_segments, &slot, segment) && segment->id;
}

/* Returns the entry of an address. */
static struct bh_endpoint *entry_of(struct world *world, const char *text)
{
	struct address address;

	assert_int_equal(address_parse(text, &address), 0);
	return table_find(&world->image.map[MAP_endpoints], &address);
}

static void tell_ports(const struct world *world, FILE *to, struct bh_ports_ref ref)
{
	fprintf(to, " %u:", ref.count == BH_PORTS_NAMED ? ref.at : ref.count);
	for (uint32_t i = 0; ref.count != BH_PORTS_NAMED && i < ref.count; i++) {
		const uint32_t at = ref.at + i;
		struct bh_interval interval;

		assert_int_equal(maps_lookup(&world->handle, MAP_ports, &at, &interval), 0);
		for (size_t j = 0; j < sizeof(interval); j++)
			fprintf(to, "%02x", ((unsigned char *)&interval)[j]);
	}
}

static void tell_pair(const struct world *world, FILE *to, const struct bh_segment *subject,
		      const struct bh_segment *peer)
{
	for (int direction = 0; direction < 2; direction++) {
		const struct bh_pair_key own = {subject->own[direction], peer->peer_own};
		const struct bh_pair_key common = {subject->common[direction], peer->peer_common};
		struct bh_pair pair;

		if (!maps_lookup(&world->handle, MAP_pairs, &own, &pair) ||
		    !maps_lookup(&world->handle, MAP_pairs, &common, &pair))
			tell_ports(world, to, pair.ports);
		else
			tell_ports(world, to, subject->fallback[direction][0]);
	}
}

/* Tells if an address that is no endpoint's is a Service's. */
static void tell_prefix(const struct world *world, FILE *to, const char *text)
{
	struct bh_prefix_key key = {.length = 128};
	struct bh_prefix prefix;
	struct address address;

	assert_int_equal(address_parse(text, &address), 0);
	memcpy(&key.addr, &address, sizeof(key.addr));
	if (!maps_lookup(&world->handle, MAP_prefixes, &key, &prefix))
		fprintf(to, "%s is %u\n", text,
			bh_prefix_flags(prefix.flags, prefix.turn, world->handle.seen_generation));
}

/* Lists the Services. */
static void tell_services(const struct world *world, FILE *to)
{
	const struct table *services = &world->image.map[MAP_services];

	for (size_t i = 0; i < services->n; i++) {
		const struct bh_service *service = table_value(services, i);
		const int valid = bh_service_valid(service, world->handle.seen_generation);
		const unsigned char *key = table_key(services, i);

		if (valid < 0 || !(service->at[valid].flags & BH_SERVICE_THERE))
			continue;
		for (size_t j = 0; j < services->key_size; j++)
			fprintf(to, "%02x", key[j]);
		fprintf(to, " %u:%u\n", service->at[valid].backend, service->at[valid].point);
	}
}

/* Everything that packets find, as text to free. */
static char *meaning(const struct world *world)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		struct bh_segment subject = {}, peer = {};
		uint32_t variation;

		tell_prefix(world, to, probes[i]);
		if (!find_place(world, probes[i], &subject, &variation)) {
			fprintf(to, "%s is in none\n", probes[i]);
			continue;
		}
		fprintf(to, "%s in %u.%u:", probes[i], subject.id, variation);
		for (size_t j = 0; j < ARRAY_SIZE(probes); j++)
			if (find_place(world, probes[j], &peer, &variation))
				tell_pair(world, to, &subject, &peer);
		fprintf(to, "\n");
	}
	tell_services(world, to);
	fclose(to);
	return text;
}

static void copy_image(const struct image *from, struct image *to)
{
	image_init(to);
	for (int i = 0; i < N_NODE_MAPS; i++)
		for (size_t j = 0; j < from->map[i].n; j++)
			assert_int_equal(table_add(&to->map[i], table_key(&from->map[i], j),
						   table_value(&from->map[i], j)),
					 0);
}

/* The maps have as many entries as the policy: planners of loads and of deltas ask the same
 * function which entries stay. */
static void assert_same_numbers(const struct world *world, const struct policy *policy)
{
	const struct table *segments = &world->image.map[MAP_segments];
	size_t active = 0, there = 0;

	for (size_t i = 0; i < policy->n_segments; i++)
		active += !policy->segments[i].delete_generation;
	for (size_t i = 0; i < segments->n; i++)
		there += ((struct bh_segment *)table_value(segments, i))->id != 0;
	assert_int_equal(there, active);
	assert_int_equal(world->image.map[MAP_pairs].n, policy->n_pairs);
	assert_int_equal(world->image.map[MAP_named].n, policy->n_named);
	assert_int_equal(world->image.map[MAP_variations].n, policy->n_variations);
}

static void assert_nothing_left(struct world *world, const struct policy *policy)
{
	CLEANUP(change_free) struct change change;

	assert_same_numbers(world, policy);

	change_init(&change, "again");
	plan_load(world, policy, &change);
	/* A killed load may leave a node's address, to which endpoints do not encapsulate then. The
	 * next load deletes it. */
	change.maps[MAP_tunnels].deleted.n = 0;
	assert_true(change_is_empty(&change));
}

/* Returns true if a change that is killed after @steps steps differs from one killed a step
 * before. */
static bool differs(const struct change *change, size_t steps)
{
	return !steps || change_count(change, &change_order[steps - 1]);
}

static void repair(struct world *world)
{
	CLEANUP(change_free) struct change change;

	change_init(&change, "repair");
	assert_int_equal(repair_plan(&world->handle, false, &change), 0);
	simulate(world, &change, n_change_order);
}

/* Kills the repair after each step as well; a second repair completes it. */
static void repair_killed(struct world *world)
{
	CLEANUP(cleanup_free) char *before = meaning(world);

	for (size_t steps = 0; steps <= n_change_order; steps++) {
		CLEANUP(change_free) struct change change;
		struct world there = *world;
		char *after;

		change_init(&change, "repair");
		assert_int_equal(repair_plan(&world->handle, false, &change), 0);
		if (!differs(&change, steps))
			continue;
		there.handle.seen = &there.image;
		copy_image(&world->image, &there.image);
		simulate(&there, &change, steps);
		after = meaning(&there);
		assert_string_equal(after, before);
		free(after);
		repair(&there);
		after = meaning(&there);
		assert_string_equal(after, before);
		free(after);
		image_free(&there.image);
	}
}

/* Kills the change after each step. @then: the active policy after the commit. */
static bool kill_at_each_step(struct world *world, const struct change *change, struct policy *then,
			      bool kept)
{
	CLEANUP(cleanup_free) char *before = meaning(world);
	CLEANUP(cleanup_free) char *after = NULL;
	const uint32_t generation = world->handle.seen_generation;

	for (size_t end = n_change_order + 1; end-- > 0;) {
		struct world there = *world;
		CLEANUP(cleanup_free) char *found = NULL;

		if (!differs(change, end))
			continue;
		there.handle.seen = &there.image;
		copy_image(&world->image, &there.image);
		simulate(&there, change, end);
		if (there.handle.seen_generation != generation)
			set_policy(&there, then);
		found = meaning(&there);
		if (!after)
			after = strdup(found);
		assert_string_equal(found,
				    there.handle.seen_generation == generation ? before : after);
		repair_killed(&there);
		repair(&there);
		if (!kept)
			assert_nothing_left(&there, pinned_whole(&there.handle));
		image_free(&there.image);
	}
	return after && strcmp(before, after);
}

static void kill_everywhere(struct world *world, const struct change *change, struct policy *then,
			    bool kept)
{
	assert_true(kill_at_each_step(world, change, then, kept));
}

static void a_load_twice(void **state)
{
	struct world *world = *state;

	assert_int_equal(world->handle.seen_generation, 1);
	assert_nothing_left(world, world->policies[0]);
}

static void a_load_over_another(void **state)
{
	struct world *world = *state;
	CLEANUP(change_free) struct change change;

	change_init(&change, "load");
	plan_load(world, world->policies[1], &change);
	assert_true(change.commits);
	kill_everywhere(world, &change, world->policies[1], false);
	simulate(world, &change, n_change_order);
	set_policy(world, world->policies[1]);
	assert_nothing_left(world, world->policies[1]);
}

/* Gives the segment of an address, and its own pairs, to nobody. */
static void damage_segment(struct world *world, const char *text)
{
	struct table *segments = &world->image.map[MAP_segments];
	struct bh_segment segment, *there;
	uint32_t variation;

	assert_true(find_place(world, text, &segment, &variation));
	for (size_t i = 0; i < segments->n; i++) {
		there = table_value(segments, i);
		if (there->id == segment.id)
			there->own[0] = there->own[1] = there->common[0] = there->common[1] = 0;
	}
}

/* A segment is not as the active policy says. A load of that policy puts it right, and so does the
 * next one after a load that was killed at any step. */
static void a_load_that_corrects(void **state)
{
	struct world *world = *state;
	struct policy *active = world->policies[0];
	CLEANUP(cleanup_free) char *right = NULL;
	CLEANUP(change_free) struct change change;

	damage_segment(world, "10.1.0.5");
	change_init(&change, "load");
	plan_with(world, active, WRONG_CORRECT, NULL, &change);
	assert_true(change.commits);
	kill_everywhere(world, &change, active, true);
	for (size_t end = n_change_order + 1; end-- > 0;) {
		CLEANUP(change_free) struct change again;
		CLEANUP(cleanup_free) char *found = NULL;
		struct world there = *world;

		change_init(&again, "load");
		if (!differs(&change, end))
			continue;
		there.handle.seen = &there.image;
		copy_image(&world->image, &there.image);
		simulate(&there, &change, end);
		repair(&there);
		plan_with(&there, active, WRONG_CORRECT, NULL, &again);
		simulate(&there, &again, n_change_order);
		assert_nothing_left(&there, active);
		found = meaning(&there);
		if (!right)
			right = strdup(found);
		assert_string_equal(found, right);
		image_free(&there.image);
	}
}

/* Staging assigns no endpoint: activating it changes only assignments. */
static void a_stage(void **state)
{
	struct world *world = *state;
	CLEANUP(change_free) struct change stage, load;
	CLEANUP(planner_free) struct planner plan = {};
	CLEANUP(cleanup_free) char *before = meaning(world), *after = NULL;

	change_init(&stage, "load --stage");
	planner_init(&plan, &world->handle, world->policies[1], 0, &world->image, &stage);
	assert_int_equal(planner_compare(&plan, segment_entries_plan), 0);
	assert_false(stage.commits);
	simulate(world, &stage, n_change_order);
	after = meaning(world);
	assert_string_equal(after, before);
	change_init(&load, "load --activate");
	plan_load(world, world->policies[1], &load);
	assert_false(segment_entries_puts(&load));
	kill_everywhere(world, &load, world->policies[1], false);
}

/* Plans the addition of an endpoint on interface @ifindex of this node, or elsewhere (0). */
static void plan_arrival(struct world *world, struct cluster *cluster, uint32_t ifindex,
			 struct change *change)
{
	static const char text[] = "[endpoint shop/new]\nip = 10.9.0.1\nlabels = role=web\n"
				   "mac = 02:00:00:00:00:09\n";
	CLEANUP(local_free) struct local local = {};
	struct bh_iface iface = {.flags = BH_IFACE_ENDPOINT | BH_IFACE_MAC};
	bool isolated = false;

	parse(world, text, cluster);
	init_local(&local, pinned_whole(&world->handle));
	local.ifindexes[0] = ifindex;
	memcpy(&iface.ipv4, &cluster->endpoints[0].addresses[0], sizeof(iface.ipv4));
	if (ifindex)
		assert_int_equal(table_add(&local.ifaces, &ifindex, &iface), 0);
	assert_int_equal(endpoint_add_plan(&world->handle, &cluster->endpoints[0], &local, change,
					   &isolated),
			 0);
	assert_false(isolated);
}

static void arrive(struct world *world, uint32_t ifindex)
{
	CLEANUP(change_free) struct change change;
	struct cluster cluster;

	change_init(&change, "endpoint add");
	plan_arrival(world, &cluster, ifindex, &change);
	simulate(world, &change, n_change_order);
	cluster_free(&cluster);
}

static void an_endpoint_that_comes(void **state)
{
	struct world *world = *state;

	for (int here = 0; here < 2; here++) {
		CLEANUP(change_free) struct change change;
		struct cluster cluster;

		change_init(&change, "endpoint add");
		plan_arrival(world, &cluster, here ? NOWHERE_LINK : 0, &change);
		assert_int_equal(change.attach.n, here);
		kill_everywhere(world, &change, world->policies[0], true);
		cluster_free(&cluster);
	}
}

/* A container runtime's interface is guarded before its pod comes. It gets the pod's addresses
 * before the commit, so that the change waits for no grace period. */
static void an_endpoint_at_a_guarded_interface(void **state)
{
	static const struct bh_iface guarded = {.flags = BH_IFACE_ENDPOINT};
	struct world *world = *state;
	struct table *ifaces = &world->image.map[MAP_ifaces];
	CLEANUP(change_free) struct change change;
	struct cluster cluster;

	assert_int_equal(table_insert(ifaces, &(uint32_t){NOWHERE_LINK}, &guarded), 0);
	change_init(&change, "endpoint add");
	plan_arrival(world, &cluster, NOWHERE_LINK, &change);
	assert_int_equal(change.role.n, 1);
	assert_int_equal(change.maps[MAP_ifaces].late.n + change.attach.n, 0);
	assert_false(change.commits_again);
	kill_everywhere(world, &change, world->policies[0], true);
	cluster_free(&cluster);
}

static void it_takes_nobodys_place(void **state)
{
	struct world *world = *state;
	struct endpoint endpoint = {.ns_name = "shop", .name = "another", .n_addresses = 1};
	struct address address;

	endpoint.addresses = &address;
	world->diag.to = fopen("/dev/null", "w");
	assert_int_equal(address_parse("10.1.0.5", &address), 0);
	assert_int_equal(endpoint_check_free(&world->handle, &endpoint), -EINVAL);
	assert_int_equal(address_parse("10.1.0.55", &address), 0);
	assert_int_equal(endpoint_check_free(&world->handle, &endpoint), 0);
	endpoint.name = "db";
	assert_int_equal(endpoint_check_free(&world->handle, &endpoint), -EINVAL);
	fclose(world->diag.to);
	world->diag.to = stderr;
}

/*
 * A Service might lead to the endpoint that came: the next load updates only the common part of its
 * backends.
 */
static void assert_services_left(struct world *world)
{
	CLEANUP(change_free) struct change change;

	change_init(&change, "load");
	plan_load(world, world->policies[0], &change);
	assert_int_equal(change.maps[MAP_services].store.n, 1);
	simulate(world, &change, n_change_order);
	assert_nothing_left(world, world->policies[0]);
}

static void plan_removal(struct world *world, const struct bh_added *name, struct change *change)
{
	CLEANUP(own_interfaces_free) struct own_interfaces own;

	own_interfaces_init(&own, &world->handle, change);
	own.alone = true;
	assert_int_equal(endpoint_del_plan(&own, name), 0);
	assert_int_equal(own_interfaces_finish(&own), 0);
}

/* Plans the removal of the interfaces that are gone. */
static void plan_vanished(struct world *world, bool patient, struct change *change)
{
	CLEANUP(own_interfaces_free) struct own_interfaces own;
	CLEANUP(table_free) struct table ifaces = {};
	bool went;

	own_interfaces_init(&own, &world->handle, change);
	own.alone = true;
	assert_int_equal(vanished_plan(&own, NULL, patient, &ifaces, &went), 0);
	assert_int_equal(own_interfaces_finish(&own), 0);
	assert_int_equal(ifaces.n, 0);
}

static void an_endpoint_that_goes(void **state)
{
	struct world *world = *state;
	const struct bh_added name = record_name("shop", "new");
	CLEANUP(change_free) struct change change;

	arrive(world, NOWHERE_LINK);
	change_init(&change, "endpoint del");
	plan_removal(world, &name, &change);
	assert_int_equal(change.detach.n, 1);
	assert_int_equal(change.forget.n, 1);
	kill_everywhere(world, &change, world->policies[0], true);
	simulate(world, &change, n_change_order);
	assert_services_left(world);
}

static void an_interface_that_goes(void **state)
{
	struct world *world = *state;
	CLEANUP(change_free) struct change change;

	arrive(world, NOWHERE_LINK);
	change_init(&change, "interfaces that are gone");
	plan_vanished(world, false, &change);
	kill_everywhere(world, &change, world->policies[0], true);
	simulate(world, &change, n_change_order);
	assert_services_left(world);
}

/* How many of the interfaces that removed endpoints have left the change removes. */
static size_t collects(struct world *world, size_t left, bool patient)
{
	const struct bh_iface quarantined = {.flags = BH_IFACE_ENDPOINT};
	CLEANUP(change_free) struct change change;

	for (uint32_t i = world->image.map[MAP_ifaces].n; i < left; i++)
		assert_int_equal(table_add(&world->image.map[MAP_ifaces],
					   &(uint32_t){NOWHERE_LINK - i}, &quarantined),
				 0);
	table_sort(&world->image.map[MAP_ifaces]);
	change_init(&change, "interfaces that are gone");
	plan_vanished(world, patient, &change);
	return change.maps[MAP_ifaces].deleted.n;
}

static void interfaces_that_removals_left(void **state)
{
	struct world *world = *state;

	assert_int_equal(collects(world, 110, true), 0);
	assert_int_equal(collects(world, 110, false), 110);
	assert_int_equal(collects(world, 600, true), 600);
}

static void an_endpoint_that_changes(void **state)
{
	struct world *world = *state;
	struct label label = {"role", "db"};
	const struct labels labels = {&label, 1};
	const struct node_endpoint_set set = {.ns = "shop", .name = "new", .labels = &labels};
	CLEANUP(change_free) struct change change;
	CLEANUP(extension_close) struct extension extension = {};
	bool isolated = false;

	arrive(world, 0);
	change_init(&change, "endpoint set");
	assert_int_equal(endpoint_set_plan(&world->handle, &set, &change, &extension, &isolated),
			 0);
	assert_null(extension.handle);
	assert_false(isolated);
	kill_everywhere(world, &change, world->policies[0], true);
}

#define FIRST_OF_ITS_KIND "[endpoint shop/new]\nip = 10.9.0.1\nnode = two\nlabels = role=first\n"

/* Plans the addition of an endpoint whose labels no active segment has. */
static void plan_first(struct world *world, const char *text, struct cluster *cluster,
		       struct change *change, struct extension *extension)
{
	const struct table none = {};
	CLEANUP(local_free) struct local local = {};
	bool isolated = false;

	parse(world, text, cluster);
	init_local(&local, pinned_whole(&world->handle));
	assert_int_equal(
		extension_set(&world->handle, &cluster->endpoints[0], &none, change, extension), 0);
	assert_non_null(extension->extended);
	assert_int_equal(endpoint_add_plan(&world->handle, &cluster->endpoints[0], &local, change,
					   &isolated),
			 0);
	assert_false(isolated);
	assert_int_equal(change->maps[MAP_segments].put.n, 1);
	assert_non_null(change->policy.local);
}

/* Puts it active. */
static void arrive_first(struct world *world, struct extension *extension)
{
	CLEANUP(change_free) struct change change;
	struct cluster cluster;

	change_init(&change, "endpoint add");
	plan_first(world, FIRST_OF_ITS_KIND, &cluster, &change, extension);
	simulate(world, &change, n_change_order);
	world->handle.blob = change.policy.header;
	world->handle.blob.local = change.policy.local->size;
	world->pinned = (struct pinned){.header = &world->pin, .local = change.policy.local};
	world->handle.pinned = &world->pinned;
	change.policy.local = NULL;
	cluster_free(&cluster);
}

/* Skips a test that looks for pins, where the kernel has no bpf(2): an emulator of system calls. */
static void needs_pins(void)
{
	if (bpf_obj_get("/nowhere") < 0 && errno == ENOSYS)
		skip();
}

static void the_first_of_its_kind(void **state)
{
	struct world *world = *state;
	CLEANUP(extension_close) struct extension extension = {};
	CLEANUP(change_free) struct change change;
	struct cluster cluster;
	struct policy *extended;

	needs_pins();
	change_init(&change, "endpoint add");
	plan_first(world, FIRST_OF_ITS_KIND, &cluster, &change, &extension);
	extended = extension.extended;
	set_policy(world, world->policies[0]);
	kill_everywhere(world, &change, extended, true);
	cluster_free(&cluster);
}

/* The part of the extension that only the removed endpoint needed goes with the endpoint. */
static void the_last_of_its_kind(void **state)
{
	struct world *world = *state;
	const struct bh_added name = record_name("shop", "new");
	CLEANUP(extension_close) struct extension extension = {};
	CLEANUP(change_free) struct change change;

	needs_pins();
	arrive_first(world, &extension);
	extension.extended->plain = &world->policies[0]->lazy;
	change_init(&change, "endpoint del");
	plan_removal(world, &name, &change);
	assert_int_equal(extension_del(&world->handle, &change), 0);
	assert_true(change.policy.stays);
	assert_null(change.policy.local);
	assert_int_equal(change.maps[MAP_segments].deleted.n, 1);
	kill_everywhere(world, &change, world->policies[0], true);
	simulate(world, &change, n_change_order);
	set_policy(world, world->policies[0]);
	assert_services_left(world);
	extension.extended->plain = NULL;
}

/* A label that no segment has, and back to one that a segment has. */
static void its_label_changes(void **state)
{
	struct world *world = *state;
	struct label label = {"role", "db"};
	const struct labels labels = {&label, 1};
	const struct node_endpoint_set set = {.ns = "shop", .name = "new", .labels = &labels};
	CLEANUP(extension_close) struct extension first = {}, second = {};
	CLEANUP(change_free) struct change change;
	bool isolated = false;

	needs_pins();
	arrive_first(world, &first);
	first.extended->plain = &world->policies[0]->lazy;
	change_init(&change, "endpoint set");
	assert_int_equal(endpoint_set_plan(&world->handle, &set, &change, &second, &isolated), 0);
	assert_false(isolated);
	assert_null(change.policy.local);
	assert_int_equal(change.maps[MAP_segments].deleted.n, 1);
	set_policy(world, first.extended);
	kill_everywhere(world, &change, world->policies[0], true);
	first.extended->plain = NULL;
}

/* A cluster whose endpoints come, move and go one by one. Its policies keep their segments. */
#define DELTA_PODS                                                                     \
	"[bulkhead]\nnode = one\n"                                                     \
	"[endpoint shop/db]\nnode = two\nip = 10.1.0.5, fd00:1::5\nlabels = role=db\n" \
	"[endpoint shop/far]\nnode = two\nip = 10.2.0.6\nlabels = role=web\n"          \
	"[network-policy shop/db]\nendpoints = role=db\n"                              \
	"ingress = from endpoints(role=web) ports TCP/5432\n"                          \
	"ingress = from endpoints(role=first) ports TCP/443\n"                         \
	"[service shop/web]\naddress = 10.96.0.1\nport = TCP/80 to 8080\n"             \
	"backends = endpoints(role=web)\n"

#define OWN_POD_AT(interface, ip, mac)                                                    \
	"[endpoint shop/own]\nnode = one\ninterface = " interface "\nip = " ip "\nmac = " \
	"02:00:00:00:00:" mac "\n"                                                        \
	"labels = role=web\n"
#define OWN_POD_OF(ip, mac) OWN_POD_AT("own", ip, mac)
#define OWN_POD OWN_POD_OF("10.1.0.7", "07")
#define OTHER_POD_ON(node)                                                                  \
	"[endpoint shop/other]\nnode = " node "\ninterface = own\nip = 10.1.0.7\nlabels = " \
	"role=web\n"
#define FAR_POD "[endpoint shop/web]\nnode = two\nip = 10.1.0.6\nlabels = role=web\n"
#define OWN_POD_ON_TWO "[endpoint shop/own]\nnode = two\nip = 10.1.0.7\nlabels = role=web\n"
#define OWN_POD_NOWHERE "[endpoint shop/own]\nnode = one\nip = 10.1.0.7\nlabels = role=web\n"
#define OWN_POD_ELSEWHERE OWN_POD_AT("gone", "10.1.0.7", "07")

#define FIRST_POD                                                                            \
	"[endpoint shop/first]\nnode = two\nip = 10.1.0.8, fd00:1::8\nlabels = role=first\n" \
	"port = sql TCP/5432\n"
#define SECOND_POD                                                                 \
	"[endpoint shop/second]\nnode = two\nip = 10.1.0.6\nlabels = role=first\n" \
	"port = sql TCP/5433\n"
#define FIRST_POLICY                                                                \
	"[network-policy shop/first]\nendpoints = role=first\n"                     \
	"ingress = from endpoints(role=web) ports TCP/sql, UDP/53, TCP/8000-8100\n" \
	"ingress = from endpoints(role=db) ports TCP/443\n"

#define CIDR_POLICY                                         \
	"[network-policy shop/cidr]\nendpoints = role=db\n" \
	"ingress = from cidr(192.0.2.0/24) ports TCP/443\n" \
	"ingress = from cidr(10.0.0.0/8) ports TCP/80\n"
#define WEB_POLICY                                          \
	"[network-policy shop/web]\nendpoints = role=web\n" \
	"ingress = from endpoints(role=db) ports TCP/8080\n"
#define SERVICE_CIDR "[bulkhead]\nservice-cidr = 10.96.0.0/16\n"
#define CIDR_OF_SERVICES                                    \
	"[network-policy shop/cidr]\nendpoints = role=db\n" \
	"ingress = from cidr(10.96.5.0/24) ports TCP/443\n"
#define SECOND_SERVICE                                                               \
	"[node far]\nip = 198.51.100.7\n"                                            \
	"[service shop/first]\naddress = 10.96.0.2, fd96::2\nport = TCP/80 to sql\n" \
	"external-address = 9.9.9.9\nbackends = endpoints(role=first)\n"

static const struct delta_step {
	const char *name, *from, *to;
	enum {
		ELSEWHERE, /* no endpoint of this node changes */
		OWN_COMES, /* one comes to its interface */
		OWN_GOES, /* one leaves its interface, which does not exist */
		OWN_MOVES, /* one does both */
		OWN_STAYS, /* one changes and keeps its interface, which exists */
	} whose;
	bool segments; /* it brings some */
} delta_steps[] = {
	{"another node's comes", "", FAR_POD, ELSEWHERE, false},
	{"another node's moves", FAR_POD,
	 "[endpoint shop/web]\nnode = two\nip = 10.1.0.6\nlabels = role=db\n", ELSEWHERE, false},
	{"another node's goes", FAR_POD, "", ELSEWHERE, false},
	{"this node's comes", "", OWN_POD, OWN_COMES, false},
	{"this node's goes", OWN_POD, "", OWN_GOES, false},
	{"this node's moves to another interface", OWN_POD_ELSEWHERE, OWN_POD, OWN_MOVES, false},
	{"another node's gets this node's address", OWN_POD, OTHER_POD_ON("two"), OWN_GOES, false},
	{"this node's gets another node's address", OTHER_POD_ON("two"), OWN_POD, OWN_COMES, false},
	{"this node's gets another's address and place", OWN_POD, OTHER_POD_ON("one"), OWN_STAYS,
	 false},
	{"another node's moves to this node", OWN_POD_ON_TWO, OWN_POD, OWN_COMES, false},
	{"this node's moves to another node", OWN_POD, OWN_POD_ON_TWO, OWN_GOES, false},
	{"this node's gets another MAC", OWN_POD, OWN_POD_OF("10.1.0.7", "08"), OWN_STAYS, false},
	{"this node's is audited", OWN_POD, OWN_POD "audit = yes\n", OWN_STAYS, false},
	{"this node's is audited no more", OWN_POD "audit = yes\n", OWN_POD, OWN_STAYS, false},
	{"this node's namespace is audited", OWN_POD, OWN_POD "[namespace shop]\naudit = yes\n",
	 OWN_STAYS, false},
	{"this node's gets an address", OWN_POD, OWN_POD_OF("10.1.0.7, fd00:1::7", "07"), OWN_STAYS,
	 false},
	{"this node's loses an address", OWN_POD_OF("10.1.0.7, fd00:1::7", "07"), OWN_POD,
	 OWN_STAYS, false},
	{"this node's gets another address", OWN_POD, OWN_POD_OF("10.1.0.9", "07"), OWN_STAYS,
	 false},
	{"this node's may send from a CIDR", OWN_POD, OWN_POD "allow-source = 192.0.2.0/24\n",
	 OWN_STAYS, false},
	{"the first of its kind comes", "", FIRST_POD, ELSEWHERE, true},
	{"the last of its kind goes", FIRST_POD, "", ELSEWHERE, false},
	{"a policy comes", FIRST_POD, FIRST_POD FIRST_POLICY, ELSEWHERE, true},
	{"a policy goes", FIRST_POD FIRST_POLICY, FIRST_POD, ELSEWHERE, true},
	{"a port name gets another number", FIRST_POD FIRST_POLICY,
	 FIRST_POD FIRST_POLICY SECOND_POD, ELSEWHERE, true},
	{"a CIDR comes", "", CIDR_POLICY, ELSEWHERE, true},
	{"a CIDR comes as an endpoint in it goes", FIRST_POD, CIDR_POLICY, ELSEWHERE, true},
	{"a CIDR goes", CIDR_POLICY, "", ELSEWHERE, true},
	{"a Service and a node come", FIRST_POD, FIRST_POD SECOND_SERVICE, ELSEWHERE, false},
	{"a Service and a node go", FIRST_POD SECOND_SERVICE, FIRST_POD, ELSEWHERE, false},
};

static struct policy *compile_text(struct world *world, struct cluster *cluster, const char *pods,
				   const struct policy *base)
{
	CLEANUP(cleanup_free) char *text = NULL;
	struct policy *policy;

	assert_true(asprintf(&text, "%s%s", DELTA_PODS, pods) > 0);
	parse(world, text, cluster);
	assert_int_equal(compile_cluster(cluster, base, &world->diag, &policy), 0);
	return policy;
}

/* Puts the first policy of a step active, if nothing was. */
static void begin_step(struct world *world, struct policy *policy)
{
	CLEANUP(change_free) struct change change;

	image_free(&world->image);
	image_init(&world->image);
	world->handle.seen_generation = 0;
	change_init(&change, "load");
	plan_load(world, policy, &change);
	simulate(world, &change, n_change_order);
	set_policy(world, policy);
	for (int i = 0; i < N_NODE_MAPS; i++)
		world->handle.capacity[i] = 1000;
}

/* Has the endpoint of this node be at an interface. @ifindex 0: there is no such endpoint. */
static void take_place(struct world *world, uint32_t ifindex)
{
	static const char *const addresses[] = {"fd00:1::7", "10.1.0.7"};
	struct bh_iface iface = {.flags = BH_IFACE_ENDPOINT};
	struct bh_endpoint *entry = NULL;
	struct address address;

	for (size_t i = 0; ifindex && i < ARRAY_SIZE(addresses); i++) {
		assert_int_equal(address_parse(addresses[i], &address), 0);
		entry = table_find(&world->image.map[MAP_endpoints], &address);
		if (!entry)
			continue;
		entry->ifindex = ifindex;
		memcpy(address_is_ipv4(&address) ? &iface.ipv4 : &iface.ipv6, &address,
		       sizeof(address));
	}
	if (!entry)
		return;
	assert_int_equal(table_add(&world->image.map[MAP_ifaces], &ifindex, &iface), 0);
}

/* Kills the staging of a delta's segments at each step: nothing changes for packets, and a repair
 * leaves nothing of it. */
static void kill_stage(struct world *world, const struct delta *delta, struct policy *from)
{
	CLEANUP(change_free) struct change whole, stage;
	CLEANUP(cleanup_free) char *before = meaning(world);
	bool own;

	change_init(&whole, "load");
	assert_int_equal(delta_plan(&world->handle, delta, true, &whole, &own), 0);
	delta_plan_stage(&whole, &stage);
	assert_false(segment_entries_puts(&whole));
	assert_false(stage.commits);
	for (size_t end = 0; end <= n_change_order; end++) {
		struct world there = *world;
		CLEANUP(cleanup_free) char *after = NULL;

		if (!differs(&stage, end))
			continue;
		there.handle.seen = &there.image;
		copy_image(&world->image, &there.image);
		simulate(&there, &stage, end);
		after = meaning(&there);
		assert_string_equal(after, before);
		repair_killed(&there);
		repair(&there);
		assert_nothing_left(&there, from);
		image_free(&there.image);
	}
}

/* Two policies, the first of which is active, and the delta between them. */
struct successor {
	struct cluster clusters[2];
	struct policy *from, *to;
	struct delta *delta;
};

static void successor_begin(struct world *world, const char *from, const char *to, uint32_t ifindex,
			    struct successor *made)
{
	made->from = compile_text(world, &made->clusters[0], from, NULL);
	made->to = compile_text(world, &made->clusters[1], to, made->from);
	assert_int_equal(delta_make(made->from, made->to, &made->delta), 0);
	begin_step(world, made->from);
	take_place(world, ifindex);
}

static void successor_end(struct world *world, struct successor *made)
{
	set_policy(world, NULL);
	node_effect_free(world->handle.effect);
	world->handle.effect = NULL;
	delta_free(made->delta);
	for (size_t i = 0; i < 2; i++)
		cluster_free(&made->clusters[i]);
	policy_free(made->from);
	policy_free(made->to);
}

static void kill_delta(struct world *world, const struct delta_step *step)
{
	static const uint32_t places[] = {
		[OWN_GOES] = NOWHERE_LINK, [OWN_MOVES] = NOWHERE_LINK, [OWN_STAYS] = OWN_LINK};
	const bool comes = step->whose == OWN_COMES, goes = step->whose == OWN_GOES,
		   moves = step->whose == OWN_MOVES;
	CLEANUP(change_free) struct change change;
	struct successor made;
	bool own = false;

	print_message("# %s\n", step->name);
	successor_begin(world, step->from, step->to, places[step->whose], &made);
	change_init(&change, "load");
	assert_int_equal(delta_plan(&world->handle, made.delta, false, &change, &own), 0);
	assert_int_equal(own, step->whose != ELSEWHERE);
	assert_int_equal(change.attach.n, comes || moves);
	assert_int_equal(change.detach.n, goes || moves);
	assert_int_equal(segment_entries_puts(&change), step->segments);
	assert_false(step->segments && delta_keeps_segments(made.delta));
	if (step->segments)
		kill_stage(world, made.delta, made.from);
	/* what changes of an interface alone concerns no verdict between these addresses */
	assert_true(kill_at_each_step(world, &change, made.to, step->whose != ELSEWHERE) ||
		    step->whose == OWN_STAYS || (*step->from && *step->to));
	simulate(world, &change, n_change_order);
	set_policy(world, made.to);
	if (step->whose == ELSEWHERE)
		assert_nothing_left(world, made.to);
	successor_end(world, &made);
}

/* The segment that the node made for the first endpoint keeps its slot as the node makes another
 * one, so that the first endpoint stays where it is. */
static void another_first_of_its_kind(void **state)
{
	struct world *world = *state;
	CLEANUP(extension_close) struct extension first = {}, second = {};
	CLEANUP(change_free) struct change change;
	struct cluster cluster;
	struct successor made;

	needs_pins();
	successor_begin(world, "", "", 0, &made);
	arrive_first(world, &first);
	first.extended->plain = &made.from->lazy;
	change_init(&change, "endpoint add");
	plan_first(world, "[endpoint shop/next]\nip = 10.9.0.2\nnode = two\nlabels = role=none\n",
		   &cluster, &change, &second);
	assert_int_equal(change.maps[MAP_segments].deleted.n, 0);
	assert_int_equal(change.maps[MAP_endpoints].store.n, 0);
	set_policy(world, first.extended);
	kill_at_each_step(world, &change, second.extended, true);
	first.extended->plain = NULL;
	cluster_free(&cluster);
	successor_end(world, &made);
}

/* Deltas before left gaps, and bh_ports is full up to its end: a new list fills a gap. */
static void a_delta_fills_a_gap(void **state)
{
	enum { FULL = 32 };
	struct world *world = *state;
	CLEANUP(change_free) struct change change;
	const struct table *put;
	struct successor made;
	bool own;

	needs_pins();
	successor_begin(world, FIRST_POD, FIRST_POD FIRST_POLICY, 0, &made);
	world->handle.capacity[MAP_ports] = world->handle.blob.ports_end = FULL;
	change_init(&change, "load");
	assert_int_equal(delta_plan(&world->handle, made.delta, false, &change, &own), 0);
	put = &change.maps[MAP_ports].put;
	assert_true(put->n > 0);
	for (size_t i = 0; i < put->n; i++)
		assert_true(*(uint32_t *)table_key(put, i) < FULL);
	assert_true(change.policy.header.ports_end < FULL);
	assert_true(change.wanted[MAP_ports] <= FULL);
	kill_everywhere(world, &change, made.to, false);
	successor_end(world, &made);
}

/* A delta brings the first pod of the kind for which the node has a segment: the node's own segment
 * goes, and its endpoint moves to the policy's. */
static void a_delta_drops_the_extension(void **state)
{
	static const enum node_map_id own[] = {MAP_segments, MAP_pairs};
	struct world *world = *state;
	CLEANUP(extension_close) struct extension extension = {};
	CLEANUP(change_free) struct change change;
	struct bh_segment before, after;
	struct successor made;
	uint32_t variation;
	bool of_this_node = true;

	needs_pins();
	successor_begin(world, "", FIRST_POD, 0, &made);
	arrive_first(world, &extension);
	extension.extended->plain = &made.from->lazy;
	assert_true(find_place(world, "10.9.0.1", &before, &variation));
	change_init(&change, "load");
	assert_int_equal(delta_plan(&world->handle, made.delta, false, &change, &of_this_node), 0);
	assert_false(of_this_node);
	assert_null(change.policy.local);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		assert_int_equal(change.maps[own[i]].deleted.n, 1);
	kill_everywhere(world, &change, made.to, true);
	simulate(world, &change, n_change_order);
	assert_true(find_place(world, "10.9.0.1", &after, &variation));
	assert_int_not_equal(before.id, after.id);
	assert_true(find_place(world, "10.1.0.8", &before, &variation));
	assert_int_equal(before.id, after.id);
	extension.extended->plain = NULL;
	successor_end(world, &made);
}

/* Each kind of delta that is planned from what it names alone. */
static void a_delta(void **state)
{
	struct world *world = *state;

	needs_pins();
	world->handle.rtnl = rtnl_open();
	assert_non_null(world->handle.rtnl);
	for (size_t i = 0; i < ARRAY_SIZE(delta_steps); i++)
		kill_delta(world, &delta_steps[i]);
	rtnl_close(&world->handle.rtnl);
}

/* A CIDR's addresses are Services' as long as the Services' network is around it, from the commit
 * on, too. A killed load may leave the CIDR's prefix, which the next load deletes. */
static void a_delta_takes_a_prefix_of_services(void **state)
{
	struct world *world = *state;
	CLEANUP(change_free) struct change change;
	struct successor made;
	bool own;

	needs_pins();
	successor_begin(world, SERVICE_CIDR CIDR_OF_SERVICES, SERVICE_CIDR, 0, &made);
	change_init(&change, "load");
	assert_int_equal(delta_plan(&world->handle, made.delta, false, &change, &own), 0);
	assert_int_equal(change.maps[MAP_prefixes].deleted.n, 1);
	kill_everywhere(world, &change, made.to, true);
	successor_end(world, &made);
}

/* A delta brings an endpoint to an address of which the maps have an entry. An entry that neither
 * the policy nor a record has is a leftover: the whole policy is compared then. */
static void a_delta_meets_an_entry(void **state)
{
	static const struct {
		const char *pod, *address;
		bool there, recorded;
		int error;
	} rows[] = {
		{FAR_POD, "10.1.0.6", false, false, 0},
		{FAR_POD, "10.1.0.6", true, false, COMPARE_ALL},
		{FAR_POD, "10.1.0.6", true, true, 0},
		{OWN_POD, "10.1.0.7", false, false, 0},
		{OWN_POD, "10.1.0.7", true, false, COMPARE_ALL},
		{OWN_POD, "10.1.0.7", true, true, 0},
	};
	const struct bh_endpoint entry = {.assignment = {bh_assignment(0, 1, 0)}};
	struct world *world = *state;

	needs_pins();
	world->handle.rtnl = rtnl_open();
	assert_non_null(world->handle.rtnl);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct bh_added record = {};
		struct table *map = world->image.map;
		CLEANUP(change_free) struct change change;
		struct successor made;
		struct address address;
		bool own;

		print_message("# %s\n", rows[i].address);
		successor_begin(world, "", rows[i].pod, 0, &made);
		assert_int_equal(address_parse(rows[i].address, &address), 0);
		if (rows[i].there)
			assert_int_equal(table_insert(&map[MAP_endpoints], &address, &entry), 0);
		if (rows[i].recorded)
			assert_int_equal(table_insert(&map[MAP_added], &address, &record), 0);
		change_init(&change, "load");
		assert_int_equal(delta_plan(&world->handle, made.delta, false, &change, &own),
				 rows[i].error);
		successor_end(world, &made);
	}
	rtnl_close(&world->handle.rtnl);
}

/* Gives an address of the policy to the sandbox of another pod, which is where @like is. */
static void give_to_sandbox(struct world *world, const char *text, const char *like)
{
	struct address address;
	const struct endpoint sandbox = {.ns_name = "shop",
					 .name = "late",
					 .attachment = "container:eth0",
					 .addresses = &address,
					 .n_addresses = 1};
	struct bh_added record;

	assert_int_equal(address_parse(text, &address), 0);
	assert_int_equal(record_write(&sandbox, &record), 0);
	assert_int_equal(table_insert(&world->image.map[MAP_added], &address, &record), 0);
	entry_of(world, text)->assignment[0] = entry_of(world, like)->assignment[0];
}

/* A load of another policy moves an added endpoint that stays to its segment of that policy, as the
 * policy's own pods of these labels, and deletes one that does not stay. */
static void a_load_beside_an_added_endpoint(void **state)
{
	struct world *world = *state;
	struct successor made;

	successor_begin(world, "", WEB_POLICY, 0, &made);
	arrive(world, 0);
	for (int stays = 0; stays < 2; stays++) {
		CLEANUP(change_free) struct change change;
		struct bh_segment before, after, like;
		struct world there = *world;
		uint32_t variation;

		change_init(&change, "load");
		there.handle.seen = &there.image;
		copy_image(&world->image, &there.image);
		assert_true(find_place(&there, "10.9.0.1", &before, &variation));
		plan_with(&there, made.to, WRONG_REFUSE, stays ? "10.9.0.1" : NULL, &change);
		kill_everywhere(&there, &change, made.to, true);
		simulate(&there, &change, n_change_order);
		assert_int_equal(there.image.map[MAP_added].n, stays);
		assert_int_equal(entry_of(&there, "10.9.0.1") != NULL, stays);
		assert_true(find_place(&there, "10.2.0.6", &like, &variation));
		assert_int_not_equal(like.id, before.id);
		assert_int_equal(find_place(&there, "10.9.0.1", &after, &variation) &&
					 after.id == like.id,
				 stays);
		image_free(&there.image);
	}
	successor_end(world, &made);
}

/* A delta brings a Service. A backend whose address a sandbox on this node has counts as that
 * sandbox: the policy is late. */
static void a_delta_counts_a_sandbox(void **state)
{
	static const char service[] = "[service shop/db]\naddress = 10.96.0.9\n"
				      "port = TCP/81 to 5432\nbackends = endpoints(role=db)\n";
	struct world *world = *state;

	needs_pins();
	for (int sandbox = 0; sandbox < 2; sandbox++) {
		CLEANUP(change_free) struct change change;
		const struct table *put;
		struct successor made;
		bool own;

		successor_begin(world, "", service, 0, &made);
		if (sandbox)
			give_to_sandbox(world, "10.1.0.5", "10.2.0.6");
		change_init(&change, "load");
		assert_int_equal(delta_plan(&world->handle, made.delta, false, &change, &own), 0);
		put = &change.maps[MAP_services].put;
		assert_int_equal(put->n, 1);
		assert_int_equal(((struct bh_service *)table_value(put, 0))->at[0].backend,
				 (uint32_t)entry_of(world, sandbox ? "10.2.0.6" : "10.1.0.5")
					 ->assignment[0]);
		successor_end(world, &made);
	}
}

/* Kills a change that takes the only endpoint of this node after each step: its interface stays
 * guarded, and is quarantined once the change is active. */
static void kill_quarantining(struct world *world, const struct change *change, struct policy *then)
{
	const uint32_t generation = world->handle.seen_generation;
	const struct table *ifaces;

	for (size_t end = 0; end <= n_change_order; end++) {
		struct world there = *world;

		if (!differs(change, end))
			continue;
		there.handle.seen = &there.image;
		ifaces = &there.image.map[MAP_ifaces];
		copy_image(&world->image, &there.image);
		simulate(&there, change, end);
		assert_int_equal(ifaces->n, 1);
		if (there.handle.seen_generation != generation)
			set_policy(&there, then);
		repair(&there);
		assert_int_equal(ifaces->n, 1);
		assert_int_equal(iface_entry_is_quarantined(table_value(ifaces, 0)),
				 there.handle.seen_generation != generation);
		image_free(&there.image);
	}
}

/* Plans a delta after which the endpoint at the loopback interface is not there. A load that may
 * quarantine the interface keeps it guarded; another one refuses. */
static void leave_interface(struct world *world, const struct successor *made,
			    struct change *quarantined)
{
	CLEANUP(change_free) struct change open;
	bool own = false;

	world->options.quarantine = false;
	change_init(&open, "load");
	assert_int_equal(delta_plan(&world->handle, made->delta, false, &open, &own), -EINVAL);
	world->options.quarantine = true;
	change_init(quarantined, "load");
	assert_int_equal(delta_plan(&world->handle, made->delta, false, quarantined, &own), 0);
	assert_true(own);
	assert_int_equal(quarantined->detach.n, 0);
	assert_int_equal(quarantined->quarantine.n, 1);
}

/* The endpoint goes before its interface. */
static void a_delta_leaves_an_interface(void **state)
{
	struct world *world = *state;
	CLEANUP(change_free) struct change change;
	struct successor made;

	needs_pins();
	world->handle.rtnl = rtnl_open();
	assert_non_null(world->handle.rtnl);
	successor_begin(world, OWN_POD, "", OWN_LINK, &made);
	leave_interface(world, &made, &change);
	kill_quarantining(world, &change, made.to);
	successor_end(world, &made);
	rtnl_close(&world->handle.rtnl);
}

/* The endpoint stays, and another interface has no route to it yet. */
static void a_delta_moves_off_an_interface(void **state)
{
	struct world *world = *state;
	CLEANUP(change_free) struct change change;
	struct successor made;

	needs_pins();
	world->handle.rtnl = rtnl_open();
	assert_non_null(world->handle.rtnl);
	world->options.late = true;
	successor_begin(world, OWN_POD, OWN_POD_NOWHERE, OWN_LINK, &made);
	leave_interface(world, &made, &change);
	assert_int_equal(change.maps[MAP_endpoints].deleted.n, 0);
	successor_end(world, &made);
	rtnl_close(&world->handle.rtnl);
}

/* Plans a whole load of a policy that has the endpoints of this node at these interfaces. */
static void plan_load_at(struct world *world, const struct policy *policy, const uint32_t *at,
			 struct change *change)
{
	CLEANUP(planner_free) struct planner plan = {};
	CLEANUP(local_free) struct local local = {};

	init_local(&local, policy);
	for (size_t i = 0; i < policy->n_endpoints; i++) {
		const struct policy_endpoint *endpoint = &policy->endpoints[i];
		struct bh_iface iface = {.flags = BH_IFACE_ENDPOINT};

		if (strcmp(policy_string(policy, endpoint->node), "one"))
			continue;
		for (size_t j = 0; j < policy->n_addresses; j++) {
			const struct address *address = &policy->addresses[j].address;

			if (policy->addresses[j].endpoint == i)
				memcpy(address_is_ipv4(address) ? &iface.ipv4 : &iface.ipv6,
				       address, sizeof(*address));
		}
		local.ifindexes[i] = *at;
		assert_int_equal(table_add(&local.ifaces, at++, &iface), 0);
	}
	table_sort(&local.ifaces);
	planner_init(&plan, &world->handle, policy, 0, &world->image, change);
	plan.local = &local;
	assert_int_equal(compare_maps(&plan), 0);
	assert_int_equal(segment_entries_collect(&plan, NULL), 0);
	world->handle.blob.ports_end = plan.ports_end;
}

/* Checks that an endpoint's address is at an interface that is guarded as an endpoint's. */
static void assert_is_at(struct world *world, const char *text, uint32_t ifindex)
{
	struct bh_endpoint entry;
	struct address address;
	struct bh_iface iface;

	assert_int_equal(address_parse(text, &address), 0);
	assert_int_equal(maps_lookup(&world->handle, MAP_endpoints, &address, &entry), 0);
	assert_int_equal(entry.ifindex, ifindex);
	assert_int_equal(maps_lookup(&world->handle, MAP_ifaces, &ifindex, &iface), 0);
	assert_true(iface.flags & BH_IFACE_ENDPOINT && !iface_entry_is_quarantined(&iface));
}

/* Counts the interfaces that are guarded as endpoints'. */
static size_t count_guarded(const struct world *world)
{
	const struct table *ifaces = &world->image.map[MAP_ifaces];
	size_t n = 0;

	for (size_t i = 0; i < ifaces->n; i++)
		n += !!(((struct bh_iface *)table_value(ifaces, i))->flags & BH_IFACE_ENDPOINT);
	return n;
}

#define MOVING_POD_AS(role) \
	"[endpoint shop/own]\nnode = one\nip = 10.1.0.7, fd00:1::7\nlabels = role=" role "\n"
#define MOVING_POD MOVING_POD_AS("web")
#define SECOND_OWN_POD \
	"[endpoint shop/second]\nnode = one\nip = 10.1.0.9, fd00:1::9\nlabels = role=web\n"

/* Endpoints of this node with their interfaces before and after a whole load. */
static const struct move {
	const char *name, *from, *to;
	uint32_t before[2], after[2];
	size_t n;
} moves[] = {
	{"to an interface that is there",
	 MOVING_POD,
	 MOVING_POD FAR_POD,
	 {NOWHERE_LINK},
	 {OWN_LINK},
	 1},
	{"off an interface that is there",
	 MOVING_POD,
	 MOVING_POD FAR_POD,
	 {OWN_LINK},
	 {NOWHERE_LINK},
	 1},
	{"and to another segment", MOVING_POD, MOVING_POD_AS("db"), {OWN_LINK}, {NOWHERE_LINK}, 1},
	{"two swap their interfaces",
	 MOVING_POD SECOND_OWN_POD,
	 MOVING_POD SECOND_OWN_POD FAR_POD,
	 {OWN_LINK, NOWHERE_LINK},
	 {NOWHERE_LINK, OWN_LINK},
	 2},
};

static void assert_are_at(struct world *world, const struct move *move, const uint32_t *at)
{
	static const char *const addresses[][2] = {{"10.1.0.7", "fd00:1::7"},
						   {"10.1.0.9", "fd00:1::9"}};

	for (size_t i = 0; i < move->n; i++)
		for (size_t j = 0; j < 2; j++)
			assert_is_at(world, addresses[i][j], at[i]);
	assert_int_equal(count_guarded(world), move->n);
}

/* Kills a whole load that moves endpoints between interfaces after each step: a repair leaves each
 * where the policy that is active has it. */
static void kill_move(struct world *world, const struct move *move)
{
	CLEANUP(change_free) struct change first, change;
	struct successor made;
	uint32_t generation;

	print_message("# %s\n", move->name);
	successor_begin(world, move->from, move->to, 0, &made);
	change_init(&first, "load");
	plan_load_at(world, made.from, move->before, &first);
	simulate(world, &first, n_change_order);
	assert_are_at(world, move, move->before);
	generation = world->handle.seen_generation;
	change_init(&change, "load");
	plan_load_at(world, made.to, move->after, &change);
	for (size_t end = 0; end <= n_change_order; end++) {
		struct world there = *world;

		if (!differs(&change, end))
			continue;
		there.handle.seen = &there.image;
		copy_image(&world->image, &there.image);
		simulate(&there, &change, end);
		if (there.handle.seen_generation != generation)
			set_policy(&there, made.to);
		repair_killed(&there);
		repair(&there);
		assert_are_at(&there, move,
			      there.handle.seen_generation == generation ? move->before
									 : move->after);
		image_free(&there.image);
	}
	successor_end(world, &made);
}

static void a_load_moves_between_interfaces(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(moves); i++)
		kill_move(*state, &moves[i]);
}

/* An entry is put before the entries that refer to it, and deleted after them. */
static bool has_step(enum change_act act, enum node_map_id map, bool undone)
{
	for (size_t i = 0; i < n_change_order; i++)
		if (change_order[i].act == act && change_order[i].map == map &&
		    change_order[i].undone == undone)
			return true;
	return false;
}

/* A map without its steps would be planned for, and never written. */
static void steps_of_each_map(void **state)
{
	(void)state;
	for (int map = 0; map < N_NODE_MAPS; map++) {
		const bool local = node_map_kinds[map] == MAP_KIND_LOCAL;

		print_message("%s\n", node_map_names[map]);
		assert_true(has_step(ACT_PUT, map, local));
		assert_int_equal(has_step(ACT_REPLACE_LATE, map, false), local);
		/* a list of ports that no segment has any more is written over */
		assert_int_equal(has_step(ACT_DELETE, map, false), map != MAP_ports);
	}
}

static void the_order(void **state)
{
	const enum node_map_id deep[] = {MAP_ports, MAP_named, MAP_variations, MAP_pairs};
	size_t put[N_NODE_MAPS] = {}, deleted[N_NODE_MAPS] = {}, flip = 0;

	(void)state;
	for (size_t i = 0; i < n_change_order; i++) {
		const struct change_step *step = &change_order[i];

		if (i)
			assert_true(step->phase >= step[-1].phase);
		if (step->act == ACT_PUT)
			put[step->map] = i;
		if (step->act == ACT_DELETE)
			deleted[step->map] = i;
		if (step->act == ACT_COMMIT)
			flip = i;
		/* apply.c undoes these acts */
		if (step->undone)
			assert_true(step->act == ACT_PUT || step->act == ACT_SET_ROLE ||
				    step->act == ACT_ATTACH || step->act == ACT_ATTACH_OTHERS);
	}
	for (size_t i = 0; i < ARRAY_SIZE(deep); i++)
		assert_true(put[deep[i]] < put[MAP_segments]);
	assert_true(put[MAP_segments] < put[MAP_endpoints] && put[MAP_endpoints] < put[MAP_ifaces]);
	assert_true(put[MAP_tunnels] < flip && flip < deleted[MAP_macs]);
	assert_true(deleted[MAP_macs] < deleted[MAP_ifaces] &&
		    deleted[MAP_endpoints] < deleted[MAP_segments]);
}

/* An entry that stays after its interface would be the next interface's that has the number. */
static void entries_go_with_their_interface(void **state)
{
	const struct bh_mac_key mac = {.kind = BH_MAC_ENDPOINT},
				other = {.kind = BH_MAC_ENDPOINT + 1};
	const struct bh_mac at = {.ifindex = 7};
	const struct bh_allow_source_key source = {.ifindex = htonl(7)};
	const struct bh_link_local_key link = {.link = 7};

	(void)state;
	assert_true(iface_entry_is_about(MAP_macs, &mac, &at, 7));
	assert_false(iface_entry_is_about(MAP_macs, &mac, &at, 8));
	assert_false(iface_entry_is_about(MAP_macs, &other, &at, 7));
	assert_true(iface_entry_is_about(MAP_allow_source, &source, NULL, 7));
	assert_false(iface_entry_is_about(MAP_allow_source, &source, NULL, 8));
	assert_true(iface_entry_is_about(MAP_link_locals, &link, NULL, 7));
	assert_false(iface_entry_is_about(MAP_link_locals, &link, NULL, 8));
	for (enum node_map_id map = 0; map < N_NODE_MAPS; map++)
		assert_int_equal(iface_entry_deletes(map), map == MAP_macs ||
								   map == MAP_allow_source ||
								   map == MAP_link_locals);
}

#define WORLD_TEST(test) cmocka_unit_test_setup_teardown(test, world_setup, world_teardown)

/* Gives the process a network namespace, as root or in a user namespace of its own. */
static bool enter_namespace(void)
{
	const unsigned int user = getuid();
	bool mapped;
	FILE *map;

	if (!unshare(CLONE_NEWNET))
		return true;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	map = fopen("/proc/self/uid_map", "w");
	mapped = map && fprintf(map, "0 %u 1\n", user) > 0;
	return map && !fclose(map) && mapped;
}

/* Makes an interface that an endpoint may have. */
static bool make_interface(void)
{
	return enter_namespace() && !system("ip link add own index 100 type veth peer name peer") &&
	       if_nametoindex("own") == OWN_LINK;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_of_each_map),
		cmocka_unit_test(the_order),
		cmocka_unit_test(entries_go_with_their_interface),
		WORLD_TEST(a_load_twice),
		WORLD_TEST(a_load_over_another),
		WORLD_TEST(a_load_that_corrects),
		WORLD_TEST(a_stage),
		WORLD_TEST(an_endpoint_that_comes),
		WORLD_TEST(a_load_beside_an_added_endpoint),
		WORLD_TEST(an_endpoint_at_a_guarded_interface),
		WORLD_TEST(it_takes_nobodys_place),
		WORLD_TEST(an_endpoint_that_goes),
		WORLD_TEST(an_interface_that_goes),
		WORLD_TEST(interfaces_that_removals_left),
		WORLD_TEST(an_endpoint_that_changes),
		WORLD_TEST(the_first_of_its_kind),
		WORLD_TEST(the_last_of_its_kind),
		WORLD_TEST(its_label_changes),
		WORLD_TEST(a_delta),
		WORLD_TEST(another_first_of_its_kind),
		WORLD_TEST(a_delta_fills_a_gap),
		WORLD_TEST(a_delta_drops_the_extension),
		WORLD_TEST(a_delta_takes_a_prefix_of_services),
		WORLD_TEST(a_delta_meets_an_entry),
		WORLD_TEST(a_delta_counts_a_sandbox),
		WORLD_TEST(a_delta_leaves_an_interface),
		WORLD_TEST(a_delta_moves_off_an_interface),
		WORLD_TEST(a_load_moves_between_interfaces),
	};

	if (!make_interface()) {
		printf("1..0 # SKIP needs a network namespace with an interface\n");
		return 4;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
