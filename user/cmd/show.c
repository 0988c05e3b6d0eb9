/* SPDX-License-Identifier: GPL-2.0-only */
/* `bulkhead show`: prints the compiled policy and the maps in a form that a person can read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/nearest.h"
#include "cmd/show.h"
#include "policy/verdicts.h"

enum { BY_NAMESPACE = 1, BY_ENDS = 2, BY_PORT = 4, BY_ALL = 7 };

static const struct {
	const char *name;
	bool kernel; /* no INPUT: only the maps have it */
	int filters; /* the options that choose a part: BY_... */
	int (*show)(const struct show *show);
	bool index; /* it needs show.index */
} objects[] = {
	{"segments", false, BY_ALL, show_segments, true},
	{"endpoints", false, BY_NAMESPACE, show_endpoints, false},
	{"pairs", false, BY_ALL, show_pairs, true},
	{"rules", false, BY_ALL, show_rules, false},
	{"generation", false, 0, show_generation, false},
	{"conntrack", true, BY_ALL, show_conntrack, false},
	{"counters", true, 0, show_counters, false},
	{"names", true, BY_NAMESPACE, show_names, false},
};

#define N_OBJECTS (sizeof(objects) / sizeof(*objects))

struct show_request {
	struct filter filter;
	const char *pin;
};

static const struct command_option options[] = {
	FILTER_OPTIONS(struct show_request, filter),
	VIEW_PIN_OPTION(struct show_request, pin),
	{0},
};

static void check_filter(const struct call *call, const struct filter *filter, size_t object)
{
	int given = (filter->ns ? BY_NAMESPACE : 0) | (filter->from || filter->to ? BY_ENDS : 0) |
		    (filter->n_ports ? BY_PORT : 0);

	if (given & ~objects[object].filters)
		call_usage_error(call, "%s: takes no filter%s", objects[object].name,
				 objects[object].filters ? " but --namespace" : "");
}

/* Adds the segments as which those of the set are evaluated by domain names. */
static void add_by_domain(const struct policy *policy, bool *set)
{
	for (size_t i = 0; i < policy->n_segments; i++) {
		const struct policy_segment *segment = &policy->segments[i];

		for (size_t k = 0;
		     set[i] && policy_segment_has_members(segment) && k < policy->n_domains;
		     k = policy_domain_next(policy, k)) {
			const char *name = policy_string(policy, policy->domains[k].name);

			set[policy_by_domain(policy, name, segment) - policy->segments] = true;
		}
	}
}

/* Returns, by index, which segments have a kind that @meant selects. */
static bool *segments_of(const struct show *show, const struct flow_classes *kinds,
			 const bool *meant)
{
	bool *set = calloc(show->policy->n_segments + 1, sizeof(*set));

	for (size_t i = 0; i < kinds->n && set; i++) {
		uint32_t segment = kinds->at[i].members->place[0].segment;

		if (meant[i] && !kinds->at[i].members->end.domain &&
		    segment < show->policy->n_segments)
			set[segment] = true;
	}
	if (set)
		add_by_domain(show->policy, set);
	return set;
}

static int choose_segments(struct show *show)
{
	const struct filter *filter = show->filter;
	struct filter_flow_classes meant = {0};
	struct flow_classes kinds;
	int error;

	if (!filter->ns && !filter->from && !filter->to)
		return 0;
	error = flow_classes_list(&show->policy, 1, &kinds);
	if (!error)
		error = filter_flow_classes(filter, show->policy, 0, &kinds, &meant);
	if (!error) {
		show->from = filter->from ? segments_of(show, &kinds, meant.from) : NULL;
		show->to = filter->to ? segments_of(show, &kinds, meant.to) : NULL;
		show->either = filter->ns ? segments_of(show, &kinds, meant.either) : NULL;
		if ((filter->from && !show->from) || (filter->to && !show->to) ||
		    (filter->ns && !show->either))
			error = -ENOMEM;
	}
	filter_flow_classes_free(&meant);
	flow_classes_free(&kinds);
	return error;
}

static void unknown_object(const struct call *call)
{
	struct nearest nearest = {.word = call->n_operands ? call->operands[0] : ""};

	for (size_t i = 0; i < N_OBJECTS; i++)
		nearest_try(&nearest, objects[i].name);
	if (nearest.found)
		call_usage_error(call, "no `%s`; did you mean %s?", nearest.word, nearest.found);
	call_usage_error(call, "needs one of: %s", call->command->words);
}

static int run(struct call *call)
{
	struct show_request request = {0};
	struct emit emit;
	struct segment_index index = {0};
	struct show show = {.emit = &emit, .filter = &request.filter, .index = &index};
	struct view view;
	int status;
	size_t i = 0;

	call_options(call, &request);
	while (i < N_OBJECTS && (!call->n_operands || strcmp(call->operands[0], objects[i].name)))
		i++;
	if (i == N_OBJECTS)
		unknown_object(call);
	check_filter(call, &request.filter, i);
	call->operands++;
	call->n_operands--;
	if (objects[i].kernel && call->n_operands)
		call_usage_error(call, "%s are in the kernel only: leave INPUT", objects[i].name);
	status = view_open(&view, call, request.pin);
	if (status)
		return status;
	emit = emit_begin(call);
	show.view = &view;
	show.policy = view.policy;
	status = status_of(choose_segments(&show));
	if (!status && objects[i].index)
		status = status_of(segment_index_make(&index, view.policy));
	if (!status)
		status = objects[i].show(&show);
	emit_drop(&emit); /* after an error */
	free(show.from);
	free(show.to);
	free(show.either);
	segment_index_free(&index);
	view_close(&view);
	return status;
}

const struct command command_show = {
	.name = "show",
	.operands = "segments|endpoints|pairs|rules|generation|conntrack|counters|names [INPUT...]",
	.help = "print the compiled policy, or the connections, counters and learned names of the "
		"kernel",
	.words = "segments endpoints pairs rules generation conntrack counters names",
	.options = options,
	.run = run,
};
