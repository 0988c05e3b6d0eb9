// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "cmd/plan.h"

/* Text names only so many entries of a step. */
#define ITEMS_SHOWN 8

static void print_step(struct plan *plan, const struct node_step *step)
{
	if (!plan->change || strcmp(plan->change, step->change))
		printf("%s:\n", step->change);
	plan->change = step->change;
	printf("  %-8s %s", step->phase, step->act);
	if (step->map)
		printf(" %s", step->map);
	if (step->n > 1)
		printf(" (%zu)", step->n);
	for (size_t i = 0; i < step->n && i < ITEMS_SHOWN; i++) {
		const char *item = node_step_item(step, i);

		printf("%s%s", !*item ? "" : i ? ", " : ": ", item);
	}
	printf("%s\n", step->n > ITEMS_SHOWN ? ", ..." : "");
}

static void add_step(struct json_object *steps, const struct node_step *step)
{
	struct json_object *object = json_object_new_object();
	struct json_object *items = json_object_new_array();

	json_add_text(object, "change", step->change);
	json_add_text(object, "phase", step->phase);
	json_add_text(object, "act", step->act);
	json_add_text(object, "map", step->map);
	for (size_t i = 0; i < step->n; i++) {
		const char *item = node_step_item(step, i);

		if (*item)
			json_append_text(items, item);
	}
	json_add(object, "items", items);
	json_object_array_add(steps, object);
}

static void tell(void *data, const struct node_step *step)
{
	struct plan *plan = data;

	plan->n++;
	if (plan->steps)
		add_step(plan->steps, step);
	else
		print_step(plan, step);
}

void plan_begin(struct plan *plan, const struct call *call, struct node_options *options)
{
	*plan = (struct plan){.steps = call->json ? json_object_new_array() : NULL};
	options->dry_run = tell;
	options->rehearse_data = plan;
}

void plan_end(struct plan *plan, const struct call *call, int error)
{
	if (plan->steps && !error)
		json_print(plan->steps, call->pretty);
	else if (plan->steps)
		json_object_put(plan->steps);
	else if (!error && !plan->n)
		printf("there is nothing to change\n");
}
