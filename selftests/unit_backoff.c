// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a watch asks again after a failure: the watch itself, with a clock, timers and transfers
 * that the test makes, so that 100 failures take no time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/loop.h"

#define FIRST 100 /* ms: as api.h says */
#define MOST 30000
#define HURRY 500 /* between attempts that other requests' answers cause */
#define STALL 90000 /* a stream that does not begin, or an event that does not end */
#define STUCK 5 /* streams that end with an error before the watch lists */
#define PAGES 100 /* of a list that brings nothing new */

static uint64_t now = 1000;
static struct api_timer *timer; /* the one that is set; NULL: none */
static struct api_transfer transfer; /* the one that is in flight */
static struct api_transfer_options asked; /* for what */
static char asked_path[400]; /* asked.path is the watch's own */
static bool in_flight;
static struct diag quiet;
static struct api client = {.diag = &quiet, .config = {.server = "https://server"}};

/* Stand-ins for the functions of the loop and of transfers that the watch calls */

uint64_t api_now(void)
{
	return now;
}

void api_timer_set(struct api *api, struct api_timer *set, unsigned int ms)
{
	(void)api;
	assert_true(!timer || timer == set);
	set->due = now + ms;
	timer = set;
}

void api_timer_stop(struct api *api, struct api_timer *stopped)
{
	(void)api;
	if (timer == stopped)
		timer = NULL;
	stopped->due = 0;
}

struct api_transfer *api_transfer_begin(struct api *api, const struct api_transfer_options *options)
{
	(void)api;
	assert_false(in_flight);
	asked = *options;
	snprintf(asked_path, sizeof(asked_path), "%s", options->path);
	in_flight = true;
	return &transfer;
}

void api_transfer_end(struct api_transfer *ended)
{
	(void)ended;
	in_flight = false;
}

const char *api_transfer_error(const struct api_transfer *ended, long status,
			       struct json_object *body)
{
	(void)ended;
	(void)status;
	(void)body;
	return "no";
}

int api_buffer_add(struct api_buffer *buffer, const void *bytes, size_t n)
{
	buffer->at = realloc(buffer->at, buffer->n + n + 1);
	assert_non_null(buffer->at);
	memcpy(buffer->at + buffer->n, bytes, n);
	buffer->n += n;
	buffer->at[buffer->n] = '\0';
	return 0;
}

void api_buffer_free(struct api_buffer *buffer)
{
	free(buffer->at);
	*buffer = (struct api_buffer){0};
}

/* A watch, step by step. */

static void changed(void *data, const char *key, struct json_object *object)
{
	(void)data;
	(void)key;
	(void)object;
}

static unsigned int n_deleted, n_synced;

static void deleted(void *data, const char *key)
{
	(void)data;
	(void)key;
	n_deleted++;
}

static void synced(void *data)
{
	(void)data;
	n_synced++;
}

static struct api_watch *begin_at(const char *path)
{
	static const struct api_watch_ops ops = {
		.changed = changed, .deleted = deleted, .synced = synced};
	struct api_watch *watch = api_watch(&client, path, NULL, &ops, NULL);

	assert_non_null(watch);
	return watch;
}

static struct api_watch *begin(void)
{
	return begin_at("/things");
}

static void end(struct api_watch *watch)
{
	api_unwatch(watch);
	assert_null(timer);
	assert_false(in_flight);
}

/* Lets the clock go on until the watch asks. Returns the milliseconds. */
static unsigned int ask_again(void)
{
	struct api_timer *due = timer;
	uint64_t before = now;

	assert_non_null(due);
	assert_false(in_flight);
	timer = NULL;
	now = due->due;
	due->due = 0;
	due->run(due->data);
	assert_true(in_flight);
	return now - before;
}

/* Answers the request that is in flight. */
static void answer(long status, const char *body)
{
	in_flight = false;
	if (body)
		api_buffer_add(&transfer.received, body, strlen(body));
	asked.ended(asked.data, &transfer, status);
	api_buffer_free(&transfer.received);
}

static void list(void)
{
	answer(200, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[]}");
	assert_non_null(asked.part); /* the stream follows at once */
	assert_true(in_flight);
}

static void event(void)
{
	static const char line[] = "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":"
				   "{\"resourceVersion\":\"11\"}}}\n";

	assert_int_equal(asked.part(asked.data, line, strlen(line)), 0);
}

static bool resumes(void)
{
	return strstr(asked_path, "watch=1&") != NULL;
}

static unsigned int after(unsigned int failures)
{
	unsigned int ms = FIRST;

	while (failures-- && ms < MOST)
		ms *= 2;
	return ms < MOST ? ms : MOST;
}

/* Each failure but the last doubles the pause, to 30 s and no more; half of it is random. */
static void fails(unsigned int failures, long status)
{
	for (unsigned int i = 0; i < failures; i++) {
		unsigned int ms;

		answer(status, NULL);
		ms = ask_again();
		assert_in_range(ms, after(i), after(i) * 3 / 2);
	}
}

static void test_list_fails(void **state)
{
	static const long statuses[] = {0, 403, 429, 500, 503};

	(void)state;
	for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
		struct api_watch *watch = begin();

		assert_int_equal(ask_again(), 0);
		fails(100, statuses[i]);
		end(watch);
	}
}

static void test_stream_fails(void **state)
{
	struct api_watch *watch = begin();

	(void)state;
	ask_again();
	list();
	fails(100, 503);
	end(watch);
}

/* A server or proxy that ends each stream at once is asked ever more rarely. */
static void test_short_streams(void **state)
{
	struct api_watch *watch = begin();

	(void)state;
	ask_again();
	list();
	fails(100, 200);
	end(watch);
}

/* The stream begins, and ends with an error. Returns the ms until the watch asks again, though
 * other requests are answered. */
static unsigned int errs(void)
{
	static const char line[] =
		"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":500}}\n";
	const uint64_t before = now;

	assert_true(resumes());
	asked.began(asked.data);
	assert_int_not_equal(asked.part(asked.data, line, strlen(line)), 0);
	answer(0, NULL);
	api_answered(&client);
	ask_again();
	return now - before;
}

/* A server that cannot tell of an event ends each stream from the version before it. Such a stream
 * is asked for ever more rarely, and after some the watch lists: so it goes on behind that event. A
 * server that does so after each list is asked for ever fewer lists. */
static void test_stream_errs(void **state)
{
	struct api_watch *watch = begin();

	(void)state;
	ask_again();
	for (unsigned int lists = 0; lists < 12; lists++) {
		list();
		for (unsigned int i = 0; i < STUCK - 1; i++)
			assert_in_range(errs(), after(i), after(i) * 3 / 2);
		assert_in_range(errs(), after(lists), after(lists) * 3 / 2);
		assert_false(resumes());
	}
	list();
	for (unsigned int i = 0; i < 3 * STUCK; i++) {
		event();
		assert_in_range(errs(), FIRST, FIRST * 3 / 2);
	}
	assert_true(resumes());
	end(watch);
}

/* The request in flight has taken so long. */
static void hangs(void)
{
	struct api_timer *due = timer;

	assert_true(in_flight);
	assert_non_null(due);
	assert_int_equal(due->due - now, STALL);
	timer = NULL;
	now = due->due;
	due->due = 0;
	due->run(due->data);
	assert_false(in_flight);
}

/* A server that takes a stream and never answers, or sends no whole event any more, hangs. One that
 * has begun to answer, and tells of nothing, does not. */
static void test_stream_hangs(void **state)
{
	static const char part[] = "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":";
	static const char rest[] = "{\"resourceVersion\":\"12\"}}}\n";
	struct api_watch *watch = begin();

	(void)state;
	ask_again();
	list();
	hangs();
	ask_again();
	assert_true(resumes());
	asked.began(asked.data);
	assert_null(timer);
	event();
	assert_null(timer);
	assert_int_equal(asked.part(asked.data, part, strlen(part)), 0);
	now += STALL / 2;
	assert_non_null(timer);
	assert_int_equal(asked.part(asked.data, rest, strlen(rest)), 0);
	assert_null(timer);
	assert_int_equal(asked.part(asked.data, " ", 1), 0);
	hangs();
	ask_again();
	assert_non_null(strstr(asked_path, "resourceVersion=12"));
	end(watch);
}

/* Answers with a page of one object; there are more. */
static void page(unsigned int object)
{
	char body[200];

	snprintf(body, sizeof(body),
		 "{\"metadata\":{\"resourceVersion\":\"10\",\"continue\":\"x\"},\"items\":[{"
		 "\"metadata\":{\"name\":\"o%u\",\"resourceVersion\":\"1\"}}]}",
		 object);
	answer(200, body);
}

/* A list whose pages bring no new object does not end: it fails. One of many pages does not fail, a
 * second time neither, and few pages without a new object are no fault. */
static void test_list_repeats(void **state)
{
	struct api_watch *watch = begin();

	(void)state;
	ask_again();
	for (unsigned int lists = 0; lists < 2; lists++) {
		for (unsigned int i = 0; i < 3 * PAGES; i++) {
			page(i / 2);
			assert_true(in_flight);
		}
		list();
		answer(410, NULL);
		ask_again();
	}
	for (unsigned int i = 0; i < PAGES; i++) {
		page(0);
		assert_true(in_flight);
	}
	page(0);
	assert_false(in_flight);
	ask_again();
	assert_null(strstr(asked_path, "continue"));
	list();
	end(watch);
}

static void test_list_resets(void **state)
{
	struct api_watch *watch = begin();

	(void)state;
	ask_again();
	fails(20, 500);
	list();
	fails(20, 0);
	end(watch);
}

static void test_event_resets(void **state)
{
	struct api_watch *watch = begin();

	(void)state;
	ask_again();
	list();
	fails(5, 503);
	event();
	fails(5, 503);
	end(watch);
}

/* A server that was away for 10 s may have another store. */
static void test_away_for_long(void **state)
{
	struct api_watch *watch = begin();
	const uint64_t began = now;

	(void)state;
	ask_again();
	list();
	while (now - began < 10000) {
		assert_true(resumes());
		answer(0, NULL);
		ask_again();
	}
	assert_false(resumes());
	answer(0, NULL);
	ask_again();
	assert_false(resumes());
	list();
	assert_true(resumes());
	answer(0, NULL);
	ask_again();
	assert_true(resumes());
	end(watch);
}

/* A refusal is an answer: the server was there. */
static void test_refused_for_long(void **state)
{
	struct api_watch *watch = begin();

	(void)state;
	ask_again();
	list();
	fails(20, 403);
	assert_true(resumes());
	end(watch);
}

/* A watch that the server's cache serves lists nothing: all nodes would list at once. */
static void test_cached_away_for_long(void **state)
{
	static const struct api_watch_ops ops = {
		.changed = changed, .deleted = deleted, .synced = synced, .cached = true};
	struct api_watch *watch = api_watch(&client, "/things", NULL, &ops, NULL);

	(void)state;
	assert_non_null(watch);
	ask_again();
	list();
	fails(20, 0);
	assert_true(resumes());
	end(watch);
}

/* A connection without an event is no success: the next failure goes on from the last. */
static void test_stream_alone_does_not_reset(void **state)
{
	struct api_watch *watch = begin();

	(void)state;
	ask_again();
	list();
	fails(5, 503);
	now += 300000;
	answer(200, NULL);
	assert_in_range(ask_again(), 1, FIRST);
	answer(503, NULL);
	assert_in_range(ask_again(), after(5), after(5) * 3 / 2);
	end(watch);
}

/* Answers a list with 404, and what the watch then asks with a server's "ready". */
static void lacks(void)
{
	answer(404, NULL);
	assert_true(in_flight);
	assert_string_equal(asked_path, "/readyz");
	answer(200, "ok");
	assert_true(in_flight);
	assert_null(strstr(asked_path, "watch=1"));
	answer(404, NULL);
}

/* A kind that the server does not have is asked for at the slowest pace. */
static void test_not_there(void **state)
{
	struct api_watch *watch = begin();

	(void)state;
	ask_again();
	n_synced = 0;
	lacks();
	assert_int_equal(n_synced, 1);
	assert_in_range(ask_again(), MOST, MOST * 3 / 2);
	for (int i = 0; i < 20; i++) {
		answer(404, NULL);
		assert_in_range(ask_again(), MOST, MOST * 3 / 2);
	}
	list();
	fails(3, 503);
	end(watch);
}

/* The pause to which the watch has come after failures of this status. */
static void waits_for_long(long status)
{
	ask_again();
	list();
	fails(15, status);
	answer(status, NULL);
	assert_in_range(timer->due - now, MOST, MOST * 3 / 2);
}

/* Where the server gave this watch no answer, the answer to another request ends the pause. */
static void test_another_answer(void **state)
{
	static const long statuses[] = {0, 500, 503};

	(void)state;
	for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
		struct api_watch *watch = begin();

		waits_for_long(statuses[i]);
		now += 5000;
		api_answered(&client);
		assert_int_equal(ask_again(), 0);
		end(watch);
	}
}

/* A server that answers others and fails this watch is asked twice a second at most. */
static void test_another_answer_is_no_flood(void **state)
{
	struct api_watch *watch = begin();

	(void)state;
	waits_for_long(503);
	for (int i = 0; i < 20; i++) {
		api_answered(&client);
		api_answered(&client);
		assert_int_equal(ask_again(), HURRY);
		answer(503, NULL);
	}
	end(watch);
}

/* A refusal is an answer: the watch keeps its pace. */
static void test_refusal_keeps_pace(void **state)
{
	static const long statuses[] = {403, 429};

	(void)state;
	for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
		struct api_watch *watch = begin();

		waits_for_long(statuses[i]);
		now += 5000;
		api_answered(&client);
		assert_in_range(ask_again(), MOST - 5000, MOST * 3 / 2);
		end(watch);
	}
}

/* A server that starts does not know all roles: a refusal after no answer is asked again, a few
 * times. */
static void test_refusal_of_a_server_that_starts(void **state)
{
	struct api_watch *watch = begin();

	(void)state;
	waits_for_long(503);
	for (int i = 0; i < 10; i++) {
		now += HURRY / 2;
		api_answered(&client);
		assert_in_range(ask_again(), 1, HURRY);
		answer(403, NULL);
	}
	for (int i = 0; i < 10; i++) {
		api_answered(&client);
		assert_in_range(ask_again(), HURRY + 1, MOST * 3 / 2);
		answer(403, NULL);
	}
	end(watch);
}

/* A server that says how long to stay away is not asked sooner; nor is it believed forever. */
static void test_retry_after(void **state)
{
	struct api_watch *watch = begin();

	(void)state;
	ask_again();
	transfer.retry_after = 7;
	answer(429, NULL);
	assert_in_range(ask_again(), 7000, 7000 * 3 / 2);
	transfer.retry_after = 40000;
	answer(503, NULL);
	assert_in_range(ask_again(), MOST, MOST * 3 / 2);
	transfer.retry_after = 0;
	end(watch);
}

/* A server that is not there costs nothing: the pause is short. */
static void test_absent_server(void **state)
{
	struct api_watch *watch = begin();

	(void)state;
	ask_again();
	transfer.absent = true;
	for (int i = 0; i < 20; i++) {
		answer(0, NULL);
		assert_in_range(ask_again(), 1, API_ABSENT_MS * 3 / 2);
	}
	transfer.absent = false;
	list();
	end(watch);
}

/* A watch is live when its stream begins, though no event comes. */
static void test_stream_begins(void **state)
{
	struct api_watch *watch = begin();

	(void)state;
	ask_again();
	list();
	fails(5, 503);
	assert_int_equal(api_watch_since(watch), 0);
	asked.began(asked.data);
	assert_int_equal(api_watch_since(watch), now);
	end(watch);
}

/* A server that starts has forgotten earlier events: the failures before have no part in the pause
 * before the list, though the stream had begun. */
static void test_forgotten_after_failures(void **state)
{
	static const char line[] =
		"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n";

	(void)state;
	for (int begins = 0; begins < 2; begins++) {
		struct api_watch *watch = begin();

		ask_again();
		list();
		fails(5, 503);
		if (begins) {
			asked.began(asked.data);
			assert_int_not_equal(asked.part(asked.data, line, strlen(line)), 0);
		}
		answer(begins ? 0 : 410, NULL);
		assert_in_range(ask_again(), 1, FIRST * 3 / 2);
		list();
		end(watch);
	}
}

static void list_one(void)
{
	answer(200, "{\"metadata\":{\"resourceVersion\":\"10\"},"
		    "\"items\":[{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"5\"}}]}");
}

/* A collection that was there may be back soon. */
static void test_there_before(void **state)
{
	struct api_watch *watch = begin();

	(void)state;
	ask_again();
	list_one();
	answer(410, NULL);
	ask_again();
	n_deleted = 0;
	lacks();
	assert_int_equal(n_deleted, 1);
	ask_again();
	for (unsigned int i = 2; i < 20; i++) {
		answer(404, NULL);
		assert_in_range(ask_again(), after(i), after(i) * 3 / 2);
	}
	assert_int_equal(n_deleted, 1);
	end(watch);
}

/* A collection that is deleted while the watch is cut off has no stream any more. */
static void test_gone_meanwhile(void **state)
{
	struct api_watch *watch = begin();

	(void)state;
	ask_again();
	list_one();
	n_deleted = 0;
	answer(404, NULL);
	ask_again();
	assert_false(resumes());
	lacks();
	assert_int_equal(n_deleted, 1);
	end(watch);
}

/* A server that starts lacks collections, and a proxy has none of its own: no object is gone. */
static void test_not_ready(void **state)
{
	static const long statuses[] = {0, 401, 403, 404, 500, 503};

	(void)state;
	for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
		struct api_watch *watch = begin();

		n_deleted = n_synced = 0;
		ask_again();
		for (int first = 0; first < 3; first++) {
			answer(404, NULL);
			answer(statuses[i], NULL);
			ask_again();
		}
		assert_int_equal(n_synced, 0);
		list_one();
		assert_int_equal(n_synced, 1);
		answer(410, NULL);
		ask_again();
		for (int again = 0; again < 20; again++) {
			answer(404, NULL);
			answer(statuses[i], NULL);
			assert_true(ask_again() <= MOST * 3 / 2);
		}
		/* ready by now, and it lists what is there */
		answer(404, NULL);
		answer(200, "ok");
		list_one();
		assert_int_equal(n_deleted, 0);
		/* what it said then is no answer for a later list */
		answer(410, NULL);
		ask_again();
		answer(404, NULL);
		assert_string_equal(asked_path, "/readyz");
		answer(statuses[i], NULL);
		assert_int_equal(n_deleted, 0);
		end(watch);
	}
}

#define GROUP(versions) "{\"kind\":\"APIGroup\",\"versions\":[" versions "]}"
#define VERSION(name) "{\"groupVersion\":\"g/" name "\",\"version\":\"" name "\"}"
#define RESOURCES(name) "{\"resources\":[{\"name\":\"other\"},{\"name\":\"" name "\"}]}"

/* The list is not there, the server is ready, and its group has v0, v1, which is the watch's, and
 * v2. */
static void lacks_version(void)
{
	answer(404, NULL);
	answer(200, "ok");
	answer(404, NULL);
	assert_string_equal(asked_path, "/apis/g");
	answer(200, GROUP(VERSION("v0") "," VERSION("v2") "," VERSION("v3")));
	assert_string_equal(asked_path, "/apis/g/v0");
	answer(200, RESOURCES("things/status"));
	assert_string_equal(asked_path, "/apis/g/v2");
	answer(200, RESOURCES("things"));
	assert_string_equal(asked_path, "/apis/g/v3");
	answer(200, RESOURCES("nothing"));
}

/* A kind that the server has in another version alone is not deleted, and was not listed. */
static void test_other_version(void **state)
{
	struct api_watch *watch = begin_at("/apis/g/v1/things");

	(void)state;
	n_deleted = n_synced = 0;
	ask_again();
	lacks_version();
	assert_string_equal(api_watch_unread(watch), "v2");
	ask_again();
	assert_int_equal(n_synced, 0);
	list_one();
	assert_int_equal(n_synced, 1);
	assert_null(api_watch_unread(watch));
	answer(404, NULL);
	ask_again();
	for (int again = 0; again < 3; again++) {
		lacks_version();
		assert_string_equal(api_watch_unread(watch), "v2");
		assert_true(ask_again() <= MOST * 3 / 2);
	}
	assert_int_equal(n_deleted, 0);
	/* the kind is gone by now */
	answer(404, NULL);
	answer(200, "ok");
	answer(404, NULL);
	answer(404, NULL);
	assert_int_equal(n_deleted, 1);
	assert_null(api_watch_unread(watch));
	/* and comes back in another version */
	ask_again();
	answer(404, NULL);
	answer(200, GROUP(VERSION("v2")));
	answer(200, RESOURCES("things"));
	assert_string_equal(api_watch_unread(watch), "v2");
	end(watch);
}

/* A version that another watch reads has all objects: EndpointSlices are in two. */
static void test_version_that_is_read(void **state)
{
	struct api_watch *other = begin_at("/apis/g/v2/things"), *watch;

	(void)state;
	ask_again();
	list();
	asked.began(asked.data);
	in_flight = false; /* the stream of the other goes on */
	watch = begin_at("/apis/g/v1/things");
	n_synced = 0;
	ask_again();
	lacks_version();
	assert_int_equal(n_synced, 1);
	assert_null(api_watch_unread(watch));
	end(watch);
	in_flight = true;
	end(other);
}

/* A client that cannot learn which versions there are takes nothing for deleted. */
static void test_unknown_versions(void **state)
{
	static const struct {
		long status;
		const char *body;
	} answers[] = {{0, NULL},
		       {403, NULL},
		       {503, NULL},
		       {200, "<html>"},
		       {200, "{}"},
		       {200, GROUP("")},
		       /* the version that is not there */
		       {200, GROUP(VERSION("v1"))}};

	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
		struct api_watch *watch = begin_at("/apis/g/v1/things");

		n_deleted = n_synced = 0;
		ask_again();
		answer(404, NULL);
		answer(200, "ok");
		answer(404, NULL);
		answer(answers[i].status, answers[i].body);
		if (in_flight)
			answer(200, RESOURCES("things"));
		assert_true(ask_again() <= MOST * 3 / 2);
		assert_int_equal(n_synced, 0);
		list_one();
		assert_int_equal(n_synced, 1);
		end(watch);
	}
}

/* A group may name a version that its server lacks: then nothing is known, whatever the others
 * have. */
static void test_version_that_is_named_only(void **state)
{
	struct api_watch *watch = begin_at("/apis/g/v1/things");

	(void)state;
	n_deleted = n_synced = 0;
	ask_again();
	list_one();
	n_synced = 0;
	answer(404, NULL);
	ask_again();
	for (int again = 0; again < 3; again++) {
		answer(404, NULL);
		answer(200, "ok");
		answer(404, NULL);
		answer(200, GROUP(VERSION("v2")));
		assert_string_equal(asked_path, "/apis/g/v2");
		answer(404, NULL);
		assert_true(ask_again() <= MOST * 3 / 2);
		assert_int_equal(n_deleted, 0);
	}
	end(watch);
}

/* A watch may end while it asks. */
static void test_ends_while_it_asks(void **state)
{
	struct api_watch *watch = begin_at("/apis/g/v1/things");

	(void)state;
	ask_again();
	answer(404, NULL);
	answer(200, "ok");
	answer(404, NULL);
	assert_string_equal(asked_path, "/apis/g");
	end(watch);
}

/* Watches that fail at the same time do not ask again at the same time. */
static void test_jitter(void **state)
{
	unsigned int least = UINT32_MAX, most = 0;

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct api_watch *watch = begin();
		unsigned int ms;

		ask_again();
		fails(10, 503);
		answer(503, NULL);
		ms = ask_again();
		least = ms < least ? ms : least;
		most = ms > most ? ms : most;
		end(watch);
	}
	assert_in_range(least, MOST, MOST + MOST / 6);
	assert_in_range(most, MOST + MOST / 3, MOST + MOST / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list_fails),
		cmocka_unit_test(test_stream_fails),
		cmocka_unit_test(test_short_streams),
		cmocka_unit_test(test_stream_errs),
		cmocka_unit_test(test_stream_hangs),
		cmocka_unit_test(test_list_repeats),
		cmocka_unit_test(test_list_resets),
		cmocka_unit_test(test_event_resets),
		cmocka_unit_test(test_away_for_long),
		cmocka_unit_test(test_refused_for_long),
		cmocka_unit_test(test_gone_meanwhile),
		cmocka_unit_test(test_cached_away_for_long),
		cmocka_unit_test(test_not_there),
		cmocka_unit_test(test_stream_alone_does_not_reset),
		cmocka_unit_test(test_another_answer),
		cmocka_unit_test(test_another_answer_is_no_flood),
		cmocka_unit_test(test_refusal_keeps_pace),
		cmocka_unit_test(test_refusal_of_a_server_that_starts),
		cmocka_unit_test(test_absent_server),
		cmocka_unit_test(test_stream_begins),
		cmocka_unit_test(test_forgotten_after_failures),
		cmocka_unit_test(test_there_before),
		cmocka_unit_test(test_not_ready),
		cmocka_unit_test(test_other_version),
		cmocka_unit_test(test_version_that_is_read),
		cmocka_unit_test(test_unknown_versions),
		cmocka_unit_test(test_version_that_is_named_only),
		cmocka_unit_test(test_ends_while_it_asks),
		cmocka_unit_test(test_retry_after),
		cmocka_unit_test(test_jitter),
	};

	if (curl_open(&quiet) || api_turns_open(&client))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
