// SPDX-License-Identifier: GPL-2.0-only
/* Budgets of Services: they are known before the compile begins, by counting. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "compile/budget.h"
#include "model/search.h"
#include "model/cluster_service.h"

struct size {
	uint64_t frontends, backends, steps;
};

/* The backends that each port of a Service has, and the steps to find them. */
struct found {
	uint64_t backends, steps;
};

/* Returns how many ports of one name the pod has at most. */
static size_t most_of_a_name(const struct endpoint *pod)
{
	size_t most = 1, n = 1;

	for (size_t i = 1; i < pod->n_ports; i++) {
		n = strcmp(pod->ports[i].name, pod->ports[i - 1].name) ? 1 : n + 1;
		most = n > most ? n : most;
	}
	return most;
}

static void count_pods(const struct endpoint *pods, size_t n, const char *ns, struct found *found)
{
	for (size_t i = SEARCH(n, k, strcmp(pods[k].ns_name, ns) < 0);
	     i < n && !strcmp(pods[i].ns_name, ns); i++) {
		found->backends += pods[i].n_addresses * most_of_a_name(&pods[i]);
		found->steps += 1 + pods[i].n_ports;
	}
}

static struct found count_slices(const struct cluster *cluster, const struct service *service)
{
	struct found found = {0};

	for (size_t i = 0; i < service->n_slices; i++) {
		const struct slice *slice = &cluster->slices[service->slices + i];

		for (size_t k = 0; k < slice->n_endpoints; k++)
			found.backends += slice->endpoints[k].n_addresses;
		found.steps += 1 + slice->n_ports;
	}
	return found;
}

/* @pods: of all pods of the Service's namespace, since a selector may select all. */
static struct size size_of(const struct cluster *cluster, const struct service *service,
			   const struct found *pods)
{
	const uint64_t n_ports = service->n_ports ? service->n_ports : 1;
	struct found found = {0};

	if (service->n_slices)
		found = count_slices(cluster, service);
	else if (service->has_selector)
		found = *pods;
	return (struct size){
		service->n_ports * (service->n_addresses + service->n_external + 1),
		n_ports * found.backends,
		n_ports * found.steps,
	};
}

static bool fits(struct compiler *c, size_t service, enum budget budget, uint64_t n, bool is_ns)
{
	const struct budget_limit *limits = &budget_limits[budget];
	const uint32_t limit = is_ns ? limits->ns : limits->object;
	char why[200];

	if (n <= limit)
		return true;
	snprintf(why, sizeof(why), "%s %" PRIu64 " %s, the limit is %u",
		 is_ns ? "the Services of its namespace need" : "it needs", n, limits->what, limit);
	budget_close_service(c, service, why);
	return false;
}

static bool fit(struct compiler *c, size_t service, const struct size *size, bool is_ns)
{
	return fits(c, service, BUDGET_FRONTENDS, size->frontends, is_ns) &&
	       fits(c, service, BUDGET_BACKENDS, size->backends, is_ns) &&
	       fits(c, service, BUDGET_STEPS, size->steps, is_ns);
}

/* Checks the @n Services of one namespace, from the first on. */
static void check_namespace(struct compiler *c, size_t first, size_t n)
{
	const struct cluster *cluster = c->cluster;
	const char *ns = cluster->services[first].ns_name;
	struct found pods = {0};
	struct size all = {0};

	count_pods(cluster->endpoints, cluster->n_endpoints, ns, &pods);
	count_pods(cluster->host_pods, cluster->n_host_pods, ns, &pods);
	for (size_t i = first; i < first + n; i++) {
		const struct size size = size_of(cluster, &cluster->services[i], &pods);

		if (!fit(c, i, &size, false))
			continue;
		all.frontends += size.frontends;
		all.backends += size.backends;
		all.steps += size.steps;
	}
	for (size_t i = first; i < first + n; i++)
		if (!cluster->services[i].closed)
			fit(c, i, &all, true);
}

void budget_check_services(struct compiler *c)
{
	const struct cluster *cluster = c->cluster;

	for (size_t i = 0, n; i < cluster->n_services; i += n) {
		for (n = 1; i + n < cluster->n_services; n++)
			if (strcmp(cluster->services[i].ns_name, cluster->services[i + n].ns_name))
				break;
		check_namespace(c, i, n);
	}
}
