// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine. It does one step at a time, and chooses each step from what the store and the
 * nodes say. It remembers nothing that the store does not have, so a new engine continues where
 * another ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/linkhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"
#include "cluster/count.h"
#include "cluster/events.h"
#include "cluster/lease.h"
#include "cluster/objects.h"
#include "cluster/serve.h"
#include "cluster/store.h"
#include "compile/compile.h"

#define QUIET_MS 25 /* a batch ends after so long without a further change */
#define BATCH_MS 500 /* a batch ends after so long in any case */
#define RETRY_MS 1000

/* The last report of a node. */
struct report {
	uint32_t policy, endpoint;
	char *heartbeat;
	uint64_t seen; /* ms: when the heartbeat last changed */
};

/* Counts for metrics. Times are in ms. */
struct counts {
	uint64_t compiles, compile_time;
	uint64_t rollouts, rollout_time; /* finished ones, and their time from the first change
					  * of the batch on */
	uint64_t rollout_since; /* start of the current one; 0: none is running that this engine
				 * began */
};

struct engine {
	const struct engine_options *options;
	struct diag *diag;
	struct api *api;
	struct lease *lease;
	struct objects *objects;
	struct events *events;
	struct serve *serve; /* NULL: metrics are not served */
	struct counts counts;
	struct api_watch *status_watch, *nodes_watch, *generations_watch;
	struct lh_table *nodes; /* name -> struct report */
	struct lh_table *generations; /* names of PolicyGenerations; no values */
	struct store_status status;
	bool status_synced, nodes_synced, generations_synced;
	struct policy *policy; /* the policy that status.policy names; NULL: not fetched, or
				* there is none */
	struct policy *next; /* the policy that is being published */
	uint64_t led; /* ms: when this engine began to lead */
	bool lost; /* the stored policy that nodes are to have is gone: the next one replaces it */
	bool busy; /* a step is running */
	bool dirty; /* objects have changed since the last compile */
	uint64_t dirty_since; /* ms */
	struct api_timer batch; /* ends the batch */
	struct api_timer wait; /* ends the wait for a silent node, or until the next attempt */
	bool due; /* `batch` has ended */
	uint64_t written[2]; /* the oldest generations of the nodes, as written into the status */
	uint32_t written_nodes, written_refused;
};

static void step(struct engine *engine);

static void say(struct engine *engine, enum diag_level level, const char *what, const char *why)
{
	diag_report(engine->diag, level, NULL, NULL, "engine: %s%s%s", what, why ? ": " : "",
		    why ? why : "");
}

static void retry_later(struct engine *engine, const char *what, const char *why)
{
	say(engine, DIAG_WARNING, what, why);
	engine->busy = false;
	api_timer_set(engine->api, &engine->wait, api_jitter(RETRY_MS));
}

static void on_timer(void *data)
{
	step(data);
}

static void on_batch(void *data)
{
	struct engine *engine = data;

	engine->due = true;
	step(engine);
}

/* Extends the batch: it ends QUIET_MS after the last change, BATCH_MS after the first at the
 * latest. */
static void objects_changed(void *data)
{
	struct engine *engine = data;
	uint64_t now = api_now(), latest;

	if (!engine->dirty)
		engine->dirty_since = now;
	engine->dirty = true;
	latest = engine->dirty_since + BATCH_MS;
	if (!engine->due)
		api_timer_set(engine->api, &engine->batch,
			      latest <= now		? 0
			      : latest - now < QUIET_MS ? latest - now
							: QUIET_MS);
}

static void object_refused(void *data, struct json_object *object, const char *why)
{
	struct engine *engine = data;

	if (why)
		say(engine, DIAG_WARNING, "an object is refused", why);
	if (lease_held(engine->lease))
		events_about(engine->events, object, why);
}

/* Publishing */

static void published(void *data, int error, const char *why)
{
	struct engine *engine = data;

	engine->busy = false;
	if (error == -EEXIST) {
		/* An earlier engine published the policy and ended before it wrote the status.
		 * The policy counts. */
		policy_free(engine->next);
		engine->next = NULL;
		engine->due = engine->dirty = true;
		engine->status.policy++;
		policy_free(engine->policy);
		engine->policy = NULL;
		return step(engine);
	}
	if (error) {
		policy_free(engine->next);
		engine->next = NULL;
		engine->due = engine->dirty = true;
		return retry_later(engine, "a policy cannot be published", why);
	}
	step(engine);
}

/* Returns whether a step has begun. */
static bool compile(struct engine *engine)
{
	struct policy *policy = NULL;
	uint64_t began = api_now();
	int error = objects_compile(engine->objects, engine->policy, engine->diag, &policy);

	engine->counts.compiles++;
	engine->counts.compile_time += api_now() - began;
	engine->due = engine->dirty = false;
	if (error) {
		say(engine, DIAG_WARNING, "the objects make no policy, and the last one stays",
		    NULL);
		return false;
	}
	if (engine->policy && policy->generation == engine->policy->generation) {
		policy_free(policy);
		return false;
	}
	engine->next = policy;
	engine->counts.rollout_since = engine->dirty_since;
	engine->busy = true;
	if (!store_publish(engine->api, policy, published, engine)) {
		engine->next = NULL;
		policy_free(policy);
		engine->due = engine->dirty = true;
		retry_later(engine, "a policy cannot be published", strerror(ENOMEM));
	}
	return true;
}

/* PolicyStatus */

static void status_written(void *data, const struct api_answer *answer)
{
	struct engine *engine = data;

	engine->busy = false;
	if (answer->error) {
		/* 409: another engine wrote it; the watch will bring the new status */
		if (answer->status != 409)
			return retry_later(engine, "PolicyStatus cannot be written", answer->error);
		api_timer_set(engine->api, &engine->wait, api_jitter(RETRY_MS / 4));
		return;
	}
	if (store_status_read(answer->body, &engine->status))
		return retry_later(engine, "PolicyStatus", strerror(ENOMEM));
	step(engine);
}

/* Stores @spec, unless the stored status has changed since it was read. */
static void write_status(struct engine *engine, const struct store_status *spec)
{
	struct json_object *object = store_status_object(spec);
	struct api_request request = {
		.method = spec->version ? "PUT" : "POST",
		.path = spec->version ? STORE_POLICY_STATUS "/global" : STORE_POLICY_STATUS,
		.body = object,
		.done = status_written,
		.data = engine,
	};

	engine->busy = true;
	if (api_send(engine->api, &request))
		retry_later(engine, "PolicyStatus cannot be written", strerror(ENOMEM));
	json_object_put(object);
}

static void install(struct engine *engine)
{
	struct store_status spec = engine->status;

	spec.policy = engine->next->generation;
	spec.checksum = engine->next->checksum;
	policy_free(engine->policy);
	engine->policy = engine->next;
	engine->next = NULL;
	engine->lost = false;
	write_status(engine, &spec);
}

static void activate(struct engine *engine)
{
	struct store_status spec = engine->status;

	spec.endpoint = spec.policy;
	write_status(engine, &spec);
}

/* Nodes */

static uint64_t node_limit(const struct engine *engine)
{
	return engine->options->node_seconds * 1000ull;
}

/* Returns since when a node's silence counts: since its report, or since this engine hears any
 * node. No node could be heard while the server was silent or another engine led. */
static uint64_t heard(const struct engine *engine, const struct report *report)
{
	uint64_t since = api_watch_since(engine->nodes_watch);

	if (!since)
		return api_now();
	if (engine->led > since)
		since = engine->led;
	return report->seen > since ? report->seen : since;
}

/* Whether the rollout waits for the node: it is alive, and in the cluster. */
static bool counts(const struct engine *engine, const char *name, const struct report *report)
{
	return heard(engine, report) + node_limit(engine) > api_now() &&
	       objects_have_node(engine->objects, name);
}

struct least {
	uint32_t policy, endpoint; /* UINT32_MAX: no node counts */
	uint32_t nodes; /* nodes that the rollout waits for */
	bool silent; /* there are nodes, and all are silent: the rollout stops */
	uint64_t next; /* ms: when the first of them will have been silent for too long */
};

static struct least least_of(const struct engine *engine)
{
	struct least least = {UINT32_MAX, UINT32_MAX, 0, false, UINT64_MAX};
	struct lh_entry *entry;

	for (entry = engine->nodes->head; entry; entry = entry->next) {
		const struct report *report = lh_entry_v(entry);

		if (!counts(engine, lh_entry_k(entry), report))
			continue;
		least.nodes++;
		if (report->policy < least.policy)
			least.policy = report->policy;
		if (report->endpoint < least.endpoint)
			least.endpoint = report->endpoint;
		if (heard(engine, report) + node_limit(engine) < least.next)
			least.next = heard(engine, report) + node_limit(engine);
	}
	least.silent = !least.nodes && lh_table_length(engine->nodes);
	return least;
}

/* Counts a rollout as finished: all live nodes have moved their endpoints. */
static void count_rollout(struct engine *engine, const struct least *least)
{
	struct counts *counts = &engine->counts;

	if (!counts->rollout_since || engine->status.endpoint != engine->status.policy ||
	    least->endpoint < engine->status.endpoint)
		return;
	counts->rollouts++;
	counts->rollout_time += api_now() - counts->rollout_since;
	counts->rollout_since = 0;
}

/* Status and collection: the last steps, when nothing else is left to do */

static void step_done(void *data, const struct api_answer *answer)
{
	struct engine *engine = data;

	engine->busy = false;
	if (answer->error && answer->status != 404 && answer->status != 409)
		return retry_later(engine, "the store cannot be written", answer->error);
	step(engine);
}

static bool write_observed(struct engine *engine, const struct least *least)
{
	uint32_t policy = least->nodes ? least->policy : 0;
	uint32_t endpoint = least->nodes ? least->endpoint : 0;
	struct json_object *object, *status;
	struct api_request request = {
		.method = "PATCH",
		.path = STORE_POLICY_STATUS "/global/status",
		.done = step_done,
		.data = engine,
	};

	if (engine->written[0] == policy && engine->written[1] == endpoint &&
	    engine->written_nodes == least->nodes &&
	    engine->written_refused == objects_refused(engine->objects))
		return false;
	engine->written[0] = policy;
	engine->written[1] = endpoint;
	engine->written_nodes = least->nodes;
	engine->written_refused = objects_refused(engine->objects);
	object = json_object_new_object();
	status = json_object_new_object();
	json_object_object_add(object, "status", status);
	json_object_object_add(status, "oldestPolicyGeneration", json_object_new_int64(policy));
	json_object_object_add(status, "oldestEndpointGeneration", json_object_new_int64(endpoint));
	json_object_object_add(status, "nodes", json_object_new_int64(least->nodes));
	json_object_object_add(status, "refusedObjects",
			       json_object_new_int64(engine->written_refused));
	request.body = object;
	engine->busy = !api_send(engine->api, &request);
	json_object_put(object);
	return engine->busy;
}

/* Deletes one object of a policy that no node needs any more. Returns whether a step has begun. */
static bool collect(struct engine *engine, const struct least *least)
{
	uint32_t oldest = engine->status.endpoint;
	struct lh_entry *entry;
	char path[256];
	struct api_request request = {
		.method = "DELETE", .path = path, .done = step_done, .data = engine};

	if (least->nodes && least->endpoint < oldest)
		oldest = least->endpoint;
	for (entry = engine->generations->head; entry; entry = entry->next) {
		const char *name = lh_entry_k(entry);

		if (store_generation_of(name) >= oldest)
			continue;
		snprintf(path, sizeof(path), STORE_GENERATIONS "/%s", name);
		engine->busy = !api_send(engine->api, &request);
		return engine->busy;
	}
	return false;
}

/* Fetches the policy that the store says is to be installed. */

/* Starts a new lineage, with the next generation, since the stored policy is lost. Nodes keep
 * theirs until then. */
static int begin_anew(struct engine *engine, struct policy **policy)
{
	struct cluster none;
	int error;

	cluster_init(&none);
	error = cluster_finish(&none, engine->diag);
	if (!error)
		error = compile_cluster(&none, NULL, engine->diag, policy);
	cluster_free(&none);
	if (!error)
		(*policy)->generation = engine->status.policy;
	engine->due = engine->dirty = true;
	return error;
}

static void fetched(void *data, int error, const char *why, struct policy *policy)
{
	struct engine *engine = data;

	engine->busy = false;
	if (error == -ENOENT || error == -EBADMSG) {
		say(engine, DIAG_WARNING, "the stored policy is lost, and made anew", why);
		error = begin_anew(engine, &policy);
		engine->lost = !error;
	}
	if (error)
		return retry_later(engine, "the policy that nodes are to have cannot be read", why);
	policy_free(engine->policy);
	engine->policy = policy;
	if (!engine->lost && policy->checksum != engine->status.checksum) {
		struct store_status spec = engine->status;

		spec.checksum = policy->checksum;
		return write_status(engine, &spec);
	}
	step(engine);
}

static void fetch(struct engine *engine)
{
	engine->busy = true;
	if (!store_fetch(engine->api, engine->status.policy, fetched, engine))
		retry_later(engine, "the policy that nodes are to have cannot be read",
			    strerror(ENOMEM));
}

static bool is_synced(const struct engine *engine)
{
	return engine->status_synced && engine->nodes_synced && engine->generations_synced &&
	       objects_synced(engine->objects);
}

/* Whether nodes were told to move their endpoints to the newest policy. A further rollout may
 * begin then. */
static bool rolled_out(const struct engine *engine)
{
	return engine->status.endpoint == engine->status.policy;
}

static void step(struct engine *engine)
{
	struct least least;

	if (engine->busy || !lease_held(engine->lease) || !is_synced(engine))
		return;
	if (!engine->status.version)
		return write_status(engine, &engine->status);
	if (engine->next)
		return install(engine);
	if (engine->status.policy &&
	    (!engine->policy || engine->policy->generation != engine->status.policy))
		return fetch(engine);
	least = least_of(engine);
	count_rollout(engine, &least);
	if (!rolled_out(engine) && !least.silent && least.policy >= engine->status.policy)
		return activate(engine);
	if ((rolled_out(engine) || engine->lost) && engine->due && compile(engine))
		return;
	if (write_observed(engine, &least) || collect(engine, &least))
		return;
	/* All are silent: wait until the first node stops counting. */
	if (!rolled_out(engine) && least.next != UINT64_MAX)
		api_timer_set(engine->api, &engine->wait, least.next - api_now() + 1);
}

/* Watches */

static void status_changed(void *data, const char *key, struct json_object *object)
{
	struct engine *engine = data;

	if (strcmp(key, "global"))
		return;
	if (store_status_read(object, &engine->status))
		say(engine, DIAG_WARNING, "PolicyStatus", strerror(ENOMEM));
	step(engine);
}

static void status_gone(void *data, const char *key)
{
	struct engine *engine = data;

	if (!strcmp(key, "global")) {
		free(engine->status.version);
		engine->status.version = NULL; /* written again, unchanged */
	}
	step(engine);
}

static void status_synced(void *data)
{
	struct engine *engine = data;

	engine->status_synced = true;
	step(engine);
}

static void free_report(struct lh_entry *entry)
{
	struct report *report = lh_entry_v(entry);

	free(report->heartbeat);
	free(report);
	free(lh_entry_k(entry));
}

static struct report *report_of(struct engine *engine, const char *name)
{
	struct lh_entry *entry = lh_table_lookup_entry(engine->nodes, name);
	struct report *report;
	char *key;

	if (entry)
		return lh_entry_v(entry);
	report = calloc(1, sizeof(*report));
	key = strdup(name);
	if (!report || !key || lh_table_insert(engine->nodes, key, report)) {
		free(report);
		free(key);
		return NULL;
	}
	return report;
}

static void node_changed(void *data, const char *key, struct json_object *object)
{
	struct engine *engine = data;
	struct report *report = report_of(engine, key);
	const char *heartbeat = api_text(object, "status.heartbeat");

	if (!report)
		return;
	report->policy = api_number(object, "status.latestPolicyGeneration");
	report->endpoint = api_number(object, "status.latestEndpointGeneration");
	if (heartbeat && (!report->heartbeat || strcmp(heartbeat, report->heartbeat))) {
		free(report->heartbeat);
		report->heartbeat = strdup(heartbeat);
		report->seen = api_now();
	}
	step(engine);
}

static void node_gone(void *data, const char *key)
{
	struct engine *engine = data;

	lh_table_delete(engine->nodes, key);
	step(engine);
}

static void nodes_synced(void *data)
{
	struct engine *engine = data;

	engine->nodes_synced = true;
	step(engine);
}

static void free_name(struct lh_entry *entry)
{
	free(lh_entry_k(entry));
}

static void generation_changed(void *data, const char *key, struct json_object *object)
{
	struct engine *engine = data;
	char *name = strdup(key);

	(void)object;
	if (!name || lh_table_lookup_entry(engine->generations, key) ||
	    lh_table_insert(engine->generations, name, NULL))
		free(name);
}

static void generation_gone(void *data, const char *key)
{
	struct engine *engine = data;

	lh_table_delete(engine->generations, key);
}

static void generations_synced(void *data)
{
	struct engine *engine = data;

	engine->generations_synced = true;
	step(engine);
}

static void lease_changed(void *data)
{
	struct engine *engine = data;

	say(engine, DIAG_NOTE, lease_held(engine->lease) ? "leads" : "leads no longer", NULL);
	engine->led = api_now();
	engine->due = engine->dirty = true;
	engine->written_nodes = UINT32_MAX;
	step(engine);
}

/* Metrics */

static void put_generations(const struct engine *engine, FILE *to)
{
	struct least least = least_of(engine);
	const char *name = "engine_policy_generation";

	count_family(to, name,
		     "Generation of the segments that nodes are to install, and the "
		     "oldest that a node has, where one counts.");
	count_series(to, name, "state=\"desired\"", engine->status.policy);
	if (least.nodes)
		count_series(to, name, "state=\"oldest\"", least.policy);
	name = "engine_endpoint_generation";
	count_family(to, name,
		     "Generation of the segments that endpoints may be in, and the "
		     "oldest that a node has, where one counts.");
	count_series(to, name, "state=\"desired\"", engine->status.endpoint);
	if (least.nodes)
		count_series(to, name, "state=\"oldest\"", least.endpoint);
	count_put(to, "engine_nodes", "Nodes that the rollout waits for.", least.nodes);
	count_put(to, "engine_nodes_reported", "Nodes that have a NodePolicyStatus.",
		  lh_table_length(engine->nodes));
}

static void put_metrics(void *data, FILE *to)
{
	const struct engine *engine = data;
	const struct counts *counts = &engine->counts;

	count_put(to, "engine_leads", "1 where this engine holds the lease, else 0.",
		  lease_held(engine->lease));
	count_put(to, "engine_objects", "Objects that a policy is made of.",
		  objects_count(engine->objects));
	count_put(
		to, "engine_objects_refused",
		"Refused objects: the last accepted version stays in effect, or a policy isolates.",
		objects_refused(engine->objects));
	put_generations(engine, to);
	count_put(to, "engine_compiles_total", "Compiles of all objects.", counts->compiles);
	count_put(to, "engine_compile_seconds_total", "Time that the compiles took.",
		  counts->compile_time / 1e3);
	count_put(to, "engine_rollouts_total",
		  "Rollouts that reached every node which counts, of batches of this engine.",
		  counts->rollouts);
	count_put(to, "engine_rollout_seconds_total",
		  "Time that these took, each from the first change of its batch on.",
		  counts->rollout_time / 1e3);
	count_api(to, engine->api);
	count_process(to);
}

static int begin(struct engine *engine)
{
	static const struct objects_ops objects_ops = {objects_changed, object_refused};
	static const struct api_watch_ops status_ops = {status_changed, status_gone, status_synced,
							false};
	static const struct api_watch_ops node_ops = {node_changed, node_gone, nodes_synced, false};
	static const struct api_watch_ops generation_ops = {generation_changed, generation_gone,
							    generations_synced, true};
	struct api *api = engine->api;

	engine->batch = (struct api_timer){.run = on_batch, .data = engine};
	engine->wait = (struct api_timer){.run = on_timer, .data = engine};
	engine->nodes = lh_kchar_table_new(64, free_report);
	engine->generations = lh_kchar_table_new(64, free_name);
	engine->events = events_open(api);
	if (!engine->nodes || !engine->generations || !engine->events)
		return -ENOMEM;
	engine->lease = lease_open(api, engine->options->lease_namespace, "bulkhead-engine",
				   engine->options->identity, lease_changed, engine);
	engine->objects = objects_open(api, &objects_ops, engine);
	engine->status_watch = api_watch(api, STORE_POLICY_STATUS, NULL, &status_ops, engine);
	engine->nodes_watch = api_watch(api, STORE_NODE_STATUS, NULL, &node_ops, engine);
	engine->generations_watch =
		api_watch(api, STORE_GENERATIONS, NULL, &generation_ops, engine);
	return engine->lease && engine->objects && engine->status_watch && engine->nodes_watch &&
			       engine->generations_watch
		       ? 0
		       : -ENOMEM;
}

int engine_run(const struct engine_options *options, struct diag *diag, const volatile int *stop)
{
	struct engine engine = {.options = options, .diag = diag};
	int error = api_open(options->kubeconfig, diag, &engine.api);

	if (error)
		return error;
	error = begin(&engine);
	if (!error && options->listen)
		error = serve_open(engine.api, options->listen, put_metrics, &engine, diag,
				   &engine.serve);
	if (!error)
		api_run(engine.api, stop);
	serve_close(engine.serve);
	lease_close(engine.lease);
	objects_close(engine.objects);
	events_close(engine.events);
	api_close(engine.api);
	if (engine.nodes)
		lh_table_free(engine.nodes);
	if (engine.generations)
		lh_table_free(engine.generations);
	store_status_free(&engine.status);
	policy_free(engine.policy);
	policy_free(engine.next);
	return error;
}
