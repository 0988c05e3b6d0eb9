// SPDX-License-Identifier: GPL-2.0-only
/* Writes a graph as JSON. */
#include <errno.h>

#include "cmd/side.h"
#include "cmd/graph.h"
#include "cmd/json_output.h"
#include "cmd/matcher.h"
#include "policy/frontend.h"

struct picture {
	const struct policy *policy;
	const struct flow_classes *kinds;
	struct json_object *groups, *edges, *backends;
	struct text text;
};

static void add_node(void *data, size_t index)
{
	struct picture *picture = data;
	const struct flow_class *kind = &picture->kinds->at[index];
	const struct policy_segment *segment = graph_segment(picture->policy, kind);
	struct json_object *group = json_object_new_object();
	struct json_object *members = json_object_new_array();

	json_add_number(group, "id", index);
	if (segment)
		json_add(group, "in", matchers_json(picture->policy, segment->in, &picture->text));
	for (size_t i = 0; i < kind->n; i++)
		json_append_text(members, kind->members[i].end.name);
	json_add(group, "members", members);
	json_add_bool(group, "addresses", kind->members->external);
	json_add_bool(group, "ingress_isolated", graph_isolated(segment, INGRESS));
	json_add_bool(group, "egress_isolated", graph_isolated(segment, EGRESS));
	json_object_array_add(picture->groups, group);
}

static void add_edge(void *data, size_t from, size_t to, const struct verdicts *allowed)
{
	struct picture *picture = data;
	struct json_object *edge = json_object_new_object();
	struct json_object *ports = json_object_new_array();

	verdicts_each_allowed(allowed, json_append_visit, ports);
	json_add_number(edge, "from", from);
	json_add_number(edge, "to", to);
	json_add(edge, "ports", ports);
	json_object_array_add(picture->edges, edge);
}

static void add_backend(void *data, const struct graph_backend *backend)
{
	struct picture *picture = data;
	const struct policy_service *service = &picture->policy->services[backend->port->service];
	const struct flow flow = {.protocol = backend->port->protocol, .port = backend->port->port};
	struct json_object *object = json_object_new_object();
	char name[SERVICE_NAME_TEXT], port[FLOW_TEXT];

	json_add_text(object, "service", service_name(picture->policy, service, name));
	json_add_text(object, "port", port_print(&flow, port));
	json_add_number(object, "to", backend->kind);
	json_add_number(object, "to_port", backend->to_port);
	json_object_array_add(picture->backends, object);
}

int graph_json(FILE *to, const struct policy *policy, const struct flow_classes *kinds,
	       const struct graph_filter *filter, bool pretty)
{
	static const struct graph_visitor visitor = {add_node, add_edge, add_backend};
	struct json_object *root = json_object_new_object();
	struct picture picture = {
		.policy = policy,
		.kinds = kinds,
		.groups = json_object_new_array(),
		.edges = json_object_new_array(),
		.backends = json_object_new_array(),
		.text = {printbuf_new()},
	};
	int error = picture.text.buffer ? 0 : -ENOMEM;

	json_add(root, "groups", picture.groups);
	json_add(root, "edges", picture.edges);
	json_add(root, "backends", picture.backends);
	if (!error)
		error = graph_walk(policy, kinds, filter, &visitor, &picture);
	if (error)
		json_object_put(root);
	else
		json_write(to, root, pretty);
	if (picture.text.buffer)
		printbuf_free(picture.text.buffer);
	return error;
}
