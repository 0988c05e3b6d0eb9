// SPDX-License-Identifier: GPL-2.0-only
/*
 * A node's follower. It does one step at a time, and chooses each step from what PolicyStatus
 * wants and what the node has:
 *
 *   no policy is active: load the policy that endpoints may be in; in a new cluster, the policy
 *   that nodes install first
 *   endpoints may be in a newer policy: activate that policy if it is staged, else load it
 *   a newer policy is to be installed: stage it
 *
 * The follower reports each step. It reads from the maps which policies the node has, so that it is
 * right after a restart and after a load by another command.
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/linkhash.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/rollout.h"
#include "cluster/condition.h"
#include "cluster/count.h"
#include "cluster/event_objects.h"
#include "cluster/objects.h"
#include "cluster/local_node.h"
#include "cluster/records.h"
#include "cluster/resting.h"
#include "cluster/serve.h"
#include "cluster/store.h"
#include "cni/cni.h"

/* If nothing changes, the next report follows after two fifths of the limit that the engine has
 * for a silent node, and up to half more, so that nodes do not report all at once. A quarter of the
 * limit, and ten seconds at most, is the time for an answer. So a second attempt begins before the
 * limit is reached: a lost report counts no node out. */
#define REPORT_SECONDS_MAX 10
/* A rollout waits for the reports that the policy is installed, but not for the reports that
 * endpoints have moved. Nodes spread the reports that endpoints have moved over so many us for each
 * node of the cluster, so that the API server has time for the reports that the policy is
 * installed. */
#define SPREAD_US 2000
#define MMAP_BYTES (256 << 10) /* larger blocks are mapped one by one */
#define RETRY_MS 1000
/* A report that the server fails is tried again after a second at first. The pause grows to so many
 * ms for each node of the cluster, so that all nodes together do not keep the server down. */
#define RETRY_NODE_MS 8
#define RETRY_MAX 8000
/* So many ms the first report waits for the first step. A policy that was staged as a delta before
 * a restart is staged again first, so that no report names an older policy than the report
 * before. */
#define FIRST_MS 2000

enum step { STEP_NONE, STEP_LOAD, STEP_ACTIVATE, STEP_STAGE };
#define STEPS (STEP_STAGE + 1)

struct follower {
	const struct follow_options *options;
	struct diag *diag;
	struct api *api;
	struct api_watch *status_watch, *pods_watch;
	struct store_status wants;
	struct own_node node;
	struct local_node_state has;
	struct lh_table *pods; /* by key: the members that are read of this node's Pods, as last
				* seen */
	struct resting *resting; /* NULL: no records are written */
	struct json_object *left; /* status.leftAddresses of the report that is being sent; NULL:
				   * the report has none */
	char *message; /* the error of the last change; NULL: none */
	struct json_object *conditions; /* as last sent; NULL: nothing was sent */
	bool told; /* the server has `conditions` */
	bool synced, pods_synced;
	bool fetching;
	bool whole; /* a delta was refused: fetch the newest whole policy and the deltas since */
	uint32_t lacks; /* generation that cannot be made from the store; 0: none */
	bool reporting, report_again; /* a report is being sent; another must follow */
	bool exists; /* this node's NodePolicyStatus exists */
	bool report_failed;
	unsigned int report_backoff; /* ms; 0: the last report succeeded */
	bool asks_why; /* the next report's answer says why the last one was refused */
	uint32_t sent[2], reported[2]; /* generations in the last report that was sent, and in the
					* last that arrived */
	struct api_timer heartbeat, wait;
	struct serve *serve; /* NULL: metrics are not served */
	struct events *events;
	struct denials *denials; /* NULL: denials are not reported */
	struct opened {
		uint64_t generation;
		char *line; /* NULL: none */
	} opened; /* a load has opened pods: an Event follows the next report */
	uint64_t changes, failed; /* for metrics */
	struct histogram took[STEPS];
	int error; /* with `once`: the error of the last change */
};

static void step(struct follower *follower);
static void report(struct follower *follower);
static void put_pods(struct follower *follower);

static void warn(struct follower *follower, const char *what, const char *why)
{
	diag_report(follower->diag, DIAG_WARNING, NULL, NULL, "follow: %s: %s", what, why);
}

/* Warns of the first failed report only, until a report succeeds again. */
static void warn_report(struct follower *follower, const char *why)
{
	if (why && !follower->report_failed)
		warn(follower, "this node's status cannot be written", why);
	follower->report_failed = why;
}

/* Returns the engine's limit in seconds; the default if PolicyStatus has no limit, or one that
 * no engine takes. */
static unsigned int node_limit(const struct follower *follower)
{
	const uint32_t limit = follower->wants.limit;

	return limit >= ROLLOUT_LIMIT_MIN && limit <= ROLLOUT_LIMIT_MAX ? limit
									: ROLLOUT_LIMIT_DEFAULT;
}

static unsigned int heartbeat_ms(const struct follower *follower)
{
	return node_limit(follower) * 400;
}

static unsigned int report_seconds(const struct follower *follower)
{
	unsigned int seconds = node_limit(follower) / 4;

	return seconds < REPORT_SECONDS_MAX ? seconds : REPORT_SECONDS_MAX;
}

/* @answer: why the last report failed; NULL: it was not sent. */
static void report_later(struct follower *follower, const struct api_answer *answer)
{
	unsigned int most = follower->wants.nodes * RETRY_NODE_MS;

	if (most > RETRY_MAX || !follower->wants.nodes)
		most = RETRY_MAX;
	if (most < RETRY_MS || (answer && answer->absent))
		most = RETRY_MS;
	api_timer_set(follower->api, &follower->heartbeat,
		      api_backoff(&follower->report_backoff, RETRY_MS, most));
}

/* Notes the error of a change, for the report and for `once`. */
static void set_message(struct follower *follower, int error, const char *what)
{
	free(follower->message);
	follower->message = NULL;
	follower->error = error;
	if (error && asprintf(&follower->message, "%s: %s", what, strerror(-error)) < 0)
		follower->message = NULL;
}

static void later(struct follower *follower)
{
	api_timer_set(follower->api, &follower->wait, api_jitter(RETRY_MS));
	report(follower);
}

static void on_wait(void *data)
{
	step(data);
}

/* Writes the Event of the load that opened pods. It follows the report, since reports are spread
 * over time, and are tried again until the server answers. */
static void tell_opened(struct follower *follower)
{
	struct opened *opened = &follower->opened;

	if (opened->line)
		events_opened(follower->events, opened->generation, opened->line,
			      follower->wants.nodes);
	free(opened->line);
	*opened = (struct opened){0};
}

static void node_opened(void *data, uint64_t generation, const char *line)
{
	struct follower *follower = data;

	tell_opened(follower);
	follower->opened = (struct opened){.generation = generation, .line = strdup(line)};
}

/* Reports */

static struct condition ready(const struct follower *follower)
{
	return (struct condition){
		.type = "Ready",
		.holds = !follower->message,
		.reason = follower->message ? "ChangeFailed" : "AsWanted",
		.message = follower->message ? follower->message : "the last change succeeded",
	};
}

/* @text: room for the message. */
static struct condition addresses_free(const struct follower *follower, char *text, size_t size)
{
	struct address address;
	char name[ADDRESS_TEXT];
	const size_t n = follower->resting ? resting_late(follower->resting, &address) : 0;

	if (n)
		snprintf(
			text, size,
			"pods with %zu addresses stay isolated until an engine takes the addresses "
			"from their former Pods: %s",
			n, address_print(&address, name));
	else
		snprintf(text, size, "no pod waits for its address");
	return (struct condition){.type = "AddressesFree",
				  .holds = !n,
				  .reason = n ? "Resting" : "AllAddresses",
				  .message = text};
}

/* A report has the conditions only if one has changed: the server keeps the last ones. */
static void add_conditions(struct follower *follower, struct json_object *status)
{
	struct json_object *conditions = json_object_new_array();
	char text[200];
	const struct condition all[] = {ready(follower),
					addresses_free(follower, text, sizeof(text))};

	for (int i = 0; i < 2; i++)
		condition_add(conditions, follower->conditions, &all[i]);
	if (!json_object_equal(conditions, follower->conditions))
		follower->told = false;
	if (!follower->told)
		json_object_object_add(status, "conditions", json_object_get(conditions));
	json_object_put(follower->conditions);
	follower->conditions = conditions;
}

static struct json_object *report_object(struct follower *follower)
{
	struct json_object *object = json_object_new_object();
	struct json_object *status = json_object_new_object();

	api_forget_managers(object);
	json_object_object_add(object, "status", status);
	json_object_object_add(status, "latestPolicyGeneration",
			       json_object_new_int64(follower->has.installed));
	json_object_object_add(status, "latestEndpointGeneration",
			       json_object_new_int64(follower->has.active));
	json_object_object_add(status, "lacksGeneration", json_object_new_int64(follower->lacks));
	json_object_object_add(status, "heartbeat", api_time());
	json_object_object_add(
		status, "message",
		json_object_new_string(follower->message ? follower->message : "ok"));
	/* before the Pods are known, the server keeps the last statements */
	json_object_put(follower->left);
	follower->left = follower->resting && follower->pods_synced
				 ? resting_statements(follower->resting)
				 : NULL;
	if (follower->left)
		json_object_object_add(status, "leftAddresses", json_object_get(follower->left));
	add_conditions(follower, status);
	return object;
}

static void made(void *data, const struct api_answer *answer)
{
	struct follower *follower = data;

	follower->reporting = false;
	follower->exists = !answer->error || answer->status == 409;
	if (follower->exists)
		return report(follower);
	warn_report(follower, answer->error);
	report_later(follower, answer);
}

static void make(struct follower *follower)
{
	struct json_object *object = json_object_new_object();
	struct json_object *metadata = json_object_new_object();
	struct api_request request = {
		.method = "POST",
		.path = STORE_NODE_STATUS,
		.body = object,
		.seconds = report_seconds(follower),
		.done = made,
		.data = follower,
	};

	json_object_object_add(object, "apiVersion", json_object_new_string(STORE_GROUP));
	json_object_object_add(object, "kind", json_object_new_string("NodePolicyStatus"));
	json_object_object_add(object, "metadata", metadata);
	json_object_object_add(metadata, "name", json_object_new_string(follower->options->node));
	follower->reporting = !api_send(follower->api, &request);
	if (!follower->reporting)
		report_later(follower, NULL);
	json_object_put(object);
}

static void reported(void *data, const struct api_answer *answer)
{
	struct follower *follower = data;

	follower->reporting = false;
	if (answer->status == 404) {
		follower->exists = follower->told = false;
		return make(follower);
	}
	if (answer->error && answer->status && !follower->asks_why) {
		follower->asks_why = true;
		return report(follower);
	}
	follower->asks_why = false;
	warn_report(follower, answer->error);
	if (answer->error)
		return report_later(follower, answer);
	follower->report_backoff = 0;
	follower->told = true;
	if (follower->left)
		resting_told(follower->resting, follower->left);
	tell_opened(follower);
	follower->reported[0] = follower->sent[0];
	follower->reported[1] = follower->sent[1];
	api_timer_set(follower->api, &follower->heartbeat, api_jitter(heartbeat_ms(follower)));
	if (follower->report_again)
		report(follower);
	else if (!follower->wait.due) /* else a change has failed, and is tried again in time */
		step(follower);
}

static void report(struct follower *follower)
{
	char path[320];
	struct api_request request = {
		.method = "PATCH",
		.path = path,
		.brief = !follower->asks_why,
		.seconds = report_seconds(follower),
		.done = reported,
		.data = follower,
	};

	follower->report_again = follower->reporting;
	if (follower->reporting)
		return;
	if (!follower->exists)
		return make(follower);
	snprintf(path, sizeof(path), STORE_NODE_STATUS "/%s/status", follower->options->node);
	request.body = report_object(follower);
	follower->sent[0] = follower->has.installed;
	follower->sent[1] = follower->has.active;
	follower->reporting = !api_send(follower->api, &request);
	if (!follower->reporting)
		report_later(follower, NULL);
	json_object_put(request.body);
}

static void on_heartbeat(void *data)
{
	report(data);
}

/* This node's pods */

static bool has_own_address(struct json_object *pod)
{
	return api_text(pod, "status.podIP") &&
	       !json_object_get_boolean(api_get(pod, "spec.hostNetwork"));
}

/* Returns true if the pod has all members of a sender of packets. */
static bool is_running(struct json_object *pod)
{
	const char *phase = api_text(pod, "status.phase");

	return has_own_address(pod) &&
	       !(phase && (!strcmp(phase, "Succeeded") || !strcmp(phase, "Failed")));
}

/* Returns true if the pod is ending, and another pod of this node has its address by now. */
static bool is_followed(const struct follower *follower, struct json_object *pod)
{
	const char *address = api_text(pod, "status.podIP");
	struct lh_entry *entry;

	if (!api_get(pod, "metadata.deletionTimestamp"))
		return false;
	for (entry = follower->pods->head; entry; entry = entry->next) {
		struct json_object *other = lh_entry_v(entry);

		if (is_running(other) && !api_get(other, "metadata.deletionTimestamp") &&
		    !strcmp(api_text(other, "status.podIP"), address))
			return true;
	}
	return false;
}

/* Returns true if the pod is to be an endpoint now. */
static bool counts(const struct follower *follower, struct json_object *pod)
{
	return is_running(pod) && follower->has.active &&
	       !resting_keeps_off(follower->resting, pod) && !is_followed(follower, pod);
}

static void put_all(struct follower *follower, struct json_object *const *pods, size_t n)
{
	int error = local_node_pods(&follower->options->load, pods, n, follower->diag);

	if (error && error != -EAGAIN)
		set_message(follower, error, "a pod");
}

static void put_pod(struct follower *follower, struct json_object *pod)
{
	if (counts(follower, pod))
		put_all(follower, &pod, 1);
}

/* Takes a pod off that is gone or has ended. Mostly the CNI plugin has done so before; but a late
 * event may have put the pod active again since then. */
static void drop_pod(struct follower *follower, struct json_object *pod)
{
	struct json_object *last = NULL;
	struct diag quiet = {0};

	if (!has_own_address(pod) || !follower->has.active ||
	    json_object_deep_copy(pod, &last, NULL))
		return;
	/* the pod as it was while it ran: a pod that has ended makes no endpoint */
	json_object_object_del(api_get(last, "status"), "phase");
	local_node_pod_deleted(&follower->options->load, last, &quiet);
	json_object_put(last);
}

/* Writes the record by which the CNI plugin finds out who the pod is. If the plugin was called
 * before, the pod is isolated without a name: names it now. */
static void name_pod(struct follower *follower, struct json_object *pod)
{
	const struct follow_options *options = follower->options;
	const struct cni_refresh refresh = {.records = options->records,
					    .pin = options->load.pin,
					    .ns = api_text(pod, "metadata.namespace"),
					    .name = api_text(pod, "metadata.name")};
	uint32_t named;
	int error;

	if (!options->records || records_put(options->records, pod, follower->diag))
		return;
	error = cni_refresh(&refresh, follower->diag, &named);
	if (error)
		set_message(follower, error, "a pod that the CNI plugin brought");
}

/* Names all pods that the CNI plugin attached without a name, if their names are known by now.
 */
static void name_pods(struct follower *follower)
{
	const struct cni_refresh refresh = {.records = follower->options->records,
					    .pin = follower->options->load.pin};
	uint32_t named;
	int error = cni_refresh(&refresh, follower->diag, &named);

	if (error)
		set_message(follower, error, "a pod that the CNI plugin brought");
}

/* Looks at the addresses that have left pods of this node. */
static void look_at_addresses(void *data)
{
	struct follower *follower = data;
	const struct resting_view view = {.pods = follower->pods,
					  .active = follower->has.active,
					  .oldest = follower->wants.oldest};
	unsigned int news;

	if (!follower->resting || !follower->pods_synced)
		return;
	news = resting_look(follower->resting, &view);
	if (news & RESTING_STATED)
		report(follower);
	if (!(news & RESTING_OVER))
		return;
	name_pods(follower);
	put_pods(follower);
}

static void take_pod(struct follower *follower, const char *key, struct json_object *pod)
{
	struct lh_entry *entry = lh_table_lookup_entry(follower->pods, key);
	char *name;

	name_pod(follower, pod);
	if (is_running(pod))
		put_pod(follower, pod);
	else
		drop_pod(follower, has_own_address(pod) || !entry ? pod : lh_entry_v(entry));
	if (entry) {
		json_object_put(lh_entry_v(entry));
		lh_entry_set_val(entry, objects_pod_read(pod));
		return;
	}
	name = strdup(key);
	if (!name || lh_table_insert(follower->pods, name, objects_pod_read(pod)))
		free(name);
}

static void pod_changed(void *data, const char *key, struct json_object *pod)
{
	take_pod(data, key, pod);
	look_at_addresses(data);
}

static void pod_deleted(void *data, const char *key)
{
	struct follower *follower = data;
	const char *slash = strchr(key, '/');
	struct lh_entry *entry = lh_table_lookup_entry(follower->pods, key);
	char ns[256];

	if (!slash || !entry)
		return;
	snprintf(ns, sizeof(ns), "%.*s", (int)(slash - key), key);
	if (follower->options->records)
		records_remove(follower->options->records, ns, slash + 1);
	drop_pod(follower, lh_entry_v(entry));
	lh_table_delete_entry(follower->pods, entry);
	look_at_addresses(follower);
}

static void pods_synced(void *data)
{
	struct follower *follower = data;

	follower->pods_synced = true;
	look_at_addresses(follower);
	step(follower);
}

/* Puts all pods active again after a change of policy that concerns this node's endpoints: the
 * policy may be older than the pods. */
static void put_pods(struct follower *follower)
{
	struct json_object **pods = calloc(lh_table_length(follower->pods) + 1, sizeof(*pods));
	struct lh_entry *entry;
	size_t n = 0;

	if (!pods)
		return set_message(follower, -ENOMEM, "the pods");
	for (entry = follower->pods->head; entry; entry = entry->next)
		if (counts(follower, lh_entry_v(entry)))
			pods[n++] = lh_entry_v(entry);
	put_all(follower, pods, n);
	free(pods);
}

/* Reports within a time that grows with the cluster, or together with an earlier report. */
static void report_spread(struct follower *follower)
{
	const uint64_t ms = (uint64_t)follower->wants.nodes * SPREAD_US / 1000;
	const unsigned int wait =
		api_random(ms < heartbeat_ms(follower) ? ms : heartbeat_ms(follower));
	const uint64_t due = follower->heartbeat.due;

	if (follower->reporting || follower->options->once || !ms)
		return report(follower);
	/* no later than the heartbeat would be: a silent node counts as gone */
	if (!due || due > api_now() + wait)
		api_timer_set(follower->api, &follower->heartbeat, wait);
}

/* Policies */

static int read_node(struct follower *follower)
{
	return local_node_read(&follower->node, follower->diag, &follower->has);
}

/* @tell: reports the node's state after the change. */
static void changed_node(struct follower *follower, int error, const char *what,
			 void (*tell)(struct follower *follower))
{
	set_message(follower, error, what);
	follower->changes++;
	follower->failed += !!error;
	if (!error)
		error = read_node(follower);
	if (error)
		return later(follower);
	if (follower->node.own)
		put_pods(follower);
	look_at_addresses(follower);
	tell(follower);
	step(follower);
}

/* The steps. next_step() chooses one, and sets the generation that it leads to. */
static enum step next_step(const struct follower *follower, uint32_t *generation)
{
	const struct store_status *wants = &follower->wants;
	const struct local_node_state *has = &follower->has;

	/* If nothing is active, nothing can be staged, and loading cannot mix two policies. */
	if (!has->active) {
		*generation = wants->endpoint && wants->endpoint != follower->lacks
				      ? wants->endpoint
				      : wants->policy;
		return *generation ? STEP_LOAD : STEP_NONE;
	}
	*generation = wants->endpoint;
	if (wants->endpoint > has->active)
		return has->installed == wants->endpoint &&
				       (wants->policy != wants->endpoint ||
					has->installed_checksum == wants->checksum)
			       ? STEP_ACTIVATE
			       : STEP_LOAD;
	/* The node's policy is of another lineage, or somebody else loaded it. */
	if (wants->endpoint && wants->endpoint == wants->policy &&
	    has->active_checksum != wants->checksum)
		return STEP_LOAD;
	*generation = wants->policy;
	return wants->policy > has->installed ? STEP_STAGE : STEP_NONE;
}

/* The policy cannot be made from the store. The follower tries a whole policy; without one it
 * tells the engine, which replaces the damaged objects. */
static void refused(struct follower *follower, int error, const char *what, uint32_t generation)
{
	set_message(follower, error, what);
	if (!follower->whole) {
		follower->whole = true;
		return step(follower);
	}
	follower->whole = false;
	follower->lacks = generation;
	later(follower);
}

/* Takes a step, and counts the time that it takes if it succeeds. @chain leads to the policy of
 * @generation; NULL for STEP_ACTIVATE. */
static int change_policy(struct follower *follower, enum step what, uint32_t generation,
			 struct store_chain *chain)
{
	const uint64_t began = api_now();
	int error;

	if (what == STEP_ACTIVATE)
		error = local_node_activate(&follower->node, generation, follower->diag);
	else if (what == STEP_LOAD)
		error = local_node_load(&follower->node, chain, follower->diag);
	else
		error = local_node_stage(&follower->node, chain, follower->diag);
	if (!error)
		histogram_add(&follower->took[what], (api_now() - began) * 1000);
	return error;
}

static void fetched(void *data, int error, const char *why, struct store_chain *chain)
{
	struct follower *follower = data;
	uint32_t generation;
	enum step what = next_step(follower, &generation);

	follower->fetching = false;
	if (error) {
		warn(follower, "a policy cannot be fetched", why);
		if (error == -ENOENT || error == -EBADMSG)
			return refused(follower, error, why, generation);
		set_message(follower, error, "a policy cannot be fetched");
		return later(follower);
	}
	if (chain->items[chain->n - 1].generation != generation ||
	    (what != STEP_LOAD && what != STEP_STAGE)) {
		store_chain_free(chain);
		return step(follower); /* the cluster wants another policy by now */
	}
	error = change_policy(follower, what, generation, chain);
	if (chain->refused) {
		refused(follower, error, chain->refused, generation);
		return store_chain_free(chain);
	}
	store_chain_free(chain);
	follower->whole = false;
	follower->lacks = 0;
	changed_node(follower, error, what == STEP_LOAD ? "load" : "stage", report);
}

/* Takes the delta in PolicyStatus, if it leads from a policy that the node has to @generation.
 * Returns true if a step was taken. */
static bool read_reported(struct follower *follower, enum step what, uint32_t generation)
{
	const uint64_t have[2] = {follower->has.installed_checksum, follower->has.active_checksum};
	struct store_chain chain;
	bool refused;
	int error;

	if (follower->whole || store_status_chain(&follower->wants, generation, have, &chain))
		return false;
	error = change_policy(follower, what, generation, &chain);
	refused = chain.refused;
	store_chain_free(&chain);
	if (error) {
		free(follower->wants.delta);
		follower->wants.delta = NULL;
	}
	if (refused)
		return false;
	follower->lacks = 0;
	changed_node(follower, error, what == STEP_LOAD ? "load" : "stage", report);
	return true;
}

static void end_once(struct follower *follower)
{
	if (follower->options->once && follower->pods_synced && follower->wants.policy &&
	    follower->reported[0] == follower->has.installed &&
	    follower->reported[1] == follower->has.active &&
	    follower->wants.endpoint == follower->wants.policy)
		api_stop(follower->api);
}

static void step(struct follower *follower)
{
	uint64_t have[2] = {0};
	uint32_t generation;
	enum step what;
	int error;

	if (!follower->synced || follower->fetching)
		return;
	what = next_step(follower, &generation);
	switch (what) {
	case STEP_NONE:
		return end_once(follower);
	case STEP_ACTIVATE:
		error = change_policy(follower, what, generation, NULL);
		return changed_node(follower, error, "activate", report_spread);
	case STEP_LOAD:
	case STEP_STAGE:
		if (read_reported(follower, what, generation))
			return;
		follower->fetching = true;
		if (!follower->whole) {
			have[0] = follower->has.installed_checksum;
			have[1] = follower->has.active_checksum;
		}
		if (!store_fetch(follower->api, generation, have, fetched, follower)) {
			follower->fetching = false;
			later(follower);
		}
	}
}

/* If the limit has become shorter, the next report may be due too late: sets an earlier time. */
static void report_in_time(struct follower *follower)
{
	const unsigned int ms = heartbeat_ms(follower);

	if (follower->heartbeat.due > api_now() + ms + ms / 2)
		api_timer_set(follower->api, &follower->heartbeat, api_jitter(ms));
}

static void status_changed(void *data, const char *key, struct json_object *object)
{
	struct follower *follower = data;

	(void)key;
	if (store_status_read(object, &follower->wants))
		return;
	report_in_time(follower);
	look_at_addresses(follower);
	step(follower);
}

static void status_deleted(void *data, const char *key)
{
	(void)data;
	(void)key; /* the active policy stays active */
}

static void status_synced(void *data)
{
	struct follower *follower = data;

	follower->synced = true;
	step(follower);
	if (!follower->fetching && !follower->exists)
		report(follower);
}

static void free_pod(struct lh_entry *entry)
{
	json_object_put(lh_entry_v(entry));
	free(lh_entry_k(entry));
}

/* Metrics */

static void put_addresses(const struct follower *follower, FILE *to)
{
	const char *name = "follow_left_addresses";
	size_t resting, n;

	if (!follower->resting)
		return;
	n = resting_count(follower->resting, &resting);
	count_family(to, name,
		     "Addresses that pods of this node have lost. A pod that gets an address which "
		     "rests is isolated.");
	count_series(to, name, "state=\"resting\"", resting);
	count_series(to, name, "state=\"free\"", n - resting);
}

static void put_metrics(void *data, FILE *to)
{
	const struct follower *follower = data;
	uint64_t since = api_watch_since(follower->status_watch);
	const char *name = "follow_policy_generation";

	if (follower->options->metrics)
		follower->options->metrics(to, follower->options->load.pin);
	count_put(to, "follow_connected", "1 while the API server answers, else 0.", !!since);
	count_put(to, "follow_connected_seconds",
		  "Time since the API server answers without a fault.",
		  since ? (api_now() - since) / 1e3 : 0);
	count_family(to, name, "Generation of the segments, in the cluster's count.");
	count_series(to, name, "state=\"desired\"", follower->wants.policy);
	count_series(to, name, "state=\"installed\"", follower->has.installed);
	name = "follow_endpoint_generation";
	count_family(to, name, "Generation of the segments that endpoints are in.");
	count_series(to, name, "state=\"desired\"", follower->wants.endpoint);
	count_series(to, name, "state=\"active\"", follower->has.active);
	count_put(to, "follow_node_limit_seconds",
		  "The engine's limit for a silent node, in which this one reports.",
		  node_limit(follower));
	count_put(to, "follow_pods", "Pods of this node that the API server has.",
		  lh_table_length(follower->pods));
	put_addresses(follower, to);
	if (follower->denials)
		denials_metrics(follower->denials, to);
	count_put(to, "follow_changes_total", "Policies that were loaded, staged or activated.",
		  follower->changes);
	count_put(to, "follow_changes_failed_total",
		  "Policies that failed to be loaded, staged or activated.", follower->failed);
	count_histogram(to, "follow_load_seconds", "Time that loading a policy took.",
			&follower->took[STEP_LOAD]);
	count_histogram(to, "follow_stage_seconds", "Time that installing a policy took.",
			&follower->took[STEP_STAGE]);
	count_histogram(to, "follow_activate_seconds",
			"Time that moving the endpoints to an installed policy took.",
			&follower->took[STEP_ACTIVATE]);
	count_api(to, follower->api);
	count_process(to);
}

/* Returns what a follower lacks to be ready; NULL: nothing. */
static const char *missing(void *data)
{
	const struct follower *follower = data;

	if (!follower->has.active)
		return "no policy is active on this node";
	if (!follower->synced || !follower->pods_synced)
		return "the API server has not listed PolicyStatus and this node's pods yet";
	if (!api_watch_since(follower->status_watch) || !api_watch_since(follower->pods_watch))
		return "the API server does not answer";
	return NULL;
}

static struct json_object *pod_of(void *data, const char *key)
{
	const struct follower *follower = data;
	const struct lh_entry *entry = lh_table_lookup_entry(follower->pods, key);

	return entry ? lh_entry_v(entry) : NULL;
}

/* Begins to report denials, if the options ask for reports. */
static int begin_denials(struct follower *follower)
{
	const struct denials_options options = {.pin = follower->options->load.pin,
						.node = follower->options->node,
						.nodes = &follower->wants.nodes,
						.events = follower->events,
						.print = follower->options->denials,
						.pod = pod_of,
						.data = follower};

	if (!follower->options->denials)
		return 0;
	follower->denials = denials_open(follower->api, &options, follower->diag);
	return follower->denials ? 0 : -ENOMEM;
}

static int begin(struct follower *follower)
{
	static const struct api_watch_ops status_ops = {.changed = status_changed,
							.deleted = status_deleted,
							.synced = status_synced,
							.columns = store_status_columns,
							.columns_path =
								STORE_POLICY_STATUS_COLUMNS};
	static const struct api_watch_ops pod_ops = {.changed = pod_changed,
						     .deleted = pod_deleted,
						     .synced = pods_synced,
						     .cached = true};
	const struct resting_options resting_options = {.records = follower->options->records,
							.node = &follower->options->load,
							.diag = follower->diag,
							.changed = look_at_addresses,
							.data = follower};
	char query[320];
	int error;

	follower->heartbeat = (struct api_timer){.run = on_heartbeat, .data = follower};
	follower->wait = (struct api_timer){.run = on_wait, .data = follower};
	follower->pods = lh_kchar_table_new(64, free_pod);
	follower->events = events_open(follower->api, "bulkhead-follower", follower->options->node);
	if (!follower->pods || !follower->events)
		return -ENOMEM;
	error = follower->options->records
			? resting_open(follower->api, &resting_options, &follower->resting)
			: 0;
	if (error)
		return error;
	follower->status_watch =
		api_watch(follower->api, STORE_POLICY_STATUS,
			  "fieldSelector=metadata.name%3Dglobal", &status_ops, follower);
	snprintf(query, sizeof(query), "fieldSelector=spec.nodeName%%3D%s",
		 follower->options->node);
	follower->pods_watch = api_watch(follower->api, "/api/v1/pods", query, &pod_ops, follower);
	api_timer_set(follower->api, &follower->heartbeat, FIRST_MS);
	return follower->status_watch && follower->pods_watch ? 0 : -ENOMEM;
}

int follow_run(const struct follow_options *given, struct diag *diag, int stop)
{
	struct follow_options with_cache = *given;
	const struct follow_options *const options = &with_cache;
	struct follower follower = {
		.options = options,
		.diag = diag,
		.node = {.options = &options->load, .opened = node_opened, .data = &follower}};
	const struct serve_options serve = {.listen = options->listen,
					    .health = options->health,
					    .metrics = put_metrics,
					    .missing = missing,
					    .data = &follower};
	int error;

	/* The memory of a policy goes back to the kernel when the policy is freed. By default
	 * malloc() keeps up to 64 MB once a large block was freed. */
	mallopt(M_MMAP_THRESHOLD, MMAP_BYTES);
	error = api_open(options->kubeconfig, diag, &follower.api);
	if (error)
		return error;
	with_cache.load.cache = node_cache_new();
	error = local_node_audit(&follower.node, diag);
	if (!error)
		error = read_node(&follower);
	if (!error)
		error = begin(&follower);
	if (!error)
		error = begin_denials(&follower);
	if (!error && (options->listen || options->health))
		error = serve_open(follower.api, &serve, diag, &follower.serve);
	if (!error)
		api_run(follower.api, stop);
	if (!error && options->once)
		error = follower.error;
	serve_close(follower.serve);
	denials_close(follower.denials);
	events_close(follower.events);
	free(follower.opened.line);
	resting_close(follower.resting);
	api_close(follower.api);
	if (follower.pods)
		lh_table_free(follower.pods);
	store_status_free(&follower.wants);
	local_node_free(&follower.node);
	node_cache_free(with_cache.load.cache);
	free(follower.message);
	json_object_put(follower.conditions);
	json_object_put(follower.left);
	return error;
}
