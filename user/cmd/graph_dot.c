// SPDX-License-Identifier: GPL-2.0-only
/* Writes a graph in the language of graphviz's dot. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/side.h"
#include "cmd/graph.h"
#include "cmd/text_buffer.h"
#include "cmd/matcher.h"
#include "policy/verdicts.h"
#include "maps/segment.h"

#define LABEL_MATCHERS 4 /* listed on a node; further matchers are counted */
#define LABEL_PORTS 6 /* ports listed on an edge */

struct drawing {
	FILE *to;
	const struct policy *policy;
	const struct flow_classes *kinds;
	const struct policy_service *service; /* the last Service that has a node */
	struct text text;
};

static void put_matchers(struct drawing *drawing, const struct policy_segment *segment)
{
	const struct policy *policy = drawing->policy;

	if (!segment) {
		fputs("in no segment\\n", drawing->to);
		return;
	}
	for (uint32_t i = 0; i < segment->in.n && i < LABEL_MATCHERS; i++) {
		matcher_print(&drawing->text, policy, policy->numbers[segment->in.at + i]);
		text_put_quoted(drawing->to, drawing->text.buffer->buf);
		fputs("\\n", drawing->to);
	}
	if (segment->in.n > LABEL_MATCHERS)
		fprintf(drawing->to, "and %u more\\n", segment->in.n - LABEL_MATCHERS);
	if (!segment->in.n && !(segment->flags & BH_SEGMENT_EXTERNAL))
		fputs("other addresses\\n", drawing->to);
}

static void put_members(struct drawing *drawing, const struct flow_class *kind)
{
	char name[1200];

	text_put_quoted(drawing->to, flow_class_print(kind, name, sizeof(name)));
}

static void put_node(void *data, size_t index)
{
	static const char *const colours[] = {"#f4f4f4", "#fde9c8", "#fde9c8", "#f9cfcf"};
	static const char *const words[] = {"unrestricted", "ingress isolated", "egress isolated",
					    "ingress and egress isolated"};
	struct drawing *drawing = data;
	const struct flow_class *kind = &drawing->kinds->at[index];
	const struct policy_segment *segment = graph_segment(drawing->policy, kind);
	unsigned int isolation = graph_isolated(segment, INGRESS) | graph_isolated(segment, EGRESS)
									    << 1;

	fprintf(drawing->to, "\tk%zu [label=\"", index);
	if (!kind->members->end.domain)
		put_matchers(drawing, segment);
	put_members(drawing, kind);
	if (kind->members->external) {
		fputs("\" shape=ellipse style=dashed]\n", drawing->to);
		return;
	}
	fprintf(drawing->to, "\\n%s\" fillcolor=\"%s\"%s]\n", words[isolation], colours[isolation],
		isolation ? " penwidth=2" : " style=\"filled,dashed\"");
}

struct ports_label {
	struct text *text;
	unsigned int n;
};

static void add_port(void *data, const char *port)
{
	struct ports_label *label = data;

	if (label->n++ < LABEL_PORTS)
		text_add_listed(label->text, port);
	else if (label->n == LABEL_PORTS + 2)
		text_add(label->text, ", ...");
}

static void put_edge(void *data, size_t from, size_t to, const struct verdicts *allowed)
{
	struct drawing *drawing = data;
	struct ports_label label = {&drawing->text, 0};

	text_clear(&drawing->text);
	verdicts_each_allowed(allowed, add_port, &label);
	fprintf(drawing->to, "\tk%zu -> k%zu [label=\"%s\"]\n", from, to,
		drawing->text.buffer->buf);
}

static void put_service(struct drawing *drawing, const struct policy_service *service)
{
	char name[SERVICE_NAME_TEXT];

	fprintf(drawing->to, "\ts%zu [shape=hexagon style=dashed label=\"svc:",
		(size_t)(service - drawing->policy->services));
	text_put_quoted(drawing->to, service_name(drawing->policy, service, name));
	fputs("\"]\n", drawing->to);
}

static void put_backend(void *data, const struct graph_backend *backend)
{
	struct drawing *drawing = data;
	const struct policy_service *service = &drawing->policy->services[backend->port->service];
	const struct flow flow = {.protocol = backend->port->protocol, .port = backend->port->port};
	char port[FLOW_TEXT];

	if (service != drawing->service)
		put_service(drawing, service);
	drawing->service = service;
	fprintf(drawing->to, "\ts%u -> k%u [style=dashed arrowhead=empty label=\"%s",
		backend->port->service, backend->kind, port_print(&flow, port));
	if (backend->to_port != backend->port->port)
		fprintf(drawing->to, " to %u", backend->to_port);
	fputs("\"]\n", drawing->to);
}

int graph_dot(FILE *to, const struct policy *policy, const struct flow_classes *kinds,
	      const struct graph_filter *filter)
{
	static const struct graph_visitor visitor = {put_node, put_edge, put_backend};
	struct drawing drawing = {to, policy, kinds, NULL, {printbuf_new()}};
	int error;

	if (!drawing.text.buffer)
		return -ENOMEM;
	fputs("digraph bulkhead {\n"
	      "\trankdir=LR\n"
	      "\tnode [shape=box style=filled fontname=\"sans-serif\" fontsize=10]\n"
	      "\tedge [fontname=\"sans-serif\" fontsize=9]\n",
	      to);
	error = graph_walk(policy, kinds, filter, &visitor, &drawing);
	fputs("}\n", to);
	printbuf_free(drawing.text.buffer);
	return error;
}
