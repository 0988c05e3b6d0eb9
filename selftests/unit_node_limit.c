// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which nodes a rollout waits for, by the engine's clock: those that were heard within the limit
 * that they know. A limit that has become shorter counts from when the nodes were told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

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
				 .nodes = engine_reports_new(),
				 .status.limit = told,
				 .listens = listens};
	now = 100000;
	engine_report(&engine, "n", object);
	json_object_put(object);
}

static void end(void)
{
	lh_table_free(engine.nodes);
}

/* Whether the node counts until @ms, and no longer; and when the engine looks again. */
static void counts_until(uint64_t ms)
{
	struct least least;

	now = ms - 1;
	least = engine_least(&engine);
	assert_int_equal(least.nodes, 1);
	assert_int_equal(least.policy, 7);
	assert_int_equal(least.next, ms);
	now = ms;
	least = engine_least(&engine);
	assert_int_equal(least.nodes, 0);
	assert_true(least.silent);
	assert_string_equal(least.quiet, "n");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limit_that_nodes_know),
		cmocka_unit_test(limit_that_nodes_do_not_know),
		cmocka_unit_test(limit_from_when_it_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
