// SPDX-License-Identifier: GPL-2.0-only
/* Budgets of Services: they are known before the compile begins, by counting. */
#include <inttypes.h>
#include <stdio.h>

#include "compile/budget.h"
#include "model/search.h"
#include "model/cluster_service.h"

struct size {
	uint64_t frontends, backends;
};

static size_t count_addresses(const struct endpoint *pods, size_t n, const char *ns)
{
	size_t n_addresses = 0;

	for (size_t i = SEARCH(n, k, strcmp(pods[k].ns_name, ns) < 0);
	     i < n && !strcmp(pods[i].ns_name, ns); i++)
		n_addresses += pods[i].n_addresses;
	return n_addresses;
}

static uint64_t count_slices(const struct cluster *cluster, const struct service *service)
{
	uint64_t n = 0;

	for (size_t i = 0; i < service->n_slices; i++) {
		const struct slice *slice = &cluster->slices[service->slices + i];

		for (size_t k = 0; k < slice->n_endpoints; k++)
			n += slice->endpoints[k].n_addresses;
	}
	return n;
}

/* @pods: how many addresses the pods of the Service's namespace have. A selector may select all. */
static struct size size_of(const struct cluster *cluster, const struct service *service,
			   uint64_t pods)
{
	const uint64_t n_ports = service->n_ports ? service->n_ports : 1;
	uint64_t addresses = 0;

	if (service->n_slices)
		addresses = count_slices(cluster, service);
	else if (service->has_selector)
		addresses = pods;
	return (struct size){
		service->n_ports * (service->n_addresses + service->n_external + 1),
		n_ports * addresses,
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

/* Checks the @n Services of one namespace, from the first on. */
static void check_namespace(struct compiler *c, size_t first, size_t n)
{
	const struct cluster *cluster = c->cluster;
	const char *ns = cluster->services[first].ns_name;
	const uint64_t pods = count_addresses(cluster->endpoints, cluster->n_endpoints, ns) +
			      count_addresses(cluster->host_pods, cluster->n_host_pods, ns);
	struct size all = {0};

	for (size_t i = first; i < first + n; i++) {
		const struct size size = size_of(cluster, &cluster->services[i], pods);

		if (!fits(c, i, BUDGET_FRONTENDS, size.frontends, false) ||
		    !fits(c, i, BUDGET_BACKENDS, size.backends, false))
			continue;
		all.frontends += size.frontends;
		all.backends += size.backends;
	}
	for (size_t i = first; i < first + n; i++)
		if (!cluster->services[i].closed &&
		    fits(c, i, BUDGET_FRONTENDS, all.frontends, true))
			fits(c, i, BUDGET_BACKENDS, all.backends, true);
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
