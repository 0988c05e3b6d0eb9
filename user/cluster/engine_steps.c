// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine's steps. It does one at a time, and chooses each by the state of the store and the
 * nodes. All of the engine's state is in the store, so a new engine continues where another ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/engine.h"
#include "compile/compile.h"
#include "policy/blob_file.h"

/* After a failure, the next step waits for RETRY_MS, and for twice as long after each further one
 * until PolicyStatus is written: each attempt may compile all objects. */
#define RETRY_MS 400
#define RETRY_MAX 10000
/* Time between writes of PolicyStatus while a rollout goes on: each write is an event for every
 * node. */
#define OBSERVE_MS 2000
#define OBSERVE_NODE_MS 2 /* added for each node */
#define TELL_MS 30000 /* between writes of the limit, where the server does not keep the limit */
/* With so many objects in the store, one is deleted while a rollout waits for nodes, too: under
 * changes that never end, one rollout follows another. */
#define COLLECT_SOON 300

void engine_say(struct engine *engine, enum diag_level level, const char *what, const char *why)
{
	diag_report(engine->diag, level, NULL, NULL, "engine: %s%s%s", what, why ? ": " : "",
		    why ? why : "");
}

void engine_say_about(struct engine *engine, enum diag_level level, struct json_object *object,
		      const char *what, const char *why)
{
	diag_report_about(engine->diag, level, api_text(object, "metadata.namespace"),
			  "engine: %s: %s", what, why);
}

static void retry_later(struct engine *engine, const char *what, const char *why)
{
	const unsigned int ms = api_backoff(&engine->backoff, RETRY_MS, RETRY_MAX);

	engine_say(engine, DIAG_WARNING, what, why);
	engine->busy = false;
	engine->retry_at = api_now() + ms;
	api_timer_set(engine->api, &engine->retry, ms);
}

/* Publishing */

void engine_drop_next(struct engine *engine)
{
	policy_free(engine->next);
	engine->next = NULL;
	objects_forget(engine->objects);
	engine->due = engine->dirty = true;
}

static void published(void *data, int error, const char *why)
{
	struct engine *engine = data;
	const uint32_t generation = engine->next ? engine->next->generation : 0;

	engine->busy = false;
	if (!error)
		return engine_step(engine);
	engine_drop_next(engine);
	if (error != -EEXIST)
		return retry_later(engine, "a policy cannot be published", why);
	if (lease_held(engine->lease))
		engine->adopts = generation;
	engine_step(engine);
}

/* The policy that is being published is larger than nodes take. The last one stays, and the next
 * change of an object makes another. */
static void refuse_next(struct engine *engine)
{
	char why[200];

	snprintf(why, sizeof(why),
		 "it has %" PRIu64 " bytes, nodes take at most %u, and the last one stays; delete "
		 "policies, or split the cluster",
		 blob_length(engine->next), STORE_BLOB_MAX);
	engine_say(engine, DIAG_WARNING, "a policy cannot be published", why);
	policy_free(engine->next);
	engine->next = NULL;
	objects_forget(engine->objects);
}

/* Returns true if nodes were told to move their endpoints to the newest policy. If so, a further
 * rollout may begin. */
static bool rolled_out(const struct engine *engine)
{
	return engine->status.endpoint == engine->status.policy;
}

/*
 * Returns true if the next policy may be compiled. While nodes install a policy, the next one is
 * compiled and published if only Pods, Services and EndpointSlices have changed, so that it can be
 * installed as soon as endpoints may be in this one: a Pod that has just got its address waits for
 * two requests to the API server in place of four. Any other change may take long to compile, and
 * would hold up the policy that is being installed.
 */
static bool may_compile(const struct engine *engine)
{
	if (!engine->due || engine->next)
		return false;
	return rolled_out(engine) || engine->lost ||
	       objects_may_patch(engine->objects, engine->policy);
}

/* Returns true if a step has begun. */
static bool compile(struct engine *engine)
{
	struct policy *policy = NULL;
	const uint64_t began = api_now(), since = engine->dirty_since;
	const bool quick = objects_may_patch(engine->objects, engine->policy);
	int error;

	/* An address that passes to another Pod makes the objects change again at once. */
	engine->due = engine->dirty = false;
	error = objects_compile(engine->objects, engine->policy, engine->diag, &policy);
	engine->counts.compiles++;
	engine->counts.compile_time += api_now() - began;
	histogram_add(&engine->counts.compile_took, (api_now() - began) * 1000);
	if (error) {
		engine_say(engine, DIAG_WARNING,
			   "the objects make no policy, and the last one stays", NULL);
		return false;
	}
	if (!quick) {
		events_compiled(engine->events, engine->objects);
		engine->policies_in = policy->generation;
	}
	if (engine->policy && policy->generation == engine->policy->generation) {
		policy_free(policy);
		return false;
	}
	engine->next = policy;
	engine->next_since = engine->since;
	free(engine->next_delta);
	error = store_publish(engine->api, engine->lost ? NULL : engine->policy, policy,
			      &engine->next_since, &engine->next_delta, published, engine);
	if (error == -E2BIG) {
		refuse_next(engine);
		return false;
	}
	*ROLLOUT_PLACE(&engine->counts, policy->generation) =
		(struct rollout){policy->generation, since};
	engine->busy = true;
	if (error) {
		engine_drop_next(engine);
		retry_later(engine, "a policy cannot be published", strerror(-error));
	}
	return true;
}

/* PolicyStatus */

bool engine_is_overtaken(const struct engine *engine, struct json_object *object)
{
	const char *version = api_text(object, "metadata.resourceVersion");

	return version && engine->status.version &&
	       strtoull(version, NULL, 10) < strtoull(engine->status.version, NULL, 10);
}

int engine_read_status(struct engine *engine, struct json_object *object)
{
	const uint32_t limit = engine->status.limit;
	const uint32_t policy = engine->status.policy, endpoint = engine->status.endpoint;
	int error;

	if (engine_is_overtaken(engine, object))
		return 0;
	error = store_status_read(object, &engine->status);
	if (engine->status.policy != policy || engine->status.endpoint != endpoint)
		engine_wants_more(engine, policy, endpoint);
	if (engine->status.limit != limit)
		engine->listens = api_now();
	return error;
}

static bool is_limit_written(const struct engine *engine)
{
	return engine->status.limit == engine->options->node_seconds;
}

/* An older version of the resource does not keep the limit: nodes have the default then. */
static void check_limit(struct engine *engine)
{
	if (!engine->told && !is_limit_written(engine))
		engine_say(engine, DIAG_WARNING, "PolicyStatus does not tell nodes --node-limit",
			   "apply the crds.yaml of this version");
	engine->told = api_now();
}

static bool must_write_limit(const struct engine *engine)
{
	return !is_limit_written(engine) && (!engine->told || engine->told + TELL_MS < api_now());
}

static void status_written(void *data, const struct api_answer *answer)
{
	struct engine *engine = data;

	engine->busy = false;
	if (answer->error) {
		/* the policy that was to be installed may not be */
		engine->due = engine->dirty = true;
		/* 409: another engine wrote it; the watch will bring the new status */
		if (answer->status != 409)
			return retry_later(engine, "PolicyStatus cannot be written", answer->error);
		api_timer_set(engine->api, &engine->wait, api_jitter(RETRY_MS));
		return;
	}
	if (engine_read_status(engine, answer->body))
		return retry_later(engine, "PolicyStatus", strerror(ENOMEM));
	engine->backoff = 0;
	check_limit(engine);
	engine_step(engine);
}

/* Stores @spec with this engine's limit, unless the stored status has changed since it was read. */
static void write_status(struct engine *engine, struct store_status spec)
{
	struct api_request request = {
		.method = spec.version ? "PUT" : "POST",
		.path = spec.version ? STORE_POLICY_STATUS "/global" : STORE_POLICY_STATUS,
		.done = status_written,
		.data = engine,
	};

	spec.limit = engine->options->node_seconds;
	request.body = store_status_object(&spec);
	engine->busy = true;
	engine->observed = api_now();
	if (api_send(engine->api, &request))
		retry_later(engine, "PolicyStatus cannot be written", strerror(ENOMEM));
	json_object_put(request.body);
}

/* Nodes are to install the published policy. */
static void install(struct engine *engine, struct store_status spec)
{
	spec.policy = engine->next->generation;
	spec.checksum = engine->next->checksum;
	spec.delta = engine->lost ? NULL : engine->next_delta;
	policy_free(engine->policy);
	engine->policy = engine->next;
	engine->since = engine->next_since;
	engine->next = NULL;
	engine->lost = false;
	write_status(engine, spec);
}

/* Endpoints may be in the policy that nodes have installed. If the next one is published, nodes
 * install it after that, by the same write. */
static void activate(struct engine *engine)
{
	struct store_status spec = engine->status;

	spec.endpoint = spec.policy;
	spec.delta = NULL;
	if (engine->next)
		install(engine, spec);
	else
		write_status(engine, spec);
}

static void end_rollout(struct counts *counts, struct rollout *rollout)
{
	const uint64_t took = api_now() - rollout->since;

	counts->rollouts++;
	counts->rollout_time += took;
	histogram_add(&counts->rollout_took, took * 1000);
	rollout->since = 0;
}

/* Counts a rollout as finished once all live nodes have moved their endpoints. */
static void count_rollouts(struct engine *engine, const struct barrier *barrier)
{
	struct counts *counts = &engine->counts;
	const uint32_t endpoint = engine->status.endpoint;

	if (!endpoint || !barrier->nodes || barrier->endpoint < endpoint)
		return;
	if (endpoint >= engine->policies_in)
		events_active(engine->events, endpoint, barrier->nodes);
	for (size_t i = 0; i < sizeof(counts->begun) / sizeof(*counts->begun); i++)
		if (counts->begun[i].since && counts->begun[i].generation <= endpoint)
			end_rollout(counts, &counts->begun[i]);
}

/* Status and collection: the last steps, when nothing else is left to do */

void engine_step_done(void *data, const struct api_answer *answer)
{
	struct engine *engine = data;

	engine->busy = false;
	if (!answer->error || answer->status == 404 || answer->status == 409)
		return engine_step(engine);
	/* holds no rollout up */
	engine_say(engine, DIAG_WARNING, "the store cannot be written", answer->error);
	api_timer_set(engine->api, &engine->wait, api_jitter(RETRY_MS));
}

/* Returns true if PolicyStatus tells of the nodes as they are. */
static bool is_observed(const struct engine *engine, const struct barrier *barrier, bool complete)
{
	return engine->written[0] == (barrier->nodes ? barrier->policy : 0) &&
	       engine->written[1] == (barrier->nodes ? barrier->endpoint : 0) &&
	       engine->written_nodes == barrier->nodes &&
	       engine->written_silent == barrier->n_silent &&
	       engine->written_late == barrier->n_late && engine->written_complete == complete;
}

/* Returns true if PolicyStatus tells of the objects as they are. */
static bool are_faults_observed(struct engine *engine)
{
	return engine->written_refused == objects_refused(engine->objects) &&
	       engine->written_aside == objects_aside(engine->objects) &&
	       engine_faults_written(engine);
}

static struct json_object *observed_object(struct engine *engine, const struct barrier *barrier)
{
	struct json_object *object = json_object_new_object(), *status = json_object_new_object();

	json_object_object_add(object, "status", status);
	store_add_number(status, "oldestPolicyGeneration", engine->written[0]);
	store_add_number(status, "oldestEndpointGeneration", engine->written[1]);
	store_add_number(status, "nodes", engine->written_nodes);
	store_add_number(status, "refusedObjects", engine->written_refused);
	json_object_object_add(status, "conditions", engine_conditions(engine, barrier));
	return object;
}

/* The next write of PolicyStatus names the version that this one has made. What the store may not
 * have is written again. */
static void observed_written(void *data, const struct api_answer *answer)
{
	struct engine *engine = data;

	if (!answer->error)
		engine_read_status(engine, answer->body);
	else
		engine->written_nodes = UINT32_MAX;
	engine_step_done(data, answer);
}

static bool write_observed(struct engine *engine, const struct barrier *barrier)
{
	const bool complete = rolled_out(engine) && !barrier->behind;
	const bool same = is_observed(engine, barrier, complete);
	struct api_request request = {
		.method = "PATCH",
		.path = STORE_POLICY_STATUS "/global/status",
		.done = observed_written,
		.data = engine,
	};

	if (same && are_faults_observed(engine))
		return false;
	/* A tenant can have an object refused and accepted again and again, and a server can refuse
	 * each write of PolicyStatus: the engine waits between two writes. */
	if (!complete || same || engine->written_nodes == UINT32_MAX) {
		uint64_t due = engine->observed + OBSERVE_MS + barrier->nodes * OBSERVE_NODE_MS;
		uint64_t now = api_now();

		if (due > now) {
			api_timer_set(engine->api, &engine->observe, due - now);
			return false;
		}
	}
	engine->observed = api_now();
	engine->written[0] = barrier->nodes ? barrier->policy : 0;
	engine->written[1] = barrier->nodes ? barrier->endpoint : 0;
	engine->written_nodes = barrier->nodes;
	engine->written_silent = barrier->n_silent;
	engine->written_late = barrier->n_late;
	engine->written_complete = complete;
	engine->written_refused = objects_refused(engine->objects);
	engine->written_aside = objects_aside(engine->objects);
	request.body = observed_object(engine, barrier);
	engine->busy = !api_send(engine->api, &request);
	json_object_put(request.body);
	return engine->busy;
}

/* Deletes one PolicyGeneration that no node can need any more: it is older than the newest whole
 * policy, and older than the policies that the nodes' endpoints are in. Returns true if a step has
 * begun. */
static bool collect(struct engine *engine, const struct barrier *barrier)
{
	uint32_t oldest = store_generation_of(engine->since.whole);
	struct lh_entry *entry;
	char path[256];
	struct api_request request = {
		.method = "DELETE", .path = path, .done = engine_step_done, .data = engine};

	/* deltas lead from the newest whole policy to all that is wanted */
	if (!engine->policy || oldest > engine->status.endpoint)
		return false;
	if (!rolled_out(engine) && lh_table_length(engine->generations) < COLLECT_SOON)
		return false;
	if (barrier->nodes && barrier->endpoint < oldest)
		oldest = barrier->endpoint;
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

/* Fetching the policy that the store says is to be installed */

/* Returns the newest generation that the store has. One that was never made does not count: after
 * the last number, 0 would be next, which is no policy to any node. */
static uint32_t newest_stored(const struct engine *engine)
{
	uint32_t newest = engine->status.policy <= STORE_GENERATION_MAX ? engine->status.policy : 0;
	struct lh_entry *entry;

	for (entry = engine->generations->head; entry; entry = entry->next) {
		const uint32_t generation = store_generation_of(lh_entry_k(entry));

		newest = generation > newest ? generation : newest;
	}
	return newest;
}

/* Starts a new lineage, after all stored generations, since the stored policy is lost. Nodes keep
 * the lost policy until the new one comes. @newest: the newest generation that is known to exist.
 */
static int begin_anew(struct engine *engine, uint32_t newest, struct policy **policy)
{
	struct cluster none;
	int error;

	cluster_init(&none);
	error = cluster_finish(&none, engine->diag);
	if (!error)
		error = compile_cluster(&none, NULL, engine->diag, policy);
	cluster_free(&none);
	if (!error)
		(*policy)->generation = newest;
	return error;
}

/* Returns true if the policy, whose generation was stored already when this engine was about to
 * publish it, is the one that an engine published before it ended: the newest of the store, and
 * made from the policy that nodes are to have. Another one is of an older time, before somebody
 * changed PolicyStatus. */
static bool is_adopted(const struct engine *engine, const struct policy *policy)
{
	return !engine->lost && engine->policy && policy->parent == engine->policy->checksum &&
	       policy->generation >= newest_stored(engine);
}

/* Returns true if the policy was fetched because a node lacks it. */
bool engine_is_verified(const struct engine *engine, uint32_t generation)
{
	return generation &&
	       (generation == engine->verified[0] || generation == engine->verified[1]);
}

static void fetched(void *data, int error, const char *why, struct store_chain *chain)
{
	struct engine *engine = data;
	struct policy *policy = NULL;
	const uint32_t adopts = engine->adopts;

	engine->busy = false;
	engine->adopts = 0;
	if (!adopts && engine->fetched != engine->status.policy) {
		store_chain_free(chain);
		return engine_step(engine); /* nodes are to have another policy by now */
	}
	if (!error)
		error = store_chain_policy(chain, NULL, engine->diag, &policy);
	if (!error && adopts && !is_adopted(engine, policy)) {
		policy_free(policy);
		policy = NULL;
		error = -ENOENT;
		why = "another policy has the next generation";
	}
	engine->since = (struct store_since){0};
	objects_forget(engine->objects);
	/* the objects may say something else: the store may be that of an older time */
	engine->due = engine->dirty = true;
	if (!error)
		engine->since = store_since(chain);
	store_chain_free(chain);
	if (error == -ENOENT || error == -EBADMSG) {
		engine_say(engine, DIAG_WARNING, "the stored policy is lost, and made anew", why);
		if (engine_is_verified(engine, engine->fetched)) /* the node was right */
			engine_forget_lacks(engine);
		/* the watch may not tell yet of the generation that was to be adopted */
		error = begin_anew(engine,
				   adopts > newest_stored(engine) ? adopts : newest_stored(engine),
				   &policy);
		engine->lost = !error;
	}
	if (error) {
		engine->verify |= engine_is_verified(engine, engine->fetched);
		return retry_later(engine, "the policy that nodes are to have cannot be read", why);
	}
	policy_free(engine->policy);
	engine->policy = policy;
	if (!engine->lost && policy->checksum != engine->status.checksum) {
		struct store_status spec = engine->status;

		/* somebody else has chosen the policy */
		spec.policy = policy->generation;
		spec.checksum = policy->checksum;
		spec.delta = NULL;
		return write_status(engine, spec);
	}
	engine_step(engine);
}

static void fetch(struct engine *engine)
{
	static const uint64_t have[2]; /* nothing: the stored policy has to be whole */
	const uint32_t generation = engine->adopts ? engine->adopts : engine->status.policy;

	if (engine->next)
		engine_drop_next(engine);

	engine->busy = true;
	engine->verify = false;
	engine->fetched = generation;
	if (!store_fetch(engine->api, generation, have, fetched, engine))
		retry_later(engine, "the policy that nodes are to have cannot be read",
			    strerror(ENOMEM));
}

/* Returns true if the engine lacks the policy that nodes are to have. */
static bool has_to_fetch(const struct engine *engine)
{
	if (engine->adopts)
		return true;
	return engine->status.policy &&
	       (!engine->policy || engine->verify ||
		(!engine->lost && (engine->policy->generation != engine->status.policy ||
				   engine->policy->checksum != engine->status.checksum)));
}

bool engine_is_synced(const struct engine *engine)
{
	return engine->status_synced && engine->nodes_synced && engine->generations_synced &&
	       objects_synced(engine->objects);
}

/* Returns true if the policy that is published is the next one of what nodes are to have. Not so in
 * a store of an older time. */
static bool is_next(const struct engine *engine)
{
	return engine->next && (engine->lost || !engine->policy ||
				engine->policy->generation == engine->status.policy);
}

void engine_step(struct engine *engine)
{
	struct barrier barrier;
	uint64_t next;

	if (!engine_is_synced(engine))
		return;
	/* an engine that cannot publish keeps no other from that */
	lease_want(engine->lease);
	if (engine->busy || !lease_held(engine->lease) || engine->retry_at > api_now())
		return;
	if (!engine->status.version || must_write_limit(engine))
		return write_status(engine, engine->status);
	if (is_next(engine) && (rolled_out(engine) || engine->lost))
		return install(engine, engine->status);
	if (has_to_fetch(engine))
		return fetch(engine);
	engine_check_progress(engine);
	/* The store says that no rollout waits for a node before one goes on without it. An attempt
	 * that fails holds no rollout up. */
	if (engine_mark(engine, MARK_NO_PROGRESS))
		return;
	barrier = engine_barrier(engine);
	count_rollouts(engine, &barrier);
	if (!rolled_out(engine) && !barrier.none_counts && barrier.policy >= engine->status.policy)
		return activate(engine);
	if (may_compile(engine) && compile(engine))
		return;
	if (write_observed(engine, &barrier) || engine_mark(engine, MARK_NONE) ||
	    collect(engine, &barrier))
		return;
	/* A node that falls silent stops counting without an event. */
	next = engine->mark_at > api_now() && engine->mark_at < barrier.next ? engine->mark_at
									     : barrier.next;
	if (next != UINT64_MAX)
		api_timer_set(engine->api, &engine->wait, next - api_now() + 1);
}
