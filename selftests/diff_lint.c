// SPDX-License-Identifier: GPL-2.0-only
/*
 * lint()'s findings about Services whose backends differ, against an evaluation of each backend for
 * each caller.
 *
 * generate_seeds() says which clusters.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "compile/lint.h"
#include "policy/flow.h"
#include "policy/service_flow.h"
#include "selftests/lib/generate.h"
#include "selftests/lib/ktap.h"

#define CLUSTERS 20000
#define CLUSTERS_SAMPLE 3000
#define FAILURES_MAX 3

struct run {
	uint64_t seed, findings, failures;
};

static const struct service_backend *first_of(const struct service_verdict *verdict, bool allow)
{
	for (size_t i = 0; i < verdict->n_backends; i++)
		if (verdict->backends[i].chosen && verdict->backends[i].allow == allow)
			return &verdict->backends[i];
	return NULL;
}

/* Prints what lint() says if a caller that is no backend reaches one and not another. */
static bool print_difference(const struct policy *policy, const struct policy_frontend *frontend,
			     const struct policy_address *caller, FILE *to)
{
	const struct evaluate_source source = evaluate_policy(policy);
	const struct policy_endpoint *endpoint = &policy->endpoints[caller->endpoint];
	const struct flow flow = {.source = caller->address,
				  .destination = frontend->address,
				  .protocol = frontend->protocol,
				  .port = frontend->port};
	char service[SERVICE_NAME_TEXT], port[FLOW_TEXT], allowed[FLOW_TEXT], denied[FLOW_TEXT];
	struct service_verdict verdict;
	bool differs;

	if (address_is_ipv4(&flow.source) != address_is_ipv4(&flow.destination))
		return false;
	evaluate_service(&source, policy, &flow, &verdict);
	differs = verdict.outcome == SERVICE_DEPENDS;
	for (size_t i = 0; i < verdict.n_backends && differs; i++)
		differs = memcmp(&verdict.backends[i].backend->address, &caller->address,
				 sizeof(caller->address));
	if (differs)
		fprintf(to,
			"%s: %s: %s/%s reaches the backend %s and not %s, so that the one which "
			"the kernel chooses decides\n",
			service_name(policy, frontend_service(policy, frontend), service),
			port_print(&flow, port),
			policy_string(policy, policy->namespaces[endpoint->ns].name),
			policy_string(policy, endpoint->name),
			backend_name(policy, first_of(&verdict, true)->backend, allowed),
			backend_name(policy, first_of(&verdict, false)->backend, denied));
	service_verdict_free(&verdict);
	return differs;
}

/* Returns true if two callers of the address' segment and IP version are before it. */
static bool is_third(const struct policy *policy, const struct policy_address *address)
{
	int before = 0;

	for (const struct policy_address *at = policy->addresses; at < address; at++)
		before += at->segment == address->segment &&
			  address_is_ipv4(&at->address) == address_is_ipv4(&address->address);
	return before >= 2;
}

static void print_wanted(const struct policy *policy, FILE *to)
{
	bool *told = calloc(policy->n_service_ports + 1, sizeof(*told));

	for (size_t i = 0; told && i < policy->n_frontends; i++) {
		const struct policy_frontend *frontend = &policy->frontends[i];
		bool *mine = &told[frontend->service_port];

		for (size_t k = 0; k < policy->n_addresses && !*mine; k++)
			*mine = !(frontend->flags & POLICY_FRONTEND_EXTERNAL) &&
				!is_third(policy, &policy->addresses[k]) &&
				print_difference(policy, frontend, &policy->addresses[k], to);
	}
	free(told);
}

static void print_found(const struct cluster *cluster, const struct policy *policy, FILE *to,
			struct run *run)
{
	struct lint_findings findings = {0};

	if (lint(cluster, policy, NULL, &findings))
		fprintf(to, "memory is short\n");
	for (size_t i = 0; i < findings.n; i++) {
		if (strcmp(findings.at[i].check, "backends-differ"))
			continue;
		fprintf(to, "%s: %s\n", findings.at[i].object, findings.at[i].text);
		run->findings++;
	}
	lint_free(&findings);
}

static void compare(struct run *run, const struct cluster *cluster, const struct policy *policy)
{
	char *wanted = NULL, *found = NULL;
	size_t size;
	FILE *to = open_memstream(&wanted, &size);

	print_wanted(policy, to);
	fclose(to);
	to = open_memstream(&found, &size);
	print_found(cluster, policy, to, run);
	fclose(to);
	if (strcmp(wanted, found)) {
		printf("# SEED=%" PRIu64 ": wanted\n%s# found\n%s", run->seed, wanted, found);
		run->failures++;
	}
	free(wanted);
	free(found);
}

static void check_cluster(struct run *run)
{
	struct diag diag = {.to = NULL};
	struct cluster authored, cluster;
	struct policy *policy = NULL;

	cluster_init(&authored);
	cluster_init(&cluster);
	generate_cluster(&authored, run->seed);
	generate_services(&authored, run->seed);
	if (!generate_read(&authored, run->seed, &diag, &cluster) &&
	    !compile_cluster(&cluster, NULL, &diag, &policy)) {
		compare(run, &cluster, policy);
	} else {
		printf("# SEED=%" PRIu64 ": the cluster is refused\n", run->seed);
		run->failures++;
	}
	policy_free(policy);
	cluster_free(&cluster);
	cluster_free(&authored);
}

int main(void)
{
	const struct seeds seeds = generate_seeds(CLUSTERS, CLUSTERS_SAMPLE);
	struct run run = {.seed = seeds.first};
	int failed;

	printf("KTAP version 1\n1..2\n");
	for (uint64_t i = 0; i < seeds.count && run.failures < FAILURES_MAX; i++, run.seed++)
		check_cluster(&run);
	printf("# %" PRIu64 " clusters, %" PRIu64 " findings\n", seeds.count, run.findings);
	failed = ktap_row(1, !run.failures,
			  "lint finds the Services of which a caller reaches one backend and not "
			  "another, and names that caller and both backends");
	failed |= ktap_row(2, seeds.count < 10 || run.findings > seeds.count / 30,
			   "many Services have backends that differ");
	return failed;
}
