/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>

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

/* Calls @visit with all ports of each verdict. The verdicts come in the order of their first
 * ports. */
static void each_verdict(const struct trace_tables *tables,
			 void (*visit)(const struct trace_tables *tables, uint32_t verdict,
				       struct json_object *ports, void *data),
			 void *data)
{
	const struct verdicts *verdicts = &tables->verdicts;

	for (size_t i = 0; i < verdicts->n; i++) {
		uint32_t verdict = verdicts_at(verdicts, i)->verdict;
		struct json_object *ports;
		size_t k = 0;

		while (verdicts_at(verdicts, k)->verdict != verdict)
			k++;
		if (k < i)
			continue;
		ports = json_object_new_array();
		for (; k < verdicts->n; k++)
			if (verdicts_at(verdicts, k)->verdict == verdict)
				points_each(verdicts_at(verdicts, k)->start,
					    k + 1 < verdicts->n
						    ? verdicts_at(verdicts, k + 1)->start
						    : VERDICTS_END,
					    json_append_visit, ports);
		visit(tables, verdict, ports, data);
	}
}

static void print_verdict(const struct trace_tables *tables, uint32_t verdict,
			  struct json_object *ports, void *data)
{
	struct decision decision = decision_at(tables, verdict);
	char words[DECISION_TEXT], why[DECISION_TEXT];
	struct text *text = data;

	text_join(text, ports);
	json_object_put(ports);
	decision_print(tables->policy, &decision, words, sizeof(words));
	decision_why(tables->policy, &decision, why, sizeof(why));
	printf("      %s%s%s: %s\n", words, *why ? ", " : "", why,
	       tables->verdicts.n > 1 ? text->buffer->buf : "every port");
}

static void print_segment(const struct trace_tables *tables, struct text *text)
{
	const struct policy_segment *subject = tables->subject;

	printf("    segment %u", subject->id);
	for (uint32_t i = 0; i < subject->in.n; i++) {
		matcher_print(text, tables->policy, tables->policy->numbers[subject->in.at + i]);
		printf("%s%s", i ? ", " : ", of ", text->buffer->buf);
	}
	printf("; the other end is in segment %u\n", tables->peer->id);
}

void trace_tables_print(const struct trace_tables *tables)
{
	struct text text;

	if (!tables->subject || !tables->peer) {
		puts("    an end is in no segment, and so isolated, until a policy knows it");
		return;
	}
	if (tables->subject->flags & BH_SEGMENT_EXTERNAL)
		return;
	text.buffer = printbuf_new();
	print_segment(tables, &text);
	if (tables->free)
		puts("      no policy selects it in this direction: every port is allowed");
	else
		each_verdict(tables, print_verdict, &text);
	printbuf_free(text.buffer);
}

static void add_verdict(const struct trace_tables *tables, uint32_t verdict,
			struct json_object *ports, void *data)
{
	struct decision decision = decision_at(tables, verdict);
	struct json_object *entry = json_object_new_object();

	json_add(entry, "ports", ports);
	json_add_decision(entry, "decision", tables->policy, &decision);
	json_object_array_add(data, entry);
}

struct json_object *trace_tables_json(const struct trace_tables *tables)
{
	struct json_object *object = json_object_new_object();
	const struct policy_segment *subject = tables->subject;
	struct policy_range in = subject ? subject->in : (struct policy_range){0};
	struct json_object *ports = json_object_new_array();
	struct text text = {printbuf_new()};

	if (subject && tables->peer && !(subject->flags & BH_SEGMENT_EXTERNAL) && !tables->free)
		each_verdict(tables, add_verdict, ports);
	json_add(object, "segment", subject ? json_object_new_uint64(subject->id) : NULL);
	json_add(object, "peer", tables->peer ? json_object_new_uint64(tables->peer->id) : NULL);
	json_add(object, "selected_by", matchers_json(tables->policy, in, &text));
	json_add_bool(object, "unrestricted", tables->free);
	json_add(object, "says", ports);
	printbuf_free(text.buffer);
	return object;
}
