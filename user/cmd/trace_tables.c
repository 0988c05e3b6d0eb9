/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/json_output.h"
#include "cmd/matcher.h"
#include "cmd/text_buffer.h"
#include "cmd/trace_tables.h"
#include "policy/isolation.h"

static const struct policy_segment *find(const struct view *view, const struct address *address,
					 uint32_t *variation)
{
	struct policy_segment segment;

	if (!view->source.resolve(view->source.places, address, &segment, variation))
		return NULL;
	return policy_segment_by_id(view->policy, segment.id);
}

static uint32_t verdict_at(const struct verdicts *verdicts, uint32_t point)
{
	size_t i = verdicts->n - 1;

	while (verdicts_at(verdicts, i)->start > point)
		i--;
	return verdicts_at(verdicts, i)->verdict;
}

static bool is_one_endpoint(const struct policy *policy, const struct flow *flow)
{
	const struct policy_address *from = policy_address_find(policy, &flow->source);
	const struct policy_address *to = policy_address_find(policy, &flow->destination);

	return from && to && from->endpoint == to->endpoint;
}

bool trace_tables_read(const struct view *view, const struct flow *flow, enum direction direction,
		       const struct decision *decision, struct trace_tables *tables)
{
	uint32_t variation = 0, unused, verdict;
	const struct policy_segment *from = find(view, &flow->source, &unused);
	const struct policy_segment *to = find(view, &flow->destination, &variation);

	if (from && to)
		from = policy_by_domain(view->policy, decision->name, from);
	*tables = (struct trace_tables){
		.policy = view->policy,
		.direction = direction,
		.subject = direction == INGRESS ? to : from,
		.peer = direction == INGRESS ? from : to,
	};
	if (!decision->subject || !tables->subject || !tables->peer)
		return true;
	tables->free = !(tables->subject->flags & BH_SEGMENT_POLICY(direction));
	if (variation)
		variation = view->source.resolution(view->source.data, to->id, variation);
	tables->verdicts =
		verdicts_of(view->policy, tables->subject, tables->peer, direction, variation);
	/* The tables do not hold directions that no policy isolates. */
	if (decision->own_node || is_one_endpoint(view->policy, flow))
		return true;
	verdict = verdict_at(&tables->verdicts, bh_point(flow->protocol, flow->port));
	return bh_verdict_allow(verdict) == decision->allow &&
	       policy_rule_of(view->policy, verdict) == decision->rule;
}

static struct decision decision_at(const struct trace_tables *tables, uint32_t verdict)
{
	struct decision decision = decision_of(tables->policy, verdict);

	decision_blame(&decision, tables->policy, tables->subject->id, tables->direction);
	return decision;
}

/* Shows a verdict with all ports that have it. */
static void emit_verdict(const struct trace_tables *tables, struct emit *emit, uint32_t verdict,
			 struct text *text)
{
	struct decision decision = decision_at(tables, verdict);
	const struct verdicts *verdicts = &tables->verdicts;
	struct json_object *ports = json_object_new_array();
	char words[DECISION_TEXT], why[DECISION_TEXT];

	for (size_t i = 0; i < verdicts->n; i++)
		if (verdicts_at(verdicts, i)->verdict == verdict)
			points_each(verdicts_at(verdicts, i)->start,
				    i + 1 < verdicts->n ? verdicts_at(verdicts, i + 1)->start
							: VERDICTS_END,
				    json_append_visit, ports);
	text_join(text, ports);
	decision_print(tables->policy, &decision, words, sizeof(words));
	decision_why(tables->policy, &decision, why, sizeof(why));
	emit_say(emit, "      %s%s%s: %s\n", words, *why ? ", " : "", why,
		 verdicts->n > 1 ? text->buffer->buf : "every port");
	emit_object(emit, NULL);
	emit_json(emit, "ports", ports);
	emit_decision(emit, "decision", tables->policy, &decision);
	emit_end(emit);
}

/* Shows each verdict, in the order of their first ports. */
static void emit_verdicts(const struct trace_tables *tables, struct emit *emit, struct text *text)
{
	const struct verdicts *verdicts = &tables->verdicts;

	for (size_t i = 0, k = 0; i < verdicts->n; i++, k = 0) {
		const uint32_t verdict = verdicts_at(verdicts, i)->verdict;

		while (verdicts_at(verdicts, k)->verdict != verdict)
			k++;
		if (k == i)
			emit_verdict(tables, emit, verdict, text);
	}
}

void trace_tables_emit(const struct trace_tables *tables, struct emit *emit, const char *key)
{
	const struct policy_segment *subject = tables->subject, *peer = tables->peer;
	const bool has_policy = subject && peer && !(subject->flags & BH_SEGMENT_EXTERNAL);
	const struct policy_range in = subject ? subject->in : (struct policy_range){0};
	struct text text = {printbuf_new()};

	emit_object(emit, key);
	emit_json(emit, "segment", subject ? json_object_new_uint64(subject->id) : NULL);
	emit_json(emit, "peer", peer ? json_object_new_uint64(peer->id) : NULL);
	emit_array(emit, "selected_by");
	if (has_policy)
		emit_say(emit, "    segment %u", subject->id);
	else if (!subject || !peer)
		emit_say(emit, "    an end is in no segment, and so isolated, until a policy knows "
			       "it\n");
	for (uint32_t i = 0; i < in.n; i++) {
		matcher_print(&text, tables->policy, tables->policy->numbers[in.at + i]);
		if (has_policy)
			emit_say(emit, "%s%s", i ? ", " : ", of ", text.buffer->buf);
		emit_text(emit, NULL, text.buffer->buf);
	}
	emit_end(emit);
	emit_bool(emit, "unrestricted", tables->free);
	if (has_policy)
		emit_say(emit, "; the other end is in segment %u\n", peer->id);
	if (has_policy && tables->free)
		emit_say(emit, "      no policy selects it in this direction: every port is "
			       "allowed\n");
	emit_array(emit, "says");
	if (has_policy && !tables->free)
		emit_verdicts(tables, emit, &text);
	emit_end(emit);
	emit_end(emit);
	printbuf_free(text.buffer);
}
