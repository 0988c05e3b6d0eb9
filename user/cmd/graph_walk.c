// SPDX-License-Identifier: GPL-2.0-only
/* Visits the parts of a graph: kinds of ends that no policy tells apart, the ports that they
 * allow each other, and the Services that lead to them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/side.h"
#include "cmd/graph.h"
#include "policy/class_grid.h"
#include "policy/verdicts.h"
#include "maps/segment.h"

struct edge_walk {
	const struct policy *policy;
	const struct flow_classes *kinds;
	const struct graph_filter *filter;
	const struct graph_visitor *visitor;
	void *data;
	bool *seen; /* by kind: the visitor has it */
};

const struct policy_segment *graph_segment(const struct policy *policy,
					   const struct flow_class *kind)
{
	uint32_t segment = kind->members->place[0].segment;

	return segment == FLOW_CLASS_NOWHERE ? NULL : &policy->segments[segment];
}

bool graph_isolated(const struct policy_segment *segment, enum direction direction)
{
	return !segment || (segment->flags & BH_SEGMENT_POLICY(direction) &&
			    !(segment->flags & BH_SEGMENT_AUDITED(direction)));
}

bool graph_in_namespace(const struct flow_class *kind, const char *ns)
{
	size_t length = strlen(ns);

	for (size_t i = 0; i < kind->n && !kind->members->external; i++)
		if (!strncmp(kind->members[i].end.name, ns, length) &&
		    kind->members[i].end.name[length] == '/')
			return true;
	return false;
}

static void visit_node(struct edge_walk *walk, size_t index)
{
	if (walk->seen[index])
		return;
	walk->seen[index] = true;
	walk->visitor->node(walk->data, index);
}

/* Returns the ports that both lists allow, as a list to free; NULL: memory is short. */
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

bool graph_restricts(const struct policy *policy, const struct flow_class *from,
		     const struct flow_class *to)
{
	return (graph_isolated(graph_segment(policy, from), EGRESS) ||
		graph_isolated(graph_segment(policy, to), INGRESS)) &&
	       flow_classes_local_node(from, to, 0).foreign;
}

/* Returns true if the graph may have an edge: both kinds are in a segment, and not all of their
 * flows are of one pod to itself. */
static bool has_edge(const struct edge_walk *walk, size_t from, size_t to)
{
	const struct flow_class *source = &walk->kinds->at[from], *target = &walk->kinds->at[to];
	const struct policy_segment *a = graph_segment(walk->policy, source);
	const struct policy_segment *b = graph_segment(walk->policy, target);
	const char *ns = walk->filter->ns;

	/* a name is no source, and an edge to one shows what the name adds */
	if (!a || !b || !flow_classes_connect(source, target) ||
	    (target->members->end.domain && flow_class_subject(walk->policy, target, a) == a))
		return false;
	return (walk->filter->open || graph_restricts(walk->policy, source, target)) &&
	       (from != to || source->n > 1) &&
	       (!ns || graph_in_namespace(source, ns) || graph_in_namespace(target, ns));
}

static int visit_edge(struct edge_walk *walk, size_t from, size_t to)
{
	const struct flow_class *source = &walk->kinds->at[from], *target = &walk->kinds->at[to];
	uint32_t resolution = target->members->place[0].resolution;
	const struct policy_segment *a = graph_segment(walk->policy, source);
	const struct policy_segment *b = graph_segment(walk->policy, target);
	struct verdicts egress, ingress, both;
	struct bh_interval *at;

	if (!has_edge(walk, from, to))
		return 0;
	egress = verdicts_of(walk->policy, flow_class_subject(walk->policy, target, a), b, EGRESS,
			     resolution);
	ingress = verdicts_of(walk->policy, b, a, INGRESS, resolution);
	at = both_allow(&egress, &ingress, &both);
	if (!at)
		return -ENOMEM;
	if (verdicts_allow_any(&both) &&
	    (!walk->filter->has_point || verdicts_allow(&both, walk->filter->point))) {
		visit_node(walk, from);
		visit_node(walk, to);
		walk->visitor->edge(walk->data, from, to, &both);
	}
	free(at);
	return 0;
}

/* Visits a kind's edges. @cells: what class_grid_each() says of the kind to all. */
static int visit_row(void *data, size_t from, const char *cells)
{
	struct edge_walk *walk = data;
	int error = 0;

	for (size_t to = 0; to < walk->kinds->n && !error; to++)
		if (cells[to] != GRID_NONE && cells[to] != GRID_DENY)
			error = visit_edge(walk, from, to);
	return error;
}

/* Most kinds of a large cluster have no edge, and the grid leaves these out. */
static int visit_edges(struct edge_walk *walk)
{
	const struct evaluate_source source = evaluate_policy(walk->policy);
	const struct grid_request request = {.source = &source,
					     .names = walk->policy,
					     .point = walk->filter->point,
					     .any_port = !walk->filter->has_point,
					     .kinds = walk->kinds};

	return class_grid_each(&request, visit_row, walk);
}

static bool shows_backend(const struct edge_walk *walk, const struct graph_backend *backend)
{
	const struct policy *policy = walk->policy;
	const struct policy_service *service = &policy->services[backend->port->service];
	const struct graph_filter *filter = walk->filter;

	if (filter->ns && strcmp(filter->ns, policy_string(policy, service->ns)) &&
	    !graph_in_namespace(&walk->kinds->at[backend->kind], filter->ns))
		return false;
	return !filter->has_point ||
	       bh_point(backend->port->protocol, backend->port->port) == filter->point;
}

static int visit_services(struct edge_walk *walk)
{
	struct graph_backend *backends;
	size_t n;
	int error =
		graph_backends(walk->policy, walk->kinds, walk->kinds->policies - 1, &backends, &n);

	if (error)
		return error;
	for (size_t i = 0; i < n; i++) {
		if (!shows_backend(walk, &backends[i]))
			continue;
		visit_node(walk, backends[i].kind);
		walk->visitor->backend(walk->data, &backends[i]);
	}
	free(backends);
	return 0;
}

int graph_walk(const struct policy *policy, const struct flow_classes *kinds,
	       const struct graph_filter *filter, const struct graph_visitor *visitor, void *data)
{
	struct edge_walk walk = {policy,  kinds, filter,
				 visitor, data,	 calloc(kinds->n + 1, sizeof(bool))};
	int error = walk.seen ? 0 : -ENOMEM;

	for (size_t i = 0; i < kinds->n && !error; i++)
		if (!filter->ns || graph_in_namespace(&kinds->at[i], filter->ns))
			visit_node(&walk, i);
	if (!error)
		error = visit_edges(&walk);
	if (!error)
		error = visit_services(&walk);
	free(walk.seen);
	return error;
}
