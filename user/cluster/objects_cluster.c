// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes a cluster of the kept objects, for a compile. An object that has not changed is not read
 * again, and if nothing but policies has changed, all else of the last cluster stays as it is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects_state.h"
#include "input/input.h"
#include "model/arrays.h"
#include "model/cluster_service.h"

/* for obstack_alloc() */
#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

/* Bytes: what objects->read has of former versions may grow by so much. */
#define ROOM_TO_READ (16 << 20)

struct made_cluster {
	struct cluster cluster; /* in strings of objects->read, or of `former` */
	struct cluster *former; /* NULL: none */
	bool stays; /* for a compile after nothing but policies has changed */
};

void objects_forget_made(struct objects *objects)
{
	struct made_cluster *made = objects->made;

	if (made) {
		cluster_free(&made->cluster);
		former_close(made->former);
	}
	free(made);
	objects->made = NULL;
}

void objects_forget_read(struct objects *objects)
{
	objects_forget_made(objects);
	if (objects->read)
		cluster_free(objects->read);
	free(objects->read);
	objects->read = NULL;
}

/* An EndpointSlice has the same key in both versions of its API. */
static bool is_twin(const struct objects *objects, size_t i, const char *key)
{
	return i && !strcmp(object_kinds[i].name, object_kinds[i - 1].name) &&
	       lh_table_lookup_entry(objects->collections[i - 1].kept, key);
}

/* An object, by its place in the collections. */
struct object_place {
	const struct object_kind *kind;
	const char *key;
	struct object_state *kept;
};

/* Calls @each for each object until it fails. */
typedef int each_object(struct objects *objects, const struct object_place *at,
			struct cluster *cluster, struct diag *diag);

static int for_kind(struct objects *objects, size_t kind, each_object *each,
		    struct cluster *cluster, struct diag *diag)
{
	struct lh_entry *entry = objects->collections[kind].kept->head;
	int error = 0;

	for (; !error && entry; entry = entry->next) {
		const struct object_place at = {&object_kinds[kind], lh_entry_k(entry),
						lh_entry_v(entry)};

		if (!is_twin(objects, kind, at.key))
			error = each(objects, &at, cluster, diag);
	}
	return error;
}

static int for_objects(struct objects *objects, bool policies_only, each_object *each,
		       struct cluster *cluster, struct diag *diag)
{
	int error = 0;

	for (size_t i = 0; !error && i < N_KINDS; i++)
		if (object_kinds[i].policy || !policies_only)
			error = for_kind(objects, i, each, cluster, diag);
	return error;
}

static const char *text_of(const struct objects *objects, const struct object_place *at)
{
	return offenders_text(objects, at->kind, at->key, at->kept);
}

/* Returns true if the object's own text counts, of which what was read is kept. */
static bool is_kept(const struct objects *objects, const struct object_place *at)
{
	return text_of(objects, at) == at->kept->text;
}

/* Reads an object that has changed. */
static int read_object(struct objects *objects, const struct object_place *at,
		       struct cluster *cluster, struct diag *diag)
{
	const char *text = at->kept->text;
	int error;

	if (!text || !is_kept(objects, at) || at->kept->reading == objects->reading)
		return 0;
	error = input_parse_json(cluster, text, strlen(text), at->key, diag);
	at->kept->part = cluster_take(cluster);
	at->kept->reading = error ? 0 : objects->reading;
	return error;
}

static int add_object(struct objects *objects, const struct object_place *at,
		      struct cluster *cluster, struct diag *diag)
{
	const char *text = text_of(objects, at);

	if (!text)
		return 0;
	if (!is_kept(objects, at))
		return input_parse_json(cluster, text, strlen(text), at->key, diag);
	cluster_put(at->kept->part, cluster);
	return 0;
}

static size_t bytes_read(const struct objects *objects)
{
	return obstack_memory_used(&objects->read->memory);
}

/* Returns true if most of what was read may be of former versions. */
static bool has_much_read(const struct objects *objects)
{
	return objects->read && bytes_read(objects) > 2 * objects->read_bytes + ROOM_TO_READ;
}

/* Reads the objects that have changed, or all if none is read. */
static int read_changed(struct objects *objects, struct diag *diag)
{
	bool all;
	int error;

	if (has_much_read(objects))
		objects_forget_read(objects);
	all = !objects->read;
	if (all) {
		objects->read = check_memory(malloc(sizeof(*objects->read)));
		objects->reading++;
		cluster_init(objects->read);
	}
	error = for_objects(objects, false, read_object, objects->read, diag);
	if (all && !error)
		objects->read_bytes = bytes_read(objects);
	return error;
}

/* Adds a policy that denies everything to and from what has CLOSED_LABEL: Pods, or those of such
 * Namespaces. It comes before all others, since no DNS name begins so. */
static void add_isolation_of(struct cluster *cluster, const char *name, bool namespaces)
{
	static struct rule deny = {
		.name = "closed", .action = ACTION_DENY, .any_peer = true, .any_port = true};
	static const char label[] = CLOSED_LABEL;
	struct policy_object *policy = cluster_add_policy(cluster);
	struct requirement *requirement = obstack_alloc(&cluster->memory, sizeof(*requirement));

	*requirement = (struct requirement){.key = cluster_intern(cluster, label, strlen(label)),
					    .op = SELECTOR_EXISTS};
	*policy = (struct policy_object){
		.kind = POLICY_ADMIN,
		.tier = TIER_ADMIN,
		.name = cluster_intern(cluster, name, strlen(name)),
		.applies = {true, true},
		.rules = {&deny, &deny},
		.n_rules = {1, 1},
	};
	*(namespaces ? &policy->namespaces : &policy->pods) = (struct selector){requirement, 1};
}

static void add_isolation(const struct objects *objects, struct cluster *cluster)
{
	if (!objects->marked)
		return;
	add_isolation_of(cluster, "(closed namespaces)", true);
	add_isolation_of(cluster, "(closed pods)", false);
}

/* Makes the cluster of all objects. */
static int make_all(struct objects *objects, const struct policy *base, struct diag *diag,
		    struct lh_table *contested)
{
	struct made_cluster *made;
	size_t declared;
	int error;

	objects_forget_made(objects);
	error = read_changed(objects, diag);
	if (error)
		return error;
	made = objects->made = check_memory(calloc(1, sizeof(*made)));
	made->former = former_open(objects, base);
	cluster_init_from(made->former ? made->former : objects->read, &made->cluster);
	made->cluster.lenient = true;
	error = for_objects(objects, false, add_object, &made->cluster, diag);
	if (error)
		return error;
	former_add(objects, made->former, &made->cluster);
	add_isolation(objects, &made->cluster);
	objects_resolve_claims(objects, &made->cluster, base, contested);
	declared = made->cluster.n_namespaces;
	error = cluster_finish(&made->cluster, diag);
	/* who has a contested address depends on the last policy, and a namespace that is not
	 * declared on the policies in it */
	made->stays = !made->former && !lh_table_length(contested) &&
		      !lh_table_length(objects->since.held) &&
		      made->cluster.n_namespaces == declared;
	return error;
}

bool objects_keep_all_but_policies(const struct objects *objects, const struct policy *base)
{
	const struct since *since = &objects->since;

	return objects->made && !since->rest && !lh_table_length(since->pods) &&
	       since_is(since, base) && !has_much_read(objects);
}

static bool has_namespaces(const struct cluster *cluster)
{
	for (size_t i = 0; i < cluster->n_policies; i++)
		if (cluster->policies[i].ns_name &&
		    !cluster_namespace(cluster, cluster->policies[i].ns_name))
			return false;
	return true;
}

/* Puts the policies of now into the last cluster. Returns -EAGAIN if all objects must be put. */
static int make_policies(struct objects *objects, struct diag *diag)
{
	struct cluster *cluster = &objects->made->cluster;
	int error = for_objects(objects, true, read_object, objects->read, diag);

	cluster->n_policies = 0;
	if (!error)
		error = for_objects(objects, true, add_object, cluster, diag);
	add_isolation(objects, cluster);
	if (!error && !has_namespaces(cluster))
		error = -EAGAIN;
	return error ? error : cluster_finish_policies(cluster, diag);
}

int objects_cluster(struct objects *objects, const struct policy *base, struct diag *diag,
		    struct lh_table *contested, const struct cluster **cluster)
{
	int error = -EAGAIN;

	if (objects_keep_all_but_policies(objects, base))
		error = make_policies(objects, diag);
	if (error == -EAGAIN)
		error = make_all(objects, base, diag, contested);
	*cluster = objects->made ? &objects->made->cluster : NULL;
	return error;
}

void objects_cluster_end(struct objects *objects, int error)
{
	if (error || !objects->made->stays)
		objects_forget_made(objects);
}

/* The Services of some namespaces */

/* Returns true if a Service that counts has this EndpointSlice. */
static bool has_service(const struct objects *objects, const struct slice *slice)
{
	char key[600];

	if (!slice->service)
		return false;
	snprintf(key, sizeof(key), "%s/%s", slice->ns_name, slice->service);
	for (size_t i = 0; i < N_KINDS; i++) {
		struct lh_entry *entry =
			object_kinds[i].part == PART_SERVICE
				? lh_table_lookup_entry(objects->collections[i].kept, key)
				: NULL;
		const struct object_state *kept = entry ? lh_entry_v(entry) : NULL;

		if (kept && kept->text)
			return true;
	}
	return false;
}

/* Leaves out EndpointSlices of no Service: a tenant may have any number. */
static int add_service(struct objects *objects, const struct object_place *at,
		       struct cluster *cluster, struct diag *diag)
{
	const size_t n = cluster->n_slices;
	int error;

	if (!at->kept->text || !objects_has_namespace(objects->since.services, at->key))
		return 0;
	error = is_kept(objects, at) ? read_object(objects, at, objects->read, diag) : -EOPNOTSUPP;
	if (error)
		return error;
	cluster_put(at->kept->part, cluster);
	if (cluster->n_slices > n && !has_service(objects, &cluster->slices[n]))
		cluster->n_slices = n;
	return 0;
}

int objects_services(struct objects *objects, struct cluster *services)
{
	struct diag quiet = {0};
	const bool any = lh_table_length(objects->since.services);
	int error = !any || (objects->read && !has_much_read(objects)) ? 0 : -EOPNOTSUPP;

	cluster_init(services);
	services->lenient = true;
	for (size_t i = 0; any && !error && i < N_KINDS; i++)
		if (object_kinds[i].part == PART_SERVICE || object_kinds[i].part == PART_SLICE)
			error = for_kind(objects, i, add_service, services, &quiet);
	if (!error)
		services_finish(services, &quiet);
	if (!error && !quiet.errors)
		return 0;
	cluster_free(services);
	return -EOPNOTSUPP;
}

/* Changed Pods are read already. A contested one may belong to an object that is not read. */
static int add_followed(struct objects *objects, const struct object_place *at,
			struct cluster *pods, struct diag *diag)
{
	const struct since *since = &objects->since;
	int error;

	if (!at->kept->text || !objects_has_namespace(since->services, at->key) ||
	    !objects_has_namespace(since->following, at->key) ||
	    lh_table_lookup_entry(since->pods, at->key))
		return 0;
	error = objects_contest(objects, at->key) ? -EOPNOTSUPP
						  : read_object(objects, at, objects->read, diag);
	if (!error)
		cluster_put(at->kept->part, pods);
	return error;
}

int objects_add_followed(struct objects *objects, struct cluster *pods)
{
	const struct lh_entry *entry = objects->since.services->head;
	struct diag quiet = {0};
	int error = 0;

	while (entry && !lh_table_lookup_entry(objects->since.following, lh_entry_k(entry)))
		entry = entry->next;
	for (size_t i = 0; entry && !error && i < N_KINDS; i++)
		if (kind_is_pod(&object_kinds[i]))
			error = for_kind(objects, i, add_followed, pods, &quiet);
	return error ? -EOPNOTSUPP : 0;
}
