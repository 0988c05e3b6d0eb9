/* SPDX-License-Identifier: GPL-2.0-only */
/* `bulkhead show`: the compiled policy and the maps in a form that a person can read. */
#include <string.h>

#include "cmd/command.h"
#include "cmd/show.h"

void show_endpoint_name(struct text *text, const struct policy *policy,
			const struct policy_endpoint *endpoint)
{
	text_clear(text);
	text_add(text, policy_string(policy, policy->namespaces[endpoint->ns].name));
	text_add(text, "/");
	text_add(text, policy_string(policy, endpoint->name));
}

int show_list(const struct call *call, const struct view *view, size_t n,
	      struct json_object *(*make)(const struct view *view, size_t i, struct text *text),
	      void (*print)(struct json_object *object, struct text *text))
{
	struct json_object *array = json_object_new_array();
	struct text text = {printbuf_new()};

	for (size_t i = 0; i < n; i++) {
		struct json_object *object = make(view, i, &text);

		if (object && !call->json)
			print(object, &text);
		if (object && call->json)
			json_object_array_add(array, object);
		else
			json_object_put(object);
	}
	if (call->json)
		json_print(array, call->pretty);
	else
		json_object_put(array);
	printbuf_free(text.buffer);
	return STATUS_OK;
}

static const struct {
	const char *name;
	bool kernel; /* only the maps know it */
	int (*show)(const struct call *call, const struct view *view);
} objects[] = {
	{"segments", false, show_segments},	{"endpoints", false, show_endpoints},
	{"pairs", false, show_pairs},		{"rules", false, show_rules},
	{"generation", false, show_generation}, {"conntrack", true, show_conntrack},
	{"counters", true, show_counters},
};

#define N_OBJECTS (sizeof(objects) / sizeof(*objects))

static const struct command_option options[] = {VIEW_PIN_OPTION, {0}};

static int run(struct call *call)
{
	const char *pin = NULL;
	struct view view;
	size_t i = 0;
	int status;

	while (call_option(call) != -1)
		pin = call->value;
	while (i < N_OBJECTS && (!call->n_operands || strcmp(call->operands[0], objects[i].name)))
		i++;
	if (i == N_OBJECTS)
		call_usage_error(call, "what is to be shown? One of: %s", call->command->words);
	call->operands++;
	call->n_operands--;
	if (objects[i].kernel && call->n_operands)
		call_usage_error(call, "%s are the kernel's: they are in no INPUT",
				 objects[i].name);
	status = view_open(&view, call, pin);
	if (status)
		return status;
	status = objects[i].show(call, &view);
	view_close(&view);
	return status;
}

const struct command command_show = {
	.name = "show",
	.operands = "segments|endpoints|pairs|rules|generation|conntrack|counters [INPUT...]",
	.help = "what the policy came to, and what the kernel has seen of it",
	.words = "segments endpoints pairs rules generation conntrack counters",
	.options = options,
	.run = run,
};
