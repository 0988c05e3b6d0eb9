/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/unknown.h"

static void note_pods(const struct endpoint *pods, size_t n, bool *known)
{
	for (size_t i = 0; i < n; i++)
		known[pods[i].ns] = true;
}

static struct nearest nearest_known(const struct cluster *cluster, const bool *known,
				    const char *name)
{
	struct nearest nearest = {.word = name};

	for (size_t i = 0; i < cluster->n_namespaces; i++)
		if (known[i])
			nearest_try(&nearest, cluster->namespaces[i].name);
	return nearest;
}

int unknown_namespaces(const struct cluster *cluster,
		       void (*visit)(void *data, const struct policy_object *policy,
				     const struct nearest *nearest),
		       void *data)
{
	bool *known = calloc(cluster->n_namespaces + 1, sizeof(*known)), any = false;

	if (!known)
		return -ENOMEM;
	note_pods(cluster->endpoints, cluster->n_endpoints, known);
	note_pods(cluster->host_pods, cluster->n_host_pods, known);
	note_pods(cluster->expected, cluster->n_expected, known);
	for (size_t i = 0; i < cluster->n_namespaces; i++) {
		known[i] |= cluster->namespaces[i].declared;
		any |= known[i];
	}
	for (size_t i = 0; any && i < cluster->n_policies; i++) {
		const struct policy_object *policy = &cluster->policies[i];
		const struct namespace *ns =
			policy->ns_name ? cluster_namespace(cluster, policy->ns_name) : NULL;
		struct nearest nearest;

		if (!ns || known[ns - cluster->namespaces])
			continue;
		nearest = nearest_known(cluster, known, ns->name);
		visit(data, policy, &nearest);
	}
	free(known);
	return 0;
}
