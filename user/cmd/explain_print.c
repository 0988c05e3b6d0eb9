/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>

#include "cmd/explain_print.h"
#include "cmd/text_buffer.h"
#include "policy/isolation.h"

/* A longer run of like steps without effect is printed as a number. */
#define FEW 4

static bool is_nothing(const struct explain_step *step)
{
	/* A NetworkPolicy's step without a rule says whether the policy selects the endpoint. It
	 * is always printed. */
	if (!step->rule)
		return step->outcome == EXPLAIN_NOT_SELECTED && step->tier != TIER_NETWORK_POLICY;
	return step->outcome == EXPLAIN_NO_PEER || step->outcome == EXPLAIN_NO_PORT;
}

/* Returns how many steps from @i on are printed as one. */
static size_t run_length(const struct explanation *explanation, size_t i)
{
	const struct explain_step *first = &explanation->steps[i];
	size_t n = 1;

	while (is_nothing(first) && i + n < explanation->n_steps) {
		const struct explain_step *step = first + n;

		if (step->outcome != first->outcome || step->tier != first->tier ||
		    !step->rule != !first->rule || (step->rule && step->policy != first->policy))
			break;
		n++;
	}
	return n > FEW ? n : 1;
}

static const char *rule_of(const struct explain_step *step, enum direction direction,
			   char text[RULE_NAME_TEXT])
{
	return rule_label(step->rule->name, direction, step->rule->index, text);
}

static bool has_priority(const struct policy_object *policy)
{
	return policy->kind == POLICY_ADMIN || policy->kind == POLICY_CLUSTER;
}

static void print_rule(const struct explain_step *step, enum direction direction, size_t n)
{
	char label[RULE_NAME_TEXT], name[DECISION_TEXT];

	if (n > 1)
		snprintf(name, sizeof(name), "%zu rules", n);
	else
		name_print(rule_of(step, direction, label), name, sizeof(name));
	printf("      %-24s  %s", name, explain_outcome_text(step->outcome));
	if (n == 1 && is_nothing(step) && step->rule->where.line) {
		fputs(" (", stdout);
		diag_print_text(stdout, step->rule->where.file);
		printf(":%u)", step->rule->where.line);
	}
	putchar('\n');
}

static void print_policy(const struct explain_step *step, size_t n)
{
	const struct policy_object *policy = step->policy;

	printf("    %-14s  ", tier_name(step->tier));
	if (n > 1) {
		printf("%zu policies do not select\n", n);
		return;
	}
	if (policy && has_priority(policy))
		printf("%s (priority %d): ", policy->name, policy->priority);
	else if (policy)
		printf("%s%s%s: ", policy->ns_name ? policy->ns_name : "",
		       policy->ns_name ? "/" : "", policy->name);
	printf("%s\n", explain_outcome_text(step->outcome));
}

void explain_print(const struct explanation *explanation)
{
	size_t n;

	for (size_t i = 0; i < explanation->n_steps; i += n) {
		n = run_length(explanation, i);
		if (explanation->steps[i].rule)
			print_rule(&explanation->steps[i], explanation->direction, n);
		else
			print_policy(&explanation->steps[i], n);
	}
}

static void emit_step(struct emit *emit, const struct explain_step *step, enum direction direction,
		      struct text *text)
{
	const struct policy_object *policy = step->policy;
	const struct where *where = step->rule ? &step->rule->where
				    : policy   ? &policy->where
					       : NULL;
	char label[RULE_NAME_TEXT];

	text_clear(text);
	if (policy && policy->ns_name) {
		text_add(text, policy->ns_name);
		text_add(text, "/");
	}
	if (policy)
		text_add(text, policy->name);
	emit_object(emit, NULL);
	emit_text(emit, "tier", tier_name(step->tier));
	emit_text(emit, "policy", policy ? text->buffer->buf : NULL);
	emit_text(emit, "rule", step->rule ? rule_of(step, direction, label) : NULL);
	emit_text(emit, "says", explain_outcome_text(step->outcome));
	emit_text(emit, "file", where ? where->file : NULL);
	emit_json(emit, "line", where ? json_object_new_uint64(where->line) : NULL);
	emit_end(emit);
}

void explain_emit(struct emit *emit, const char *key, const struct explanation *explanation)
{
	struct text text = {printbuf_new()};

	emit_array(emit, key);
	for (size_t i = 0; i < explanation->n_steps && emit->json; i++)
		emit_step(emit, &explanation->steps[i], explanation->direction, &text);
	emit_end(emit);
	printbuf_free(text.buffer);
}

void explain_emit_side(struct emit *emit, const struct view *view, const struct flow *flow,
		       enum direction direction, const struct decision *decision, bool explain)
{
	struct explanation chain;
	char text[DECISION_TEXT], why[DECISION_TEXT];

	emit_decision(emit, direction_name(direction), view->policy, decision);
	decision_why(view->policy, decision, why, sizeof(why));
	emit_say(emit, "    %-8s %s%s%s\n", direction_name(direction),
		 decision_print(view->policy, decision, text, sizeof(text)), *why ? ": " : "", why);
	if (!explain || emit->json)
		return;
	view_explain(view, flow, direction, &chain);
	explain_print(&chain);
	explanation_free(&chain);
}

void explain_emit_flow(struct emit *emit, const char *key, const struct view *view,
		       const struct flow *flow, enum direction direction)
{
	struct explanation chain;

	view_explain(view, flow, direction, &chain);
	explain_emit(emit, key, &chain);
	explanation_free(&chain);
}

bool explain_both_agree(const struct view *view, const struct flow *flow,
			const struct decision *egress, const struct decision *ingress)
{
	bool agrees = true;

	for (enum direction d = INGRESS; d <= EGRESS; d++) {
		struct explanation chain;

		view_explain(view, flow, d, &chain);
		agrees &= explain_agrees(&chain, view->policy, d == EGRESS ? egress : ingress);
		explanation_free(&chain);
	}
	return agrees;
}
