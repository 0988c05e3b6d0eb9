/* SPDX-License-Identifier: GPL-2.0-only */
/* `bulkhead trace`: the verdict on one flow, or on many, and the rules that decide. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/emit.h"
#include "cmd/explain_print.h"
#include "cmd/filter.h"
#include "cmd/side.h"
#include "cmd/trace_name.h"
#include "cmd/trace_service.h"
#include "cmd/trace_tables.h"
#include "cmd/view.h"
#include "policy/isolation.h"

struct answer {
	struct flow_side from, to;
	struct flow flow;
	bool allow;
	struct decision decisions[2]; /* by direction */
	bool explained;
	/* by direction; without steps where trace was not asked to explain */
	struct explanation chains[2];
	bool by_tables; /* the compiled tables explain the decision: use `tables`, not `chains` */
	struct trace_tables tables[2];
	bool to_service; /* the answer is in `service`, not in `decisions` */
	struct service_verdict service;
	bool to_name; /* the answer is in `name`, not in `decisions` */
	struct name_trace name;
	struct view_name names[BH_LEARNED_NAMES]; /* by which the source has learned the address */
	size_t n_names;
};

static void free_answer(struct answer *answer)
{
	explanation_free(&answer->chains[EGRESS]);
	explanation_free(&answer->chains[INGRESS]);
	service_verdict_free(&answer->service);
	name_trace_free(&answer->name);
}

static struct service_trace service_trace_of(const struct view *view, const struct answer *answer)
{
	return (struct service_trace){.view = view,
				      .from = &answer->from,
				      .to = &answer->to,
				      .flow = &answer->flow,
				      .verdict = &answer->service,
				      .explain = answer->explained};
}

/* Evaluates a flow to a domain name. Returns 0, or -EINVAL with the reason in @why. */
static int ask_name(const struct view *view, struct answer *answer, char why[FLOW_TEXT])
{
	int error;

	answer->to_name = true;
	answer->name =
		(struct name_trace){.view = view, .from = &answer->from, .flow = answer->flow};
	error = name_trace_ask(&answer->name, &answer->to);
	answer->allow = answer->name.outcome == SERVICE_ALLOWED;
	if (!error)
		return 0;
	snprintf(why, FLOW_TEXT, "cannot read what endpoints have learned: %s", strerror(-error));
	return -EINVAL;
}

/* Evaluates by the address, and if that is denied by each name that the source has learned. */
static void evaluate_by_names(const struct view *view, struct answer *answer)
{
	size_t i = 0;

	answer->n_names = view_names(view, &answer->flow, answer->names);
	do {
		const bool counts = i < answer->n_names && answer->names[i].seconds >= 0;

		answer->flow.name = counts ? answer->names[i].text : NULL;
		answer->allow =
			evaluate_flow(&view->source, view->policy, &answer->flow,
				      &answer->decisions[EGRESS], &answer->decisions[INGRESS]);
	} while (!answer->decisions[EGRESS].name && ++i < answer->n_names);
	answer->flow.name = answer->decisions[EGRESS].name;
}

/* Parses the ends and evaluates the flow. Returns 0, or -EINVAL with the reason in @why. */
static int ask(const struct view *view, const char *from, const char *to, const char *port,
	       struct answer *answer, char why[FLOW_TEXT])
{
	*answer = (struct answer){0};
	if (end_parse(view->policy, from, &answer->from, why) ||
	    end_parse(view->policy, to, &answer->to, why) || port_parse(port, &answer->flow, why))
		return -EINVAL;
	if (answer->from.service || answer->from.domain) {
		snprintf(why, FLOW_TEXT, "%.200s: a %s is no source of flows", from,
			 answer->from.service ? "Service" : "domain name");
		return -EINVAL;
	}
	if (answer->to.domain)
		return ask_name(view, answer, why);
	if (!flow_between(&answer->from, &answer->to, &answer->flow)) {
		snprintf(why, FLOW_TEXT, "%.90s and %.90s have no address family in common", from,
			 to);
		return -EINVAL;
	}
	answer->to_service = service_trace_ask(view, &answer->to, &answer->flow, &answer->service);
	if (answer->to_service) {
		answer->allow = answer->service.outcome == SERVICE_ALLOWED;
		return 0;
	}
	evaluate_by_names(view, answer);
	return 0;
}

static void say_decision(struct emit *emit, const struct view *view, const struct answer *answer,
			 enum direction direction)
{
	const struct decision *decision = &answer->decisions[direction];
	char text[DECISION_TEXT], why[DECISION_TEXT];

	if (emit->json)
		return;
	decision_print(view->policy, decision, text, sizeof(text));
	decision_why(view->policy, decision, why, sizeof(why));
	emit_say(emit, "  %-8s %s%s%s\n", direction_name(direction), text, *why ? ": " : "", why);
	explain_print(&answer->chains[direction]);
	if (answer->by_tables && decision->subject)
		trace_tables_emit(&answer->tables[direction], emit, NULL);
}

static void emit_learned(struct emit *emit, const struct answer *answer)
{
	if (!answer->n_names)
		return;
	emit_array(emit, "learned_names");
	for (size_t i = 0; i < answer->n_names; i++) {
		const struct view_name *name = &answer->names[i];

		emit_say(emit, "  learned  by the name %s, ", name->text);
		if (name->seconds < 0)
			emit_say(emit, "and its time is over: the source must ask again\n");
		else
			emit_say(emit, "for %d s still\n", name->seconds);
		emit_object(emit, NULL);
		emit_text(emit, "name", name->text);
		emit_seconds(emit, name->seconds);
		emit_end(emit);
	}
	emit_end(emit);
}

/* Adds the chains and tables to JSON. Text has them beside the decisions. */
static void emit_explained(struct emit *emit, const struct answer *answer)
{
	if (answer->explained) {
		explain_emit(emit, "egress_chain", &answer->chains[EGRESS]);
		explain_emit(emit, "ingress_chain", &answer->chains[INGRESS]);
	}
	if (answer->by_tables && emit->json) {
		trace_tables_emit(&answer->tables[EGRESS], emit, "egress_tables");
		trace_tables_emit(&answer->tables[INGRESS], emit, "ingress_tables");
	}
}

static void emit_answer(struct emit *emit, const struct view *view, const struct answer *answer)
{
	char source[ADDRESS_TEXT], destination[ADDRESS_TEXT], port[FLOW_TEXT];
	struct service_trace to_service = service_trace_of(view, answer);

	if (answer->to_service)
		return service_trace_emit(&to_service, emit);
	if (answer->to_name)
		return name_trace_emit(&answer->name, answer->explained, emit);
	address_print(&answer->flow.source, source);
	address_print(&answer->flow.destination, destination);
	port_print(&answer->flow, port);
	emit_say(emit, "%s %s (%s) -> %s (%s) %s\n", verdict_name(answer->allow), answer->from.name,
		 source, answer->to.name, destination, port);
	emit_object(emit, NULL);
	emit_text(emit, "verdict", verdict_name(answer->allow));
	emit_side(emit, "source", answer->from.name, source, answer->from.host);
	emit_side(emit, "destination", answer->to.name, destination, answer->to.host);
	emit_text(emit, "port", port);
	say_decision(emit, view, answer, EGRESS);
	say_decision(emit, view, answer, INGRESS);
	emit_decision(emit, "egress", view->policy, &answer->decisions[EGRESS]);
	emit_decision(emit, "ingress", view->policy, &answer->decisions[INGRESS]);
	emit_learned(emit, answer);
	emit_explained(emit, answer);
	emit_end(emit);
}

static int disagreement(const char *rules)
{
	command_error("internal disagreement: the %s rules do not come to the compiled decision. "
		      "That is a defect of bulkhead; please report it",
		      rules);
	return STATUS_INPUT;
}

/* Explains each end's policy at every port, by the compiled tables. */
static int explain_by_tables(const struct view *view, struct answer *answer)
{
	int status = STATUS_OK;

	answer->by_tables = true;
	for (enum direction direction = INGRESS; direction <= EGRESS; direction++)
		if (!trace_tables_read(view, &answer->flow, direction,
				       &answer->decisions[direction], &answer->tables[direction]))
			status = disagreement(direction_name(direction));
	return status;
}

static int explain_both(const struct view *view, struct answer *answer)
{
	int status = STATUS_OK;

	for (enum direction direction = INGRESS; direction <= EGRESS; direction++) {
		view_explain(view, &answer->flow, direction, &answer->chains[direction]);
		if (!explain_agrees(&answer->chains[direction], view->policy,
				    &answer->decisions[direction]))
			status = disagreement(direction_name(direction));
	}
	return status;
}

/* Explains both ends. Returns an exit status: STATUS_KERNEL if the rules disagree with the
 * compiled policy. */
static int explain_answer(struct view *view, struct answer *answer)
{
	int status = STATUS_OK;

	if (!view->cluster && view_select(view)) {
		command_error("-v: the policies cannot be read again from the compiled policy");
		return STATUS_OK;
	}
	if (answer->to_service) {
		struct service_trace to_service = service_trace_of(view, answer);

		answer->explained = true;
		return service_trace_agrees(&to_service) ? STATUS_OK : disagreement("backends'");
	}
	if (answer->to_name) {
		answer->explained = true;
		return name_trace_agrees(&answer->name) ? STATUS_OK : disagreement("names'");
	}
	if (view->selection)
		status = explain_by_tables(view, answer);
	/* the tables have all that is known of an end in no segment */
	if (status ||
	    (view->selection && (!selection_knows(view->selection, &answer->flow.source) ||
				 !selection_knows(view->selection, &answer->flow.destination))))
		return status;
	answer->explained = true;
	return explain_both(view, answer);
}

static void note_host(const struct flow_side *side)
{
	if (side->host)
		command_error("%s has its node's network: it is answered as the node %s",
			      side->name, side->host);
}

static int trace_one(const struct call *call, struct view *view, const char *from, const char *to,
		     const char *port, bool verbose)
{
	struct emit emit = emit_begin(call);
	int status = STATUS_OK;
	struct answer answer;
	char why[FLOW_TEXT];

	if (ask(view, from, to, port, &answer, why)) {
		command_error("%s", why);
		return STATUS_INPUT;
	}
	note_host(&answer.from);
	note_host(&answer.to);
	filter_note_number(port);
	if (verbose)
		status = explain_answer(view, &answer);
	emit_answer(&emit, view, &answer);
	free_answer(&answer);
	if (status)
		return status;
	return answer.allow ? STATUS_OK : STATUS_NO;
}

static int ask_line(const struct view *view, char *line, size_t length, struct answer *answer,
		    char why[FLOW_TEXT])
{
	static const char blank[] = " \t\r\n";
	char *rest, *words[4];

	if (strlen(line) != length) {
		snprintf(why, FLOW_TEXT, "the line holds a NUL byte");
		return -EINVAL;
	}
	words[0] = strtok_r(line, blank, &rest);
	for (int i = 1; i < 4; i++)
		words[i] = words[i - 1] ? strtok_r(NULL, blank, &rest) : NULL;
	if (!words[2] || words[3]) {
		snprintf(why, FLOW_TEXT, "not SRC DST PROTO/PORT");
		return -EINVAL;
	}
	return ask(view, words[0], words[1], words[2], answer, why);
}

/* Adds the answer to JSON, or prints it as a line of text. */
static void emit_line(struct emit *emit, const struct view *view, const struct answer *answer)
{
	struct service_trace to_service = service_trace_of(view, answer);
	char text[2][DECISION_TEXT];

	if (emit->json)
		return emit_answer(emit, view, answer);
	if (answer->to_service)
		return service_trace_line(&to_service);
	if (answer->to_name)
		return name_trace_line(&answer->name);
	printf("%s\t%s\t%s\n", verdict_name(answer->allow),
	       decision_print(view->policy, &answer->decisions[EGRESS], text[0], DECISION_TEXT),
	       decision_print(view->policy, &answer->decisions[INGRESS], text[1], DECISION_TEXT));
}

static void emit_error(struct emit *emit, const char *why)
{
	emit_say(emit, "error\t%s\n", why);
	emit_object(emit, NULL);
	emit_text(emit, "error", why);
	emit_end(emit);
}

static int trace_lines(const struct call *call, const struct view *view, FILE *file,
		       const char *path)
{
	struct emit emit = emit_begin(call);
	int status = STATUS_OK;
	struct answer answer;
	char why[FLOW_TEXT];
	char *line = NULL;
	ssize_t length;
	size_t size = 0;
	bool first = true;

	emit_array(&emit, NULL);
	while ((length = getline(&line, &size, file)) != -1) {
		/* an editor's byte order mark is no part of the first name */
		size_t mark = first && !strncmp(line, "\xef\xbb\xbf", 3) ? 3 : 0;

		first = false;
		if (ask_line(view, line + mark, length - mark, &answer, why)) {
			status = STATUS_INPUT;
			emit_error(&emit, why);
		} else {
			emit_line(&emit, view, &answer);
			free_answer(&answer);
		}
	}
	if (ferror(file)) {
		command_error("%s: %s", path, strerror(errno));
		status = STATUS_INPUT;
	}
	free(line);
	emit_end(&emit);
	return status;
}

static int trace_batch(const struct call *call, const struct view *view, const char *path)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	int status;

	if (!file) {
		command_error("%s: %s", path, strerror(errno));
		return STATUS_INPUT;
	}
	status = trace_lines(call, view, file, path);
	if (file != stdin)
		fclose(file);
	return status;
}

/* The flow, or the file of flows, that the options name. */
struct question {
	const char *from, *to, *port, *batch, *pin;
	bool verbose;
};

static const struct command_option options[] = {
	{'f', "from", "SRC", "namespace/pod or an address", OPTION_TEXT(struct question, from)},
	{'t', "to", "DST", "namespace/pod, svc:namespace/name, name:api.example.com or an address",
	 OPTION_TEXT(struct question, to)},
	{'P', "port", "PORT", "TCP/80, UDP/53, SCTP/9; ICMP, ICMPv6 or a protocol's number",
	 OPTION_TEXT(struct question, port)},
	{'b', "batch", "FILE", "evaluate many flows: lines of SRC DST PORT; - is standard input",
	 OPTION_TEXT(struct question, batch)},
	{'v', "verbose", NULL,
	 "explain each policy and rule; from maps and compiled files, each port as well",
	 OPTION_FLAG(struct question, verbose)},
	VIEW_PIN_OPTION(struct question, pin),
	{0},
};

static int trace(const struct call *call, const struct question *question)
{
	struct view view;
	int status = view_open(&view, call, question->pin);

	if (status)
		return status;
	if (question->batch)
		status = trace_batch(call, &view, question->batch);
	else
		status = trace_one(call, &view, question->from, question->to, question->port,
				   question->verbose);
	view_close(&view);
	return status;
}

static int run(struct call *call)
{
	struct question question = {0};

	call_options(call, &question);
	if (question.batch ? question.from || question.to || question.port || question.verbose
			   : !question.from || !question.to || !question.port)
		call_usage_error(call, "needs --from, --to and --port, or --batch");
	if (question.batch && !strcmp(question.batch, "-") && call_reads_stdin(call))
		call_usage_error(call, "--batch -: standard input has the INPUT; give a file");
	return trace(call, &question);
}

const struct command command_trace = {
	.name = "trace",
	.operands = "[INPUT...]",
	.help = "print the verdict on a flow, and the rules that decide it",
	.options = options,
	.run = run,
};
