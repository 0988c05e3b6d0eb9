// SPDX-License-Identifier: GPL-2.0-only
/* Finds namespaces whose objects take more of the engine's memory than a namespace may have, alone
 * or beside those of all others. */
#include "compile/lint_part.h"

#include <stdio.h>
#include <stdlib.h>

#include "model/cluster_bytes.h"

/* What the objects of a namespace take, and the largest of them. */
struct namespace_sum {
	size_t bytes, most;
	const char *name;
	const struct where *where;
};

static void count(struct namespace_sum *sums, const struct lint *lint, const char *ns,
		  const char *name, const struct where *where, size_t bytes)
{
	struct namespace_sum *sum;

	if (!ns)
		return;
	sum = &sums[cluster_namespace(lint->cluster, ns) - lint->cluster->namespaces];
	sum->bytes += bytes;
	if (bytes <= sum->most)
		return;
	sum->most = bytes;
	sum->name = name;
	sum->where = where;
}

static void count_all(struct namespace_sum *sums, const struct lint *lint)
{
	const struct cluster *cluster = lint->cluster;

	for (size_t i = 0; i < cluster->n_policies; i++) {
		const struct policy_object *at = &cluster->policies[i];

		count(sums, lint, at->ns_name, at->name, &at->where, policy_bytes(at));
	}
	for (size_t i = 0; i < cluster->n_services; i++) {
		const struct service *at = &cluster->services[i];

		count(sums, lint, at->ns_name, at->name, &at->where, service_bytes(at));
	}
	for (size_t i = 0; i < cluster->n_slices; i++) {
		const struct slice *at = &cluster->slices[i];

		count(sums, lint, at->ns_name, at->name, &at->where, slice_bytes(at));
	}
	/* Pods with an address do not count: nodes have room for a number of Pods */
	for (size_t i = 0; i < cluster->n_expected; i++) {
		const struct endpoint *at = &cluster->expected[i];

		count(sums, lint, at->ns_name, at->name, &at->where, pod_bytes(at));
	}
}

static size_t sum_all(const struct namespace_sum *sums, size_t n)
{
	size_t all = 0;

	for (size_t i = 0; i < n; i++)
		all += sums[i].bytes;
	return all;
}

/* @all: what the objects of all namespaces take. */
static void find_over(struct lint *lint, const char *ns, const struct namespace_sum *sum,
		      size_t all)
{
	const bool alone = sum->bytes > NAMESPACE_BYTES;
	char name[600], beside[160] = "";

	if (!alone && (all <= ROOM_BYTES || sum->bytes <= PART_BYTES))
		return;
	if (!alone)
		snprintf(beside, sizeof(beside),
			 " while those of all namespaces take more than %u, and they take %zu",
			 ROOM_BYTES >> 10, all >> 10);
	snprintf(name, sizeof(name), "%s/%s", ns, sum->name);
	lint_find(lint, "over-budget", sum->where, name,
		  "the objects of its namespace take %zu KiB of an engine's memory, and the "
		  "limit is %u%s: the engine refuses what finds no room; this one takes most, "
		  "%zu KiB",
		  sum->bytes >> 10, (alone ? NAMESPACE_BYTES : PART_BYTES) >> 10, beside,
		  sum->most >> 10);
}

void lint_room(struct lint *lint)
{
	const struct cluster *cluster = lint->cluster;
	struct namespace_sum *sums = grow_zeroed(cluster->n_namespaces, sizeof(*sums));
	size_t all;

	count_all(sums, lint);
	all = sum_all(sums, cluster->n_namespaces);
	for (size_t i = 0; i < cluster->n_namespaces; i++)
		find_over(lint, cluster->namespaces[i].name, &sums[i], all);
	free(sums);
}
