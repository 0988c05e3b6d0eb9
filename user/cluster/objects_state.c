// SPDX-License-Identifier: GPL-2.0-only
/* The kinds of objects that are kept, and what the files about objects note of one. */
#include "cluster/objects_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct object_kind object_kinds[N_KINDS] = {
	{"Namespace", "v1", "/api/v1/namespaces", PART_LABELLED, false},
	{"Node", "v1", "/api/v1/nodes", PART_NODE, false},
	{"Pod", "v1", "/api/v1/pods", PART_POD, false},
	{"Service", "v1", "/api/v1/services", PART_SERVICE, false},
	{"EndpointSlice", "discovery.k8s.io/v1", "/apis/discovery.k8s.io/v1/endpointslices",
	 PART_SLICE, false},
	{"EndpointSlice", "discovery.k8s.io/v1beta1",
	 "/apis/discovery.k8s.io/v1beta1/endpointslices", PART_SLICE, false},
	{"NetworkPolicy", "networking.k8s.io/v1", "/apis/networking.k8s.io/v1/networkpolicies",
	 PART_POLICY, true},
	{"AdminNetworkPolicy", "policy.networking.k8s.io/v1alpha1",
	 "/apis/policy.networking.k8s.io/v1alpha1/adminnetworkpolicies", PART_POLICY, true},
	{"BaselineAdminNetworkPolicy", "policy.networking.k8s.io/v1alpha1",
	 "/apis/policy.networking.k8s.io/v1alpha1/baselineadminnetworkpolicies", PART_POLICY, true},
	{"ClusterNetworkPolicy", "policy.networking.k8s.io/v1alpha2",
	 "/apis/policy.networking.k8s.io/v1alpha2/clusternetworkpolicies", PART_POLICY, true},
};

bool since_is(const struct since *since, const struct policy *base)
{
	return base && base->lineage == since->lineage && base->generation == since->generation;
}

void objects_free_key(struct lh_entry *entry)
{
	free(lh_entry_k(entry));
}

void objects_free_value(struct lh_entry *entry)
{
	free(lh_entry_v(entry));
	free(lh_entry_k(entry));
}

bool kind_is_pod(const struct object_kind *kind)
{
	return kind->part == PART_POD;
}

bool objects_has_namespace(struct lh_table *namespaces, const char *key)
{
	char ns[256];

	snprintf(ns, sizeof(ns), "%.*s", (int)strcspn(key, "/"), key);
	return lh_table_lookup_entry(namespaces, ns);
}

/* Adds the first @n characters of a text to a table of keys. Returns false if memory is short. */
static bool note_in(struct lh_table *table, const char *text, size_t n)
{
	char *key = strndup(text, n);

	if (key && !lh_table_lookup_entry(table, key) && !lh_table_insert(table, key, NULL))
		return true;
	free(key);
	return key;
}

bool since_note_services(struct since *since, const char *key)
{
	return note_in(since->services, key, strcspn(key, "/"));
}

/* Notes the object for the next compile. */
void objects_note(const struct collection *collection, const char *key)
{
	struct since *since = &collection->objects->since;
	const bool pod = kind_is_pod(collection->kind);
	const bool service =
		collection->kind->part == PART_SERVICE || collection->kind->part == PART_SLICE;

	since->others |= !pod && !service;
	since->rest |= !pod && !collection->kind->policy;
	if (pod)
		since->others |= !note_in(since->pods, key, strlen(key));
	if (service)
		since->others |= !since_note_services(since, key);
}

/* @uid NULL: not known. */
static struct json_object *about(const struct object_kind *kind, const char *key, const char *uid)
{
	const char *slash = strchr(key, '/');
	struct json_object *object = json_object_new_object(), *metadata = json_object_new_object();

	json_object_object_add(object, "apiVersion", json_object_new_string(kind->version));
	json_object_object_add(object, "kind", json_object_new_string(kind->name));
	json_object_object_add(object, "metadata", metadata);
	json_object_object_add(metadata, "name", json_object_new_string(slash ? slash + 1 : key));
	if (slash)
		json_object_object_add(metadata, "namespace",
				       json_object_new_string_len(key, slash - key));
	if (uid)
		json_object_object_add(metadata, "uid", json_object_new_string(uid));
	return object;
}

struct json_object *objects_about_kept(const struct object_kind *kind, const char *key,
				       const struct object_state *kept)
{
	return about(kind, key, kept->uid);
}

static struct json_object *about_waiting(const struct collection *collection,
					 const struct api_wait *wait)
{
	struct lh_entry *entry = lh_table_lookup_entry(collection->kept, wait->key);
	const struct object_state *kept = entry ? lh_entry_v(entry) : NULL;

	return about(collection->kind, wait->key, *wait->uid ? wait->uid : kept ? kept->uid : NULL);
}

struct json_object *objects_about_wait(const struct objects *objects, const struct api_wait *wait)
{
	for (size_t i = 0; i < N_KINDS; i++)
		if (objects->collections[i].watch == wait->watch)
			return about_waiting(&objects->collections[i], wait);
	return NULL;
}

void objects_report_aside(const struct objects *objects, const struct object_kind *kind,
			  const char *key, const struct object_state *kept)
{
	struct json_object *about = objects_about_kept(kind, key, kept);

	if (objects->ops.aside)
		objects->ops.aside(objects->data, about, kept->aside);
	json_object_put(about);
}

/* Reports the object only if it becomes set aside, or is no longer: the figures in the reason
 * change with the cluster. */
void objects_set_aside(struct objects *objects, const struct object_kind *kind, const char *key,
		       struct object_state *kept, char *why)
{
	const bool was = kept->aside;

	if (was != !!why || (was && strcmp(kept->aside, why)))
		objects->faults++;
	free(kept->aside);
	kept->aside = why;
	objects->aside += !!why - was;
	if (was != !!why)
		objects_report_aside(objects, kind, key, kept);
}
