// SPDX-License-Identifier: GPL-2.0-only
/* Finds namespaces whose objects take more of the engine's memory than a namespace may have, alone
 * or beside those of all others. */
#include "compile/lint_part.h"

#include <stdio.h>
#include <string.h>

#include "model/cluster_bytes.h"

/* What an object takes, or the objects of a namespace, of which this is the largest. */
struct namespace_size {
	const char *ns, *name;
	const struct where *where;
	size_t bytes, most;
};

typedef ARRAY(struct namespace_size) sizes_t;

static void count(sizes_t *sizes, const char *ns, const char *name, const struct where *where,
		  size_t bytes)
{
	if (ns)
		array_push(sizes, ((struct namespace_size){ns, name, where, bytes, bytes}));
}

static void count_all(sizes_t *sizes, const struct cluster *cluster)
{
	for (size_t i = 0; i < cluster->n_policies; i++) {
		const struct policy_object *at = &cluster->policies[i];

		count(sizes, at->ns_name, at->name, &at->where, policy_bytes(at));
	}
	for (size_t i = 0; i < cluster->n_services; i++) {
		const struct service *at = &cluster->services[i];

		count(sizes, at->ns_name, at->name, &at->where, service_bytes(at));
	}
	for (size_t i = 0; i < cluster->n_slices; i++) {
		const struct slice *at = &cluster->slices[i];

		count(sizes, at->ns_name, at->name, &at->where, slice_bytes(at));
	}
	/* Pods with an address do not count: nodes have room for a number of Pods */
	for (size_t i = 0; i < cluster->n_expected; i++) {
		const struct endpoint *at = &cluster->expected[i];

		count(sizes, at->ns_name, at->name, &at->where, pod_bytes(at));
	}
}

static int compare_namespaces(const void *a, const void *b)
{
	return strcmp(((const struct namespace_size *)a)->ns,
		      ((const struct namespace_size *)b)->ns);
}

/* Makes one record of each namespace's, and returns what all take. A namespace of which no input
 * has the Namespace, a Pod or a policy is none of the cluster's. */
static size_t sum(sizes_t *sizes)
{
	size_t n = 0, all = 0;

	array_sort(sizes, compare_namespaces);
	for (size_t i = 0; i < sizes->n; i++) {
		struct namespace_size *at = &sizes->at[i], *ns = n ? &sizes->at[n - 1] : NULL;

		all += at->bytes;
		if (!ns || compare_namespaces(ns, at)) {
			sizes->at[n++] = *at;
			continue;
		}
		at->bytes += ns->bytes;
		*ns = at->most > ns->most ? *at
					  : (struct namespace_size){ns->ns, ns->name, ns->where,
								    at->bytes, ns->most};
	}
	sizes->n = n;
	return all;
}

/* @all: what the objects of all namespaces take. */
static void find_over(struct lint *lint, const struct namespace_size *sum, size_t all)
{
	const bool alone = sum->bytes > NAMESPACE_BYTES;
	char name[600], beside[160] = "";

	if (!alone && (all <= ROOM_BYTES || sum->bytes <= PART_BYTES))
		return;
	if (!alone)
		snprintf(beside, sizeof(beside),
			 " while those of all namespaces take more than %u, and they take %zu",
			 ROOM_BYTES >> 10, all >> 10);
	snprintf(name, sizeof(name), "%s/%s", sum->ns, sum->name);
	lint_find(lint, "over-budget", sum->where, name,
		  "the objects of its namespace take %zu KiB of an engine's memory, and the "
		  "limit is %u%s: the engine refuses what finds no room; this one takes most, "
		  "%zu KiB",
		  sum->bytes >> 10, (alone ? NAMESPACE_BYTES : PART_BYTES) >> 10, beside,
		  sum->most >> 10);
}

void lint_room(struct lint *lint)
{
	sizes_t sizes = {0};
	size_t all;

	count_all(&sizes, lint->cluster);
	all = sum(&sizes);
	for (size_t i = 0; i < sizes.n; i++)
		find_over(lint, &sizes.at[i], all);
	array_free(&sizes);
}
