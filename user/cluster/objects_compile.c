// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes a policy of the kept objects. Where nothing but Pods has changed since the last policy, and
 * they fit into its segments, only these are read (compile/patch.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects_kept.h"
#include "compile/compile.h"
#include "compile/patch.h"
#include "input/input.h"
#include "model/service.h"

/* So many policies in a row may be made from changed Pods alone: each leaves unused strings
 * behind. */
#define PATCHES_MAX 500

/* An EndpointSlice has the same key in both versions of its API. */
static bool is_twin(const struct objects *objects, size_t i, const char *key)
{
	return i && !strcmp(object_kinds[i].name, object_kinds[i - 1].name) &&
	       lh_table_lookup_entry(objects->collections[i - 1].kept, key);
}

/* Whether a Service takes its backends from Pods. */
static bool follows_pods(const struct cluster *cluster)
{
	for (size_t i = 0; i < cluster->n_services; i++)
		if (!cluster->services[i].n_slices && cluster->services[i].has_selector)
			return true;
	return false;
}

/* Reads all objects but the Pods in @losers (NULL: none) and compiles. */
static int compile_but(struct objects *objects, struct lh_table *losers, const struct policy *base,
		       struct diag *diag, struct policy **policy)
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
			    (losers && kind_is_pod(&object_kinds[i]) &&
			     lh_table_lookup_entry(losers, key)))
				continue;
			error = input_parse_json(&cluster, kept->text, strlen(kept->text), key,
						 diag);
		}
	if (!error)
		error = cluster_finish(&cluster, diag);
	if (!error)
		error = compile_again(&cluster, base, objects->asides, diag, policy);
	objects->since.known = !error && !losers && !follows_pods(&cluster);
	objects->since.patches = 0;
	cluster_free(&cluster);
	return error;
}

/* Two Pods with one address: the API shows a Pod that is ending beside the next Pod that has its
 * address. */

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

/* Gives the address to @pod or leaves it with its owner, and notes which of the two gives way. */
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

		for (; !error && kind_is_pod(&object_kinds[i]) && entry; entry = entry->next) {
			const struct kept *kept = lh_entry_v(entry);
			struct json_object *pod =
				kept->text ? json_tokener_parse(kept->text) : NULL;

			error = take_addresses(conflict, pod);
			json_object_put(pod);
		}
	}
	return error;
}

static int compile_all(struct objects *objects, const struct policy *base, struct diag *diag,
		       struct policy **policy)
{
	struct diag quiet = {0};
	struct conflict conflict;
	int error = compile_but(objects, NULL, base, &quiet, policy);

	if (error != -EINVAL)
		return error ? compile_but(objects, NULL, base, diag, policy) : 0;
	conflict.owners = lh_kchar_table_new(1024, free_owner);
	conflict.losers = lh_kchar_table_new(16, objects_free_key);
	error = conflict.owners && conflict.losers ? find_losers(objects, &conflict) : -ENOMEM;
	if (!error)
		error = compile_but(objects, conflict.losers, base, diag, policy);
	if (conflict.owners)
		lh_table_free(conflict.owners);
	if (conflict.losers)
		lh_table_free(conflict.losers);
	return error;
}

/* Policies from changed Pods alone */

struct pods {
	struct cluster cluster;
	struct patch_pod *at;
	size_t n;
};

static int order_pods(const void *a, const void *b)
{
	const struct patch_pod *x = a, *y = b;
	int order = strcmp(x->ns, y->ns);

	return order ? order : strcmp(x->name, y->name);
}

static void find_pods(struct pods *pods, const struct endpoint *found, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct patch_pod key = {found[i].ns_name, found[i].name, NULL};
		struct patch_pod *pod =
			bsearch(&key, pods->at, pods->n, sizeof(*pods->at), order_pods);

		if (pod)
			pod->now = &found[i];
	}
}

/* Reads the Pod of that key, if there is one. */
static int read_pod(const struct objects *objects, const char *key, struct pods *pods,
		    struct diag *diag)
{
	const char *slash = strchr(key, '/');
	const struct kept *kept = NULL;

	if (!slash)
		return -EOPNOTSUPP;
	pods->at[pods->n++] = (struct patch_pod){
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

static int read_pods(const struct objects *objects, struct pods *pods)
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
		error = cluster_finish(&pods->cluster, &quiet);
	if (!error && pods->cluster.n_host_pods)
		error = -EOPNOTSUPP;
	if (error)
		return error;
	qsort(pods->at, pods->n, sizeof(*pods->at), order_pods);
	find_pods(pods, pods->cluster.endpoints, pods->cluster.n_endpoints);
	find_pods(pods, pods->cluster.expected, pods->cluster.n_expected);
	return 0;
}

static bool can_patch(const struct since *since, const struct policy *base)
{
	return since->known && !since->others && base && base->lineage == since->lineage &&
	       base->generation == since->generation && since->patches < PATCHES_MAX;
}

/* Makes the policy from changed Pods alone. Returns as policy_patch() does; -EOPNOTSUPP where all
 * objects must be read; or -EINVAL where the Pods together are at fault. */
static int patch(struct objects *objects, const struct policy *base, struct policy **policy)
{
	struct pods pods = {0};
	int error;

	if (!can_patch(&objects->since, base))
		return -EOPNOTSUPP;
	cluster_init(&pods.cluster);
	error = read_pods(objects, &pods);
	if (!error)
		error = policy_patch(base, pods.at, pods.n, policy);
	cluster_free(&pods.cluster);
	free(pods.at);
	objects->since.patches += !error;
	objects->patched += !error;
	return error;
}

/* Starts to note the objects that change from now on, for the next compile. */
static int begin_since(struct objects *objects, const struct policy *policy)
{
	struct lh_table *pods = lh_kchar_table_new(64, objects_free_key);

	if (!pods)
		return -ENOMEM;
	lh_table_free(objects->since.pods);
	objects->since.pods = pods;
	objects->since.others = false;
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
	return error;
}

void objects_forget(struct objects *objects)
{
	objects->since.known = false;
}

uint64_t objects_patched(const struct objects *objects)
{
	return objects->patched;
}
