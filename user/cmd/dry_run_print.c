// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "cmd/dry_run_print.h"

/* Text names only so many entries of a step. */
#define ITEMS_SHOWN 8

static void say_step(struct dry_run_print *print, const struct node_step *step)
{
	struct emit *emit = &print->emit;

	if (!print->change || strcmp(print->change, step->change))
		emit_say(emit, "%s:\n", step->change);
	print->change = step->change;
	emit_say(emit, "  %-8s %s", step->phase, step->act);
	if (step->map)
		emit_say(emit, " %s", step->map);
	if (step->n > 1)
		emit_say(emit, " (%zu)", step->n);
}

static void tell(void *data, const struct node_step *step)
{
	struct dry_run_print *print = data;
	struct emit *emit = &print->emit;

	print->n++;
	say_step(print, step);
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

void dry_run_print_begin(struct dry_run_print *print, const struct call *call,
			 struct node_options *options)
{
	*print = (struct dry_run_print){.emit = emit_begin(call)};
	emit_array(&print->emit, NULL);
	options->dry_run = tell;
	options->dry_run_data = print;
}

void dry_run_print_end(struct dry_run_print *print, int error)
{
	if (error)
		return emit_drop(&print->emit);
	emit_end(&print->emit);
	if (!print->n)
		emit_say(&print->emit, "there is nothing to change\n");
}
