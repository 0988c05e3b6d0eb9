// SPDX-License-Identifier: GPL-2.0-only
/* The kinds of objects that are kept, and what the files about objects note of one. */
#include "cluster/objects_state.h"

#include <stdlib.h>
#include <string.h>

const struct object_kind object_kinds[N_KINDS] = {
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

bool kind_is_pod(const struct object_kind *kind)
{
	return !strcmp(kind->name, "Pod");
}

/* Notes the object for the next compile. */
void objects_note(const struct collection *collection, const char *key)
{
	struct since *since = &collection->objects->since;
	char *name;

	since->others |= !kind_is_pod(collection->kind);
	since->rest |= !kind_is_pod(collection->kind) && !collection->kind->policy;
	if (!kind_is_pod(collection->kind) || lh_table_lookup_entry(since->pods, key))
		return;
	name = strdup(key);
	if (!name || lh_table_insert(since->pods, name, NULL)) {
		free(name);
		since->others = true;
	}
}

void objects_report_aside(const struct objects *objects, const struct object_state *kept)
{
	const char *text = kept->stand_in ? kept->stand_in : kept->text;
	struct json_object *object = text ? json_tokener_parse(text) : NULL;

	if (object && objects->ops.aside)
		objects->ops.aside(objects->data, object, kept->aside);
	json_object_put(object);
}

/* Reports the object only if it becomes set aside, or is no longer: the figures in the reason
 * change with the cluster. */
void objects_set_aside(struct objects *objects, struct object_state *kept, char *why)
{
	const bool was = kept->aside;

	if (was != !!why || (was && strcmp(kept->aside, why)))
		objects->faults++;
	free(kept->aside);
	kept->aside = why;
	objects->aside += !!why - was;
	if (was != !!why)
		objects_report_aside(objects, kept);
}
