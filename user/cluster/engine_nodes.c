// SPDX-License-Identifier: GPL-2.0-only
/* The nodes' reports, and which nodes count. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/condition.h"
#include "cluster/engine.h"
#include "cluster/misconfigured.h"

/* A node that reports without progress counts for so many limits. The second time it counts for one
 * limit, until it has kept a rollout's pace. */
#define PROGRESS_LIMITS 3
/* A node with so much `slow` counts for one limit, too: else it would make every change of the
 * cluster wait for almost three. */
#define SLOW_LIMIT 4
#define SLOW_MAX 6
/* The engine fetches a policy for one node that lacks it, and not before so long for that node
 * again: a fetch is followed by a compile of all objects. */
#define LACKS_MS 300000
#define MARK_RETRY_MS 30000
#define MARK_CONFLICT_MS 1000
#define NO_PROGRESS "NoProgress"
#define SILENT "Silent"

static void free_report(struct lh_entry *entry)
{
	struct report *report = lh_entry_v(entry);

	free(report->heartbeat);
	free(report->version);
	json_object_put(report->status);
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
	if (report)
		report->policy_since = report->endpoint_since = api_now();
	if (!report || !key || lh_table_insert(engine->nodes, key, report)) {
		free(report);
		free(key);
		return NULL;
	}
	return report;
}

struct lh_table *engine_reports_new(void)
{
	return lh_kchar_table_new(64, free_report);
}

/* Returns the limit in ms: this engine's or the one that nodes have, whichever is longer. */
static uint64_t node_limit(const struct engine *engine)
{
	const uint32_t own = engine->options->node_seconds;
	const uint32_t told = engine->status.limit ? engine->status.limit : ROLLOUT_LIMIT_DEFAULT;

	return (own > told ? own : told) * 1000ull;
}

/* Returns the later of @time and the time since when this engine can hear nodes. The engine cannot
 * hear nodes while the server is silent or another engine leads, and a node need not keep a limit
 * that it does not know. */
static uint64_t listens_or(const struct engine *engine, uint64_t time)
{
	uint64_t since = api_watch_since(engine->nodes_watch);

	if (!since)
		return api_now();
	if (engine->listens > since)
		since = engine->listens;
	return time > since ? time : since;
}

/* Returns since when a node's silence counts. */
static uint64_t heard(const struct engine *engine, const struct report *report)
{
	return listens_or(engine, report->seen);
}

static bool is_heard(const struct engine *engine, const struct report *report)
{
	return heard(engine, report) + node_limit(engine) > api_now();
}

/* Returns when a node that goes on without progress counts no more; UINT64_MAX: it has all that is
 * wanted. */
static uint64_t overdue(const struct engine *engine, const struct report *report)
{
	const bool one = report->again || report->slow >= SLOW_LIMIT;
	const uint64_t limit = node_limit(engine) * (one ? 1 : PROGRESS_LIMITS);
	uint64_t since = UINT64_MAX;

	if (report->policy < engine->status.policy)
		since = report->policy_since;
	if (report->endpoint < engine->status.endpoint && report->endpoint_since < since)
		since = report->endpoint_since;
	return since == UINT64_MAX ? since : listens_or(engine, since) + limit;
}

void engine_wants_more(struct engine *engine, uint32_t policy, uint32_t endpoint)
{
	struct lh_entry *entry;

	for (entry = engine->nodes->head; entry; entry = entry->next) {
		struct report *report = lh_entry_v(entry);

		if (report->policy >= policy)
			report->policy_since = api_now();
		if (report->endpoint >= endpoint)
			report->endpoint_since = api_now();
		/* one step of a rollout that begins, and one of a rollout that the node has kept up
		 * with */
		if (report->again && !report->lacks && report->policy >= policy)
			report->again--;
	}
}

/* Returns the reason of the condition Ready; NULL: none. */
static const char *ready_reason(struct json_object *status)
{
	return api_text(condition_find(api_get(status, "conditions"), "Ready"), "reason");
}

/* Returns the mark that a node's status has. */
static enum mark mark_of(struct json_object *status)
{
	const char *reason = ready_reason(status);

	if (reason && !strcmp(reason, NO_PROGRESS))
		return MARK_NO_PROGRESS;
	return reason && !strcmp(reason, SILENT) ? MARK_SILENT : MARK_NONE;
}

/* Returns true if the node's follower said why it ends. */
static bool is_misconfigured(const struct report *report)
{
	const char *reason = ready_reason(report->status);

	return reason && !strcmp(reason, MISCONFIGURED);
}

/* Returns the mark that the node's status should have. A silent node keeps its mark until it is
 * back: an engine that has just begun to lead takes each node for heard. A node that says itself
 * why it is silent has none. */
static enum mark wanted_mark(const struct engine *engine, const struct report *report)
{
	if (!is_heard(engine, report) || (report->marked == MARK_SILENT && !report->is_back))
		return is_misconfigured(report) ? MARK_NONE : MARK_SILENT;
	return report->lacks ? MARK_NO_PROGRESS : MARK_NONE;
}

/* A step of a rollout ends at the node, which was waited for since @since. */
static void note_pace(const struct engine *engine, struct report *report, uint64_t since)
{
	if (report->lacks)
		return;
	if (listens_or(engine, since) + node_limit(engine) < api_now())
		report->slow = report->slow + 2 < SLOW_MAX ? report->slow + 2 : SLOW_MAX;
	else if (report->slow)
		report->slow--;
}

/* Renews the time from which the node has to make progress. Progress leads to what is wanted, once,
 * or to more than the node ever had: what it has may go up and down. A node that was silent, and is
 * back without what is wanted, has three limits once, until it has what is wanted. */
static void note_progress(const struct engine *engine, struct report *report, uint32_t policy,
			  uint32_t endpoint, bool back)
{
	const bool has_policy = policy >= engine->status.policy;
	const bool has_endpoint = endpoint >= engine->status.endpoint;
	const bool late = back && report->seen && !(has_policy && has_endpoint);
	const bool renews = back && !(late && report->returned);

	if (!back && has_policy && report->policy < engine->status.policy)
		note_pace(engine, report, report->policy_since);
	if (!back && has_endpoint && report->endpoint < engine->status.endpoint)
		note_pace(engine, report, report->endpoint_since);
	if (renews || policy > report->most[0] ||
	    (has_policy && report->had[0] != engine->status.policy))
		report->policy_since = api_now();
	if (renews || endpoint > report->most[1] ||
	    (has_endpoint && report->had[1] != engine->status.endpoint))
		report->endpoint_since = api_now();
	if (has_policy)
		report->had[0] = engine->status.policy;
	if (has_endpoint)
		report->had[1] = engine->status.endpoint;
	if (policy > report->most[0])
		report->most[0] = policy;
	if (endpoint > report->most[1])
		report->most[1] = endpoint;
	report->returned = late || (report->returned && !(has_policy && has_endpoint));
}

/* Notes the generations of a report. Returns true if the node has made progress, or is back after
 * it was silent. */
static bool note_generations(struct engine *engine, struct report *report,
			     struct json_object *object)
{
	const uint32_t policy = api_number(object, "status.latestPolicyGeneration");
	const uint32_t endpoint = api_number(object, "status.latestEndpointGeneration");
	const bool back = !report->seen || !is_heard(engine, report);
	const bool moves = policy != report->policy || endpoint != report->endpoint || back;

	note_progress(engine, report, policy, endpoint, back);
	report->policy = policy;
	report->endpoint = endpoint;
	return moves;
}

static void note_version(struct report *report, struct json_object *object)
{
	const char *version = api_text(object, "metadata.resourceVersion");

	free(report->version);
	report->version = version ? strdup(version) : NULL;
}

bool engine_report(struct engine *engine, const char *name, struct json_object *object)
{
	struct report *report = report_of(engine, name);
	const char *heartbeat = api_text(object, "status.heartbeat");
	enum mark was;
	bool moves;

	if (!report)
		return false;
	moves = note_generations(engine, report, object);
	was = report->marked;
	json_object_put(report->status);
	report->status = json_object_get(api_get(object, "status"));
	report->deleted = false;
	note_version(report, object);
	report->marked = mark_of(report->status);
	if (report->marked != was)
		report->is_back = false;
	if (report->marked == MARK_NO_PROGRESS && !report->seen)
		report->lacks = REPORT_LACKS_ANY;
	if (heartbeat && (!report->heartbeat || strcmp(heartbeat, report->heartbeat))) {
		report->is_back = report->heartbeat;
		free(report->heartbeat);
		report->heartbeat = strdup(heartbeat);
		report->seen = api_now();
	}
	return moves || report->marked != wanted_mark(engine, report);
}

/* Forgets a node whose status is deleted. */
static void forget(struct engine *engine, const char *name)
{
	objects_left(engine->objects, name, NULL);
	lh_table_delete(engine->nodes, name);
}

void engine_report_deleted(struct engine *engine, const char *name)
{
	struct lh_entry *entry = lh_table_lookup_entry(engine->nodes, name);

	if (!entry)
		return;
	((struct report *)lh_entry_v(entry))->deleted = true;
	if (!objects_have_node(engine->objects, name))
		forget(engine, name);
}

bool engine_may_fetch_for(struct engine *engine, const char *name)
{
	struct report *report = report_of(engine, name);

	if (!report || (report->lacked && report->lacked + LACKS_MS > api_now()))
		return false;
	report->lacked = api_now();
	return true;
}

void engine_forget_lacks(struct engine *engine)
{
	struct lh_entry *entry;

	for (entry = engine->nodes->head; entry; entry = entry->next)
		((struct report *)lh_entry_v(entry))->lacked = 0;
}

/* Marks */

void engine_read_marks(struct engine *engine)
{
	struct lh_entry *entry;

	for (entry = engine->nodes->head; entry; entry = entry->next) {
		struct report *report = lh_entry_v(entry);

		report->lacks = report->marked == MARK_NO_PROGRESS ? REPORT_LACKS_ANY : 0;
	}
}

/* Returns when a mark may be tried again. After a conflict, the watch brings the status that
 * crossed the mark. */
static uint64_t mark_again(const struct api_answer *answer)
{
	return api_now() + (answer->status == 409 ? MARK_CONFLICT_MS : MARK_RETRY_MS);
}

static void marked(void *data, const struct api_answer *answer)
{
	struct engine *engine = data;
	struct lh_entry *entry;

	if (answer->error && answer->status != 404) {
		engine->mark_at = mark_again(answer);
		for (entry = engine->nodes->head; entry; entry = entry->next) {
			struct report *report = lh_entry_v(entry);

			report->marked = mark_of(report->status);
		}
	}
	engine->step_done(engine, answer);
}

static const char *or_none(const char *text)
{
	return text ? text : "none";
}

/* Writes a silent node's message: since when it is silent, and what it said last. */
static void say_silent(const struct report *report, const char *name, char *text, size_t size)
{
	struct json_object *conditions = api_get(report->status, "conditions");
	struct json_object *ready = condition_find(conditions, "Ready");
	const int n = snprintf(text, size,
			       "node %.100s is silent, and no rollout waits for it: its last "
			       "heartbeat is %.40s, by its own clock",
			       name, or_none(report->heartbeat));

	if (ready && n > 0 && (size_t)n < size)
		snprintf(text + n, size - n, "; Ready was %.10s since %.40s: %.20s, %.300s",
			 or_none(api_text(ready, "status")),
			 or_none(api_text(ready, "lastTransitionTime")),
			 or_none(api_text(ready, "reason")), or_none(api_text(ready, "message")));
}

/* Returns the condition Ready for a mark; for none, as the node itself writes it
 * (follower_report.c). @text: room for the message. */
static struct condition ready_for(enum mark mark, const char *name, const struct report *report,
				  char *text, size_t size)
{
	const char *failed = api_text(report->status, "message");

	if (mark == MARK_SILENT) {
		say_silent(report, name, text, size);
		return (struct condition){
			.type = "Ready", .unknown = true, .reason = SILENT, .message = text};
	}
	if (mark == MARK_NO_PROGRESS) {
		snprintf(text, size,
			 "node %.100s lacks policy %u: it has installed %u, and its endpoints are "
			 "in %u; no rollout waits for it",
			 name, report->lacks, report->policy, report->endpoint);
		return (struct condition){.type = "Ready", .reason = NO_PROGRESS, .message = text};
	}
	if (failed && !strcmp(failed, "ok"))
		failed = NULL;
	snprintf(text, size, "%s", failed ? failed : "the last change succeeded");
	return (struct condition){.type = "Ready",
				  .holds = !failed,
				  .reason = failed ? "ChangeFailed" : "AsWanted",
				  .message = text};
}

/* Writes the condition Ready into a node's status, in the place of the node's own. The node's other
 * conditions stay: the server refuses the mark if the status has changed since it was read. Returns
 * true if the request was sent. */
static bool send_mark(struct engine *engine, const char *name, struct report *report,
		      enum mark mark)
{
	struct json_object *object = json_object_new_object(), *status = json_object_new_object();
	struct json_object *conditions = json_object_new_array();
	struct json_object *metadata = json_object_new_object();
	struct json_object *before = api_get(report->status, "conditions");
	struct condition ready;
	char text[700], path[320];
	struct api_request request = {
		.method = "PATCH", .path = path, .body = object, .done = marked, .data = engine};

	ready = ready_for(mark, name, report, text, sizeof(text));
	condition_add(conditions, before, &ready);
	condition_keep(conditions, before);
	json_object_object_add(status, "conditions", conditions);
	json_object_object_add(object, "status", status);
	json_object_object_add(object, "metadata", metadata);
	if (report->version)
		json_object_object_add(metadata, "resourceVersion",
				       json_object_new_string(report->version));
	snprintf(path, sizeof(path), STORE_NODE_STATUS "/%s/status", name);
	report->marked = mark;
	report->is_back = report->is_back && mark != MARK_SILENT;
	engine->busy = !api_send(engine->api, &request);
	json_object_put(object);
	return engine->busy;
}

bool engine_mark(struct engine *engine, enum mark only)
{
	struct lh_entry *entry;

	if (engine->mark_at > api_now())
		return false;
	for (entry = engine->nodes->head; entry; entry = entry->next) {
		struct report *report = lh_entry_v(entry);
		const char *name = lh_entry_k(entry);
		const enum mark mark = wanted_mark(engine, report);

		if (report->marked != mark && (!only || mark == only) && !report->deleted &&
		    objects_have_node(engine->objects, name) &&
		    send_mark(engine, name, report, mark))
			return true;
	}
	return false;
}

/* Counts a node in or out. Returns true if it changes. */
static bool check_node(struct engine *engine, struct report *report)
{
	if (report->lacks == REPORT_LACKS_ANY)
		report->lacks = engine->status.policy;
	if (report->lacks) {
		if (report->endpoint < report->lacks)
			return false;
		report->lacks = 0;
		report->policy_since = report->endpoint_since = api_now();
		return true;
	}
	if (!is_heard(engine, report) || overdue(engine, report) > api_now())
		return false;
	report->lacks = engine->status.policy;
	report->again = 2;
	return true;
}

static void say_counts(const struct engine *engine, const char *name, const struct report *report)
{
	if (report->lacks)
		diag_warn(engine->diag, NULL, NULL,
			  "engine: node %s lacks policy %u and makes no progress: no rollout waits "
			  "for it",
			  name, report->lacks);
	else
		diag_note(engine->diag, NULL, NULL,
			  "engine: node %s has caught up: rollouts wait for it", name);
}

void engine_check_progress(struct engine *engine)
{
	struct lh_entry *entry, *next;

	for (entry = engine->nodes->head; entry; entry = next) {
		struct report *report = lh_entry_v(entry);
		const char *name = lh_entry_k(entry);
		const bool known = objects_have_node(engine->objects, name);

		next = entry->next;
		if (report->deleted && (!known || !is_heard(engine, report)))
			forget(engine, name);
		else if (known && check_node(engine, report))
			say_counts(engine, name, report);
	}
}

/* Adds a node for which the rollout waits. */
static void count_node(const struct engine *engine, const char *name, const struct report *report,
		       struct barrier *barrier)
{
	const uint64_t silent = heard(engine, report) + node_limit(engine);
	const uint64_t late = overdue(engine, report);
	const struct store_status *status = &engine->status;
	const bool installing = status->endpoint < status->policy;

	barrier->nodes++;
	if (report->policy < barrier->policy)
		barrier->policy = report->policy;
	if (report->endpoint < barrier->endpoint)
		barrier->endpoint = report->endpoint;
	if ((installing ? report->policy : report->endpoint) < status->policy) {
		barrier->behind = name;
		barrier->n_behind++;
	}
	if (silent < barrier->next)
		barrier->next = silent;
	if (late < barrier->next)
		barrier->next = late;
}

/* The rollout waits for the nodes that are alive and in the cluster. */
struct barrier engine_barrier(const struct engine *engine)
{
	struct barrier barrier = {.policy = UINT32_MAX, .endpoint = UINT32_MAX, .next = UINT64_MAX};
	struct lh_entry *entry;

	for (entry = engine->nodes->head; entry; entry = entry->next) {
		const struct report *report = lh_entry_v(entry);
		const char *name = lh_entry_k(entry);

		if (!objects_have_node(engine->objects, name))
			continue;
		if (is_heard(engine, report) && report->lacks) {
			barrier.late = name;
			barrier.late_lacks = report->lacks;
			barrier.n_late++;
		} else if (is_heard(engine, report)) {
			count_node(engine, name, report, &barrier);
		} else {
			barrier.silent = name;
			barrier.n_silent++;
		}
	}
	barrier.none_counts = !barrier.nodes && lh_table_length(engine->nodes);
	return barrier;
}
