// SPDX-License-Identifier: GPL-2.0-only
#include "model/cluster_service.h"
#include "selftests/lib/generate.h"

#include <stdlib.h>
#include <string.h>

struct shrinker {
	struct cluster *cluster;
	bool (*fails)(struct cluster *cluster, void *data);
	void *data;
	bool progress;
};

/* Renumbers the rules from 0 on. */
static void renumber(struct cluster *cluster)
{
	for (size_t i = 0; i < cluster->n_policies; i++)
		for (enum direction d = INGRESS; d <= EGRESS; d++)
			for (size_t j = 0; j < cluster->policies[i].n_rules[d]; j++)
				cluster->policies[i].rules[d][j].index = j;
}

static bool still_fails(struct shrinker *s)
{
	renumber(s->cluster);
	return s->fails(s->cluster, s->data);
}

/*
 * Removes each element of the list in turn that the failure does not need. With fewer than @least
 * elements the list would have another meaning.
 */
static void drop(struct shrinker *s, void *list, size_t *n, size_t size, size_t least)
{
	unsigned char *at = list, *saved = malloc(size);

	if (!saved)
		abort();
	for (size_t i = *n; i-- > 0 && *n > least;) {
		size_t behind = (*n - i - 1) * size;

		memcpy(saved, at + i * size, size);
		memmove(at + i * size, at + (i + 1) * size, behind);
		--*n;
		if (still_fails(s)) {
			s->progress = true;
			continue;
		}
		memmove(at + (i + 1) * size, at + i * size, behind);
		memcpy(at + i * size, saved, size);
		++*n;
	}
	free(saved);
}

#define DROP(s, list, n, least) drop(s, list, &(n), sizeof(*(list)), least)

static void shrink_selector(struct shrinker *s, struct selector *selector)
{
	DROP(s, selector->at, selector->n, 0);
	for (size_t i = 0; i < selector->n; i++)
		if (selector->at[i].n_values)
			DROP(s, selector->at[i].values, selector->at[i].n_values, 1);
}

static void shrink_rule(struct shrinker *s, struct rule *rule)
{
	DROP(s, rule->peers, rule->n_peers, 1);
	DROP(s, rule->ports, rule->n_ports, 1);
	for (size_t i = 0; i < rule->n_peers; i++) {
		struct peer *peer = &rule->peers[i];

		DROP(s, peer->except, peer->n_except, 0);
		DROP(s, peer->keys, peer->n_keys, 1);
		shrink_selector(s, &peer->namespaces);
		shrink_selector(s, &peer->pods);
		shrink_selector(s, &peer->nodes);
	}
}

static void shrink_policy(struct shrinker *s, struct policy_object *policy)
{
	for (enum direction d = INGRESS; d <= EGRESS; d++) {
		DROP(s, policy->rules[d], policy->n_rules[d], 0);
		for (size_t i = 0; i < policy->n_rules[d]; i++)
			shrink_rule(s, &policy->rules[d][i]);
	}
	shrink_selector(s, &policy->namespaces);
	shrink_selector(s, &policy->pods);
}

static void shrink_services(struct shrinker *s)
{
	for (size_t i = 0; i < s->cluster->n_services; i++) {
		struct service *service = &s->cluster->services[i];

		DROP(s, service->addresses, service->n_addresses, 0);
		DROP(s, service->external, service->n_external, 0);
		if (service->type == SERVICE_ADDRESSED)
			DROP(s, service->ports, service->n_ports, 1);
	}
	for (size_t i = 0; i < s->cluster->n_slices; i++) {
		DROP(s, s->cluster->slices[i].ports, s->cluster->slices[i].n_ports, 0);
		DROP(s, s->cluster->slices[i].endpoints, s->cluster->slices[i].n_endpoints, 0);
	}
}

static void shrink_objects(struct shrinker *s)
{
	struct cluster *cluster = s->cluster;

	for (size_t i = 0; i < cluster->n_namespaces; i++)
		DROP(s, cluster->namespaces[i].labels.at, cluster->namespaces[i].labels.n, 0);
	for (size_t i = 0; i < cluster->n_nodes; i++) {
		DROP(s, cluster->nodes[i].labels.at, cluster->nodes[i].labels.n, 0);
		DROP(s, cluster->nodes[i].addresses, cluster->nodes[i].n_addresses, 1);
	}
	for (size_t i = 0; i < cluster->n_endpoints; i++) {
		struct endpoint *endpoint = &cluster->endpoints[i];

		DROP(s, endpoint->labels.at, endpoint->labels.n, 0);
		DROP(s, endpoint->addresses, endpoint->n_addresses, 1);
		DROP(s, endpoint->ports, endpoint->n_ports, 0);
	}
}

void generate_shrink(struct cluster *cluster, bool (*fails)(struct cluster *cluster, void *data),
		     void *data)
{
	struct shrinker s = {.cluster = cluster, .fails = fails, .data = data};

	do {
		s.progress = false;
		DROP(&s, cluster->policies, cluster->n_policies, 0);
		DROP(&s, cluster->slices, cluster->n_slices, 0);
		DROP(&s, cluster->services, cluster->n_services, 0);
		DROP(&s, cluster->host_pods, cluster->n_host_pods, 0);
		DROP(&s, cluster->endpoints, cluster->n_endpoints, 0);
		DROP(&s, cluster->nodes, cluster->n_nodes, 0);
		DROP(&s, cluster->namespaces, cluster->n_namespaces, 0);
		for (size_t i = 0; i < cluster->n_policies; i++)
			shrink_policy(&s, &cluster->policies[i]);
		shrink_objects(&s);
		shrink_services(&s);
	} while (s.progress);
	renumber(cluster);
}
