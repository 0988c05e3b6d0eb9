// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a follower loads the active policy again beside a staged one: follower_newcomers.c, with
 * clocks, a timer and loads that the test makes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "cluster/follower.h"

#define HOUR 3600000 /* ms */

static uint64_t now, processor; /* ms */
static struct diag quiet;

/* What the stand-ins of loads do, and have done */
static struct loads {
	uint64_t takes, waits; /* ms: of a processor, and for others */
	int error;
	bool removes; /* the policy that was staged is not staged after the load */
	/* each look finds an interface that the look before found, too, and a new one */
	bool flaps;
	uint32_t looks;
	unsigned int n;
	uint64_t ms; /* of a processor, in all */
	unsigned int steps, reports;
} loads;

/* Stand-ins for the functions that follower_newcomers.c calls */

uint64_t api_now(void)
{
	return now;
}

uint64_t api_processor_time(void)
{
	return processor;
}

void api_timer_set(struct api *api, struct api_timer *timer, unsigned int ms)
{
	(void)api;
	timer->due = now + ms;
}

int followed_node_load_again(struct followed_node *node, struct diag *diag,
			     struct followed_node_state *state)
{
	(void)node;
	(void)diag;
	now += loads.takes + loads.waits;
	processor += loads.takes;
	loads.ms += loads.takes;
	loads.n++;
	if (loads.removes)
		state->installed = state->active;
	return loads.error;
}

int followed_node_newcomers(const struct followed_node *node, struct diag *diag,
			    struct newcomers *newcomers)
{
	(void)node;
	(void)diag;
	*newcomers = (struct newcomers){};
	loads.looks++;
	if (!loads.flaps)
		return 0;
	newcomers->ifaces = calloc(2, sizeof(*newcomers->ifaces));
	assert_non_null(newcomers->ifaces);
	for (newcomers->n = 0; newcomers->n < 2; newcomers->n++) {
		struct newcomer *newcomer = &newcomers->ifaces[newcomers->n];

		newcomer->ifindex = loads.looks + newcomers->n;
		snprintf(newcomer->name, sizeof(newcomer->name), "v%u", newcomer->ifindex);
	}
	return 0;
}

void follower_report(struct follower *follower)
{
	(void)follower;
	loads.reports++;
}

void follower_hear(struct follower *follower, struct heard *heard)
{
	(void)follower;
	(void)heard;
}

void follower_end_hearing(struct follower *follower, struct heard *heard)
{
	(void)follower;
	(void)heard;
}

void follower_set_message(struct follower *follower, int error, const char *what)
{
	(void)what;
	follower->error = error;
}

static void take_step(struct follower *follower)
{
	(void)follower;
	loads.steps++;
}

static struct follower start(void)
{
	struct follower follower = {
		.diag = &quiet, .go_on = take_step, .has = {.active = 1, .installed = 2}};

	now = HOUR;
	loads = (struct loads){};
	follower_newcomers_begin(&follower);
	return follower;
}

/* Lets the time pass until the timer is due, and runs it. */
static void run(struct api_timer *timer, struct follower *follower)
{
	assert_true(timer->due);
	if (timer->due > now)
		now = timer->due;
	timer->due = 0;
	timer->run(follower);
}

static void loads_for_ever_new_labels_take_a_twentieth_of_the_time(void **state)
{
	struct follower follower = start();
	const uint64_t began = now;

	(void)state;
	loads.takes = 6000;
	while (now < began + HOUR) {
		follower_pod_waits(&follower);
		run(&follower.segments, &follower);
	}
	assert_true(loads.n > 10);
	assert_true((loads.ms - loads.takes) * 20 <= now - began);
}

static void a_pod_waits_a_second_at_first_and_five_for_the_next_load(void **state)
{
	struct follower follower = start();
	const uint64_t began = now;

	(void)state;
	follower_pod_waits(&follower);
	assert_int_equal(follower.segments.due, began + 1000);
	run(&follower.segments, &follower);
	follower_pod_waits(&follower);
	assert_int_equal(follower.segments.due, began + 6000);
	assert_int_equal(loads.n, 1);
}

/* On a busy node: what a load waits for others does not put off the next one. */
static void a_load_that_waits_puts_off_no_other_for_a_segment(void **state)
{
	struct follower follower = start();
	uint64_t ended;

	(void)state;
	loads.takes = 100;
	loads.waits = 10000;
	follower_pod_waits(&follower);
	run(&follower.segments, &follower);
	ended = now;
	follower_pod_waits(&follower);
	assert_int_equal(follower.segments.due, ended + 5000);
}

static void a_load_for_a_segment_that_fails_is_tried_again_until_one_succeeds(void **state)
{
	struct follower follower = start();

	(void)state;
	loads.error = -ENOMEM;
	follower_pod_waits(&follower);
	run(&follower.segments, &follower);
	assert_int_equal(follower.error, -ENOMEM);
	/* a look between that finds nothing must not say that all is well */
	run(&follower.look, &follower);
	assert_int_equal(follower.error, -ENOMEM);
	run(&follower.segments, &follower);
	loads.error = 0;
	run(&follower.segments, &follower);
	assert_int_equal(loads.n, 3);
	assert_int_equal(follower.error, 0);
	assert_int_equal(follower.segments.due, 0);
}

static void no_load_follows_once_nothing_is_staged(void **state)
{
	struct follower follower = start();

	(void)state;
	follower_pod_waits(&follower);
	follower.has.active = 2;
	run(&follower.segments, &follower);
	assert_int_equal(loads.n, 0);
}

static void the_next_step_follows_a_load_after_which_nothing_is_staged(void **state)
{
	struct follower follower = start();

	(void)state;
	follower_pod_waits(&follower);
	run(&follower.segments, &follower);
	assert_int_equal(loads.steps, 0);
	loads.removes = true;
	follower_pod_waits(&follower);
	run(&follower.segments, &follower);
	assert_int_equal(loads.steps, 1);
}

/* An interface that comes and goes under a new name each time must not keep the node busy. */
static void loads_for_interfaces_of_ever_new_names_take_a_twentieth_of_the_time(void **state)
{
	struct follower follower = start();
	const uint64_t began = now;

	(void)state;
	loads.flaps = true;
	loads.takes = 6000;
	while (now < began + HOUR)
		run(&follower.look, &follower);
	assert_true(loads.n > 10);
	assert_true((loads.ms - loads.takes) * 20 <= now - began);
	newcomers_free(&follower.newcomers);
}

static void quick_loads_for_interfaces_follow_each_look(void **state)
{
	struct follower follower = start();

	(void)state;
	loads.flaps = true;
	loads.takes = 20;
	loads.waits = 10000;
	while (loads.looks < 21)
		run(&follower.look, &follower);
	assert_int_equal(loads.n, 20);
	newcomers_free(&follower.newcomers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_for_ever_new_labels_take_a_twentieth_of_the_time),
		cmocka_unit_test(a_pod_waits_a_second_at_first_and_five_for_the_next_load),
		cmocka_unit_test(a_load_that_waits_puts_off_no_other_for_a_segment),
		cmocka_unit_test(a_load_for_a_segment_that_fails_is_tried_again_until_one_succeeds),
		cmocka_unit_test(no_load_follows_once_nothing_is_staged),
		cmocka_unit_test(
			loads_for_interfaces_of_ever_new_names_take_a_twentieth_of_the_time),
		cmocka_unit_test(quick_loads_for_interfaces_follow_each_look),
		cmocka_unit_test(the_next_step_follows_a_load_after_which_nothing_is_staged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
