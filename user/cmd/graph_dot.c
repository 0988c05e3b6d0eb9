// SPDX-License-Identifier: GPL-2.0-only
/* Segments and what they allow each other, in graphviz's language. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/flow.h"
#include "cmd/graph.h"
#include "cmd/matcher.h"
#include "compile/verdicts.h"
#include "maps/segment.h"

#define LABEL_MATCHERS 4 /* written out on a node; the others are counted */
#define LABEL_MEMBERS 3
#define LABEL_PORTS 6 /* written out on an edge */

struct drawing {
	FILE *to;
	const struct policy *policy;
	const struct kinds *kinds;
	const struct graph_filter *filter;
	struct text text;
	bool *drawn; /* by kind: its node is written */
};

/* NULL: it is in none, and so isolated. */
static const struct policy_segment *segment_of(const struct drawing *drawing,
					       const struct kind *kind)
{
	uint32_t segment = kind->members->place[0].segment;

	return segment == KIND_NOWHERE ? NULL : &drawing->policy->segments[segment];
}

static bool is_isolated(const struct policy_segment *segment, enum direction direction)
{
	return !segment || segment->flags & BH_SEGMENT_POLICY(direction);
}

static bool in_namespace(const struct kind *kind, const char *ns)
{
	size_t length = strlen(ns);

	for (size_t i = 0; i < kind->n && !kind->members->external; i++)
		if (!strncmp(kind->members[i].end.name, ns, length) &&
		    kind->members[i].end.name[length] == '/')
			return true;
	return false;
}

/* Inside a quoted DOT string; a newline becomes a line that is centred. */
static void put_escaped(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n') {
			fputs("\\n", to);
			continue;
		}
		if (*text == '"' || *text == '\\')
			fputc('\\', to);
		fputc(*text, to);
	}
}

static void put_matchers(struct drawing *drawing, const struct policy_segment *segment)
{
	const struct policy *policy = drawing->policy;

	if (!segment) {
		fputs("in no segment\\n", drawing->to);
		return;
	}
	for (uint32_t i = 0; i < segment->in.n && i < LABEL_MATCHERS; i++) {
		matcher_print(&drawing->text, policy, policy->numbers[segment->in.at + i]);
		put_escaped(drawing->to, drawing->text.buffer->buf);
		fputs("\\n", drawing->to);
	}
	if (segment->in.n > LABEL_MATCHERS)
		fprintf(drawing->to, "and %u more\\n", segment->in.n - LABEL_MATCHERS);
	if (!segment->in.n && !(segment->flags & BH_SEGMENT_EXTERNAL))
		fputs("no rule names these\\n", drawing->to);
}

static void put_members(struct drawing *drawing, const struct kind *kind)
{
	for (size_t i = 0; i < kind->n && i < LABEL_MEMBERS; i++) {
		fputs(i ? ", " : "", drawing->to);
		put_escaped(drawing->to, kind->members[i].end.name);
	}
	if (kind->n > LABEL_MEMBERS)
		fprintf(drawing->to, " and %zu more", kind->n - LABEL_MEMBERS);
}

static void put_node(struct drawing *drawing, size_t index)
{
	static const char *const colours[] = {"#f4f4f4", "#fde9c8", "#fde9c8", "#f9cfcf"};
	static const char *const words[] = {"unrestricted", "ingress isolated", "egress isolated",
					    "ingress and egress isolated"};
	const struct kind *kind = &drawing->kinds->at[index];
	const struct policy_segment *segment = segment_of(drawing, kind);
	unsigned int isolation = is_isolated(segment, INGRESS) | is_isolated(segment, EGRESS) << 1;

	if (drawing->drawn[index])
		return;
	drawing->drawn[index] = true;
	fprintf(drawing->to, "\tk%zu [label=\"", index);
	put_matchers(drawing, segment);
	put_members(drawing, kind);
	if (kind->members->external) {
		fputs("\" shape=ellipse style=dashed]\n", drawing->to);
		return;
	}
	fprintf(drawing->to, "\\n%s\" fillcolor=\"%s\"%s]\n", words[isolation], colours[isolation],
		isolation ? " penwidth=2" : " style=\"filled,dashed\"");
}

/* What both lists allow, as a list that is to be freed; NULL: no memory. */
static struct bh_interval *both_allow(const struct verdicts *a, const struct verdicts *b,
				      struct verdicts *both)
{
	struct bh_interval *at = malloc((a->n + b->n) * sizeof(*at));
	size_t i = 0, k = 0, n = 0;

	if (!at)
		return NULL;
	while (i < a->n || k < b->n) {
		uint32_t next_a = i < a->n ? verdicts_at(a, i)->start : UINT32_MAX;
		uint32_t next_b = k < b->n ? verdicts_at(b, k)->start : UINT32_MAX;
		uint32_t start = next_a < next_b ? next_a : next_b;

		i += next_a == start;
		k += next_b == start;
		at[n].start = start;
		at[n++].verdict =
			bh_verdict(bh_verdict_allow(verdicts_at(a, i - 1)->verdict) &&
					   bh_verdict_allow(verdicts_at(b, k - 1)->verdict),
				   BH_TIER_DEFAULT, 0);
	}
	*both = (struct verdicts){.at = at, .n = n};
	return at;
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

/* Where neither end has a policy that selects it, nothing is drawn: all is allowed. Nor is an edge
 * between endpoints and their own node, which no policy isolates. */
static int put_edge(struct drawing *drawing, size_t from, size_t to)
{
	const struct kind *source = &drawing->kinds->at[from], *target = &drawing->kinds->at[to];
	const struct policy_segment *a = segment_of(drawing, source);
	const struct policy_segment *b = segment_of(drawing, target);
	struct ports_label label = {&drawing->text, 0};
	struct verdicts egress, ingress, both;
	struct bh_interval *at;

	if (!a || !b || (!is_isolated(a, EGRESS) && !is_isolated(b, INGRESS)) ||
	    (from == to && source->n < 2) || !kinds_own_node(source, target, 0).foreign)
		return 0;
	if (drawing->filter->ns && !in_namespace(source, drawing->filter->ns) &&
	    !in_namespace(target, drawing->filter->ns))
		return 0;
	egress = verdicts_of(drawing->policy, a, b, EGRESS, target->members->place[0].resolution);
	ingress = verdicts_of(drawing->policy, b, a, INGRESS, target->members->place[0].resolution);
	at = both_allow(&egress, &ingress, &both);
	if (!at)
		return -ENOMEM;
	if (verdicts_allow_any(&both) &&
	    (!drawing->filter->has_point || verdicts_allow(&both, drawing->filter->point))) {
		put_node(drawing, from);
		put_node(drawing, to);
		text_clear(&drawing->text);
		verdicts_each_allowed(&both, add_port, &label);
		fprintf(drawing->to, "\tk%zu -> k%zu [label=\"%s\"]\n", from, to,
			drawing->text.buffer->buf);
	}
	free(at);
	return 0;
}

static void put_service(struct drawing *drawing, const struct policy_service *service)
{
	char name[SERVICE_NAME_TEXT];

	fprintf(drawing->to, "\ts%zu [shape=hexagon style=dashed label=\"svc:",
		(size_t)(service - drawing->policy->services));
	put_escaped(drawing->to, service_name(drawing->policy, service, name));
	fputs("\"]\n", drawing->to);
}

static bool shows_backend(const struct drawing *drawing, const struct graph_backend *backend)
{
	const struct policy *policy = drawing->policy;
	const struct policy_service *service = &policy->services[backend->port->service];
	const struct graph_filter *filter = drawing->filter;

	if (filter->ns && strcmp(filter->ns, policy_string(policy, service->ns)) &&
	    !in_namespace(&drawing->kinds->at[backend->kind], filter->ns))
		return false;
	return !filter->has_point ||
	       flow_point(backend->port->protocol, backend->port->port) == filter->point;
}

static void put_backend(struct drawing *drawing, const struct graph_backend *backend)
{
	const struct flow flow = {.protocol = backend->port->protocol, .port = backend->port->port};
	char port[FLOW_TEXT];

	put_node(drawing, backend->kind);
	fprintf(drawing->to, "\ts%u -> k%u [style=dashed arrowhead=empty label=\"%s",
		backend->port->service, backend->kind, port_print(&flow, port));
	if (backend->to_port != backend->port->port)
		fprintf(drawing->to, " to %u", backend->to_port);
	fputs("\"]\n", drawing->to);
}

static int put_services(struct drawing *drawing)
{
	const struct policy_service *last = NULL;
	struct graph_backend *backends;
	size_t n;
	int error = graph_backends(drawing->policy, drawing->kinds, &backends, &n);

	if (error)
		return error;
	for (size_t i = 0; i < n; i++) {
		const struct policy_service *service =
			&drawing->policy->services[backends[i].port->service];

		if (!shows_backend(drawing, &backends[i]))
			continue;
		if (service != last)
			put_service(drawing, service);
		last = service;
		put_backend(drawing, &backends[i]);
	}
	free(backends);
	return 0;
}

int graph_dot(FILE *to, const struct policy *policy, const struct kinds *kinds,
	      const struct graph_filter *filter)
{
	struct drawing drawing = {to,	  policy,	    kinds,
				  filter, {printbuf_new()}, calloc(kinds->n + 1, sizeof(bool))};
	int error = drawing.text.buffer && drawing.drawn ? 0 : -ENOMEM;

	fputs("digraph bulkhead {\n"
	      "\trankdir=LR\n"
	      "\tnode [shape=box style=filled fontname=\"sans-serif\" fontsize=10]\n"
	      "\tedge [fontname=\"sans-serif\" fontsize=9]\n",
	      to);
	for (size_t i = 0; i < kinds->n && !error; i++)
		if (!filter->ns || in_namespace(&kinds->at[i], filter->ns))
			put_node(&drawing, i);
	for (size_t i = 0; i < kinds->n && !error; i++)
		for (size_t k = 0; k < kinds->n && !error; k++)
			if (!kinds->at[i].members->external || !kinds->at[k].members->external)
				error = put_edge(&drawing, i, k);
	if (!error)
		error = put_services(&drawing);
	fputs("}\n", to);
	if (drawing.text.buffer)
		printbuf_free(drawing.text.buffer);
	free(drawing.drawn);
	return error;
}
