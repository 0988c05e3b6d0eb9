// SPDX-License-Identifier: GPL-2.0-only
/* Finds namespaces whose objects take more of the engine's memory than a namespace may have. */
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
}

void lint_room(struct lint *lint)
{
	const struct cluster *cluster = lint->cluster;
	struct namespace_sum *sums = grow_zeroed(cluster->n_namespaces, sizeof(*sums));
	char name[600];

	count_all(sums, lint);
	for (size_t i = 0; i < cluster->n_namespaces; i++) {
		const struct namespace_sum *sum = &sums[i];

		if (sum->bytes <= NAMESPACE_BYTES)
			continue;
		snprintf(name, sizeof(name), "%s/%s", cluster->namespaces[i].name, sum->name);
		lint_find(
			lint, "over-budget", sum->where, name,
			"the objects of its namespace take %zu KiB of an engine's memory, and the "
			"limit is %u: the engine refuses what finds no room; this one takes most, "
			"%zu KiB",
			sum->bytes >> 10, NAMESPACE_BYTES >> 10, sum->most >> 10);
	}
	free(sums);
}
