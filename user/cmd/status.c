// SPDX-License-Identifier: GPL-2.0-only
/* `bulkhead status`: the active policy, the interfaces that enforce it, and how full the maps
 * are. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/command.h"
#include "cmd/emit.h"
#include "cmd/screen.h"
#include "cmd/status_problems.h"
#include "cni/cni.h"
#include "maps/iface.h"
#include "node/change/saved.h"
#include "node/node.h"

static const char *const hook_names[] = {
	[NODE_HOOK_NONE] = "none",
	[NODE_HOOK_TCX] = "tcx",
	[NODE_HOOK_CLSACT] = "clsact",
};

static const char *const xdp_names[] = {
	[NODE_XDP_NONE] = "none",
	[NODE_XDP_NATIVE] = "native",
	[NODE_XDP_GENERIC] = "generic",
	[NODE_XDP_TAKEN] = "taken by another program",
};

/* Returns true if XDP programs of others cannot run beside Bulkhead's, since libxdp made no
 * dispatcher. */
static bool is_single(const struct node_iface *iface)
{
	return (iface->xdp == NODE_XDP_NATIVE || iface->xdp == NODE_XDP_GENERIC) &&
	       !iface->dispatched;
}

/* Returns the segment of the endpoint's first address; 0: the endpoint is in none, and so
 * isolated. */
static uint32_t segment_of(const struct policy *policy, const struct policy_endpoint *endpoint)
{
	uint32_t address = policy->endpoint_addresses[endpoint->addresses.at];
	uint32_t segment = policy->addresses[address].segment;

	return segment == POLICY_NOWHERE ? 0 : policy->segments[segment].id;
}

static bool is_uplink(const struct node_iface *iface)
{
	return iface->flags & BH_IFACE_UPLINK;
}

static void emit_endpoint(struct emit *emit, const struct policy *policy, uint32_t at)
{
	emit_text(emit, "namespace", status_endpoint_ns(policy, at));
	emit_text(emit, "name", policy_string(policy, policy->endpoints[at].name));
}

#define PODS_MAX 4 /* endpoints that text names for an interface; further endpoints are counted */

static void emit_pods(struct emit *emit, const struct node_status *status, uint32_t ifindex)
{
	const struct policy *policy = status->policy;
	size_t n = 0;

	emit_array(emit, "pods");
	for (size_t i = 0; i < status->n_pods; i++) {
		const uint32_t at = status->pods[i].endpoint;
		uint32_t segment;

		if (status->pods[i].ifindex != ifindex || (n++ >= PODS_MAX && !emit->json))
			continue;
		segment = segment_of(policy, &policy->endpoints[at]);
		emit_say(emit, "%s%s/%s ", n == 1 ? ": " : ", ", status_endpoint_ns(policy, at),
			 policy_string(policy, policy->endpoints[at].name));
		if (segment)
			emit_say(emit, "in segment %u", segment);
		else
			emit_say(emit, "isolated, in no segment");
		emit_object(emit, NULL);
		emit_endpoint(emit, policy, at);
		emit_number(emit, "segment", segment);
		emit_end(emit);
	}
	if (n > PODS_MAX)
		emit_say(emit, " and %zu more", n - PODS_MAX);
	emit_end(emit);
}

/* Adds the interface's role and the hooks that it has. */
static void emit_hooks(struct emit *emit, const struct node_iface *iface)
{
	const char *xdp = xdp_names[iface->xdp];
	const char *ingress = hook_names[iface->ingress], *egress = hook_names[iface->egress];

	if (is_uplink(iface)) {
		emit_say(emit, "uplink, xdp %s%s%s%s, egress %s", xdp,
			 is_single(iface) ? ", single program" : "",
			 iface->ingress ? ", tc ingress " : "", iface->ingress ? ingress : "",
			 egress);
		emit_text(emit, "role", "uplink");
		emit_text(emit, "xdp", xdp);
		emit_bool(emit, "dispatched", iface->dispatched);
	} else if (iface->flags & BH_IFACE_PORT) {
		emit_say(emit, "bridge port, tc ingress %s, egress %s", ingress, egress);
		emit_text(emit, "role", "port");
	} else if (iface->flags & BH_IFACE_OTHER) {
		emit_say(emit, "way out, tc egress %s", egress);
		emit_text(emit, "role", "other");
	} else {
		emit_say(emit, "endpoint, tc ingress %s, egress %s", ingress, egress);
		emit_text(emit, "role", "endpoint");
	}
	emit_text(emit, "ingress", ingress);
	emit_text(emit, "egress", egress);
}

static void emit_iface(struct emit *emit, const struct node_status *status,
		       const struct node_iface *iface)
{
	emit_object(emit, NULL);
	emit_say(emit, "  %-15s ", status_iface_name(iface));
	emit_text(emit, "name", iface->name);
	emit_number(emit, "ifindex", iface->ifindex);
	emit_hooks(emit, iface);
	emit_say(emit, "%s", iface->flags & BH_IFACE_AUDIT ? ", audited only" : "");
	emit_bool(emit, "audit", iface->flags & BH_IFACE_AUDIT);
	emit_name(emit, "before", iface->before);
	emit_bool(emit, "orphan", iface->orphan);
	emit_bool(emit, "guarded", iface->guarded);
	emit_say(emit, "%s", iface->quarantined ? ", quarantined: it has no endpoint" : "");
	emit_bool(emit, "quarantined", iface->quarantined);
	emit_pods(emit, status, iface->ifindex);
	if (!iface->guarded)
		emit_say(emit, ": %sNOT GUARDED%s", paint_on(PAINT_BAD), paint_off());
	emit_say(emit, "\n");
	emit_end(emit);
}

static double fullness(const struct node_map *map)
{
	return map->max ? 100.0 * map->used / map->max : 0;
}

static void emit_map(struct emit *emit, const struct node_map *map)
{
	char used[AMOUNT_TEXT], max[AMOUNT_TEXT];
	bool full = map->used > map->max / 10 * 9;

	emit_say(emit, "  %-15s %10s of %-8s %s%3.0f %%%s\n", map->name,
		 amount_print(map->used, used), amount_print(map->max, max),
		 paint_on(full ? PAINT_BAD : PAINT_NONE), fullness(map), paint_off());
	emit_object(emit, NULL);
	emit_text(emit, "name", map->name);
	emit_number(emit, "used", map->used);
	emit_number(emit, "max", map->max);
	emit_end(emit);
}

/* Prints how long ago the policy was loaded: "2 h". */
static const char *age_print(uint32_t loaded, char text[AMOUNT_TEXT])
{
	static const struct {
		const char *name;
		long seconds;
	} units[] = {{"days", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}};
	long age = time(NULL) - loaded;
	size_t i = 0;

	while (i + 1 < sizeof(units) / sizeof(*units) && age < 2 * units[i].seconds)
		i++;
	snprintf(text, AMOUNT_TEXT, "%ld %s", age < 0 ? 0 : age / units[i].seconds, units[i].name);
	return text;
}

#define RECENT_MAX 6 /* endpoints that text names without -v */

/* Names the endpoints with drops in the last minute, the latest first. */
static void emit_recent(struct emit *emit, const struct node_status *status, bool verbose)
{
	if (status->n_recent)
		emit_say(emit, "%sdrops in the last minute%s:", paint_on(PAINT_WARN), paint_off());
	emit_array(emit, "recent_drops");
	for (size_t i = 0; i < status->n_recent; i++) {
		const struct node_recent *recent = &status->recent[i];

		if (verbose || i < RECENT_MAX)
			emit_say(emit, "%s %s (%" PRIu64 ")", i ? "," : "",
				 *recent->endpoint ? recent->endpoint : recent->name,
				 recent->drops);
		emit_object(emit, NULL);
		emit_text(emit, "name", recent->name);
		emit_name(emit, "endpoint", recent->endpoint);
		emit_number(emit, "drops", recent->drops);
		emit_end(emit);
	}
	emit_end(emit);
	if (!verbose && status->n_recent > RECENT_MAX)
		emit_say(emit, " and %zu more", status->n_recent - RECENT_MAX);
	if (status->n_recent)
		emit_say(emit, "; `monitor --since 1m` prints them\n");
}

static void emit_generations(struct emit *emit, const char *key,
			     const struct node_generations *generations)
{
	emit_object(emit, key);
	emit_number(emit, "desired", generations->desired);
	emit_number(emit, "installed", generations->installed);
	emit_number(emit, "active", generations->active);
	emit_number(emit, "oldest", generations->oldest);
	emit_end(emit);
}

/* Says how many interfaces are guarded: endpoints' and uplinks. */
static void emit_counts(struct emit *emit, const struct node_status *status)
{
	size_t endpoints = 0, uplinks = 0;

	for (size_t i = 0; i < status->n_ifaces; i++) {
		const struct node_iface *iface = &status->ifaces[i];

		endpoints +=
			iface->flags & BH_IFACE_ENDPOINT && iface->guarded && !iface->quarantined;
		uplinks += is_uplink(iface) && iface->guarded;
	}
	emit_say(emit, "%zu endpoints guarded, %u isolated at ingress, %u at egress, ", endpoints,
		 status->isolated[INGRESS], status->isolated[EGRESS]);
	if (status->audited)
		emit_say(emit, "%s%u in audit%s, ", paint_on(PAINT_WARN), status->audited,
			 paint_off());
	emit_say(emit, "%zu uplinks\n", uplinks);
	emit_object(emit, "isolated");
	emit_number(emit, "ingress", status->isolated[INGRESS]);
	emit_number(emit, "egress", status->isolated[EGRESS]);
	emit_end(emit);
	emit_number(emit, "audited", status->audited);
}

static void emit_policy(struct emit *emit, const struct node_status *status)
{
	const struct policy *policy = status->policy;
	char age[AMOUNT_TEXT];

	emit_say(emit,
		 "%sgeneration %" PRIu64 " is active on %s%s: policy %u of lineage %016" PRIx64
		 ", loaded %s ago%s%s\n",
		 paint_on(PAINT_BOLD), status->generation, status->node, paint_off(),
		 policy->generation, policy->lineage, age_print(status->loaded, age),
		 *status->loaded_by ? " by " : "", status->loaded_by);
	if (status->staged)
		emit_say(emit, "policy %u is staged\n", status->policy_generation.installed);
	emit_text(emit, "node", status->node);
	emit_number(emit, "abi", status->abi);
	emit_number(emit, "generation", status->generation);
	emit_number(emit, "loaded", status->loaded);
	emit_name(emit, "loaded_by", status->loaded_by);
	emit_say(emit, "%u policies, ", status->policies);
	emit_number(emit, "policies", status->policies);
	if (status->policies_audited)
		emit_say(emit, "%s%u of them audited only%s, ", paint_on(PAINT_WARN),
			 status->policies_audited, paint_off());
	emit_counts(emit, status);
	emit_number(emit, "policies_audited", status->policies_audited);
	emit_bool(emit, "elsewhere", status->elsewhere);
	emit_number(emit, "ipsec", status->ipsec);
	emit_bool(emit, "own_programs", status->own_programs);
	emit_generations(emit, "policy_generation", &status->policy_generation);
	emit_generations(emit, "endpoint_generation", &status->endpoint_generation);
}

#define IFACES_MAX 11 /* interfaces in text without -v, and as many unguarded ones beyond these */
#define MAPS_MAX 4 /* maps in text without -v */

/* Text has the uplinks first, and with interfaces in another network namespace none. */
static void say_ifaces(struct emit *emit, const struct node_status *status, bool verbose)
{
	size_t shown = 0, open = 0, more = 0, more_open = 0;

	if (status->elsewhere)
		return;
	emit_say(emit, "interfaces:\n");
	for (size_t i = 0; i < 2 * status->n_ifaces; i++) {
		const struct node_iface *iface = &status->ifaces[i % status->n_ifaces];

		if (is_uplink(iface) != (i < status->n_ifaces))
			continue;
		if (verbose || shown < IFACES_MAX || (!iface->guarded && open < IFACES_MAX)) {
			emit_iface(emit, status, iface);
			shown++;
			open += !iface->guarded;
		} else {
			more++;
			more_open += !iface->guarded;
		}
	}
	if (more_open)
		emit_say(emit, "  and %zu more, %sNOT GUARDED%s: %zu (-v)\n", more,
			 paint_on(PAINT_BAD), paint_off(), more_open);
	else if (more)
		emit_say(emit, "  and %zu more, all guarded (-v)\n", more);
	if (status->ipsec)
		emit_say(emit,
			 "outgoing IPsec policies: %u; an endpoint with egress policy calls no "
			 "Service whose backends policy tells apart\n",
			 status->ipsec);
}

static void emit_ifaces(struct emit *emit, const struct node_status *status, bool verbose)
{
	if (!emit->json) {
		say_ifaces(emit, status, verbose);
		return;
	}
	emit_array(emit, "interfaces");
	for (size_t i = 0; i < status->n_ifaces; i++)
		emit_iface(emit, status, &status->ifaces[i]);
	emit_end(emit);
	emit_array(emit, "unguarded");
	for (size_t i = 0; i < status->n_unguarded; i++) {
		emit_object(emit, NULL);
		emit_endpoint(emit, status->policy, status->unguarded[i]);
		emit_end(emit);
	}
	emit_end(emit);
}

static int compare_fullness(const void *a, const void *b)
{
	const double first = fullness(a), second = fullness(b);

	return first < second ? 1 : -(first > second);
}

/* Text has the fullest maps, with @verbose all in their own order. */
static void emit_maps(struct emit *emit, const struct node_status *status, bool verbose)
{
	const bool all = emit->json || verbose;

	emit_say(emit, "maps:\n");
	emit_array(emit, "maps");
	if (!all)
		qsort(status->maps, status->n_maps, sizeof(*status->maps), compare_fullness);
	for (size_t i = 0; i < status->n_maps && (all || i < MAPS_MAX); i++)
		emit_map(emit, &status->maps[i]);
	if (!all && status->n_maps > MAPS_MAX)
		emit_say(emit, "  and %zu more, at most %.0f %% full (-v)\n",
			 status->n_maps - MAPS_MAX, fullness(&status->maps[MAPS_MAX]));
	emit_end(emit);
}

#define SHARES_MAX 5 /* holders of connections in text */

static void emit_connections(struct emit *emit, const struct node_status *status)
{
	const struct node_connections *table = &status->connections;

	emit_say(emit, "connections: %u of %u", table->used, table->capacity);
	/* the programs divide the table when the first packet comes */
	if (table->surplus_capacity)
		emit_say(emit, "; guaranteed to each endpoint %u; beyond that %d of %u",
			 table->floor, table->surplus, table->surplus_capacity);
	emit_say(emit, "\n");
	emit_object(emit, "connections");
	emit_number(emit, "used", table->used);
	emit_number(emit, "max", table->capacity);
	emit_number(emit, "floor", table->floor);
	emit_number(emit, "surplus", table->surplus);
	emit_number(emit, "surplus_max", table->surplus_capacity);
	emit_number(emit, "replaced", table->replaced);
	emit_number(emit, "refused", table->refused);
	emit_number(emit, "corrected", table->corrected);
	emit_end(emit);
	emit_array(emit, "shares");
	for (size_t i = 0; i < status->n_shares; i++) {
		const struct node_share *share = &status->shares[i];

		if (i < SHARES_MAX)
			emit_say(emit, "  %-15s %d, %" PRIu64 " replaced, %" PRIu64 " refused\n",
				 share->name, share->used, share->replaced, share->refused);
		emit_object(emit, NULL);
		emit_text(emit, "name", share->name);
		emit_number(emit, "connections", share->used);
		emit_number(emit, "replaced", share->replaced);
		emit_number(emit, "refused", share->refused);
		emit_end(emit);
	}
	emit_end(emit);
}

static void emit_events(struct emit *emit, const struct node_status *status)
{
	emit_object(emit, "events");
	emit_array(emit, "readers");
	for (size_t i = 0; i < status->n_readers; i++)
		emit_json(emit, NULL, json_object_new_int64(status->readers[i]));
	emit_end(emit);
	emit_number(emit, "written", status->events_written);
	emit_number(emit, "lost", status->events_lost);
	for (size_t i = 0; i < status->n_readers; i++)
		emit_say(emit, "%s %u", i ? "," : "readers of events: processes",
			 status->readers[i]);
	if (status->n_readers)
		emit_say(emit, "\n");
	if (status->events_lost)
		emit_say(emit, "events lost, since they were not read in time: %" PRIu64 "\n",
			 status->events_lost);
	if (status->n_suppressed)
		emit_say(emit, "events left out, beyond the budget of an interface:\n");
	emit_array(emit, "suppressed");
	for (size_t i = 0; i < status->n_suppressed; i++) {
		const struct node_suppressed *at = &status->suppressed[i];

		emit_say(emit, "  %-15s %10" PRIu64 " %s\n", at->name, at->events, at->endpoint);
		emit_object(emit, NULL);
		emit_text(emit, "name", at->name);
		emit_name(emit, "endpoint", at->endpoint);
		emit_number(emit, "events", at->events);
		emit_end(emit);
	}
	emit_end(emit);
	emit_end(emit);
}

#define LIKE_MAX 10 /* problems of one kind in text without -v and --check; others are counted */

/* Text tells the problems first, and of a node without a policy no more. */
static void emit_status(struct emit *emit, const struct node_status *status,
			const struct status_folders *folders, bool verbose)
{
	if (!emit->json) {
		problems_find(status, folders,
			      &(struct problems){.emit = emit,
						 .like_max = verbose ? SIZE_MAX : LIKE_MAX});
		if (!status->policy)
			return;
	}
	emit_object(emit, NULL);
	if (status->policy)
		emit_policy(emit, status);
	else
		emit_text(emit, "loaded", NULL);
	if (!emit->json)
		emit_recent(emit, status, verbose);
	emit_ifaces(emit, status, verbose);
	emit_maps(emit, status, verbose);
	emit_connections(emit, status);
	emit_events(emit, status);
	if (emit->json)
		emit_recent(emit, status, verbose);
	emit_end(emit);
}

#define ENTRIES_MAX 20 /* entries of maps that --check names; further ones are counted */

/* Entries of the maps that are not as the policy says. */
struct wrong_entries {
	struct problems *problems;
	size_t n;
};

static void name_entry(void *data, const char *map, const char *key, enum node_fault fault)
{
	static const char *const texts[] = {
		[NODE_ENTRY_MISSING] = "is missing",
		[NODE_ENTRY_SURPLUS] = "nothing of the policy needs it",
		[NODE_ENTRY_DIFFERENT] = "is not as the policy says",
	};
	struct wrong_entries *entries = data;

	if (entries->n++ < ENTRIES_MAX)
		problem_add(entries->problems, "%s %s: %s; load again", map, key, texts[fault]);
}

/* Runs --check. Returns an exit status. */
static int check(struct emit *emit, const struct node_status *status, const char *pin,
		 const struct status_folders *folders, struct diag *diag)
{
	struct problems problems = {.emit = emit, .like_max = SIZE_MAX};
	struct wrong_entries entries = {.problems = &problems};
	int error;

	emit_array(emit, NULL);
	problems_find(status, folders, &problems);
	error = node_compare(pin, diag, name_entry, &entries);
	if (entries.n > ENTRIES_MAX)
		problem_add(&problems, "and %zu more entries of maps; load again",
			    entries.n - ENTRIES_MAX);
	emit_end(emit);
	if (error)
		return status_of(error);
	return problems.n ? STATUS_NO : STATUS_OK;
}

struct status_request {
	struct status_folders folders;
	const char *pin;
	bool only_check, verbose;
};

static const struct command_option options[] = {
	{0, "check", NULL,
	 "print only problems: programs, entries of maps, policy or kept load that are missing or "
	 "wrong; status 1 "
	 "if there are any",
	 OPTION_FLAG(struct status_request, only_check)},
	PIN_OPTION(struct status_request, pin),
	STATE_OPTION(struct status_request, folders.state),
	{0, "attached", "DIR",
	 "the CNI plugin's records of attached pods; else " CNI_STATE ", unless --pin is given",
	 OPTION_TEXT(struct status_request, folders.attached)},
	{'v', "verbose", NULL, "print every problem, every interface and every map",
	 OPTION_FLAG(struct status_request, verbose)},
	{0},
};

static int run(struct call *call)
{
	struct diag diag = command_diag();
	struct node_status status;
	struct emit emit;
	struct status_request request = {};
	int error, answer = STATUS_OK;

	call_options(call, &request);
	request.folders.state = saved_dir(request.pin, request.folders.state);
	if (!request.folders.attached && saved_dir(request.pin, NULL))
		request.folders.attached = CNI_STATE;
	emit = emit_begin(call);
	error = node_status(request.pin, &diag, &status);
	if (!error && request.only_check)
		answer = check(&emit, &status, request.pin, &request.folders, &diag);
	else if (!error)
		emit_status(&emit, &status, &request.folders, request.verbose);
	node_status_free(&status);
	return error ? status_of(error) : answer;
}

const struct command command_status = {
	.name = "status",
	.operands = "",
	.help = "print the active policy, the interfaces that enforce it, and how full the maps "
		"are",
	.options = options,
	.run = run,
};
