// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine's life, and what it hears: the objects, PolicyStatus, the nodes' statuses, the stored
 * generations, the lease. What it does then is engine_steps.c.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/engine.h"

#define QUIET_MS 25 /* a batch ends after so long without a further change */
#define FIRST_MS 3 /* and after so long if no change came for QUIET_MS before its first one */
#define BATCH_NODE_MS 2 /* and after FIRST_MS, and so long for each node, in any case ... */
#define BATCH_MAX 500 /* ... at most after so long */
#define RELEASE_MS 2000 /* an engine that ends waits so long for the answer to its last request */
/* After a report, the next step waits 1 ms for each so many nodes: it looks at each node. */
#define REPORTS_NODES 250
#define HEAP_PAD (4 << 20)
#define HEAP_TRIM (64 << 20)
#define HEAP_BLOCK (32 << 20) /* larger blocks are mapped one by one */

static void on_timer(void *data)
{
	engine_step(data);
}

static void on_batch(void *data)
{
	struct engine *engine = data;

	engine->due = true;
	engine_step(engine);
}

/* Schedules a step. One step handles all changes that come until then; without a wait, all that
 * came together. */
static void step_soon(struct engine *engine)
{
	if (!engine->soon.due)
		api_timer_set(engine->api, &engine->soon,
			      lh_table_length(engine->nodes) / REPORTS_NODES);
}

/* Returns how long a batch may last. A rollout costs each node some work and two reports, however
 * few changes it has, so more nodes wait for more changes. Changes that come during a rollout are a
 * batch in any case. */
static unsigned int batch_ms(const struct engine *engine)
{
	const unsigned int ms = FIRST_MS + lh_table_length(engine->nodes) * BATCH_NODE_MS;

	return ms < BATCH_MAX ? ms : BATCH_MAX;
}

/* Extends the batch: it ends QUIET_MS after the last change, batch_ms() after the first at the
 * latest. A change that comes alone waits for FIRST_MS only: changes further apart than QUIET_MS
 * are batches of their own in any case. */
static void objects_changed(void *data)
{
	struct engine *engine = data;
	uint64_t now = api_now(), latest;
	const uint64_t quiet = now - engine->changed >= QUIET_MS ? FIRST_MS : QUIET_MS;

	if (!engine->dirty)
		engine->dirty_since = now;
	engine->dirty = true;
	engine->changed = now;
	latest = engine->dirty_since + batch_ms(engine);
	if (engine->due)
		step_soon(engine);
	else
		api_timer_set(engine->api, &engine->batch,
			      latest <= now	     ? 0
			      : latest - now < quiet ? latest - now
						     : quiet);
}

static void object_refused(void *data, struct json_object *object, const char *why)
{
	struct engine *engine = data;

	if (why)
		engine_say_about(engine, DIAG_WARNING, object, "an object is refused", why);
	if (lease_held(engine->lease))
		events_about(engine->events, object, why);
	/* PolicyStatus tells of it, also where its last accepted version goes on and nothing is
	 * compiled */
	step_soon(engine);
}

static void object_aside(void *data, struct json_object *object, const char *why)
{
	struct engine *engine = data;
	const char *ns = api_text(object, "metadata.namespace");
	char text[1024];

	snprintf(text, sizeof(text), "%s %s%s%s: %s", api_text(object, "kind"), ns ? ns : "",
		 ns ? "/" : "", api_text(object, "metadata.name"),
		 why ? why : "is within its budgets again");
	engine_say_about(engine, why ? DIAG_WARNING : DIAG_NOTE, object,
			 why ? "an object is set aside" : "an object counts again", text);
	if (lease_held(engine->lease))
		events_aside(engine->events, object, why);
}

static void policy_accepted(void *data, struct json_object *policy)
{
	struct engine *engine = data;

	if (lease_held(engine->lease))
		events_changed(engine->events, policy);
}

/* Watches */

static void status_changed(void *data, const char *key, struct json_object *object)
{
	struct engine *engine = data;

	if (strcmp(key, "global"))
		return;
	if (api_watch_lists(engine->status_watch)) {
		/* the store may be that of an older time */
		free(engine->status.version);
		engine->status.version = NULL;
		engine->verified[0] = engine->verified[1] = 0;
		engine->written_nodes = UINT32_MAX;
	}
	if (engine_is_overtaken(engine, object))
		return;
	if (engine_read_status(engine, object))
		engine_say(engine, DIAG_WARNING, "PolicyStatus", strerror(ENOMEM));
	json_object_put(engine->conditions);
	engine->conditions = json_object_get(api_get(object, "status.conditions"));
	engine_step(engine);
}

static void status_deleted(void *data, const char *key)
{
	struct engine *engine = data;

	if (!strcmp(key, "global")) {
		free(engine->status.version);
		engine->status.version = NULL; /* written again, unchanged */
		engine->written_nodes = UINT32_MAX; /* and so is what the nodes have */
	}
	engine_step(engine);
}

static void status_synced(void *data)
{
	struct engine *engine = data;

	engine->status_synced = true;
	engine_step(engine);
}

static void status_resumed(void *data)
{
	const struct engine *engine = data;

	api_look_back_soon(engine->look_back);
}

/* A node cannot make the policy from the store: this engine tries once to make the policy. */
static void check_lacked(struct engine *engine, const char *node, uint32_t generation)
{
	const bool installs = generation == engine->status.policy;

	if (!generation || (!installs && generation != engine->status.endpoint) ||
	    engine_is_verified(engine, generation) || !engine_may_fetch_for(engine, node))
		return;
	engine->verified[installs] = generation;
	engine->verify = true;
}

static void node_changed(void *data, const char *key, struct json_object *object)
{
	struct engine *engine = data;

	bool moves = engine_report(engine, key, object);

	objects_left(engine->objects, key, api_get(object, "status.leftAddresses"));
	check_lacked(engine, key, api_number(object, "status.lacksGeneration"));
	if (moves || engine->verify)
		step_soon(engine);
}

static void node_deleted(void *data, const char *key)
{
	struct engine *engine = data;

	engine_report_deleted(engine, key);
	step_soon(engine);
}

static void nodes_synced(void *data)
{
	struct engine *engine = data;

	engine->nodes_synced = true;
	engine_step(engine);
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

static void generation_deleted(void *data, const char *key)
{
	struct engine *engine = data;

	lh_table_delete(engine->generations, key);
}

static void generations_synced(void *data)
{
	struct engine *engine = data;

	engine->generations_synced = true;
	engine_step(engine);
}

static void lease_changed(void *data)
{
	struct engine *engine = data;

	/* another engine may have gone on from there */
	engine_drop_next(engine);
	policy_free(engine->policy);
	engine->policy = NULL;
	engine->adopts = 0;
	engine->lost = false;
	engine->retry_at = engine->backoff = 0;
	engine_say(engine, DIAG_NOTE, lease_held(engine->lease) ? "leads" : "leads no longer",
		   NULL);
	engine->listens = api_now();
	engine->told = 0;
	engine->written_nodes = UINT32_MAX;
	/* objects that were refused while no engine led have no Event yet */
	if (lease_held(engine->lease)) {
		objects_report_refused(engine->objects);
		engine_read_marks(engine);
	}
	engine_step(engine);
}

static int begin(struct engine *engine)
{
	static const struct objects_ops objects_ops = {.changed = objects_changed,
						       .refused = object_refused,
						       .aside = object_aside,
						       .accepted = policy_accepted,
						       .two_steps = true};
	static const struct api_watch_ops status_ops = {.changed = status_changed,
							.deleted = status_deleted,
							.synced = status_synced,
							.resumed = status_resumed};
	static const struct api_watch_ops node_ops = {
		.changed = node_changed, .deleted = node_deleted, .synced = nodes_synced};
	static const struct api_watch_ops generation_ops = {.changed = generation_changed,
							    .deleted = generation_deleted,
							    .synced = generations_synced,
							    .metadata_only = true};
	struct api *api = engine->api;

	engine->batch = (struct api_timer){.run = on_batch, .data = engine};
	engine->wait = (struct api_timer){.run = on_timer, .data = engine};
	engine->retry = (struct api_timer){.run = on_timer, .data = engine};
	engine->observe = (struct api_timer){.run = on_timer, .data = engine};
	engine->soon = (struct api_timer){.run = on_timer, .data = engine};
	engine_watch_waits(engine);
	engine->nodes = engine_reports_new();
	engine->generations = lh_kchar_table_new(64, free_name);
	engine->events = events_open(api, "bulkhead-engine", NULL);
	engine->look_back = api_look_back_open(api, engine->diag, &engine->status_watch);
	if (!engine->nodes || !engine->generations || !engine->events || !engine->look_back)
		return -ENOMEM;
	engine->lease = lease_open(api, engine->options->lease_namespace, LEASE_NAME,
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

/* Returns what an engine lacks to be ready to lead; NULL: nothing. */
static const char *missing(void *data)
{
	const struct engine *engine = data;
	static char unread[300];

	if (!engine_is_synced(engine))
		return objects_unread(engine->objects, unread, sizeof(unread))
			       ? unread
			       : "the API server has not listed all objects yet";
	if (!api_watch_since(engine->status_watch) || !api_watch_since(engine->nodes_watch))
		return "the API server does not answer";
	if (lease_held(engine->lease) && !engine->status.policy)
		return "there is no policy yet";
	return NULL;
}

static void on_release(void *data)
{
	api_stop(data);
}

/* Ends this engine's lead, so that another engine need not wait for the lease to run out. */
static void release(struct engine *engine)
{
	struct api_timer limit = {.run = on_release, .data = engine->api};

	if (!lease_held(engine->lease))
		return;
	engine_say(engine, DIAG_NOTE, "ends, and gives the lease up", NULL);
	api_timer_set(engine->api, &limit, RELEASE_MS);
	lease_release(engine->lease, on_release, engine->api);
	api_run(engine->api, -1);
	api_timer_stop(engine->api, &limit);
}

/* Each compile of all objects makes and frees small blocks by the million: without some room at the
 * heap's end, malloc() gives the end back to the kernel and takes it again, over and over. With
 * lists of small free blocks, it goes through these lists each time that a larger block is freed:
 * half of the time that an object of 1 MB takes. And blocks of more than 128 kB, of which a compile
 * beside large policies has many, would be mapped, zeroed by the kernel and unmapped each time:
 * nine tenths of the time that such a compile takes where page faults are slow. */
static void keep_memory(void)
{
	mallopt(M_MXFAST, 0);
	mallopt(M_TOP_PAD, HEAP_PAD);
	mallopt(M_TRIM_THRESHOLD, HEAP_TRIM);
	mallopt(M_MMAP_THRESHOLD, HEAP_BLOCK);
}

int engine_run(const struct engine_options *options, struct diag *diag, int stop)
{
	struct engine engine = {.options = options,
				.diag = diag,
				.step_done = engine_step_done,
				.go_on = engine_step};
	const struct serve_options serve = {.listen = options->listen,
					    .health = options->health,
					    .metrics = engine_metrics,
					    .missing = missing,
					    .data = &engine};
	int error;

	keep_memory();
	error = api_open(options->kubeconfig, diag, &engine.api);
	if (error)
		return error;
	error = begin(&engine);
	if (!error && (options->listen || options->health))
		error = serve_open(engine.api, &serve, diag, &engine.serve);
	if (!error)
		api_run(engine.api, stop);
	if (!error)
		release(&engine);
	serve_close(engine.serve);
	lease_close(engine.lease);
	objects_close(engine.objects);
	events_close(engine.events);
	api_close(engine.api);
	api_look_back_close(engine.look_back);
	if (engine.nodes)
		lh_table_free(engine.nodes);
	if (engine.generations)
		lh_table_free(engine.generations);
	store_status_free(&engine.status);
	policy_free(engine.policy);
	policy_free(engine.next);
	free(engine.next_delta);
	json_object_put(engine.conditions);
	return error;
}
