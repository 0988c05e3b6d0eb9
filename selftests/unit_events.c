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

#include "cluster/event_objects.h"
#include "cluster/store.h"

#define SECOND 1000 /* ms */
#define HOUR (3600 * SECOND)

static uint64_t now;
static unsigned int sent;

/* Stand-ins for the functions of other files that the module calls */

uint64_t api_now(void)
{
	return now;
}

int api_send(struct api *api, const struct api_request *request)
{
	const struct api_answer answer = {.status = 201};

	(void)api;
	sent++;
	request->done(request->data, &answer);
	return 0;
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

static void change(struct events *events, int nth)
{
	struct json_object *policy = json_object_new_object();
	struct json_object *metadata = json_object_new_object();
	char name[20];

	snprintf(name, sizeof(name), "p%d", nth);
	json_object_object_add(policy, "apiVersion",
			       json_object_new_string("networking.k8s.io/v1"));
	json_object_object_add(policy, "kind", json_object_new_string("NetworkPolicy"));
	json_object_object_add(metadata, "name", json_object_new_string(name));
	json_object_object_add(metadata, "namespace", json_object_new_string("shop"));
	json_object_object_add(policy, "metadata", metadata);
	events_changed(events, policy);
	json_object_put(policy);
}

static void policies_that_become_active(void **state)
{
	struct events *events = events_of(NULL);

	(void)state;
	for (int rollout = 0; rollout < 10; rollout++) {
		for (int i = 0; i < 30; i++)
			change(events, rollout * 30 + i);
		events_compiled(events, NULL);
		events_active(events, rollout + 1, 3);
	}
	assert_int_equal(written(), EVENTS_BURST);
	now += 5 * SECOND;
	for (int i = 0; i < 30; i++)
		change(events, 1000 + i);
	events_compiled(events, NULL);
	events_active(events, 20, 3);
	assert_int_equal(written(), 5);
	/* an object that changes often has one Event in a rollout */
	now += HOUR;
	for (int i = 0; i < 30; i++)
		change(events, 7);
	events_compiled(events, NULL);
	events_active(events, 21, 3);
	assert_int_equal(written(), 1);
	events_close(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_that_open_pods),
		cmocka_unit_test(policies_that_become_active),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
