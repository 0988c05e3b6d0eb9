// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which nodes a rollout waits for, by the engine's clock: those that were heard within the limit
 * that they know. A limit that has become shorter counts from when the nodes were told. A node that
 * reports without progress counts for three limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/engine.h"

/* The clock in ms, and since when the server answers. */
static uint64_t now, answers;

uint64_t api_now(void)
{
	return now;
}

uint64_t api_watch_since(const struct api_watch *watch)
{
	(void)watch;
	return answers;
}

bool objects_have_node(const struct objects *objects, const char *name)
{
	(void)objects;
	(void)name;
	return true;
}

/* The last mark of a node's status; NULL: none. */
static struct json_object *mark;
static const struct api_answer *answer; /* to marks */
static const struct api_answer taken = {.status = 200};
static const struct api_answer conflict = {.status = 409, .error = "changed"};
static const struct api_answer forbidden = {.status = 403, .error = "forbidden"};

int api_send(struct api *api, const struct api_request *request)
{
	(void)api;
	assert_string_equal(request->method, "PATCH");
	assert_string_equal(request->path, STORE_NODE_STATUS "/n/status");
	json_object_put(mark);
	mark = json_object_get(request->body);
	request->done(request->data, answer);
	return 0;
}

static void step_done(void *data, const struct api_answer *done)
{
	struct engine *stepping = data;

	(void)done;
	stepping->busy = false;
}

static struct diag quiet;
static struct engine_options options;
static struct engine engine;

/* An engine that leads since @listens, and one node, which was heard at 100 s. */
static void begin(unsigned int own, unsigned int told, uint64_t listens)
{
	struct json_object *object = json_tokener_parse(
		"{\"status\":{\"latestPolicyGeneration\":7,\"latestEndpointGeneration\":6,"
		"\"heartbeat\":\"a\"}}");

	options.node_seconds = own;
	answers = 1;
	engine = (struct engine){.options = &options,
				 .diag = &quiet,
				 .nodes = engine_reports_new(),
				 .status.limit = told,
				 .listens = listens,
				 .step_done = step_done};
	now = 100000;
	engine_report(&engine, "n", object);
	json_object_put(object);
}

static void end(void)
{
	lh_table_free(engine.nodes);
}

/* Checks that the node counts until @ms, and no longer, and when the engine looks again. */
static void counts_until(uint64_t ms)
{
	struct barrier barrier;

	now = ms - 1;
	barrier = engine_barrier(&engine);
	assert_int_equal(barrier.nodes, 1);
	assert_int_equal(barrier.policy, 7);
	assert_int_equal(barrier.next, ms);
	now = ms;
	barrier = engine_barrier(&engine);
	assert_int_equal(barrier.nodes, 0);
	assert_true(barrier.none_counts);
	assert_string_equal(barrier.silent, "n");
}

static void limit_that_nodes_know(void **state)
{
	(void)state;
	begin(20, 20, 1);
	counts_until(120000);
	end();
}

/* A node reports within the limit that it knows: the stored one, or the default. */
static void limit_that_nodes_do_not_know(void **state)
{
	(void)state;
	begin(20, 60, 1);
	counts_until(160000);
	end();
	begin(20, 0, 1);
	counts_until(140000);
	end();
	begin(60, 20, 1);
	counts_until(160000);
	end();
}

/* Nodes that knew a longer limit, or that nobody heard, have the whole limit from then on. */
static void limit_from_when_it_counts(void **state)
{
	(void)state;
	begin(20, 20, 115000);
	counts_until(135000);
	answers = 119000;
	counts_until(139000);
	end();
}

/* Progress. The node has installed 7, and its endpoints are in 6. */

static unsigned int beats;

/* The node reports, as each few seconds. @reason: of its condition Ready, or NULL. */
static void report(uint32_t policy, uint32_t endpoint, const char *reason)
{
	struct json_object *object;
	char *text;

	assert_true(asprintf(&text,
			     "{\"status\":{\"latestPolicyGeneration\":%u,"
			     "\"latestEndpointGeneration\":%u,\"heartbeat\":\"%u\",\"conditions\":["
			     "{\"type\":\"Ready\",\"reason\":\"%s\"}]}}",
			     policy, endpoint, beats++, reason ? reason : "AsWanted") > 0);
	object = json_tokener_parse(text);
	engine_report(&engine, "n", object);
	json_object_put(object);
	free(text);
}

static void wants(uint32_t policy, uint32_t endpoint)
{
	const uint32_t last_policy = engine.status.policy, last_endpoint = engine.status.endpoint;

	engine.status.policy = policy;
	engine.status.endpoint = endpoint;
	engine_wants_more(&engine, last_policy, last_endpoint);
}

/* Returns true if the node counts. */
static bool counts(void)
{
	const struct barrier barrier = engine_barrier(&engine);

	assert_int_equal(barrier.nodes + barrier.n_late, 1);
	return barrier.nodes;
}

/* Heartbeats go on for so many ms. Returns true if the node counts at the end. */
static bool beats_for(uint64_t ms, uint32_t policy, uint32_t endpoint, const char *reason)
{
	const uint64_t end_at = now + ms;

	for (; now < end_at; now += 1000) {
		report(policy, endpoint, reason);
		engine_check_progress(&engine);
		while (engine_mark(&engine, MARK_NONE))
			;
	}
	return counts();
}

static const char *marked(void)
{
	return mark ? json_object_to_json_string(mark) : "";
}

static void begin_wanting(void)
{
	json_object_put(mark);
	mark = NULL;
	answer = &taken;
	begin(20, 20, 1);
	wants(7, 6);
	wants(8, 6);
}

static void no_progress(void **state)
{
	(void)state;
	begin_wanting();
	assert_true(beats_for(60000, 7, 6, NULL));
	assert_null(mark);
	assert_false(beats_for(2000, 7, 6, NULL));
	assert_non_null(strstr(marked(), "\"False\""));
	assert_non_null(strstr(marked(), "node n lacks policy 8: it has installed 7"));
	assert_true(engine_barrier(&engine).none_counts);
	assert_int_equal(engine_barrier(&engine).late_lacks, 8);
	/* what the node lacked is installed, and is not active: that is not enough */
	wants(8, 8);
	assert_false(beats_for(5000, 8, 7, "NoProgress"));
	assert_true(beats_for(1000, 8, 8, "NoProgress"));
	assert_non_null(strstr(marked(), "\"True\""));
	end();
}

/* Each step of progress gives the node three limits again. */
static void slow_progress(void **state)
{
	(void)state;
	begin_wanting();
	wants(20, 6);
	for (uint32_t policy = 8; policy < 20; policy++)
		assert_true(beats_for(59000, policy, 6, NULL));
	assert_false(beats_for(62000, 19, 6, NULL));
	end();
}

/* A node that installs each policy and activates none stays behind, whatever is wanted since. */
static void no_activation(void **state)
{
	(void)state;
	begin_wanting();
	for (uint32_t policy = 8; policy < 14; policy++) {
		wants(policy, policy - 1);
		assert_int_equal(beats_for(10000, policy, 6, NULL), policy < 14);
	}
	assert_false(beats_for(2000, 13, 6, NULL));
	end();
}

/* A node that was idle, or silent, has three limits from the change on, or from when it is back. */
static void idle_or_back(void **state)
{
	(void)state;
	begin_wanting();
	wants(7, 7);
	assert_true(beats_for(300000, 7, 7, NULL));
	wants(8, 7);
	assert_true(beats_for(59000, 7, 7, NULL));
	now += 100000;
	assert_true(beats_for(59000, 7, 7, NULL));
	assert_false(beats_for(3000, 7, 7, NULL));
	end();
}

/* A node makes progress once when it gets the wanted policy. If it made progress each time, two
 * nodes that get the policy and lose it in turn would hold the rollout up for ever. */
static void up_and_down(void **state)
{
	(void)state;
	begin_wanting();
	assert_true(beats_for(50000, 7, 6, NULL));
	assert_true(beats_for(1000, 8, 6, NULL));
	assert_true(beats_for(50000, 7, 6, NULL));
	assert_true(beats_for(1000, 8, 6, NULL));
	assert_false(beats_for(15000, 7, 6, NULL));
	end();
	begin_wanting();
	wants(8, 8);
	assert_true(beats_for(50000, 8, 7, NULL));
	assert_true(beats_for(1000, 8, 8, NULL));
	assert_true(beats_for(50000, 8, 7, NULL));
	assert_true(beats_for(1000, 8, 8, NULL));
	assert_false(beats_for(15000, 8, 7, NULL));
	end();
}

/* The second time a node has one limit, until it has kept a rollout's pace. */
static void second_time(void **state)
{
	(void)state;
	begin_wanting();
	assert_false(beats_for(62000, 7, 6, NULL));
	wants(8, 8);
	assert_true(beats_for(1000, 8, 8, "NoProgress"));
	wants(9, 8);
	assert_false(beats_for(22000, 8, 8, NULL));
	wants(9, 9);
	assert_true(beats_for(1000, 9, 9, "NoProgress"));
	wants(10, 9);
	assert_true(beats_for(1000, 10, 9, NULL));
	wants(10, 10);
	assert_true(beats_for(1000, 10, 10, NULL));
	wants(11, 10);
	assert_true(beats_for(59000, 10, 10, NULL));
	end();
}

/* A node that needs more than a limit for each of several changes in a row has one limit, until it
 * has been quicker for some steps. */
static void slow_each_time(void **state)
{
	(void)state;
	begin_wanting();
	for (uint32_t policy = 8; policy < 11; policy++) {
		wants(policy, policy - 1);
		assert_true(beats_for(30000, policy - 1, policy - 1, NULL));
		assert_true(beats_for(1000, policy, policy - 1, NULL));
		wants(policy, policy);
		assert_true(beats_for(1000, policy, policy, NULL));
	}
	wants(11, 10);
	assert_true(beats_for(19000, 10, 10, NULL));
	assert_true(beats_for(1000, 11, 10, NULL));
	wants(11, 11);
	assert_true(beats_for(30000, 11, 10, NULL));
	assert_true(beats_for(1000, 11, 11, NULL));
	wants(12, 11);
	assert_false(beats_for(22000, 11, 11, NULL));
	/* it catches up, and is quick again */
	assert_true(beats_for(1000, 12, 12, "NoProgress"));
	wants(12, 12);
	for (uint32_t policy = 13; policy < 18; policy++) {
		wants(policy, policy - 1);
		assert_true(beats_for(1000, policy, policy - 1, NULL));
		wants(policy, policy);
		assert_true(beats_for(1000, policy, policy, NULL));
	}
	wants(18, 17);
	assert_true(beats_for(59000, 17, 17, NULL));
	end();
}

/* An engine that begins to lead takes over what the last one found out. */
static void mark_of_another_engine(void **state)
{
	(void)state;
	begin_wanting();
	end();
	engine.nodes = engine_reports_new();
	assert_false(beats_for(1000, 7, 6, "NoProgress"));
	assert_null(mark);
	/* the node's follower writes its own condition: the mark is written again */
	assert_false(beats_for(1000, 7, 6, NULL));
	assert_non_null(strstr(marked(), "\"False\""));
	end();
}

/* The mark comes while another engine leads. */
static void mark_while_another_leads(void **state)
{
	(void)state;
	begin_wanting();
	for (int i = 0; i < 10; i++, now += 1000)
		report(7, 6, i < 5 ? NULL : "NoProgress");
	engine.listens = now;
	engine_read_marks(&engine);
	assert_false(beats_for(2000, 7, 6, "NoProgress"));
	assert_null(mark);
	assert_true(beats_for(1000, 8, 8, "NoProgress"));
	end();
}

/* Silence */

/* The server tells of the node: its heartbeat, what its last change failed with, and the condition
 * that was written last. */
static void tells(unsigned int heartbeat, const char *failed)
{
	struct json_object *object;
	char *text;

	assert_true(asprintf(&text,
			     "{\"metadata\":{\"resourceVersion\":\"beat %u\"},"
			     "\"status\":{\"latestPolicyGeneration\":8,"
			     "\"latestEndpointGeneration\":8,\"heartbeat\":\"beat %u\","
			     "\"message\":\"%s\"}}",
			     heartbeat, heartbeat, failed) > 0);
	object = json_tokener_parse(text);
	json_object_object_add(api_get(object, "status"), "conditions",
			       json_object_get(api_get(mark, "status.conditions")));
	engine_report(&engine, "n", object);
	json_object_put(object);
	free(text);
}

/* Returns true if the engine writes a mark now. */
static bool marks(void)
{
	const struct json_object *last = mark;

	while (engine_mark(&engine, MARK_NONE))
		;
	return mark != last;
}

/* A node that is silent from 100 s on, and was well. */
static void begin_silence(void)
{
	begin_wanting();
	mark = json_tokener_parse(
		"{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
		"\"reason\":\"AsWanted\",\"message\":\"the last change succeeded\","
		"\"lastTransitionTime\":\"at noon\"},{\"type\":\"AddressesFree\"}]}}");
	wants(8, 8);
	tells(1, "ok");
	now += 19999;
	assert_false(marks());
	now += 1;
	assert_true(marks());
	tells(1, "ok");
}

static void silence(void **state)
{
	(void)state;
	begin_silence();
	assert_non_null(strstr(marked(), "\"Unknown\""));
	assert_non_null(strstr(marked(), "\"Silent\""));
	assert_non_null(strstr(marked(), "its last heartbeat is beat 1, by its own clock; "
					 "Ready was True since at noon: AsWanted, the last"));
	assert_non_null(strstr(marked(), "AddressesFree"));
	/* once, however long the silence is */
	now += 100000;
	assert_false(marks());
	/* nor if this engine leads again */
	engine.listens = now;
	assert_false(marks());
	/* the node is back, and its report has no condition: what it says is put in place */
	tells(2, "ok");
	assert_true(marks());
	assert_non_null(strstr(marked(), "\"True\""));
	assert_non_null(strstr(marked(), "the last change succeeded"));
	tells(2, "ok");
	assert_false(marks());
	end();
}

/* A mark has the version of the status that it changes. After a conflict the next one waits until
 * the watch has told of the status that crossed it. */
static void mark_that_crosses_a_report(void **state)
{
	struct json_object *stored;

	(void)state;
	begin_silence();
	stored = json_object_get(mark);
	assert_non_null(strstr(marked(), "\"resourceVersion\": \"beat 1\""));
	tells(2, "ok");
	answer = &conflict;
	assert_true(marks());
	json_object_put(mark);
	mark = stored;
	answer = &taken;
	now += 999;
	tells(3, "ok");
	assert_false(marks());
	now += 1;
	assert_true(marks());
	assert_non_null(strstr(marked(), "\"resourceVersion\": \"beat 3\""));
	end();
}

/* A node whose follower said why it ends is silent, and keeps what it said. */
static void silence_of_one_that_is_misconfigured(void **state)
{
	(void)state;
	begin_wanting();
	report(8, 8, "Misconfigured");
	now += 100000;
	assert_false(marks());
	report(8, 8, "AsWanted");
	now += 100000;
	assert_true(marks());
	end();
}

/* A node whose last change failed is not called well when it is back. */
static void silence_of_one_that_failed(void **state)
{
	(void)state;
	begin_silence();
	tells(2, "load: no room");
	assert_true(marks());
	assert_non_null(strstr(marked(), "\"False\""));
	assert_non_null(strstr(marked(), "ChangeFailed"));
	assert_non_null(strstr(marked(), "load: no room"));
	end();
}

/* An engine that begins to lead gives each node its limit, but takes none for back that is not. */
static void silence_under_another_engine(void **state)
{
	(void)state;
	begin_silence();
	end();
	engine.nodes = engine_reports_new();
	engine.listens = now;
	tells(1, "ok");
	engine_read_marks(&engine);
	assert_false(marks());
	now += 1000;
	tells(2, "ok");
	assert_true(marks());
	assert_non_null(strstr(marked(), "\"True\""));
	end();
}

/* A mark that the server does not take is written again. */
static void silence_that_is_not_written(void **state)
{
	(void)state;
	begin_wanting();
	wants(8, 8);
	tells(1, "ok");
	answer = &forbidden;
	now += 20000;
	assert_true(marks());
	answer = &taken;
	now += 29999;
	assert_false(marks());
	now += 1;
	assert_true(marks());
	end();
}

/* An older role lets the engine write no mark: rollouts go on all the same. */
static void mark_refused(void **state)
{
	(void)state;
	begin_wanting();
	answer = &forbidden;
	assert_false(beats_for(62000, 7, 6, NULL));
	assert_false(engine_mark(&engine, MARK_NONE));
	assert_false(counts());
	end();
}

/* A node that says again and again that it lacks a policy has the engine fetch one now and then. */
static void lack_that_has_a_pause(void **state)
{
	(void)state;
	begin(20, 20, 1);
	assert_true(engine_may_fetch_for(&engine, "n"));
	assert_false(engine_may_fetch_for(&engine, "n"));
	assert_true(engine_may_fetch_for(&engine, "another"));
	now += 299999;
	assert_false(engine_may_fetch_for(&engine, "n"));
	now++;
	assert_true(engine_may_fetch_for(&engine, "n"));
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limit_that_nodes_know),
		cmocka_unit_test(limit_that_nodes_do_not_know),
		cmocka_unit_test(limit_from_when_it_counts),
		cmocka_unit_test(no_progress),
		cmocka_unit_test(slow_progress),
		cmocka_unit_test(no_activation),
		cmocka_unit_test(idle_or_back),
		cmocka_unit_test(up_and_down),
		cmocka_unit_test(second_time),
		cmocka_unit_test(slow_each_time),
		cmocka_unit_test(mark_of_another_engine),
		cmocka_unit_test(mark_while_another_leads),
		cmocka_unit_test(mark_refused),
		cmocka_unit_test(silence),
		cmocka_unit_test(mark_that_crosses_a_report),
		cmocka_unit_test(silence_of_one_that_is_misconfigured),
		cmocka_unit_test(silence_of_one_that_failed),
		cmocka_unit_test(silence_under_another_engine),
		cmocka_unit_test(silence_that_is_not_written),
		cmocka_unit_test(lack_that_has_a_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
