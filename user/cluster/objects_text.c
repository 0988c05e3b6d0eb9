// SPDX-License-Identifier: GPL-2.0-only
/* The text that is kept of an object, and of the policy that isolates in its place. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects_state.h"
#include "input/input.h"
#include "model/cluster_bytes.h"

static void copy(struct json_object *from, struct json_object *to, const char *key)
{
	struct json_object *member = json_object_object_get(from, key);

	if (member)
		json_object_object_add(to, key, json_object_get(member));
}

static struct json_object *part_of_object(struct json_object *from, const char *const *members)
{
	struct json_object *to = json_object_new_object();

	for (; *members; members++)
		copy(from, to, *members);
	return to;
}

static struct json_object *part_of(struct json_object *object, const char *key,
				   const char *const *members)
{
	return part_of_object(json_object_object_get(object, key), members);
}

/* Copies the ports that have names: no rule is about the others. */
static void copy_named_ports(struct json_object *from, struct json_object *to)
{
	struct json_object *list = json_object_object_get(from, "ports"), *named;

	if (!json_object_is_type(list, json_type_array)) {
		copy(from, to, "ports"); /* refused */
		return;
	}
	named = json_object_new_array();
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *port = json_object_array_get_idx(list, i);

		if (!json_object_is_type(port, json_type_object) ||
		    json_object_object_get(port, "name"))
			json_object_array_add(named, json_object_get(port));
	}
	if (json_object_array_length(named))
		json_object_object_add(to, "ports", named);
	else
		json_object_put(named);
}

static void copy_ports(struct json_object *from, struct json_object *to, const char *key)
{
	struct json_object *list = json_object_object_get(from, key), *copied;

	if (!json_object_is_type(list, json_type_array))
		return;
	copied = json_object_new_array();
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *container = json_object_new_object();

		copy_named_ports(json_object_array_get_idx(list, i), container);
		copy(json_object_array_get_idx(list, i), container, "restartPolicy");
		json_object_array_add(copied, container);
	}
	json_object_object_add(to, key, copied);
}

/* Copies of a Pod's conditions whether it is ready: the others are not read, and change often. */
static void copy_readiness(struct json_object *from, struct json_object *to)
{
	static const char *const members[] = {"type", "status", NULL};
	struct json_object *list = json_object_object_get(from, "conditions"), *copied;

	if (!json_object_is_type(list, json_type_array)) {
		copy(from, to, "conditions"); /* refused */
		return;
	}
	copied = json_object_new_array();
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *condition = json_object_array_get_idx(list, i);
		const char *type = api_text(condition, "type");

		if (type && !strcmp(type, "Ready"))
			json_object_array_add(copied, part_of_object(condition, members));
	}
	json_object_object_add(to, "conditions", copied);
}

/* Puts a mark in place of the labels. */
static void mark_closed(struct json_object *metadata)
{
	struct json_object *labels = json_object_new_object();

	json_object_object_add(labels, CLOSED_LABEL, json_object_new_string(""));
	json_object_object_add(metadata, "labels", labels);
}

/* Returns true if the object takes more than so many bytes as text. */
static bool is_longer(struct json_object *object, size_t bytes)
{
	return strlen(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN)) > bytes;
}

/* Puts a mark in place of the labels and port names, if they are so many that no person wrote them.
 */
static void close_large_pod(struct json_object *read)
{
	if (!is_longer(read, POD_BYTES))
		return;
	mark_closed(json_object_object_get(read, "metadata"));
	json_object_object_del(json_object_object_get(read, "spec"), "containers");
	json_object_object_del(json_object_object_get(read, "spec"), "initContainers");
}

bool objects_pod_is_closed(struct json_object *read)
{
	return json_object_object_get(api_get(read, "metadata.labels"), CLOSED_LABEL);
}

/* Copies the fields of a Pod that are read. Pods are most of a cluster, and most of a Pod is not
 * read. */
struct json_object *objects_pod_read(struct json_object *pod)
{
	static const char *const metadata[] = {"name",	 "namespace",	      "uid",
					       "labels", "deletionTimestamp", "creationTimestamp",
					       NULL};
	static const char *const spec[] = {"nodeName", "hostNetwork", NULL};
	static const char *const status[] = {"phase", "podIP", "podIPs", NULL};
	struct json_object *read = json_object_new_object();
	struct json_object *from = json_object_object_get(pod, "spec"), *to;

	json_object_object_add(read, "apiVersion", json_object_new_string("v1"));
	json_object_object_add(read, "kind", json_object_new_string("Pod"));
	json_object_object_add(read, "metadata", part_of(pod, "metadata", metadata));
	to = part_of(pod, "spec", spec);
	copy_ports(from, to, "containers");
	copy_ports(from, to, "initContainers");
	json_object_object_add(read, "spec", to);
	to = part_of(pod, "status", status);
	copy_readiness(json_object_object_get(pod, "status"), to);
	json_object_object_add(read, "status", to);
	close_large_pod(read);
	return read;
}

/* Copies the fields of a Node that are read. A kubelet changes other fields every few minutes. */
static struct json_object *node_read(struct json_object *node)
{
	static const char *const metadata[] = {"name", "labels", NULL};
	static const char *const status[] = {"addresses", NULL};
	struct json_object *read = json_object_new_object();

	json_object_object_add(read, "apiVersion", json_object_new_string("v1"));
	json_object_object_add(read, "kind", json_object_new_string("Node"));
	json_object_object_add(read, "metadata", part_of(node, "metadata", metadata));
	json_object_object_add(read, "status", part_of(node, "status", status));
	return read;
}

static char *text_and_free(struct json_object *read)
{
	char *text = strdup(json_object_to_json_string_ext(read, JSON_C_TO_STRING_PLAIN));

	json_object_put(read);
	return text;
}

char *objects_pod_text(struct json_object *pod)
{
	return text_and_free(objects_pod_read(pod));
}

/* Copies an annotation that is read: a tenant may write 256 kB of others. */
static void copy_annotation(struct json_object *from, struct json_object *metadata, const char *key)
{
	static const char *const read[] = {AUDIT_ANNOTATION, ISOLATION_ANNOTATION};
	struct json_object *annotations = json_object_object_get(from, key), *to;

	if (!json_object_is_type(annotations, json_type_object)) {
		copy(from, metadata, key); /* refused */
		return;
	}
	to = json_object_new_object();
	for (size_t i = 0; i < sizeof(read) / sizeof(*read); i++)
		copy(annotations, to, read[i]);
	json_object_object_add(metadata, key, to);
}

/* Copies the label that says whose an EndpointSlice is. */
static void copy_service_name(struct json_object *from, struct json_object *metadata)
{
	static const char *const read[] = {"kubernetes.io/service-name", NULL};
	struct json_object *labels = json_object_object_get(from, "labels");

	if (json_object_is_type(labels, json_type_object))
		json_object_object_add(metadata, "labels", part_of_object(labels, read));
	else
		copy(from, metadata, "labels"); /* refused */
}

/* Copies the labels of a Namespace, or puts a mark in their place if they are so many: each compile
 * reads them, and all nodes get them. */
static void copy_namespace_labels(struct json_object *from, struct json_object *metadata)
{
	copy(from, metadata, "labels");
	if (is_longer(json_object_object_get(metadata, "labels"), NAMESPACE_BYTES_OF_LABELS))
		mark_closed(metadata);
}

/* Copies the metadata that is read: no labels of a policy or Service. */
static struct json_object *metadata_read(const struct object_kind *kind, struct json_object *object)
{
	static const char *const members[] = {"name", "namespace", "uid", NULL};
	struct json_object *from = json_object_object_get(object, "metadata");
	struct json_object *metadata = part_of(object, "metadata", members);

	if (kind->part == PART_SLICE)
		copy_service_name(from, metadata);
	else if (kind->part == PART_LABELLED)
		copy_namespace_labels(from, metadata);
	copy_annotation(from, metadata, "annotations");
	return metadata;
}

/* Copies an endpoint of an EndpointSlice, without members that the reader knows and does not read.
 */
static struct json_object *endpoint_read(struct json_object *from)
{
	static const char *const unread[] = {"hostname", "targetRef", "deprecatedTopology", "zone",
					     "hints"};
	struct json_object *to;

	if (!json_object_is_type(from, json_type_object))
		return json_object_get(from);
	to = json_object_new_object();
	json_object_object_foreach(from, key, value)
	{
		json_object_object_add(to, key, json_object_get(value));
	}
	for (size_t i = 0; i < sizeof(unread) / sizeof(*unread); i++)
		json_object_object_del(to, unread[i]);
	return to;
}

static struct json_object *endpoints_read(struct json_object *list)
{
	struct json_object *read;

	if (!json_object_is_type(list, json_type_array))
		return json_object_get(list);
	read = json_object_new_array();
	for (size_t i = 0; i < json_object_array_length(list); i++)
		json_object_array_add(read, endpoint_read(json_object_array_get_idx(list, i)));
	return read;
}

/* Copies the members of an object, and of its metadata those that are read. */
static struct json_object *object_read(const struct object_kind *kind, struct json_object *object)
{
	struct json_object *read = json_object_new_object();

	json_object_object_foreach(object, key, value)
	{
		if (strcmp(key, "status") || !kind->policy)
			json_object_object_add(read, key, json_object_get(value));
	}
	json_object_object_add(read, "metadata", metadata_read(kind, object));
	if (kind->part == PART_SLICE)
		json_object_object_add(read, "endpoints",
				       endpoints_read(json_object_object_get(object, "endpoints")));
	return read;
}

struct json_object *objects_about(struct json_object *object)
{
	static const char *const metadata[] = {"name", "namespace", "uid", NULL};
	struct json_object *about = json_object_new_object();

	copy(object, about, "apiVersion");
	copy(object, about, "kind");
	json_object_object_add(about, "metadata", part_of(object, "metadata", metadata));
	return about;
}

/* A Pod that has ended makes no endpoint, whatever labels it has. */
static struct json_object *pod_read(struct json_object *pod)
{
	struct json_object *read = objects_pod_read(pod);
	const char *phase = api_text(read, "status.phase");

	if (phase && (!strcmp(phase, "Succeeded") || !strcmp(phase, "Failed")))
		json_object_object_del(json_object_object_get(read, "metadata"), "labels");
	return read;
}

char *objects_text(const struct object_kind *kind, struct json_object *object)
{
	if (kind->part == PART_POD)
		return text_and_free(pod_read(object));
	if (kind->part == PART_NODE)
		return text_and_free(node_read(object));
	json_object_object_add(object, "apiVersion", json_object_new_string(kind->version));
	json_object_object_add(object, "kind", json_object_new_string(kind->name));
	return text_and_free(object_read(kind, object));
}

/* Returns the bytes that count for the namespace of the one object in @cluster. Nodes have room for
 * a number of Pods, so that a Pod with an address does not count. */
static size_t bytes_of(const struct cluster *cluster)
{
	if (cluster->n_policies)
		return policy_bytes(cluster->policies);
	if (cluster->n_services)
		return service_bytes(cluster->services);
	if (cluster->n_slices)
		return slice_bytes(cluster->slices);
	return cluster->n_expected ? pod_bytes(cluster->expected) : 0;
}

int objects_check(const char *text, const char *name, char **why, size_t *bytes)
{
	struct cluster cluster;
	struct diag diag = {0};
	size_t size;
	int error;

	*why = NULL;
	diag.to = open_memstream(why, &size);
	if (!diag.to)
		return -ENOMEM;
	cluster_init(&cluster);
	error = input_parse_json(&cluster, text, strlen(text), name, &diag);
	if (!error)
		error = cluster_finish(&cluster, &diag);
	if (bytes)
		*bytes = error ? 0 : bytes_of(&cluster);
	cluster_free(&cluster);
	fclose(diag.to);
	if (!error) {
		free(*why);
		*why = NULL;
	} else if (size && (*why)[size - 1] == '\n') {
		(*why)[size - 1] = '\0';
	}
	return error;
}

static bool is_network(const struct object_kind *kind)
{
	return !strcmp(kind->name, "NetworkPolicy");
}

/* Returns the directions that a NetworkPolicy names; Ingress if it names none. */
static struct json_object *named_types(struct json_object *spec)
{
	struct json_object *types = api_get(spec, "policyTypes");
	struct json_object *named = json_object_new_array();

	for (size_t i = 0; types && json_object_is_type(types, json_type_array) &&
			   i < json_object_array_length(types);
	     i++) {
		const char *type = json_object_get_string(json_object_array_get_idx(types, i));

		if (type && (!strcmp(type, "Ingress") || !strcmp(type, "Egress")))
			json_object_array_add(named, json_object_new_string(type));
	}
	if (json_object_array_length(named))
		return named;
	json_object_array_add(named, json_object_new_string("Ingress"));
	if (api_get(spec, "egress"))
		json_object_array_add(named, json_object_new_string("Egress"));
	return named;
}

/* Denies the policy's subject everything in the directions in which it has rules: a Deny rule with
 * an empty peer fails closed. A list of all peers would not do, since ingress has no peer for the
 * outside. */
static void isolate_admin(struct json_object *to, struct json_object *spec)
{
	static const char *const directions[] = {"ingress", "from", "egress", "to"};

	copy(spec, to, "priority");
	copy(spec, to, "subject");
	copy(spec, to, "tier");
	for (int i = 0; i < 4; i += 2) {
		struct json_object *rule, *rules;

		if (!api_get(spec, directions[i]))
			continue;
		rule = json_tokener_parse("{\"name\":\"refused\",\"action\":\"Deny\"}");
		json_object_object_add(rule, directions[i + 1], json_tokener_parse("[{}]"));
		rules = json_object_new_array();
		json_object_array_add(rules, rule);
		json_object_object_add(to, directions[i], rules);
	}
}

/* A policy that asks for audit in another word than "true" is enforced. */
static void copy_audit(struct json_object *from, struct json_object *metadata)
{
	struct json_object *audit =
		json_object_object_get(api_get(from, "metadata.annotations"), AUDIT_ANNOTATION);
	struct json_object *annotations;

	if (!json_object_is_type(audit, json_type_string) ||
	    strlen("true") != (size_t)json_object_get_string_len(audit) ||
	    strcmp(json_object_get_string(audit), "true"))
		return;
	annotations = json_object_new_object();
	json_object_object_add(annotations, AUDIT_ANNOTATION, json_object_get(audit));
	json_object_object_add(metadata, "annotations", annotations);
}

/* Returns the object's text, to free; NULL: the object is refused. */
static char *checked(struct json_object *object, const char *name)
{
	char *text = strdup(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
	char *why = NULL;

	if (text && objects_check(text, name, &why, NULL)) {
		free(text);
		text = NULL;
	}
	free(why);
	return text;
}

char *objects_isolating(const struct object_kind *kind, struct json_object *object,
			const char *name)
{
	struct json_object *spec = api_get(object, "spec");
	struct json_object *stand_in = objects_about(object), *to = json_object_new_object();
	char *text;

	copy_audit(object, api_get(stand_in, "metadata"));
	json_object_object_add(stand_in, "spec", to);
	if (is_network(kind)) {
		copy(spec, to, "podSelector");
		json_object_object_add(to, "policyTypes", named_types(spec));
	} else {
		isolate_admin(to, spec);
	}
	text = checked(stand_in, name);
	if (!text && is_network(kind)) {
		json_object_object_add(to, "podSelector", json_object_new_object());
		text = checked(stand_in, name);
	}
	json_object_put(stand_in);
	return text;
}

/* The addresses beyond the cluster's own that a closed Service keeps. */
#define CLOSED_ADDRESSES 64

/* Returns the text of an address as this reader takes it, to put, of any spelling that the API
 * server takes; NULL: it cannot be a Service's. */
static struct json_object *address_of(struct json_object *from)
{
	struct address address;
	char text[ADDRESS_TEXT];

	if (!json_object_is_type(from, json_type_string) ||
	    address_parse_loose(json_object_get_string(from), &address) ||
	    address_is_special(&address))
		return NULL;
	return json_object_new_string(address_print(&address, text));
}

/* Returns the item of a list of addresses with its address as this reader takes it, to put: an
 * address, or an entry of a load balancer that has one, or none. NULL: it cannot be read. */
static struct json_object *readable(struct json_object *item)
{
	struct json_object *ip = json_object_object_get(item, "ip"), *read, *address;

	if (!json_object_is_type(item, json_type_object))
		return address_of(item);
	address = ip ? address_of(ip) : NULL;
	if (ip && !address)
		return NULL;
	read = json_object_new_object();
	copy(item, read, "ipMode");
	if (address)
		json_object_object_add(read, "ip", address);
	return read;
}

/* Copies the first items of a list of addresses that can be read. */
static void copy_first(struct json_object *from, struct json_object *to, const char *key,
		       size_t most)
{
	struct json_object *list = api_get(from, key), *first;

	if (!json_object_is_type(list, json_type_array))
		return;
	first = json_object_new_array();
	for (size_t i = 0; i < json_object_array_length(list) && i < most; i++) {
		struct json_object *read = readable(json_object_array_get_idx(list, i));

		if (read)
			json_object_array_add(first, read);
	}
	json_object_object_add(to, key, first);
}

/* Copies the cluster's addresses, or "None". */
static void copy_cluster_addresses(struct json_object *from, struct json_object *to)
{
	struct json_object *one = json_object_object_get(from, "clusterIP"), *read;

	read = one ? address_of(one) : NULL;
	if (read)
		json_object_object_add(to, "clusterIP", read);
	else
		copy(from, to, "clusterIP");
	if (read)
		copy_first(from, to, "clusterIPs", 2);
	else
		copy(from, to, "clusterIPs");
}

char *objects_closed_service(struct json_object *service, const char *name)
{
	static const char *const members[] = {"type", NULL};
	struct json_object *closed = objects_about(service), *spec = api_get(service, "spec");
	struct json_object *to = part_of(service, "spec", members), *balancer, *status;
	char *text;

	copy_cluster_addresses(spec, to);
	copy_first(spec, to, "externalIPs", CLOSED_ADDRESSES);
	/* by its name no EndpointSlice has the port, so it has no backends */
	json_object_object_add(to, "ports",
			       json_tokener_parse("[{\"name\":\"refused\",\"port\":1}]"));
	json_object_object_add(closed, "spec", to);
	status = json_object_new_object();
	balancer = json_object_new_object();
	copy_first(api_get(service, "status.loadBalancer"), balancer, "ingress", CLOSED_ADDRESSES);
	json_object_object_add(status, "loadBalancer", balancer);
	json_object_object_add(closed, "status", status);
	text = checked(closed, name);
	json_object_put(closed);
	return text;
}

char *objects_closed_namespace(struct json_object *namespace, const char *name)
{
	struct json_object *closed = objects_about(namespace);
	char *text;

	copy_namespace_labels(api_get(namespace, "metadata"), api_get(closed, "metadata"));
	json_object_object_add(
		closed, "spec",
		json_tokener_parse(
			"{\"networkPolicy\":{\"ingress\":{\"isolation\":\"DefaultDeny\"}}}"));
	text = checked(closed, name);
	json_object_put(closed);
	return text;
}
