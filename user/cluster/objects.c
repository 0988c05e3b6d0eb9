// SPDX-License-Identifier: GPL-2.0-only
/* Keeps the API server's objects as JSON text that input/ reads. Each is checked alone when it
 * comes; all are read together when a policy is compiled. */
#include "cluster/objects.h"

#include <errno.h>
#include <json-c/linkhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "input/input.h"

static const struct kind {
	const char *name, *version, *path;
	bool policy;
} kinds[] = {
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

#define N_KINDS (sizeof(kinds) / sizeof(*kinds))

/* What is kept of an object. */
struct kept {
	char *text; /* its text as last accepted, or the text of the policy that replaces it */
	bool refused;
};

struct collection {
	struct objects *objects;
	const struct kind *kind;
	struct api_watch *watch;
	struct lh_table *kept; /* key -> struct kept */
	bool synced;
};

struct objects {
	struct objects_ops ops;
	void *data;
	size_t refused;
	struct collection collections[N_KINDS];
};

static void free_kept(struct lh_entry *entry)
{
	struct kept *kept = lh_entry_v(entry);

	free(kept->text);
	free(kept);
	free(lh_entry_k(entry));
}

/* Which fields of an object are kept */

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
static struct json_object *pod_read(struct json_object *pod)
{
	static const char *const metadata[] = {"name",	 "namespace",	      "uid",
					       "labels", "deletionTimestamp", NULL};
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

char *objects_pod_text(struct json_object *pod)
{
	struct json_object *read = pod_read(pod);
	char *text = strdup(json_object_to_json_string_ext(read, JSON_C_TO_STRING_PLAIN));

	json_object_put(read);
	return text;
}

static bool is_pod(const struct kind *kind)
{
	return !strcmp(kind->name, "Pod");
}

/* Returns an object's text. Adds apiVersion and kind, which items of a list lack. */
static char *text_of(const struct kind *kind, struct json_object *object)
{
	struct json_object *metadata = json_object_object_get(object, "metadata");

	if (is_pod(kind))
		return objects_pod_text(object);
	json_object_object_add(object, "apiVersion", json_object_new_string(kind->version));
	json_object_object_add(object, "kind", json_object_new_string(kind->name));
	if (metadata)
		json_object_object_del(metadata, "managedFields");
	return strdup(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN));
}

/* Refused objects */

/* Reads an object alone. Returns 0; -EINVAL with the fault in *@why, to free; or -ENOMEM. */
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

/* Denies the policy's subject all traffic, with all namespaces and addresses. */
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

/* Returns the text of a policy that isolates what a refused policy selects, or all pods of its
 * namespace where the selector itself is wrong. NULL: no such policy can be made. */
static char *isolating(const struct kind *kind, struct json_object *object, const char *name)
{
	struct json_object *spec = api_get(object, "spec");
	struct json_object *stand_in = json_object_new_object(), *to = json_object_new_object();
	char *text = NULL, *why = NULL;

	copy(object, stand_in, "apiVersion");
	copy(object, stand_in, "kind");
	copy(object, stand_in, "metadata");
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
	objects->refused += !!why - kept->refused;
	kept->refused = why;
	objects->ops.refused(objects->data, object, why);
}

static void object_changed(void *data, const char *key, struct json_object *object)
{
	struct collection *collection = data;
	struct objects *objects = collection->objects;
	char *text = text_of(collection->kind, object), *why = NULL, name[320];
	struct kept *kept = keep(collection, key);

	if (!text || !kept) {
		free(text);
		return;
	}
	snprintf(name, sizeof(name), "%s %s", collection->kind->name, key);
	if (check(text, name, &why)) {
		free(text);
		text = kept->text		  ? strdup(kept->text)
		       : collection->kind->policy ? isolating(collection->kind, object, name)
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
	objects->ops.changed(objects->data);
}

static void object_gone(void *data, const char *key)
{
	struct collection *collection = data;
	struct lh_entry *entry = lh_table_lookup_entry(collection->kept, key);

	if (!entry)
		return;
	collection->objects->refused -= ((struct kept *)lh_entry_v(entry))->refused;
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
	objects->ops = *ops;
	objects->data = data;
	for (size_t i = 0; i < N_KINDS; i++) {
		struct collection *collection = &objects->collections[i];

		collection->objects = objects;
		collection->kind = &kinds[i];
		collection->kept = lh_kchar_table_new(64, free_kept);
		if (api)
			collection->watch =
				api_watch(api, kinds[i].path, NULL, &watch_ops, collection);
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
	free(objects);
}

static const struct kind *kind_of(struct json_object *object)
{
	const char *name = api_text(object, "kind"), *version = api_text(object, "apiVersion");

	for (size_t i = 0; name && version && i < N_KINDS; i++)
		if (!strcmp(kinds[i].name, name) && !strcmp(kinds[i].version, version))
			return &kinds[i];
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
	collection = &objects->collections[kind - kinds];
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
	return objects->refused;
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
		if (!strcmp(kinds[i].name, "Node"))
			return lh_table_lookup_entry(objects->collections[i].kept, name);
	return false;
}

/* An EndpointSlice has the same key in both versions of its API. */
static bool is_twin(const struct objects *objects, size_t i, const char *key)
{
	return i && !strcmp(kinds[i].name, kinds[i - 1].name) &&
	       lh_table_lookup_entry(objects->collections[i - 1].kept, key);
}

/* Reads all objects but the Pods in @losers (NULL: none) and compiles. */
static int compile_but(const struct objects *objects, struct lh_table *losers,
		       const struct policy *base, struct diag *diag, struct policy **policy)
{
	struct cluster cluster;
	struct lh_entry *entry;
	int error = 0;

	cluster_init(&cluster);
	for (size_t i = 0; !error && i < N_KINDS; i++)
		for (entry = objects->collections[i].kept->head; !error && entry;
		     entry = entry->next) {
			const struct kept *kept = lh_entry_v(entry);
			const char *key = lh_entry_k(entry);

			if (!kept->text || is_twin(objects, i, key) ||
			    (losers && is_pod(&kinds[i]) && lh_table_lookup_entry(losers, key)))
				continue;
			error = input_parse_json(&cluster, kept->text, strlen(kept->text), key,
						 diag);
		}
	if (!error)
		error = cluster_finish(&cluster, diag);
	if (!error)
		error = compile_cluster(&cluster, base, diag, policy);
	cluster_free(&cluster);
	return error;
}

/* Two Pods with one address: the API shows a Pod that ends beside the Pod that has its address
 * next. */

/* Whether Pod @a gives way to Pod @b. */
static bool gives_way(struct json_object *a, struct json_object *b)
{
	const char *ending = "metadata.deletionTimestamp", *made = "metadata.creationTimestamp";
	const char *made_a = api_text(a, made), *made_b = api_text(b, made);

	if (!api_get(a, ending) != !api_get(b, ending))
		return api_get(a, ending);
	return strcmp(made_a ? made_a : "", made_b ? made_b : "") < 0;
}

static bool has_ended(struct json_object *pod)
{
	const char *phase = api_text(pod, "status.phase");

	return (phase && (!strcmp(phase, "Succeeded") || !strcmp(phase, "Failed"))) ||
	       json_object_get_boolean(api_get(pod, "spec.hostNetwork"));
}

struct conflict {
	struct lh_table *owners; /* address -> the Pod that has it */
	struct lh_table *losers; /* set of the Pods that give way, by key */
};

static void free_owner(struct lh_entry *entry)
{
	free(lh_entry_k(entry));
	json_object_put(lh_entry_v(entry));
}

static void free_loser(struct lh_entry *entry)
{
	free(lh_entry_k(entry));
}

static int add_loser(struct conflict *conflict, struct json_object *pod)
{
	char *key;

	if (asprintf(&key, "%s/%s", api_text(pod, "metadata.namespace"),
		     api_text(pod, "metadata.name")) < 0)
		return -ENOMEM;
	if (lh_table_lookup_entry(conflict->losers, key) ||
	    lh_table_insert(conflict->losers, key, NULL))
		free(key);
	return 0;
}

/* Gives the address to the Pod, or the Pod gives way to the one that has the address. */
static int take_address(struct conflict *conflict, const char *address, struct json_object *pod)
{
	struct lh_entry *entry = lh_table_lookup_entry(conflict->owners, address);
	struct json_object *owner = entry ? lh_entry_v(entry) : NULL;
	char *copied;
	int error;

	if (!owner) {
		copied = strdup(address);
		if (copied && !lh_table_insert(conflict->owners, copied, json_object_get(pod)))
			return 0;
		free(copied);
		return -ENOMEM;
	}
	if (gives_way(pod, owner))
		return add_loser(conflict, pod);
	error = add_loser(conflict, owner);
	lh_entry_set_val(entry, json_object_get(pod));
	json_object_put(owner);
	return error;
}

static int take_addresses(struct conflict *conflict, struct json_object *pod)
{
	struct json_object *list = api_get(pod, "status.podIPs");
	int error = 0;

	if (has_ended(pod) || !json_object_is_type(list, json_type_array))
		return 0;
	for (size_t i = 0; !error && i < json_object_array_length(list); i++) {
		const char *address = api_text(json_object_array_get_idx(list, i), "ip");

		error = address ? take_address(conflict, address, pod) : 0;
	}
	return error;
}

static int find_losers(const struct objects *objects, struct conflict *conflict)
{
	int error = 0;

	for (size_t i = 0; i < N_KINDS; i++) {
		struct lh_entry *entry = objects->collections[i].kept->head;

		for (; !error && is_pod(&kinds[i]) && entry; entry = entry->next) {
			const struct kept *kept = lh_entry_v(entry);
			struct json_object *pod =
				kept->text ? json_tokener_parse(kept->text) : NULL;

			error = take_addresses(conflict, pod);
			json_object_put(pod);
		}
	}
	return error;
}

int objects_compile(const struct objects *objects, const struct policy *base, struct diag *diag,
		    struct policy **policy)
{
	struct diag quiet = {0};
	struct conflict conflict;
	int error = compile_but(objects, NULL, base, &quiet, policy);

	if (error != -EINVAL)
		return error ? compile_but(objects, NULL, base, diag, policy) : 0;
	conflict.owners = lh_kchar_table_new(1024, free_owner);
	conflict.losers = lh_kchar_table_new(16, free_loser);
	error = conflict.owners && conflict.losers ? find_losers(objects, &conflict) : -ENOMEM;
	if (!error)
		error = compile_but(objects, conflict.losers, base, diag, policy);
	if (conflict.owners)
		lh_table_free(conflict.owners);
	if (conflict.losers)
		lh_table_free(conflict.losers);
	return error;
}
