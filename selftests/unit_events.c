// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many Events are written: the module itself, with a clock and requests that the test makes, so
 * that an hour takes no time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "cluster/active_policies.h"
#include "cluster/event_objects.h"
#include "cluster/event_queue.h"
#include "cluster/store.h"

#define SECOND 1000 /* ms */
#define HOUR (3600 * SECOND)

static uint64_t now;
static unsigned int sent;
static struct api_timer *timers[4]; /* those that are set; NULL: a free place */
/* Requests wait for answer_one(), if `slow`. */
static bool slow;
static struct api_request asked[64];
static unsigned int n_asked;
/* of the last request */
static char last_path[200], last_message[200];

/* Stand-ins for the functions of other files that the module calls */

uint64_t api_now(void)
{
	return now;
}

static struct api_timer **place_of(const struct api_timer *timer)
{
	for (size_t i = 0; i < sizeof(timers) / sizeof(*timers); i++)
		if (timers[i] == timer)
			return &timers[i];
	return NULL;
}

void api_timer_stop(struct api *api, struct api_timer *set)
{
	struct api_timer **place = place_of(set);

	(void)api;
	set->due = 0;
	if (place)
		*place = NULL;
}

void api_timer_set(struct api *api, struct api_timer *set, unsigned int ms)
{
	api_timer_stop(api, set);
	*place_of(NULL) = set;
	set->due = now + ms;
}

static struct api_timer *next_timer(void)
{
	struct api_timer *next = NULL;

	for (size_t i = 0; i < sizeof(timers) / sizeof(*timers); i++)
		if (timers[i] && (!next || timers[i]->due < next->due))
			next = timers[i];
	return next;
}

/* Lets time pass in steps, with the timers. */
static void pass(unsigned int ms)
{
	const uint64_t end = now + ms;
	struct api_timer *due;

	while ((due = next_timer()) && due->due <= end) {
		now = due->due;
		api_timer_stop(NULL, due);
		due->run(due->data);
	}
	now = end;
}

static void answer(const struct api_request *request)
{
	const struct api_answer created = {.status = 201};

	request->done(request->data, &created);
}

int api_send(struct api *api, const struct api_request *request)
{
	(void)api;
	sent++;
	snprintf(last_path, sizeof(last_path), "%s", request->path);
	snprintf(last_message, sizeof(last_message), "%s", api_text(request->body, "message"));
	if (!slow) {
		answer(request);
		return 0;
	}
	assert_true(n_asked < sizeof(asked) / sizeof(*asked));
	asked[n_asked++] = *request;
	return 0;
}

/* Answers the oldest request. */
static void answer_one(void)
{
	const struct api_request first = asked[0];

	assert_true(n_asked);
	memmove(asked, asked + 1, --n_asked * sizeof(*asked));
	answer(&first);
}

bool objects_is_aside(const struct objects *objects, struct json_object *object)
{
	(void)objects;
	(void)object;
	return false;
}

struct json_object *store_object(const char *kind, const char *name, const char *version)
{
	(void)kind;
	(void)name;
	(void)version;
	return json_object_new_object();
}

static unsigned int written(void)
{
	const unsigned int n = sent;

	sent = 0;
	return n;
}

static struct events *events_of(const char *host)
{
	struct events *events = events_open(NULL, "unit", host);

	assert_non_null(events);
	now += HOUR;
	written();
	return events;
}

static void loads_that_open_pods(void **state)
{
	struct events *events = events_of("worker-1");

	(void)state;
	for (int i = 0; i < 200; i++)
		events_opened(events, i, "opens shop/db", 1);
	assert_int_equal(written(), EVENTS_OPENED_BURST);
	for (int i = 0; i < 200; i++) {
		now += SECOND / 10;
		events_opened(events, 1000 + i, "opens shop/db", 1);
	}
	assert_int_equal(written(), 20);
	/* in a cluster of 500 nodes, an Event in ten seconds */
	now += HOUR;
	for (int i = 0; i < 200; i++)
		events_opened(events, 2000 + i, "opens shop/db", 500);
	assert_int_equal(written(), EVENTS_OPENED_BURST);
	for (int i = 0; i < 200; i++) {
		now += SECOND;
		events_opened(events, 3000 + i, "opens shop/db", 500);
	}
	assert_int_equal(written(), 20);
	events_close(events);
}

/* Returns a policy. */
static struct json_object *policy_of(const char *ns, int nth)
{
	struct json_object *policy = json_object_new_object();
	struct json_object *metadata = json_object_new_object();
	char name[20], uid[100];

	snprintf(name, sizeof(name), "p%d", nth);
	snprintf(uid, sizeof(uid), "%s/p%d", ns, nth);
	json_object_object_add(policy, "apiVersion",
			       json_object_new_string("networking.k8s.io/v1"));
	json_object_object_add(policy, "kind", json_object_new_string("NetworkPolicy"));
	json_object_object_add(metadata, "name", json_object_new_string(name));
	if (*ns)
		json_object_object_add(metadata, "namespace", json_object_new_string(ns));
	json_object_object_add(metadata, "uid", json_object_new_string(uid));
	json_object_object_add(policy, "metadata", metadata);
	return policy;
}

static void change(struct events *events, const char *ns, int nth)
{
	struct json_object *policy = policy_of(ns, nth);

	events_changed(events, policy);
	json_object_put(policy);
}

static void change_many(struct events *events, const char *ns, int first, int n)
{
	for (int i = 0; i < n; i++)
		change(events, ns, first + i);
}

static void roll_out(struct events *events, uint32_t generation)
{
	events_compiled(events, NULL);
	events_active(events, generation, 3);
}

static void policies_that_become_active(void **state)
{
	struct events *events = events_of(NULL);

	(void)state;
	for (int rollout = 0; rollout < 10; rollout++) {
		change_many(events, "shop", rollout * 30, 30);
		roll_out(events, rollout + 1);
	}
	assert_int_equal(written(), ACTIVE_TENANT_BURST);
	/* the others come later, one a second */
	pass(5 * SECOND);
	assert_int_equal(written(), 5);
	pass(HOUR);
	assert_int_equal(written(), ACTIVE_TENANT_BURST - 5);
	/* an object that changes often has one Event in a rollout */
	for (int i = 0; i < 30; i++)
		change(events, "shop", 7);
	roll_out(events, 21);
	assert_int_equal(written(), 1);
	events_close(events);
}

/* Many namespaces change policies all the time, and one does so once. */
static void policies_of_others(void **state)
{
	struct events *events = events_of(NULL);
	char ns[20];

	(void)state;
	for (int rollout = 0; rollout < 100; rollout++) {
		for (int busy = 0; busy < 20; busy++) {
			snprintf(ns, sizeof(ns), "busy-%d", busy);
			change_many(events, ns, rollout * 10, 10);
		}
		roll_out(events, rollout + 1);
		pass(50);
	}
	change(events, "quiet", 0);
	roll_out(events, 101);
	pass(ACTIVE_STEP_MS);
	assert_string_equal(last_path, "/api/v1/namespaces/quiet/events");
	assert_string_equal(last_message, "active at generation 101 on 3 nodes");
	events_close(events);
}

/* A policy that changed again before its Event was written has not the version that is active. */
static void a_policy_that_changed_again(void **state)
{
	struct events *events = events_of(NULL);

	(void)state;
	change_many(events, "shop", 0, ACTIVE_TENANT_BURST);
	roll_out(events, 1);
	assert_int_equal(written(), ACTIVE_TENANT_BURST);
	change(events, "shop", 0);
	roll_out(events, 2);
	change(events, "shop", 0);
	pass(HOUR);
	assert_int_equal(written(), 0);
	roll_out(events, 3);
	assert_int_equal(written(), 1);
	assert_string_equal(last_message, "active at generation 3 on 3 nodes");
	events_close(events);
}

static void refuse(struct events *events, const char *ns, int nth, const char *why)
{
	struct json_object *policy = policy_of(ns, nth);

	events_about(events, policy, why);
	json_object_put(policy);
}

/* Answers requests until one is of the namespace, whose Event was put last. Returns how many. */
static unsigned int answers_until(const char *ns)
{
	char path[100];
	unsigned int n = 0;

	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/events", ns);
	while (strcmp(last_path, path)) {
		answer_one();
		n++;
	}
	return n;
}

static void answer_all(void)
{
	while (n_asked)
		answer_one();
}

/* The API server is slow, and namespaces have refused objects without end. */
static void refused_objects_of_others(void **state)
{
	struct events *events = events_of(NULL);
	unsigned int n;
	char ns[20];

	(void)state;
	slow = true;
	for (int i = 0; i < 2000; i++)
		refuse(events, "busy", i, "no good");
	refuse(events, "quiet", 0, "no good");
	assert_true(answers_until("quiet") <= 2);
	answer_all();
	assert_int_equal(written(), EVENT_QUEUE_BURST + 1);
	for (int busy = 0; busy < 20; busy++) {
		snprintf(ns, sizeof(ns), "busy-%d", busy);
		for (int i = 0; i < EVENT_QUEUE_TENANT; i++)
			refuse(events, ns, i, "no good");
	}
	refuse(events, "quiet", 0, "no good");
	assert_true(answers_until("quiet") <= 21);
	answer_all();
	slow = false;
	pass(HOUR);
	n = written();
	assert_true(n <= EVENT_QUEUE_MAX + 20 * EVENT_QUEUE_BURST);
	assert_int_equal(events_counts(events).waiting, 0);
	assert_int_equal(events_counts(events).held_back,
			 2001 - EVENT_QUEUE_BURST - 1 + 20 * EVENT_QUEUE_TENANT + 1 - n);
	events_close(events);
}

/* One namespace writes refused objects and changes one again and again. It gets a burst, and then
 * one Event a second. Another's Events, and those of cluster-scoped objects, are written at once.
 */
static void refused_objects_without_end(void **state)
{
	struct events *events = events_of(NULL);

	(void)state;
	for (int second = 0; second < 600; second++) {
		for (int i = 0; i < 50; i++)
			refuse(events, "busy", 1 + 50 * second + i, "no good");
		refuse(events, "busy", 0, "not the last reason");
		refuse(events, "busy", 0, NULL);
		pass(SECOND);
	}
	assert_in_range(written(), EVENT_QUEUE_BURST + 590, EVENT_QUEUE_BURST + 601);
	assert_true(events_counts(events).held_back > 600 * 50 - 2000);
	refuse(events, "quiet", 0, "no good");
	assert_int_equal(written(), 1);
	for (int i = 0; i < 2 * EVENT_QUEUE_BURST; i++)
		refuse(events, "", i, "no good");
	assert_int_equal(written(), 2 * EVENT_QUEUE_BURST);
	/* The queue writes the last Event of an object when its namespace's turn comes. */
	refuse(events, "busy", 0, "the last reason");
	pass(HOUR);
	assert_int_equal(events_counts(events).waiting, 0);
	written();
	refuse(events, "busy", 0, "the very last reason");
	assert_int_equal(written(), 1);
	assert_string_equal(last_message, "the very last reason");
	events_close(events);
}

/* An object that is refused again and again meanwhile has one Event, which says the last reason. */
static void an_object_that_is_refused_often(void **state)
{
	struct events *events = events_of(NULL);
	char why[20];

	(void)state;
	slow = true;
	for (int i = 0; i < 100; i++)
		refuse(events, "busy", i, "no good");
	for (int i = 0; i < 100; i++) {
		snprintf(why, sizeof(why), "reason %d", i);
		refuse(events, "shop", 0, why);
	}
	answer_all();
	assert_int_equal(written(), 101);
	assert_int_equal(events_counts(events).held_back, 99);
	refuse(events, "shop", 0, NULL);
	refuse(events, "shop", 0, "once more");
	refuse(events, "shop", 0, NULL);
	answer_all();
	slow = false;
	assert_int_equal(written(), 3);
	events_close(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_that_open_pods),
		cmocka_unit_test(policies_that_become_active),
		cmocka_unit_test(policies_of_others),
		cmocka_unit_test(a_policy_that_changed_again),
		cmocka_unit_test(refused_objects_of_others),
		cmocka_unit_test(refused_objects_without_end),
		cmocka_unit_test(an_object_that_is_refused_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
