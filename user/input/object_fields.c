// SPDX-License-Identifier: GPL-2.0-only
/* Fields that several kinds of objects have. */
#include "input/object.h"

#include <limits.h>
#include <string.h>

bool object_is_accepted(const struct object *object)
{
	const struct tree *uid = tree_get(object->metadata, "uid");

	return uid && uid->type == TREE_SCALAR && uid->n;
}

bool object_audit(struct reader *reader, const struct object *object)
{
	const struct tree *annotations = tree_get(object->metadata, "annotations"), *annotation;
	const char *text;

	if (!annotations || !reader_map(reader, annotations, NULL))
		return false;
	annotation = tree_get(annotations, AUDIT_ANNOTATION);
	text = annotation ? reader_string(reader, annotation) : NULL;
	if (text && strcmp(text, "true") && strcmp(text, "false"))
		reader_error(reader, annotation, "is \"%.40s\", neither \"true\" nor \"false\"",
			     text);
	return text && !strcmp(text, "true");
}

static void read_named_port(struct reader *reader, const struct tree *node,
			    struct endpoint *endpoint)
{
	struct named_port *port = &endpoint->ports[endpoint->n_ports];
	const struct tree *number;
	long value;

	if (!reader_map(reader, node, NULL) || !tree_get_filled(node, "name"))
		return;
	number = tree_get(node, "containerPort");
	if (!number) {
		reader_missing(reader, node, "containerPort");
		return;
	}
	port->name = reader_port_name(reader, tree_get(node, "name"));
	if (!port->name || !reader_number(reader, number, 1, 65535, &value) ||
	    !reader_protocol(reader, tree_get_filled(node, "protocol"), &port->protocol))
		return;
	port->port = value;
	endpoint->n_ports++;
}

static const struct tree *ports_of(const struct tree *container)
{
	const struct tree *ports = tree_get(container, "ports");

	return ports && ports->type == TREE_LIST ? ports : NULL;
}

static size_t count_ports(const struct tree *containers)
{
	const struct tree *item = containers ? containers->first : NULL;
	size_t n = 0;

	for (; item; item = item->next) {
		const struct tree *ports = ports_of(item);

		n += ports ? ports->n : 0;
	}
	return n;
}

static void read_container_ports(struct reader *reader, const struct tree *containers,
				 struct endpoint *endpoint)
{
	const struct tree *item = containers ? containers->first : NULL, *port;

	for (; item; item = item->next)
		for (port = ports_of(item) ? ports_of(item)->first : NULL; port; port = port->next)
			read_named_port(reader, port, endpoint);
}

/* Reads init containers' ports too: policy holds from a pod's first moment on. */
void object_read_ports(struct reader *reader, const struct tree *spec, struct endpoint *endpoint)
{
	const struct tree *containers = reader_list(reader, spec, "containers", UINT_MAX);
	const struct tree *init = reader_list(reader, spec, "initContainers", UINT_MAX);

	reader_array(reader, endpoint->ports, count_ports(containers) + count_ports(init));
	read_container_ports(reader, containers, endpoint);
	read_container_ports(reader, init, endpoint);
}

/* Returns true if no pod can have the address. */
static bool is_no_pods(const struct address *address)
{
	static const struct cidr others[] = {
		{{{[10] = 0xff, [11] = 0xff}}, 128}, /* 0.0.0.0 */
		{{{[10] = 0xff, [11] = 0xff, [12] = 127}}, 104}, /* 127.0.0.0/8 */
		{{{[10] = 0xff, [11] = 0xff, [12] = 224}}, 100}, /* 224.0.0.0/4 */
		{{{[10] = 0xff, [11] = 0xff, [12] = 255, [13] = 255, [14] = 255, [15] = 255}}, 128},
		{{{0}}, 127}, /* :: and ::1 */
		{{{0xff}}, 8}, /* ff00::/8 */
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (cidr_contains(&others[i], address))
			return true;
	return false;
}

bool object_read_address(struct reader *reader, const struct object *object,
			 const struct tree *node, struct address *address)
{
	static const char why[] =
		"must not be an unspecified, loopback, multicast or broadcast address";

	if (!reader_address(reader, node, address))
		return false;
	if (!object || !is_no_pods(address))
		return true;
	if (reader->cluster->lenient && object_is_accepted(object))
		reader_warn(reader, node, "%s; Pod %s/%s is left without it", why, object->ns,
			    object->name);
	else
		reader_error(reader, node, "%s", why);
	return false;
}

struct policy_object *object_add_policy(struct reader *reader, const struct object *object)
{
	struct policy_object *policy = cluster_add_policy(reader->cluster);

	policy->kind = object->policy;
	policy->ns_name = object->ns;
	policy->name = object->name;
	policy->where = reader_where(reader, object->root);
	return policy;
}
