// SPDX-License-Identifier: GPL-2.0-only
/* Finds the kind of an object. Reads the kinds that are no policies: Namespace, Node, Pod,
 * lists. */
#include "input/object.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/foreign.h"
#include "input/name_syntax.h"
#include "input/workload.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

static void read_namespace(struct reader *reader, const struct object *object);
static void read_node(struct reader *reader, const struct object *object);
static void read_pod(struct reader *reader, const struct object *object);
static void read_policy(struct reader *reader, const struct object *object);

static const struct object_reader {
	const char *name, *version;
	bool namespaced;
	void (*read)(struct reader *reader, const struct object *object);
	enum aside_way aside;
	enum policy_kind policy; /* ASIDE_POLICY */
} kinds[] = {
	{"Namespace", "v1", false, read_namespace, ASIDE_NAMESPACE, 0},
	{"Node", "v1", false, read_node, ASIDE_NEVER, 0},
	{"Pod", "v1", true, read_pod, ASIDE_NEVER, 0},
	{"Service", "v1", true, service_read, ASIDE_SERVICE, 0},
	{"EndpointSlice", "discovery.k8s.io/v1", true, slice_read, ASIDE_LEFT_OUT, 0},
	{"EndpointSlice", "discovery.k8s.io/v1beta1", true, slice_v1beta1_read, ASIDE_LEFT_OUT, 0},
	{"NetworkPolicy", "networking.k8s.io/v1", true, read_policy, ASIDE_POLICY, POLICY_NETWORK},
	{"NetworkPolicy", "extensions/v1beta1", true, read_policy, ASIDE_POLICY,
	 POLICY_NETWORK_V1BETA1},
	{"AdminNetworkPolicy", "policy.networking.k8s.io/v1alpha1", false, read_policy,
	 ASIDE_POLICY, POLICY_ADMIN},
	{"BaselineAdminNetworkPolicy", "policy.networking.k8s.io/v1alpha1", false, read_policy,
	 ASIDE_POLICY, POLICY_BASELINE_ADMIN},
	{"ClusterNetworkPolicy", "policy.networking.k8s.io/v1alpha2", false, read_policy,
	 ASIDE_POLICY, POLICY_CLUSTER},
	{"Deployment", "apps/v1", true, workload_read, ASIDE_NEVER, 0},
	{"StatefulSet", "apps/v1", true, workload_read, ASIDE_NEVER, 0},
	{"DaemonSet", "apps/v1", true, workload_read, ASIDE_NEVER, 0},
	{"ReplicaSet", "apps/v1", true, workload_read, ASIDE_NEVER, 0},
	{"ReplicationController", "v1", true, workload_read, ASIDE_NEVER, 0},
	{"Job", "batch/v1", true, workload_read, ASIDE_NEVER, 0},
	{"CronJob", "batch/v1", true, workload_read, ASIDE_NEVER, 0},
};

#define N_KINDS (sizeof(kinds) / sizeof(*kinds))

/* Returns true if objects of the kind are read: workloads only if a cluster takes them. */
static bool is_read(const struct cluster *cluster, const struct object_reader *kind)
{
	return kind->read != workload_read || cluster->workloads;
}

static const char *read_name(struct reader *reader, const struct object *object, const char *key,
			     bool (*is_valid)(const char *), const char *otherwise)
{
	const struct tree *node = tree_get(object->metadata, key);
	const char *name = node ? reader_string(reader, node) : NULL;

	if (name && !is_valid(name)) {
		reader_error(reader, node, "\"%.100s\" is %s", name, otherwise);
		return NULL;
	}
	return name;
}

static bool read_metadata(struct reader *reader, const struct object_reader *kind,
			  struct object *object)
{
	bool dns_label = kind->read == read_namespace;
	const struct tree *ns;

	object->metadata = tree_get(object->root, "metadata");
	if (!object->metadata) {
		reader_missing(reader, object->root, "metadata");
		return false;
	}
	if (!reader_map(reader, object->metadata, NULL))
		return false;
	if (!tree_get(object->metadata, "name")) {
		reader_missing(reader, object->metadata, "name");
		return false;
	}
	object->name =
		read_name(reader, object, "name",
			  dns_label ? name_syntax_is_dns_label : name_syntax_is_dns_subdomain,
			  dns_label ? NAME_SYNTAX_DNS_LABEL : NAME_SYNTAX_DNS_SUBDOMAIN);
	if (!object->name || !kind->namespaced)
		return object->name;
	ns = tree_get(object->metadata, "namespace");
	if (tree_says(object->metadata, "namespace", ""))
		ns = NULL;
	object->ns = ns ? read_name(reader, object, "namespace", name_syntax_is_dns_label,
				    NAME_SYNTAX_DNS_LABEL)
			: cluster_intern(reader->cluster, "default", strlen("default"));
	return object->ns;
}

static void read_kind(struct reader *reader, const struct object_reader *kind,
		      struct object *object)
{
	const struct aside_mark before = aside_mark(reader->cluster);
	char text[700];

	object->policy = kind->policy;
	if (!reader->cluster->lenient || kind->aside == ASIDE_NEVER ||
	    !object_is_accepted(object)) {
		kind->read(reader, object);
		return;
	}
	if (!aside_is_possible(reader, object, kind->aside)) {
		kind->read(reader, object);
		reader_error(reader, object->root,
			     "cannot be set aside: its faults leave open what it selects");
		return;
	}
	object->aside = kind->aside;
	snprintf(text, sizeof(text), "%s %s%s%s %s", kind->name, object->ns ? object->ns : "",
		 object->ns ? "/" : "", object->name, aside_meaning(kind->aside));
	reader->aside = text;
	reader->faults = 0;
	kind->read(reader, object);
	reader->aside = NULL;
	if (reader->faults)
		aside_object(reader, object, &before);
}

/* Returns the number of objects that an object of a kind that is not read stands for: a list's
 * items. Cuts "List" off the list's kind. */
static size_t count_objects(const struct tree *root, char *kind)
{
	const struct tree *items = tree_get(root, "items");
	const size_t length = strlen(kind), suffix = strlen("List");

	if (!items || items->type != TREE_LIST || length <= suffix ||
	    strcmp(kind + length - suffix, "List"))
		return 1;
	kind[length - suffix] = '\0';
	return items->n;
}

/* Skips an object of a kind that is not read. A kind that looks like policy is a warning, and
 * counts: its author expects that it is enforced. */
static void skip_object(struct reader *reader, const struct tree *root, const char *version,
			const char *name)
{
	const struct where where = reader_where(reader, root);
	struct nearest nearest = {};
	char kind[128], text[NEAREST_TEXT];
	size_t n;

	snprintf(kind, sizeof(kind), "%s", name);
	n = count_objects(root, kind);
	nearest.word = kind;
	for (size_t i = 0; i < N_KINDS; i++)
		if (kinds[i].read != workload_read)
			foreign_try(&nearest, version, kinds[i].name, kinds[i].version);
	if (!n || (!nearest.found && !foreign_is_policy(version, kind))) {
		diag_note(reader->diag, &where, NULL, "%.100s (%.100s) is skipped", name, version);
		return;
	}
	reader->cluster->n_unread += n;
	diag_warn(reader->diag, &where, NULL, "%.100s (%.100s) is not enforced%s", name, version,
		  nearest.found ? nearest_print(&nearest, text)
				: ": it looks like another system's policy");
}

/* Returns true if objects of the kind's API group are read, of this kind or another. A kind of any
 * other group only shares its name with one that is read, as Knative's Service does. */
static bool is_of_our_group(const char *version)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (foreign_same_group(version, kinds[i].version))
			return true;
	return false;
}

/* Prints how kubectl names a kind of a version: "networkpolicy.v1.networking.k8s.io"; the core
 * group has no name: "service.v1.". */
static void print_resource(const struct object_reader *kind, char *text, size_t size)
{
	const char *slash = strchr(kind->version, '/');

	snprintf(text, size, "%s.%s.%.*s", kind->name, slash ? slash + 1 : kind->version,
		 slash ? (int)(slash - kind->version) : 0, kind->version);
	for (; *text; text++)
		*text = tolower(*text);
}

/* Refuses a version of a kind that is read in other versions, and names these. */
static void refuse_version(struct reader *reader, const struct tree *root, const char *version,
			   const char *name)
{
	char read[200] = "", resource[150] = "";

	for (size_t i = 0; i < N_KINDS; i++) {
		const size_t end = strlen(read);

		if (strcmp(kinds[i].name, name) || !is_read(reader->cluster, &kinds[i]))
			continue;
		snprintf(read + end, sizeof(read) - end, "%s%s", end ? " and " : "",
			 kinds[i].version);
		if (!end)
			print_resource(&kinds[i], resource, sizeof(resource));
	}
	reader_error(reader, root,
		     "%s of apiVersion \"%.100s\" is not read, but %s; an API server that has both "
		     "gives it by: kubectl get %s -A -o yaml",
		     name, version, read, resource);
}

static void read_object(struct reader *reader, struct tree *root, const char *version,
			const char *name)
{
	struct object object = {.root = root};
	bool known = false;

	reader->n_objects++;
	for (size_t i = 0; i < N_KINDS; i++) {
		const struct object_reader *kind = &kinds[i];

		if (strcmp(kind->name, name) || !is_read(reader->cluster, kind))
			continue;
		known = true;
		if (strcmp(kind->version, version))
			continue;
		if (read_metadata(reader, kind, &object))
			read_kind(reader, kind, &object);
		return;
	}
	if (known && is_of_our_group(version))
		refuse_version(reader, root, version, name);
	else
		skip_object(reader, root, version, name);
}

/* Returns true if @kind is a list's. Sets *@item to the kind of its items; NULL for a "List", which
 * has items of any kind. */
static bool is_list(const struct cluster *cluster, const char *kind, const char **item)
{
	size_t length = strlen(kind), suffix = strlen("List");

	*item = NULL;
	if (!strcmp(kind, "List"))
		return true;
	for (size_t i = 0; i < N_KINDS && !*item; i++)
		if (is_read(cluster, &kinds[i]) && length == strlen(kinds[i].name) + suffix &&
		    !strncmp(kind, kinds[i].name, length - suffix) &&
		    !strcmp(kind + length - suffix, "List"))
			*item = kinds[i].name;
	return *item;
}

static const char *read_type(struct reader *reader, const struct tree *root, const char *key,
			     const char *otherwise)
{
	const struct tree *node = tree_get(root, key);

	if (node)
		return reader_string(reader, node);
	if (!otherwise)
		reader_missing(reader, root, key);
	return otherwise;
}

static void read_typed(struct reader *reader, struct tree *root, const char *version,
		       const char *kind);

/* Reads each item and frees its tree before the next. @objects: the items are objects of
 * @version and @kind, as in read_typed(). Otherwise the items are only checked to be
 * well-formed. */
static void read_items(struct reader *reader, const struct tree *items, bool objects,
		       const char *version, const char *kind)
{
	struct obstack memory;
	struct tree_maker maker = {.memory = &memory, .diag = reader->diag, .file = reader->file};
	void *bottom;

	obstack_begin(&memory, 1 << 14);
	bottom = obstack_alloc(&memory, 1);
	for (struct tree *node = items->first; node && !diag_full(reader->diag);
	     node = node->next) {
		if (node->type == TREE_UNREAD && json_open(&maker, node))
			break;
		if (objects && reader_map(reader, node, NULL)) {
			node->parent = NULL;
			read_typed(reader, node, version, kind);
		}
		obstack_free(&memory, bottom);
		bottom = obstack_alloc(&memory, 1);
	}
	obstack_free(&memory, NULL);
}

/* Reads an object. @version and @kind are those of an object without such fields, as in a
 * PodList. */
static void read_typed(struct reader *reader, struct tree *root, const char *version,
		       const char *kind)
{
	const char *item;
	struct tree *items;

	if (!reader_map(reader, root, NULL))
		return;
	version = read_type(reader, root, "apiVersion", version);
	kind = read_type(reader, root, "kind", kind);
	if (!version || !kind)
		return;
	if (is_list(reader->cluster, kind, &item)) {
		items = reader_list(reader, root, "items", UINT_MAX);
		if (items)
			read_items(reader, items, true, item ? version : NULL, item);
		return;
	}
	items = tree_get(root, "items");
	if (items && items->type == TREE_LIST)
		read_items(reader, items, false, NULL, NULL);
	read_object(reader, root, version, kind);
}

void object_read(struct reader *reader, struct tree *root)
{
	read_typed(reader, root, NULL, NULL);
}

static void read_policy(struct reader *reader, const struct object *object)
{
	static const char *const fields[] = {"apiVersion", "kind",   "metadata",
					     "spec",	   "status", NULL};
	const struct tree *spec = tree_get(object->root, "spec");
	struct policy_object *policy;

	if (!reader_map(reader, object->root, fields))
		return;
	if (!spec) {
		reader_missing(reader, object->root, "spec");
		return;
	}
	policy = object_add_policy(reader, object);
	policy->accepted = object_is_accepted(object);
	policy->audit = object_audit(reader, object);
	if (policy_kind_is_network(policy->kind))
		network_policy_read(reader, spec, policy);
	else
		admin_policy_read(reader, spec, policy);
}

static void read_isolation(struct reader *reader, const struct tree *node,
			   struct namespace *namespace)
{
	static const char *const fields[] = {"ingress", NULL};
	static const char *const ingress_fields[] = {"isolation", NULL};
	const struct tree *ingress, *isolation;
	const char *text;

	if (!reader_map(reader, node, fields))
		return;
	ingress = tree_get(node, "ingress");
	if (!ingress || !reader_map(reader, ingress, ingress_fields))
		return;
	isolation = tree_get(ingress, "isolation");
	text = isolation ? reader_string(reader, isolation) : NULL;
	if (text && strcmp(text, "DefaultDeny"))
		reader_error(reader, isolation, "must be DefaultDeny, not \"%.40s\"", text);
	else if (text)
	namespace->isolated = true;
}

/* Gives @node and all nodes below it one line, that of the annotation's key: lines within a
 * quoted text are no lines of the file. */
static void set_line(struct tree *node, uint32_t line)
{
	node->line = line;
	if (node->type == TREE_SCALAR)
		return;
	for (node = node->first; node; node = node->next)
		set_line(node, line);
}

static void read_isolation_text(struct reader *reader, const struct tree *annotation,
				struct namespace *namespace)
{
	struct diag quiet = {0};
	struct tree_maker maker = {
		.memory = &reader->cluster->memory, .diag = &quiet, .file = reader->file};
	const char *text = reader_string(reader, annotation), *end;
	unsigned int line = 1;
	struct tree *root;

	if (!text)
		return;
	end = text + annotation->n;
	if (json_read(&maker, text, end, &line, &root) != end || !root) {
		reader_error(reader, annotation, "is not JSON");
		return;
	}
	root->parent = annotation->parent;
	root->key = annotation->key;
	set_line(root, annotation->line);
	read_isolation(reader, root, namespace);
}

static void read_namespace(struct reader *reader, const struct object *object)
{
	static const char *const fields[] = {"finalizers", "networkPolicy", NULL};
	const struct tree *spec = tree_get(object->root, "spec");
	const struct tree *annotations = tree_get(object->metadata, "annotations"), *annotation;
	struct namespace *namespace = cluster_add_namespace(reader->cluster);

	namespace->name = object->name;
	namespace->declared = true;
	namespace->where = reader_where(reader, object->root);
	namespace->audit = object_audit(reader, object);
	reader_labels(reader, tree_get(object->metadata, "labels"), &namespace->labels);
	if (annotations && reader_map(reader, annotations, NULL)) {
		annotation = tree_get(annotations, ISOLATION_ANNOTATION);
		if (annotation)
			read_isolation_text(reader, annotation, namespace);
	}
	if (spec && reader_map(reader, spec, fields)) {
		spec = tree_get(spec, "networkPolicy");
		if (spec)
			read_isolation(reader, spec, namespace);
	}
}

static void read_node(struct reader *reader, const struct object *object)
{
	const struct tree *status = tree_get(object->root, "status"), *addresses;
	struct node *node = cluster_add_node(reader->cluster);

	node->name = object->name;
	node->where = reader_where(reader, object->root);
	reader_labels(reader, tree_get(object->metadata, "labels"), &node->labels);
	if (!status || !reader_map(reader, status, NULL))
		return;
	addresses = reader_list(reader, status, "addresses", UINT_MAX);
	if (!addresses)
		return;
	reader_array(reader, node->addresses, addresses->n);
	for (const struct tree *item = addresses->first; item; item = item->next) {
		const struct tree *address = tree_get(item, "address");

		/* GCE's cloud provider writes an empty ExternalIP of a node without one. */
		if ((!tree_says(item, "type", "InternalIP") &&
		     !tree_says(item, "type", "ExternalIP")) ||
		    tree_says(item, "address", ""))
			continue;
		if (!address)
			reader_missing(reader, item, "address");
		else if (reader_address(reader, address, &node->addresses[node->n_addresses]))
			node->n_addresses++;
	}
}

/* @object: NULL for a pod that has its node's addresses. */
static void read_pod_addresses(struct reader *reader, const struct object *object,
			       const struct tree *status, struct endpoint *endpoint)
{
	const struct tree *one = tree_get(status, "podIP");
	const struct tree *list = reader_list(reader, status, "podIPs", UINT_MAX);

	reader_array(reader, endpoint->addresses, 1 + (list ? list->n : 0));
	if (one && object_read_address(reader, object, one, endpoint->addresses))
		endpoint->n_addresses++;
	for (const struct tree *item = list ? list->first : NULL; item; item = item->next) {
		const struct tree *address = tree_get(item, "ip");

		if (!address)
			reader_missing(reader, item, "ip");
		else if (object_read_address(reader, object, address,
					     &endpoint->addresses[endpoint->n_addresses]))
			endpoint->n_addresses++;
	}
}

/* Returns true if the pod has ended. Such a pod is left out. */
static bool is_over(const struct tree *status)
{
	return tree_says(status, "phase", "Succeeded") || tree_says(status, "phase", "Failed");
}

static bool has_address(const struct tree *status)
{
	const struct tree *address = tree_get(status, "podIP"),
			  *addresses = tree_get(status, "podIPs");

	return (address && !tree_says(status, "podIP", "")) || (addresses && addresses->n);
}

static struct endpoint *add_pod(struct cluster *cluster, bool on_host, bool addressed)
{
	if (on_host)
		return addressed ? cluster_add_host_pod(cluster) : NULL;
	return addressed ? cluster_add_endpoint(cluster) : cluster_add_expected(cluster);
}

/* Reads whether the pod is ready. A pod without a status, as in an example, is ready. */
static void read_readiness(struct reader *reader, const struct object *object,
			   const struct tree *status, struct endpoint *endpoint)
{
	const struct tree *list = reader_list(reader, status, "conditions", UINT_MAX);

	for (const struct tree *item = list ? list->first : NULL; item; item = item->next)
		if (tree_says(item, "type", "Ready"))
			endpoint->not_ready = !tree_says(item, "status", "True");
	endpoint->terminating = tree_get(object->metadata, "deletionTimestamp");
}

static const char *scalar(struct reader *reader, const struct tree *node)
{
	return node && node->type == TREE_SCALAR
		       ? cluster_intern(reader->cluster, node->text, node->n)
		       : NULL;
}

/* Reads a pod. A pod that uses its node's network is evaluated as its node; its own data matter to
 * Services only. */
static void read_pod(struct reader *reader, const struct object *object)
{
	const struct tree *spec = tree_get(object->root, "spec"), *node, *host;
	const struct tree *status = tree_get(object->root, "status");
	struct endpoint *endpoint;
	const bool manifest = !status && reader->cluster->workloads;
	bool on_host = false;

	if ((spec && !reader_map(reader, spec, NULL)) ||
	    (status && !reader_map(reader, status, NULL)))
		return;
	host = tree_get(spec, "hostNetwork");
	if ((host && !reader_bool(reader, host, &on_host)) || is_over(status))
		return;
	endpoint = add_pod(reader->cluster, on_host, has_address(status) || (manifest && !on_host));
	if (!endpoint)
		return;
	endpoint->workload = manifest && !on_host ? "Pod" : NULL;
	endpoint->ns_name = object->ns;
	endpoint->name = object->name;
	endpoint->where = reader_where(reader, object->root);
	endpoint->uid = scalar(reader, tree_get(object->metadata, "uid"));
	endpoint->created = scalar(reader, tree_get(object->metadata, "creationTimestamp"));
	reader_labels(reader, tree_get(object->metadata, "labels"), &endpoint->labels);
	if (has_address(status))
		read_pod_addresses(reader, on_host ? NULL : object, status, endpoint);
	read_readiness(reader, object, status, endpoint);
	if (!spec)
		return;
	node = tree_get_filled(spec, "nodeName");
	endpoint->node = node ? reader_plain(reader, node) : NULL;
	object_read_ports(reader, spec, endpoint);
}
