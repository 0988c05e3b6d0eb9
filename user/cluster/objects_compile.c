// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes a policy of the kept objects. If nothing but Pods, Services and EndpointSlices has changed
 * since the last policy, only these are read, and what else Services have (compile/update.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects_state.h"
#include "compile/address_claims.h"
#include "compile/compile.h"
#include "compile/update.h"
#include "input/input.h"
#include "model/arrays.h"
#include "model/cluster_service.h"
#include "policy/asides.h"

/* So many policies in a row may be made without a compile of all objects: each leaves unused
 * strings and segments behind. */
#define PATCHES_MAX 500

/* Returns true if the Service takes its backends from Pods, which are of its namespace. */
static bool follows_pods(const struct service *service)
{
	return !service->n_slices && service->has_selector &&
	       service->type != SERVICE_EXTERNAL_NAME;
}

static void empty(struct lh_table *table)
{
	while (table->head)
		lh_table_delete_entry(table, table->head);
}

/* Notes the namespaces of the cluster that have such a Service. */
static void note_following(struct since *since, const struct cluster *cluster)
{
	struct lh_table *following = since->following;

	for (size_t i = 0; i < cluster->n_services; i++) {
		const struct service *service = &cluster->services[i];

		if (follows_pods(service) && !lh_table_lookup_entry(following, service->ns_name))
			lh_table_insert(following, check_memory(strdup(service->ns_name)), NULL);
	}
}

/* Notes what the Services of a namespace need. */
static void note_needs(void *data, const char *ns, const struct service_needs *needs)
{
	struct since *since = data;
	struct lh_entry *entry = lh_table_lookup_entry(since->needs_of, ns);
	struct service_needs *had;

	if (!entry) {
		lh_table_insert(since->needs_of, check_memory(strdup(ns)),
				check_memory(calloc(1, sizeof(*had))));
		entry = lh_table_lookup_entry(since->needs_of, ns);
	}
	had = lh_entry_v(entry);
	since->needs.bytes += needs->bytes - had->bytes;
	since->needs.steps += needs->steps - had->steps;
	*had = *needs;
}

static void note_all_needs(struct since *since, const struct cluster *cluster,
			   const struct asides *asides)
{
	empty(since->needs_of);
	since->needs = (struct service_needs){0};
	services_need(cluster, asides, note_needs, since);
}

/* Compiles all objects. @contested: receives the objects that name an address which another object
 * names too. */
static int compile_into(struct objects *objects, const struct policy *base, struct diag *diag,
			struct lh_table *contested, struct policy **policy)
{
	const struct cluster *cluster;
	int error = objects_cluster(objects, base, diag, contested, &cluster);

	if (!error)
		error = compile_again(cluster, base, objects->asides, diag, policy);
	objects->since.known = !error;
	if (!error) {
		empty(objects->since.following);
		note_following(&objects->since, cluster);
		note_all_needs(&objects->since, cluster, (*policy)->asides);
	}
	objects->since.patches = 0;
	objects_cluster_end(objects, error);
	return error;
}

/* Compiles all objects. Only a compile that fails reports. */
static int compile_all(struct objects *objects, const struct policy *base, struct diag *diag,
		       struct policy **policy)
{
	struct diag quiet = {0};
	struct lh_table *contested = contested_new();
	int error;

	offenders_begin(objects);
	error = compile_into(objects, base, &quiet, contested, policy);

	if (error)
		error = compile_into(objects, base, diag, contested, policy);
	contested_set(objects, contested);
	return error;
}

/* Policies without a compile of all objects */

/* Changed Pods, and all Pods of the namespaces whose Services have changed and take their backends
 * from Pods. */
struct pods {
	struct cluster cluster;
	struct update_pod *at;
	size_t n;
};

static int order_pods(const void *a, const void *b)
{
	const struct update_pod *x = a, *y = b;
	int order = strcmp(x->ns, y->ns);

	return order ? order : strcmp(x->name, y->name);
}

/* Sets what changed Pods are now to those that are @found. Returns true if there was one. */
static bool find_pods(struct pods *pods, const struct endpoint *found, size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		const struct update_pod key = {found[i].ns_name, found[i].name, NULL};
		struct update_pod *pod =
			bsearch(&key, pods->at, pods->n, sizeof(*pods->at), order_pods);

		any |= !!pod;
		if (pod)
			pod->now = &found[i];
	}
	return any;
}

/* Reads the Pod of that key, if there is one. */
static int read_pod(const struct objects *objects, const char *key, struct pods *pods,
		    struct diag *diag)
{
	const char *slash = strchr(key, '/');
	const struct object_state *kept = NULL;

	if (!slash)
		return -EOPNOTSUPP;
	pods->at[pods->n++] = (struct update_pod){
		cluster_intern(&pods->cluster, key, slash - key),
		cluster_intern(&pods->cluster, slash + 1, strlen(slash + 1)), NULL};
	for (size_t i = 0; i < N_KINDS; i++) {
		struct lh_entry *entry =
			kind_is_pod(&object_kinds[i])
				? lh_table_lookup_entry(objects->collections[i].kept, key)
				: NULL;

		kept = entry ? lh_entry_v(entry) : kept;
	}
	return kept && kept->text
		       ? input_parse_json(&pods->cluster, kept->text, strlen(kept->text), key, diag)
		       : 0;
}

static int read_pods(struct objects *objects, const struct policy *base, struct pods *pods)
{
	struct diag quiet = {0};
	struct lh_entry *entry;
	int error = 0;

	pods->at = calloc(lh_table_length(objects->since.pods) + 1, sizeof(*pods->at));
	if (!pods->at)
		return -ENOMEM;
	for (entry = objects->since.pods->head; !error && entry; entry = entry->next)
		error = read_pod(objects, lh_entry_k(entry), pods, &quiet);
	if (!error)
		error = objects_add_followed(objects, &pods->cluster);
	if (!error) {
		objects_resolve_claims(objects, &pods->cluster, base, NULL);
		error = cluster_finish(&pods->cluster, &quiet);
	}
	if (!error && lh_table_length(objects->since.held))
		error = -EOPNOTSUPP;
	if (error)
		return error;
	qsort(pods->at, pods->n, sizeof(*pods->at), order_pods);
	find_pods(pods, pods->cluster.endpoints, pods->cluster.n_endpoints);
	find_pods(pods, pods->cluster.expected, pods->cluster.n_expected);
	return find_pods(pods, pods->cluster.host_pods, pods->cluster.n_host_pods) ? -EOPNOTSUPP
										   : 0;
}

/* Returns true if a changed Pod named an address that another object names too. */
static bool is_contested(const struct objects *objects)
{
	struct lh_entry *entry = objects->since.pods->head;

	while (entry && !objects_contest(objects, lh_entry_k(entry)))
		entry = entry->next;
	return entry;
}

static bool can_patch(const struct objects *objects, const struct policy *base)
{
	const struct since *since = &objects->since;

	return since->known && !since->others && since_is(since, base) &&
	       since->patches < PATCHES_MAX && !is_contested(objects);
}

bool objects_may_patch(const struct objects *objects, const struct policy *base)
{
	return can_patch(objects, base) && !lh_table_length(objects->since.held);
}

/* Returns true if a Pod names an address of a Node. */
static bool names_node(const struct policy *base, const struct cluster *pods)
{
	for (size_t i = 0; i < pods->n_endpoints; i++)
		for (size_t k = 0; k < pods->endpoints[i].n_addresses; k++)
			if (policy_has_node(base, &pods->endpoints[i].addresses[k]))
				return true;
	return false;
}

/* Returns true if a Service was set aside in a namespace whose Services are made anew. One that was
 * so elsewhere, since those of all namespaces together were too many, may stay so until the next
 * compile of all objects. */
static bool any_aside(const struct objects *objects)
{
	const struct asides *asides = objects->asides;

	for (size_t i = 0; asides && i < asides->n; i++)
		if (!strcmp(asides->at[i].kind, "Service") &&
		    lh_table_lookup_entry(objects->since.services, asides->at[i].ns))
			return true;
	return false;
}

/* Notes the namespaces of changed Pods from which Services take their backends. */
static bool note_followed(struct since *since)
{
	struct lh_entry *entry = lh_table_length(since->following) ? since->pods->head : NULL;

	for (; entry; entry = entry->next)
		if (objects_has_namespace(since->following, lh_entry_k(entry)) &&
		    !since_note_services(since, lh_entry_k(entry)))
			return false;
	return true;
}

/* Makes the cluster of the Services that are made anew. Returns 0, or -EOPNOTSUPP. */
static int read_services(struct objects *objects, struct cluster *services)
{
	struct since *since = &objects->since;
	struct lh_entry *entry;
	int error = any_aside(objects) ? -EOPNOTSUPP : objects_services(objects, services);

	if (error)
		return error;
	for (entry = since->services->head; entry; entry = entry->next) {
		lh_table_delete(since->following, lh_entry_k(entry));
		note_needs(since, lh_entry_k(entry), &(struct service_needs){0});
	}
	note_following(since, services);
	services_need(services, NULL, note_needs, since);
	return 0;
}

static int order_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Makes the policy from changed Pods, and, if there are @namespaces, from the Services of these.
 * Returns as policy_update() does; -EOPNOTSUPP if a Service is over a budget, too. */
static int update_with(struct objects *objects, const struct policy *base, const struct pods *pods,
		       const struct update_services *services, struct policy **policy)
{
	const struct update update = {pods->at, pods->n, services->n_namespaces ? services : NULL,
				      !asides_any_nameless(objects->asides)};

	if (names_node(base, &pods->cluster) ||
	    (update.services && !services_fit(services->cluster, &objects->since.needs)))
		return -EOPNOTSUPP;
	return policy_update(base, &update, policy);
}

static int update(struct objects *objects, const struct policy *base, struct cluster *services,
		  struct policy **policy)
{
	struct update_services anew = {.cluster = services};
	struct lh_entry *entry = objects->since.services->head;
	const char **names =
		check_memory(calloc(lh_table_length(objects->since.services) + 1, sizeof(*names)));
	struct pods pods = {0};
	int error;

	for (; entry; entry = entry->next)
		names[anew.n_namespaces++] = lh_entry_k(entry);
	qsort(names, anew.n_namespaces, sizeof(*names), order_names);
	anew.namespaces = names;
	cluster_init(&pods.cluster);
	error = read_pods(objects, base, &pods);
	if (!error) {
		struct cluster with_pods = *services;

		/* both have a part of it, and keep it */
		with_pods.endpoints = pods.cluster.endpoints;
		with_pods.n_endpoints = pods.cluster.n_endpoints;
		with_pods.host_pods = pods.cluster.host_pods;
		with_pods.n_host_pods = pods.cluster.n_host_pods;
		anew.cluster = &with_pods;
		error = update_with(objects, base, &pods, &anew, policy);
	}
	cluster_free(&pods.cluster);
	free(pods.at);
	free(names);
	return error;
}

/* Makes the policy from what has changed alone. Returns as policy_update() does; -EOPNOTSUPP if all
 * objects must be read; or -EINVAL if the Pods together are at fault. */
static int patch(struct objects *objects, const struct policy *base, struct policy **policy)
{
	struct since *since = &objects->since;
	struct cluster services;
	int error = can_patch(objects, base) && note_followed(since) ? 0 : -EOPNOTSUPP;

	if (!error)
		error = read_services(objects, &services);
	if (error)
		return error;
	error = update(objects, base, &services, policy);
	cluster_free(&services);
	if (!error)
		objects_forget_made(objects);
	since->patches += !error;
	objects->patched += !error;
	return error;
}

/* Starts to note the objects that change from now on, for the next compile. */
static int begin_since(struct objects *objects, const struct policy *policy)
{
	struct lh_table *pods = lh_kchar_table_new(64, objects_free_key);
	struct lh_table *services = lh_kchar_table_new(16, objects_free_key);

	if (!pods || !services) {
		if (pods)
			lh_table_free(pods);
		if (services)
			lh_table_free(services);
		return -ENOMEM;
	}
	lh_table_free(objects->since.pods);
	lh_table_free(objects->since.services);
	objects->since.pods = pods;
	objects->since.services = services;
	objects->since.others = objects->since.rest = false;
	objects->since.lineage = policy->lineage;
	objects->since.generation = policy->generation;
	return 0;
}

int objects_compile(struct objects *objects, const struct policy *base, struct diag *diag,
		    struct policy **policy)
{
	int error = patch(objects, base, policy);

	if (error) {
		error = compile_all(objects, base, diag, policy);
		if (!error) {
			objects_note_asides(objects, (*policy)->asides);
			(*policy)->asides = NULL;
		}
	}
	if (error || begin_since(objects, *policy))
		objects->since.known = false;
	if (!error) {
		objects_keep_passing(&objects->since);
		objects_note_held(objects);
	}
	return error;
}

void objects_forget(struct objects *objects)
{
	objects->since.known = false;
	objects_forget_made(objects);
}

uint64_t objects_patched(const struct objects *objects)
{
	return objects->patched;
}
