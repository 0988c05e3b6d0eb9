// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/explain_print.h"
#include "cmd/trace_name.h"
#include "policy/isolation.h"

static int find_patterns(struct name_trace *trace)
{
	const struct policy *policy = trace->view->policy;

	trace->patterns = calloc(policy->n_domains + 1, sizeof(*trace->patterns));
	if (!trace->patterns)
		return -ENOMEM;
	for (size_t i = 0; i < policy->n_domains; i = policy_domain_next(policy, i)) {
		const char *pattern = policy_string(policy, policy->domains[i].name);

		if (policy_domain_matches(pattern, trace->name))
			trace->patterns[trace->n_patterns++] = pattern;
	}
	return 0;
}

/* Evaluates the row's flow by the first name of @names that allows the flow. */
static void evaluate(const struct name_trace *trace, struct name_row *row, const char *const *names,
		     size_t n)
{
	const struct view *view = trace->view;
	size_t i = 0;

	do {
		row->flow.name = i < n ? names[i] : NULL;
		row->allow = evaluate_flow(&view->source, view->policy, &row->flow, &row->egress,
					   &row->ingress);
	} while (!row->egress.name && ++i < n);
	row->flow.name = row->egress.name;
}

static int add_row(struct name_trace *trace, const struct name_row *row)
{
	struct name_row *more = reallocarray(trace->rows, trace->n + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	trace->rows = more;
	more[trace->n++] = *row;
	return 0;
}

static bool alike(const struct name_row *a, const struct name_row *b)
{
	return !a->learned && a->allow == b->allow && a->egress.allow == b->egress.allow &&
	       a->egress.tier == b->egress.tier && a->egress.rule == b->egress.rule &&
	       a->egress.name == b->egress.name && a->egress.audit == b->egress.audit;
}

/* Adds a prefix to the row of those that are evaluated alike. */
static int add_prefix(struct name_trace *trace, const char *text, const struct name_row *row)
{
	for (size_t i = trace->n_learned; i < trace->n; i++) {
		struct name_row *other = &trace->rows[i];
		const size_t length = strlen(other->to);

		if (!alike(other, row))
			continue;
		if (!strstr(other->to, text))
			snprintf(other->to + length, sizeof(other->to) - length, ", %s", text);
		return 0;
	}
	return add_row(trace, row);
}

/* Evaluates an address of each prefix, the widest first. */
static int add_prefixes(struct name_trace *trace)
{
	const struct policy *policy = trace->view->policy;
	int error = 0;

	for (size_t i = 0; i < policy->n_prefixes && !error; i++) {
		const struct flow_side side = side_of_prefix(policy, &policy->prefixes[i]);
		char text[ADDRESS_TEXT];

		prefix_name(&policy->prefixes[i], text);
		for (enum family family = IPV4; family < FAMILIES && !error; family++) {
			struct name_row row = {.flow = trace->flow};

			if (!side.has[family] || !trace->from->has[family])
				continue;
			row.flow.source = trace->from->address[family];
			row.flow.destination = side.address[family];
			snprintf(row.to, sizeof(row.to), "%s", text);
			evaluate(trace, &row, trace->patterns, trace->n_patterns);
			error = add_prefix(trace, text, &row);
		}
	}
	return error;
}

/* The walk over what endpoints have learned. */
struct lookup {
	struct name_trace *trace;
	uint32_t ifindex;
};

static bool is_pattern(const struct name_trace *trace, const char *name)
{
	for (size_t i = 0; i < trace->n_patterns; i++)
		if (!strcmp(trace->patterns[i], name))
			return true;
	return false;
}

static int add_learned(void *data, const void *key, const void *value)
{
	const struct lookup *lookup = data;
	struct name_trace *trace = lookup->trace;
	const struct bh_learned_key *at = key;
	struct name_row row = {.learned = true, .flow = trace->flow, .seconds = -1};
	struct view_name names[BH_LEARNED_NAMES];
	const char *living[BH_LEARNED_NAMES];
	size_t n, n_living = 0;
	bool matches = false;
	enum family family;

	(void)value;
	if (at->ifindex != lookup->ifindex)
		return 0;
	memcpy(&row.flow.destination, &at->addr, sizeof(row.flow.destination));
	family = address_is_ipv4(&row.flow.destination) ? IPV4 : IPV6;
	/* any address of the endpoint finds what it has learned */
	row.flow.source = trace->from->address[trace->from->first];
	n = view_names(trace->view, &row.flow, names);
	for (size_t i = 0; i < n; i++) {
		if (!is_pattern(trace, names[i].text))
			continue;
		matches = true;
		if (names[i].seconds >= 0)
			living[n_living++] = names[i].text;
		if (names[i].seconds > row.seconds)
			row.seconds = names[i].seconds;
	}
	if (!matches || !trace->from->has[family])
		return 0;
	row.flow.source = trace->from->address[family];
	address_print(&row.flow.destination, row.to);
	evaluate(trace, &row, living, n_living);
	return add_row(trace, &row);
}

static int find_learned(struct name_trace *trace)
{
	const struct view *view = trace->view;
	struct lookup lookup = {.trace = trace};
	int error;

	if (!view->live)
		return 0;
	lookup.ifindex = live_ifindex(view->live, &trace->from->address[trace->from->first]);
	trace->remote = !lookup.ifindex;
	if (trace->remote)
		return 0;
	error = live_each(view->live, "learned", add_learned, &lookup);
	trace->n_learned = trace->n;
	return error;
}

static enum service_outcome outcome_of(const struct name_trace *trace)
{
	size_t n[2] = {0, 0}, first = 0, end = trace->n_learned;

	for (int again = 0; again < 2 && !n[0] && !n[1]; again++) {
		for (size_t i = first; i < end; i++)
			if (!trace->rows[i].learned || trace->rows[i].seconds >= 0)
				n[trace->rows[i].allow]++;
		first = trace->n_learned;
		end = trace->n;
	}
	return n[0] && n[1] ? SERVICE_DEPENDS : n[1] ? SERVICE_ALLOWED : SERVICE_DENIED;
}

int name_trace_ask(struct name_trace *trace, const struct flow_side *to)
{
	int error;

	name_syntax_fold_domain_name(to->domain, trace->name);
	error = find_patterns(trace);
	if (!error)
		error = find_learned(trace);
	if (!error)
		error = add_prefixes(trace);
	trace->outcome = outcome_of(trace);
	return error;
}

void name_trace_free(struct name_trace *trace)
{
	free(trace->patterns);
	free(trace->rows);
}

/* Returns what the operator should know of the name; NULL: nothing. */
static const char *note(const struct name_trace *trace)
{
	if (!trace->n_patterns)
		return "no rule has a name for it";
	if (trace->remote)
		return "the source is not on this node: its own node has what it learned";
	if (trace->view->live && !trace->n_learned)
		return "the source has learned no address by it: it must ask a resolver of "
		       "`show names` first";
	return NULL;
}

static void emit_row(const struct name_trace *trace, const struct name_row *row, bool explain,
		     struct emit *emit)
{
	const char *verdict = verdict_name(row->allow);

	emit_object(emit, NULL);
	emit_text(emit, "to", row->to);
	emit_text(emit, "verdict", verdict);
	emit_bool(emit, "learned", row->learned);
	if (row->learned)
		emit_seconds(emit, row->seconds);
	if (!row->learned)
		emit_say(emit, "  %s to an address of %s\n", verdict, row->to);
	else if (row->seconds < 0)
		emit_say(emit,
			 "  %s %s, learned, and its time is over: the source must ask again\n",
			 verdict, row->to);
	else
		emit_say(emit, "  %s %s, learned, for %d s still\n", verdict, row->to,
			 row->seconds);
	explain_emit_side(emit, trace->view, &row->flow, EGRESS, &row->egress, explain);
	if (row->ingress.subject || emit->json)
		explain_emit_side(emit, trace->view, &row->flow, INGRESS, &row->ingress, explain);
	if (explain && emit->json) {
		explain_emit_flow(emit, "egress_chain", trace->view, &row->flow, EGRESS);
		explain_emit_flow(emit, "ingress_chain", trace->view, &row->flow, INGRESS);
	}
	emit_end(emit);
}

void name_trace_emit(const struct name_trace *trace, bool explain, struct emit *emit)
{
	char port[FLOW_TEXT];

	port_print(&trace->flow, port);
	emit_say(emit, "%s %s -> name %s %s\n", service_outcome_text(trace->outcome),
		 trace->from->name, trace->name, port);
	if (note(trace))
		emit_say(emit, "  %s\n", note(trace));
	emit_object(emit, NULL);
	emit_text(emit, "verdict", service_outcome_text(trace->outcome));
	emit_text(emit, "source", trace->from->name);
	emit_text(emit, "domain_name", trace->name);
	emit_text(emit, "port", port);
	emit_text(emit, "why", note(trace));
	emit_array(emit, "rule_names");
	for (size_t i = 0; i < trace->n_patterns; i++)
		emit_text(emit, NULL, trace->patterns[i]);
	emit_end(emit);
	emit_array(emit, "addresses");
	for (size_t i = 0; i < trace->n; i++)
		emit_row(trace, &trace->rows[i], explain, emit);
	emit_end(emit);
	emit_end(emit);
}

void name_trace_line(const struct name_trace *trace)
{
	char text[2][DECISION_TEXT];

	printf("%s\tname %s", service_outcome_text(trace->outcome), trace->name);
	for (size_t i = 0; i < trace->n; i++) {
		const struct name_row *row = &trace->rows[i];

		printf("\t%s %s\t%s\t%s", row->to, verdict_name(row->allow),
		       decision_print(trace->view->policy, &row->egress, text[0], DECISION_TEXT),
		       decision_print(trace->view->policy, &row->ingress, text[1], DECISION_TEXT));
	}
	putchar('\n');
}

bool name_trace_agrees(const struct name_trace *trace)
{
	bool agrees = true;

	for (size_t i = 0; i < trace->n; i++)
		agrees &= explain_both_agree(trace->view, &trace->rows[i].flow,
					     &trace->rows[i].egress, &trace->rows[i].ingress);
	return agrees;
}
