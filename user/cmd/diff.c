/* SPDX-License-Identifier: GPL-2.0-only */
/* `bulkhead diff`: the flows that one policy allows and another denies, and the rules that
 * decide. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/diff_report.h"
#include "cmd/filter.h"
#include "cmd/inputs.h"
#include "cmd/json_output.h"
#include "cmd/class_set.h"
#include "cmd/screen.h"
#include "cmd/view.h"
#include "policy/isolation.h"
#include "policy/verdicts.h"

static const char *const sides[] = {[OLD] = "old", [NEW] = "new"};

/* Returns "deny network-policy, isolated by shop/db"; NULL: no policy at that end decides. */
static const char *decision_text(const struct diff_report *report, enum side side,
				 const struct decision *decision, struct text *text)
{
	const struct policy *policy = report->diff.policy[side];
	char words[DECISION_TEXT];

	if (!decision->subject)
		return NULL;
	text_clear(text);
	text_add(text, decision_print(policy, decision, words, sizeof(words)));
	decision_why(policy, decision, words, sizeof(words));
	if (*words)
		text_add_listed(text, words);
	return text->buffer->buf;
}

static void emit_said(struct diff_report *report, enum side side, const struct diff_change *change,
		      enum direction direction, struct text *text)
{
	const char *name = direction_name(direction);
	const char *said = decision_text(report, side, &change->decisions[side][direction], text);

	emit_say(&report->emit, " %s %s", name, said ? said : "-");
	emit_text(&report->emit, name, said);
}

/* @before: the words before the change in a line of text. */
static void emit_change(struct diff_report *report, const struct diff_change *change,
			const char *before, struct text *text)
{
	const bool gains = diff_gains(change), all = !change->first && change->end == VERDICTS_END;
	struct json_object *ports = json_object_new_array();
	struct emit *emit = &report->emit;

	points_each(change->first, change->end, json_append_visit, ports);
	text_join(text, ports);
	emit_say(emit, "%s%s%s%s %s\n", before, paint_on(gains ? PAINT_GOOD : PAINT_BAD),
		 gains ? "gains" : "loses", paint_off(), all ? "all" : text->buffer->buf);
	emit_object(emit, NULL);
	emit_text(emit, "change", gains ? "gains" : "loses");
	emit_json(emit, "ports", ports);
	for (enum side side = OLD; side < SIDES; side++) {
		emit_object(emit, sides[side]);
		emit_say(emit, "    %s:", sides[side]);
		emit_said(report, side, change, EGRESS, text);
		emit_say(emit, ";");
		emit_said(report, side, change, INGRESS, text);
		emit_say(emit, "\n");
		emit_end(emit);
	}
	emit_end(emit);
}

static void emit_changes(struct diff_report *report, uint32_t list, const char *before,
			 struct text *text)
{
	struct diff_range range = report->diff.lists.at[list];

	emit_array(&report->emit, "changes");
	for (size_t i = 0; i < range.n; i++)
		emit_change(report, &report->diff.changes.at[range.at + i], before, text);
	emit_end(&report->emit);
}

/* Shows a block, in text as "FROM -> TO", on two lines if one line is too short. */
static void report_block(struct diff_report *report, const struct diff_block *block,
			 struct text *text)
{
	static const char own_node[] = ", each with its own node only";
	const struct diff *diff = &report->diff;
	const uint32_t *from = diff->sets.at + block->from.at, *to = diff->sets.at + block->to.at;
	struct emit *emit = &report->emit;
	size_t width = screen_width(), length;

	report->n++;
	class_set_print(report->set, text, from, block->from.n, width);
	emit_say(emit, "%s%s", paint_on(PAINT_BOLD), text->buffer->buf);
	length = printbuf_length(text->buffer);
	class_set_print(report->set, text, to, block->to.n, width);
	length += printbuf_length(text->buffer);
	emit_say(emit, "%s-> %s%s%s\n", length + 4 > (width ? width : 100) ? "\n  " : " ",
		 text->buffer->buf, paint_off(), block->own_node ? own_node : "");
	emit_object(emit, NULL);
	class_set_emit(emit, "from", &diff->kinds, from, block->from.n);
	class_set_emit(emit, "to", &diff->kinds, to, block->to.n);
	emit_bool(emit, "own_node", block->own_node);
	emit_changes(report, block->changes, "  ", text);
	emit_end(emit);
}

/* Returns the only IP version by which the ends can meet; NULL if that goes without saying. */
static const char *family_between(const struct flow_side *from, const struct flow_side *to)
{
	bool ipv4 = from->has[IPV4] && to->has[IPV4], ipv6 = from->has[IPV6] && to->has[IPV6];
	bool both = (from->has[IPV4] && from->has[IPV6]) || (to->has[IPV4] && to->has[IPV6]);

	if (ipv4 == ipv6 || !both)
		return NULL;
	return ipv4 ? "IPv4" : "IPv6";
}

static bool is_wanted(const struct filter *filter, const struct flow_class_member *from,
		      const struct flow_class_member *to)
{
	return (filter_in_namespace(filter->ns, &from->end) ||
		filter_in_namespace(filter->ns, &to->end)) &&
	       filter_matches(filter->from, &from->end) && filter_matches(filter->to, &to->end);
}

static void report_pods(struct diff_report *report, const struct diff_pair *pair,
			const struct flow_class_member *from, const struct flow_class_member *to,
			struct text *text)
{
	const char *family = family_between(&from->end, &to->end);
	struct emit *emit = &report->emit;
	char before[2400];

	report->n++;
	snprintf(before, sizeof(before), "%s -> %s%s%s ", from->end.name, to->end.name,
		 family ? " over " : "", family ? family : "");
	emit_object(emit, NULL);
	emit_text(emit, "from", from->end.name);
	emit_text(emit, "to", to->end.name);
	emit_text(emit, "family", family);
	emit_changes(report, pair->changes, before, text);
	emit_end(emit);
}

static bool shares_family(const struct flow_side *a, const struct flow_side *b)
{
	return (a->has[IPV4] && b->has[IPV4]) || (a->has[IPV6] && b->has[IPV6]);
}

static bool is_local_node(const struct flow_class_member *a, const struct flow_class_member *b)
{
	return a->is_node != b->is_node && *a->node[NEW] && !strcmp(a->node[NEW], b->node[NEW]);
}

/* Reports each member of one kind with each member of the other. */
static void report_pair(struct diff_report *report, const struct diff_pair *pair, struct text *text)
{
	const struct flow_class *a = &report->diff.kinds.at[pair->from];
	const struct flow_class *b = &report->diff.kinds.at[pair->to];

	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < b->n; k++) {
			const struct flow_class_member *from = &a->members[i], *to = &b->members[k];

			if (from != to && shares_family(&from->end, &to->end) &&
			    is_local_node(from, to) == pair->own_node &&
			    is_wanted(report->filter, from, to))
				report_pods(report, pair, from, to, text);
		}
}

static bool is_in(const struct flow_class_member *member, enum side side)
{
	return member->place[side].segment != FLOW_CLASS_ABSENT;
}

static void report_lone(struct diff_report *report, const char *change, const char *name)
{
	struct emit *emit = &report->emit;

	report->n++;
	emit_say(emit, "%s%s%s %s\n", paint_on(PAINT_WARN), change, paint_off(), name);
	emit_object(emit, NULL);
	emit_text(emit, "end", name);
	emit_text(emit, "change", change);
	emit_end(emit);
}

/* Reports the endpoints and nodes that only @side has. */
static void report_side(struct diff_report *report, enum side side, struct text *text)
{
	static const char *const words[] = {[OLD] = "removed", [NEW] = "added"};
	const struct flow_classes *kinds = &report->diff.kinds;
	const bool each = report->pods || report->emit.json;
	uint32_t *set = calloc(kinds->n + 1, sizeof(*set));
	size_t n = 0;

	for (size_t i = 0; i < kinds->n && set; i++) {
		const struct flow_class *kind = &kinds->at[i];

		if (is_in(kind->members, !side) || !is_in(kind->members, side) ||
		    (report->filter->ns && !report->meant.either[i]))
			continue;
		if (!each)
			set[n++] = i;
		for (size_t k = 0; k < kind->n && each; k++)
			report_lone(report, words[side], kind->members[k].end.name);
	}
	if (n) {
		class_set_print(report->set, text, set, n, screen_width());
		report_lone(report, words[side], text->buffer->buf);
	}
	free(set);
}

static void report_moves(struct diff_report *report)
{
	const struct flow_classes *kinds = &report->diff.kinds;
	char text[2400];

	for (size_t i = 0; i < kinds->n_members; i++) {
		const struct flow_class_member *member = &kinds->members[i];

		if (member->external || !*member->node[OLD] || !*member->node[NEW] ||
		    !strcmp(member->node[OLD], member->node[NEW]) ||
		    !filter_in_namespace(report->filter->ns, &member->end))
			continue;
		snprintf(text, sizeof(text), "%s from node %s to %s", member->end.name,
			 member->node[OLD], member->node[NEW]);
		report_lone(report, "moved", text);
	}
}

static void report_all(struct diff_report *report)
{
	const struct diff *diff = &report->diff;
	const struct filter *filter = report->filter;
	struct text text = {printbuf_new()};

	if (!filter->from && !filter->to) {
		report_side(report, NEW, &text);
		report_side(report, OLD, &text);
		report_moves(report);
	}
	diff_report_services(report, &text);
	for (size_t i = 0; i < diff->blocks.n && !report->pods; i++)
		report_block(report, &diff->blocks.at[i], &text);
	for (size_t i = 0; i < diff->pairs.n && report->pods; i++)
		report_pair(report, &diff->pairs.at[i], &text);
	printbuf_free(text.buffer);
}

static int compare(struct diff_report *report)
{
	const struct filter *filter = report->filter;
	struct diff *diff = &report->diff;
	uint32_t points[FILTER_PORTS];
	struct diff_filter look = {.points = points, .n_points = filter->n_ports};
	int error = flow_classes_list(diff->policy, SIDES, &diff->kinds);

	if (!error)
		error = filter_flow_classes(filter, diff->policy[NEW], NEW, &diff->kinds,
					    &report->meant);
	if (error)
		return error;
	for (size_t i = 0; i < filter->n_ports; i++)
		points[i] = bh_point(filter->ports[i].protocol, filter->ports[i].port);
	look.from = report->meant.from;
	look.to = report->meant.to;
	look.either = report->meant.either;
	report->set = class_set_open(&diff->kinds);
	return report->set ? diff_policies(&look, diff) : -ENOMEM;
}

struct diff_request {
	struct filter filter;
	const char *pin;
	bool pods;
};

static const struct command_option options[] = {
	FILTER_OPTIONS(struct diff_request, filter),
	{0, "pods", NULL, "report pairs of pods, not pairs of groups of equal pods",
	 OPTION_FLAG(struct diff_request, pods)},
	VIEW_PIN_OPTION(struct diff_request, pin),
	{0},
};

/* Opens the older policy: the first of two operands, or the active policy. Returns an exit
 * status. */
static int open_old(const struct call *call, const char *pin, struct view *view)
{
	struct call old = *call;

	old.n_operands = call->n_operands - 1;
	return view_open(view, &old, pin);
}

static int run(struct call *call)
{
	struct diff_request request = {0};
	struct diff_report report = {.filter = &request.filter};
	struct diag diag = command_diag();
	struct policy *new = NULL;
	struct inputs_base base;
	struct view old;
	int status;

	call_options(call, &request);
	report.pods = request.pods;
	if (call->n_operands != 1 && call->n_operands != 2)
		call_usage_error(call, "needs two inputs, OLD and NEW, or one, which it compares "
				       "with the active policy");
	status = open_old(call, request.pin, &old);
	if (status)
		return status;
	base = (struct inputs_base){old.policy, call->n_operands == 1 ? "active" : *call->operands};
	status = status_of(inputs_after(call->operands[call->n_operands - 1], &base, &diag, &new));
	report.diff.policy[OLD] = old.policy;
	report.diff.policy[NEW] = new;
	if (!status)
		status = status_of(compare(&report));
	if (!status) {
		report.emit = emit_begin(call);
		emit_array(&report.emit, NULL);
		report_all(&report);
		emit_end(&report.emit);
		status = report.n ? STATUS_NO : STATUS_OK;
	}
	filter_flow_classes_free(&report.meant);
	class_set_close(report.set);
	diff_free(&report.diff);
	policy_free(new);
	view_close(&old);
	return status;
}

const struct command command_diff = {
	.name = "diff",
	.operands = "[OLD] NEW",
	.help = "list the flows that OLD, or the active policy, and NEW evaluate differently, with "
		"the rules; status 1 if there are any",
	.options = options,
	.run = run,
};
