// SPDX-License-Identifier: GPL-2.0-only
/* The text that is kept of an object, and of the policy that isolates in its place. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects_state.h"
#include "input/input.h"

static void copy(struct json_object *from, struct json_object *to, const char *key)
{
	struct json_object *member = json_object_object_get(from, key);

	if (member)
		json_object_object_add(to, key, json_object_get(member));
}

static void copy_ports(struct json_object *from, struct json_object *to, const char *key)
{
	struct json_object *list = json_object_object_get(from, key), *copied;

	if (!json_object_is_type(list, json_type_array))
		return;
	copied = json_object_new_array();
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *container = json_object_new_object();

		copy(json_object_array_get_idx(list, i), container, "ports");
		copy(json_object_array_get_idx(list, i), container, "restartPolicy");
		json_object_array_add(copied, container);
	}
	json_object_object_add(to, key, copied);
}

static struct json_object *part_of(struct json_object *object, const char *key,
				   const char *const *members)
{
	struct json_object *from = json_object_object_get(object, key);
	struct json_object *to = json_object_new_object();

	for (; *members; members++)
		copy(from, to, *members);
	return to;
}

/* Copies the fields of a Pod that are read. Pods are most of a cluster, and most of a Pod is not
 * read. */
struct json_object *objects_pod_read(struct json_object *pod)
{
	static const char *const metadata[] = {"name",	 "namespace",	      "uid",
					       "labels", "deletionTimestamp", "creationTimestamp",
					       NULL};
	static const char *const spec[] = {"nodeName", "hostNetwork", NULL};
	static const char *const status[] = {"phase", "podIP", "podIPs", "conditions", NULL};
	struct json_object *read = json_object_new_object();
	struct json_object *from = json_object_object_get(pod, "spec"), *to;

	json_object_object_add(read, "apiVersion", json_object_new_string("v1"));
	json_object_object_add(read, "kind", json_object_new_string("Pod"));
	json_object_object_add(read, "metadata", part_of(pod, "metadata", metadata));
	to = part_of(pod, "spec", spec);
	copy_ports(from, to, "containers");
	copy_ports(from, to, "initContainers");
	json_object_object_add(read, "spec", to);
	json_object_object_add(read, "status", part_of(pod, "status", status));
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

/* Copies the metadata that is read. Labels of a policy are not. */
static struct json_object *metadata_read(const struct object_kind *kind, struct json_object *object)
{
	static const char *const members[] = {"name", "namespace", "uid", NULL};
	struct json_object *from = json_object_object_get(object, "metadata");
	struct json_object *metadata = part_of(object, "metadata", members);

	if (!kind->policy)
		copy(from, metadata, "labels");
	copy_annotation(from, metadata, "annotations");
	return metadata;
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

char *objects_text(const struct object_kind *kind, struct json_object *object)
{
	if (kind_is_pod(kind))
		return objects_pod_text(object);
	if (!strcmp(kind->name, "Node"))
		return text_and_free(node_read(object));
	json_object_object_add(object, "apiVersion", json_object_new_string(kind->version));
	json_object_object_add(object, "kind", json_object_new_string(kind->name));
	return text_and_free(object_read(kind, object));
}

/* Returns the bytes that the text of an object takes, with what was read of it. */
static size_t bytes_of(const char *text, struct cluster *cluster)
{
	return strlen(text) + obstack_memory_used(&cluster->memory) -
	       obstack_room(&cluster->memory);
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
		*bytes = bytes_of(text, &cluster);
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

/* Denies the policy's subject all traffic with all namespaces and addresses. */
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
		json_object_object_add(
			rule, directions[i + 1],
			json_tokener_parse(i ? "[{\"namespaces\":{}},{\"networks\":[\"0.0.0.0/0\","
					       "\"::/0\"]}]"
					     : "[{\"namespaces\":{}}]"));
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
	    strcmp(json_object_get_string(audit), "true"))
		return;
	annotations = json_object_new_object();
	json_object_object_add(annotations, AUDIT_ANNOTATION, json_object_get(audit));
	json_object_object_add(metadata, "annotations", annotations);
}

char *objects_isolating(const struct object_kind *kind, struct json_object *object,
			const char *name)
{
	struct json_object *spec = api_get(object, "spec");
	struct json_object *stand_in = objects_about(object), *to = json_object_new_object();
	char *text = NULL, *why = NULL;

	copy_audit(object, api_get(stand_in, "metadata"));
	json_object_object_add(stand_in, "spec", to);
	if (is_network(kind)) {
		copy(spec, to, "podSelector");
		json_object_object_add(to, "policyTypes", named_types(spec));
	} else {
		isolate_admin(to, spec);
	}
	text = strdup(json_object_to_json_string_ext(stand_in, JSON_C_TO_STRING_PLAIN));
	if (text && objects_check(text, name, &why, NULL) && is_network(kind)) {
		json_object_object_add(to, "podSelector", json_object_new_object());
		free(text);
		text = strdup(json_object_to_json_string_ext(stand_in, JSON_C_TO_STRING_PLAIN));
		free(why);
		why = NULL;
	}
	if (text && objects_check(text, name, &why, NULL)) {
		free(text);
		text = NULL;
	}
	free(why);
	json_object_put(stand_in);
	return text;
}
