// SPDX-License-Identifier: GPL-2.0-only
/* Keeps the API server's objects as JSON text that input/ reads. Each object is checked alone when
 * it comes. */
#include "cluster/objects_kept.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/asides.h"
#include "input/input.h"

const struct kind object_kinds[N_KINDS] = {
	{"Namespace", "v1", "/api/v1/namespaces", false},
	{"Node", "v1", "/api/v1/nodes", false},
	{"Pod", "v1", "/api/v1/pods", false},
	{"Service", "v1", "/api/v1/services", false},
	{"EndpointSlice", "discovery.k8s.io/v1", "/apis/discovery.k8s.io/v1/endpointslices", false},
	{"EndpointSlice", "discovery.k8s.io/v1beta1",
	 "/apis/discovery.k8s.io/v1beta1/endpointslices", false},
	{"NetworkPolicy", "networking.k8s.io/v1", "/apis/networking.k8s.io/v1/networkpolicies",
	 true},
	{"AdminNetworkPolicy", "policy.networking.k8s.io/v1alpha1",
	 "/apis/policy.networking.k8s.io/v1alpha1/adminnetworkpolicies", true},
	{"BaselineAdminNetworkPolicy", "policy.networking.k8s.io/v1alpha1",
	 "/apis/policy.networking.k8s.io/v1alpha1/baselineadminnetworkpolicies", true},
	{"ClusterNetworkPolicy", "policy.networking.k8s.io/v1alpha2",
	 "/apis/policy.networking.k8s.io/v1alpha2/clusternetworkpolicies", true},
};

static void free_kept(struct lh_entry *entry)
{
	struct kept *kept = lh_entry_v(entry);

	free(kept->text);
	free(kept->why);
	free(kept->aside);
	free(kept->closed);
	json_object_put(kept->refused);
	free(kept);
	free(lh_entry_k(entry));
}

void objects_free_key(struct lh_entry *entry)
{
	free(lh_entry_k(entry));
}

/* Selection of the fields of an object that are kept */

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

bool kind_is_pod(const struct kind *kind)
{
	return !strcmp(kind->name, "Pod");
}

static bool is_servers(const char *name)
{
	return !strcmp(name, "managedFields") || !strcmp(name, "resourceVersion") ||
	       !strcmp(name, "generation");
}

static struct json_object *metadata_read(struct json_object *from)
{
	struct json_object *metadata = json_object_new_object();

	if (!json_object_is_type(from, json_type_object))
		return metadata;
	json_object_object_foreach(from, key, value)
	{
		if (!is_servers(key))
			json_object_object_add(metadata, key, json_object_get(value));
	}
	return metadata;
}

/* Copies an object without the metadata that the server writes beside it. */
static struct json_object *object_read(struct json_object *object)
{
	struct json_object *read = json_object_new_object();

	json_object_object_foreach(object, key, value)
	{
		json_object_object_add(read, key, json_object_get(value));
	}
	json_object_object_add(read, "metadata",
			       metadata_read(json_object_object_get(object, "metadata")));
	return read;
}

/* Returns an object's text. Adds apiVersion and kind, which items of a list lack. */
static char *text_of(const struct kind *kind, struct json_object *object)
{
	if (kind_is_pod(kind))
		return objects_pod_text(object);
	if (!strcmp(kind->name, "Node"))
		return text_and_free(node_read(object));
	json_object_object_add(object, "apiVersion", json_object_new_string(kind->version));
	json_object_object_add(object, "kind", json_object_new_string(kind->name));
	return text_and_free(object_read(object));
}

/* Refused objects */

/* Reads one object without the others. Returns 0; -EINVAL with the fault in *@why, to free; or
 * -ENOMEM. */
static int check(const char *text, const char *name, char **why)
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
	cluster_free(&cluster);
	fclose(diag.to);
	if (!error) {
		free(*why);
		*why = NULL;
	}
	return error;
}

static bool is_network(const struct kind *kind)
{
	return !strcmp(kind->name, "NetworkPolicy");
}

/* Returns the directions that a NetworkPolicy names; Ingress where it names none. */
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

char *objects_isolating(const struct kind *kind, struct json_object *object, const char *name)
{
	static const char *const metadata[] = {"name", "namespace", "uid", NULL};
	struct json_object *spec = api_get(object, "spec");
	struct json_object *stand_in = json_object_new_object(), *to = json_object_new_object();
	char *text = NULL, *why = NULL;

	copy(object, stand_in, "apiVersion");
	copy(object, stand_in, "kind");
	json_object_object_add(stand_in, "metadata", part_of(object, "metadata", metadata));
	json_object_object_add(stand_in, "spec", to);
	if (is_network(kind)) {
		copy(spec, to, "podSelector");
		json_object_object_add(to, "policyTypes", named_types(spec));
	} else {
		isolate_admin(to, spec);
	}
	text = strdup(json_object_to_json_string_ext(stand_in, JSON_C_TO_STRING_PLAIN));
	if (text && check(text, name, &why) && is_network(kind)) {
		json_object_object_add(to, "podSelector", json_object_new_object());
		free(text);
		text = strdup(json_object_to_json_string_ext(stand_in, JSON_C_TO_STRING_PLAIN));
		free(why);
		why = NULL;
	}
	if (text && check(text, name, &why)) {
		free(text);
		text = NULL;
	}
	free(why);
	json_object_put(stand_in);
	return text;
}

/* Changes */

static struct kept *kept_of(struct collection *collection, const char *key)
{
	struct lh_entry *entry = lh_table_lookup_entry(collection->kept, key);

	return entry ? lh_entry_v(entry) : NULL;
}

static struct kept *keep(struct collection *collection, const char *key)
{
	struct kept *kept = kept_of(collection, key);
	char *copied;

	if (kept)
		return kept;
	kept = calloc(1, sizeof(*kept));
	copied = strdup(key);
	if (!kept || !copied || lh_table_insert(collection->kept, copied, kept)) {
		free(kept);
		free(copied);
		return NULL;
	}
	return kept;
}

static void set_refused(struct objects *objects, struct kept *kept, struct json_object *object,
			const char *why)
{
	if (!why && !kept->refused)
		return;
	objects->refused += !!why - !!kept->refused;
	json_object_put(kept->refused);
	free(kept->why);
	kept->refused = why ? json_object_get(object) : NULL;
	kept->why = why ? strdup(why) : NULL;
	objects->ops.refused(objects->data, object, why);
}

void objects_tell_refused(const struct objects *objects)
{
	for (size_t i = 0; i < N_KINDS; i++) {
		struct lh_entry *entry = objects->collections[i].kept->head;

		for (; entry; entry = entry->next) {
			const struct kept *kept = lh_entry_v(entry);

			if (kept->refused && kept->why)
				objects->ops.refused(objects->data, kept->refused, kept->why);
		}
	}
	contested_tell(objects);
	objects_tell_asides(objects);
}

/* Notes the object for the next compile. */
void objects_note(const struct collection *collection, const char *key)
{
	struct since *since = &collection->objects->since;
	char *name;

	since->others |= !kind_is_pod(collection->kind);
	if (!kind_is_pod(collection->kind) || lh_table_lookup_entry(since->pods, key))
		return;
	name = strdup(key);
	if (!name || lh_table_insert(since->pods, name, NULL)) {
		free(name);
		since->others = true;
	}
}

static void object_changed(void *data, const char *key, struct json_object *object)
{
	struct collection *collection = data;
	struct objects *objects = collection->objects;
	char *text = text_of(collection->kind, object), *why = NULL, name[320];
	struct kept *kept = keep(collection, key);
	bool same;

	if (!text || !kept) {
		free(text);
		return;
	}
	snprintf(name, sizeof(name), "%s %s", collection->kind->name, key);
	if (check(text, name, &why)) {
		free(text);
		text = kept->text ? strdup(kept->text)
		       : collection->kind->policy
			       ? objects_isolating(collection->kind, object, name)
			       : NULL;
	}
	set_refused(objects, kept, object, why);
	free(why);
	if (kept->text && text && !strcmp(kept->text, text)) {
		free(text);
		return;
	}
	free(kept->text);
	kept->text = text;
	same = offenders_note(collection, key, kept, object);
	if (objects->ops.accepted && collection->kind->policy && collection->synced &&
	    !kept->refused)
		objects->ops.accepted(objects->data, object);
	if (same)
		return;
	objects_note(collection, key);
	objects->ops.changed(objects->data);
}

static void object_gone(void *data, const char *key)
{
	struct collection *collection = data;
	struct lh_entry *entry = lh_table_lookup_entry(collection->kept, key);

	if (!entry)
		return;
	collection->objects->refused -= !!((struct kept *)lh_entry_v(entry))->refused;
	collection->objects->aside -= !!((struct kept *)lh_entry_v(entry))->aside;
	objects_note(collection, key);
	offenders_note(collection, key, NULL, NULL);
	lh_table_delete_entry(collection->kept, entry);
	collection->objects->ops.changed(collection->objects->data);
}

static void collection_synced(void *data)
{
	struct collection *collection = data;

	if (collection->synced)
		return;
	collection->synced = true;
	collection->objects->ops.changed(collection->objects->data);
}

struct objects *objects_open(struct api *api, const struct objects_ops *ops, void *data)
{
	static const struct api_watch_ops watch_ops = {
		.changed = object_changed,
		.gone = object_gone,
		.synced = collection_synced,
	};
	struct objects *objects = calloc(1, sizeof(*objects));

	if (!objects)
		return NULL;
	objects->api = api;
	objects->ops = *ops;
	objects->data = data;
	objects->since.pods = lh_kchar_table_new(64, objects_free_key);
	objects->since.held = lh_kchar_table_new(16, objects_free_key);
	objects->claims = claims_open();
	if (!objects->since.pods || !objects->since.held || !objects->claims ||
	    offenders_open(objects)) {
		objects_close(objects);
		return NULL;
	}
	for (size_t i = 0; i < N_KINDS; i++) {
		struct collection *collection = &objects->collections[i];

		collection->objects = objects;
		collection->kind = &object_kinds[i];
		collection->kept = lh_kchar_table_new(64, free_kept);
		if (api)
			collection->watch =
				api_watch(api, object_kinds[i].path, NULL, &watch_ops, collection);
		if (!collection->kept || (api && !collection->watch)) {
			objects_close(objects);
			return NULL;
		}
	}
	return objects;
}

void objects_close(struct objects *objects)
{
	if (!objects)
		return;
	for (size_t i = 0; i < N_KINDS; i++) {
		api_unwatch(objects->collections[i].watch);
		if (objects->collections[i].kept)
			lh_table_free(objects->collections[i].kept);
	}
	if (objects->since.pods)
		lh_table_free(objects->since.pods);
	if (objects->since.held)
		lh_table_free(objects->since.held);
	if (objects->contested)
		lh_table_free(objects->contested);
	claims_close(objects->claims);
	offenders_close(objects);
	asides_free(objects->asides);
	free(objects);
}

static const struct kind *kind_of(struct json_object *object)
{
	const char *name = api_text(object, "kind"), *version = api_text(object, "apiVersion");

	for (size_t i = 0; name && version && i < N_KINDS; i++)
		if (!strcmp(object_kinds[i].name, name) &&
		    !strcmp(object_kinds[i].version, version))
			return &object_kinds[i];
	return NULL;
}

bool objects_take(struct objects *objects, const char *type, struct json_object *object)
{
	const struct kind *kind = kind_of(object);
	const char *ns = api_text(object, "metadata.namespace");
	const char *name = api_text(object, "metadata.name");
	struct collection *collection;
	char key[512];

	if (!kind || !name)
		return false;
	collection = &objects->collections[kind - object_kinds];
	snprintf(key, sizeof(key), "%s%s%s", ns ? ns : "", ns ? "/" : "", name);
	if (!strcmp(type, "DELETED"))
		object_gone(collection, key);
	else
		object_changed(collection, key, object);
	return true;
}

bool objects_synced(const struct objects *objects)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (!objects->collections[i].synced)
			return false;
	return true;
}

size_t objects_refused(const struct objects *objects)
{
	return objects->refused + objects->lost;
}

size_t objects_count(const struct objects *objects)
{
	size_t n = 0;

	for (size_t i = 0; i < N_KINDS; i++)
		n += lh_table_length(objects->collections[i].kept);
	return n;
}

bool objects_have_node(const struct objects *objects, const char *name)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (!strcmp(object_kinds[i].name, "Node"))
			return lh_table_lookup_entry(objects->collections[i].kept, name);
	return false;
}
