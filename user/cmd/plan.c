// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "cmd/plan.h"

/* Text names only so many entries of a step. */
#define ITEMS_SHOWN 8

static void say_step(struct plan *plan, const struct node_step *step)
{
	struct emit *emit = &plan->emit;

	if (!plan->change || strcmp(plan->change, step->change))
		emit_say(emit, "%s:\n", step->change);
	plan->change = step->change;
	emit_say(emit, "  %-8s %s", step->phase, step->act);
	if (step->map)
		emit_say(emit, " %s", step->map);
	if (step->n > 1)
		emit_say(emit, " (%zu)", step->n);
}

static void tell(void *data, const struct node_step *step)
{
	struct plan *plan = data;
	struct emit *emit = &plan->emit;

	plan->n++;
	say_step(plan, step);
	emit_object(emit, NULL);
	emit_text(emit, "change", step->change);
	emit_text(emit, "phase", step->phase);
	emit_text(emit, "act", step->act);
	emit_text(emit, "map", step->map);
	emit_array(emit, "items");
	for (size_t i = 0; i < step->n; i++) {
		const char *item = node_step_item(step, i);

		if (i < ITEMS_SHOWN)
			emit_say(emit, "%s%s", !*item ? "" : i ? ", " : ": ", item);
		if (*item)
			emit_text(emit, NULL, item);
	}
	emit_end(emit);
	emit_end(emit);
	emit_say(emit, "%s\n", step->n > ITEMS_SHOWN ? ", ..." : "");
}

void plan_begin(struct plan *plan, const struct call *call, struct node_options *options)
{
	*plan = (struct plan){.emit = emit_begin(call)};
	emit_array(&plan->emit, NULL);
	options->dry_run = tell;
	options->rehearse_data = plan;
}

void plan_end(struct plan *plan, int error)
{
	if (error)
		return emit_drop(&plan->emit);
	emit_end(&plan->emit);
	if (!plan->n)
		emit_say(&plan->emit, "there is nothing to change\n");
}
