// SPDX-License-Identifier: GPL-2.0-only
/* Budgets of Services: they are known before the compile begins, by counting. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "compile/budget.h"
#include "compile/service_needs.h"
#include "model/search.h"
#include "model/cluster_service.h"

/*
 * What Services of all namespaces together may bring: bytes of the compiled policy, and steps to
 * find backends. Each is up to 20 ns of every compile, and a byte up to 2 of the engine's memory.
 * 20,000 Services with three ports before 150,000 pods bring 30 MiB, and take 3,000,000 steps. Only
 * what EndpointSlices say counts: of pods that a selector may select, nobody knows how many it
 * does.
 */
#define CLUSTER_MOST (1u << 26)

struct size {
	uint64_t frontends, backends, steps;
	uint64_t bytes, slice_steps; /* that count among those of all namespaces */
};

/* The Services of one namespace that are kept. */
struct service_share {
	size_t first, n;
	uint64_t bytes, steps;
	bool over; /* a Service of the namespace is over a budget */
};

typedef ARRAY(struct service_share) service_shares_t;

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
	const struct found sliced = count_slices(cluster, service);
	struct found found = sliced;
	struct size size;

	if (!service->n_slices && service->has_selector)
		found = *pods;
	size = (struct size){
		.frontends = service->n_ports * (service->n_addresses + service->n_external + 1),
		.backends = n_ports * found.backends,
		.steps = n_ports * found.steps,
		.slice_steps = n_ports * sliced.steps,
	};
	size.bytes = size.frontends * sizeof(struct policy_frontend) +
		     n_ports * sliced.backends * sizeof(struct policy_backend);
	return size;
}

/* @c: closes a Service that does not fit; NULL: nobody does. */
static bool fits(struct compiler *c, size_t service, enum budget budget, uint64_t n, bool is_ns)
{
	const struct budget_limit *limits = &budget_limits[budget];
	const uint32_t limit = is_ns ? limits->ns : limits->object;
	char why[200];

	if (n <= limit || !c)
		return n <= limit;
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

/* Checks the @n Services of one namespace, from the first on. Returns those that are kept. */
static struct service_share check_namespace(struct compiler *c, const struct cluster *cluster,
					    size_t first, size_t n)
{
	const char *ns = cluster->services[first].ns_name;
	struct service_share share = {.first = first, .n = n};
	struct found pods = {0};
	struct size all = {0};

	count_pods(cluster->endpoints, cluster->n_endpoints, ns, &pods);
	count_pods(cluster->host_pods, cluster->n_host_pods, ns, &pods);
	for (size_t i = first; i < first + n; i++) {
		const struct size size = size_of(cluster, &cluster->services[i], &pods);

		if (!fit(c, i, &size, false)) {
			share.over = true;
			continue;
		}
		all.frontends += size.frontends;
		all.backends += size.backends;
		all.steps += size.steps;
		share.bytes += size.bytes;
		share.steps += size.slice_steps;
	}
	for (size_t i = first; i < first + n; i++)
		if (!cluster->services[i].closed && !fit(c, i, &all, true)) {
			share.bytes = share.steps = 0;
			share.over = true;
		}
	return share;
}

static uint64_t bytes_of(const struct service_share *share)
{
	return share->bytes;
}

static uint64_t steps_of(const struct service_share *share)
{
	return share->steps;
}

static void close_share(struct compiler *c, struct service_share *share, const char *why)
{
	for (size_t i = share->first; i < share->first + share->n; i++)
		if (!c->cluster->services[i].closed)
			budget_close_service(c, i, why);
	share->bytes = share->steps = 0;
}

/* Sets the Services of the namespaces that need most aside, until the rest fits. */
static void check_all(struct compiler *c, service_shares_t *shares,
		      uint64_t (*units)(const struct service_share *), const char *what)
{
	for (;;) {
		struct service_share *most = NULL;
		uint64_t all = 0;
		char why[250];

		for (size_t i = 0; i < shares->n; i++) {
			all += units(&shares->at[i]);
			if (!most || units(&shares->at[i]) > units(most))
				most = &shares->at[i];
		}
		if (all <= CLUSTER_MOST)
			return;
		snprintf(why, sizeof(why),
			 "the Services of all namespaces need %" PRIu64 " %s, the limit is %u, and "
			 "those of its namespace need most, %" PRIu64,
			 all, what, CLUSTER_MOST, units(most));
		close_share(c, most, why);
	}
}

/* Returns how many Services from the first on are of its namespace. */
static size_t of_namespace(const struct cluster *cluster, size_t first)
{
	size_t n = 1;

	while (first + n < cluster->n_services &&
	       !strcmp(cluster->services[first].ns_name, cluster->services[first + n].ns_name))
		n++;
	return n;
}

void services_need(const struct cluster *cluster, const struct asides *asides,
		   services_needed *each, void *data)
{
	static const struct found no_pods;

	for (size_t i = 0, n; i < cluster->n_services; i += n) {
		struct service_needs needs = {0};

		n = of_namespace(cluster, i);
		for (size_t k = i; k < i + n; k++) {
			const struct service *service = &cluster->services[k];
			const struct size size = size_of(cluster, service, &no_pods);

			if (asides_find(asides, "Service", service->ns_name, service->name))
				continue;
			needs.bytes += size.bytes;
			needs.steps += size.slice_steps;
		}
		each(data, cluster->services[i].ns_name, &needs);
	}
}

bool services_fit(const struct cluster *cluster, const struct service_needs *all)
{
	for (size_t i = 0, n; i < cluster->n_services; i += n) {
		n = of_namespace(cluster, i);
		if (check_namespace(NULL, cluster, i, n).over)
			return false;
	}
	return all->bytes <= CLUSTER_MOST && all->steps <= CLUSTER_MOST;
}

void budget_check_services(struct compiler *c)
{
	const struct cluster *cluster = c->cluster;
	service_shares_t shares = {0};

	for (size_t i = 0, n; i < cluster->n_services; i += n) {
		n = of_namespace(cluster, i);
		array_push(&shares, check_namespace(c, cluster, i, n));
	}
	check_all(c, &shares, bytes_of, budget_limits[BUDGET_BYTES].what);
	check_all(c, &shares, steps_of, budget_limits[BUDGET_STEPS].what);
	array_free(&shares);
}
