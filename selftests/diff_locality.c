// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reduction of a policy to one node against the oracle: random clusters are compiled and
 * reduced to what one of their nodes needs. For every flow with an end on this node, that end's
 * verdict, tier and rule from the reduced tables must be the oracle's.
 *
 * generate_seeds() says which clusters.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compile/judge.h"
#include "compile/locality.h"
#include "compile/reduce.h"
#include "selftests/lib/generate.h"
#include "selftests/lib/ktap.h"

#define CLUSTERS 4000
#define CLUSTERS_SAMPLE 2000
#define FLOWS 400 /* per cluster */
#define FAILURES_MAX 3

/* One node's view of a cluster. */
struct view {
	const char *node;
	uint32_t added; /* this endpoint (modulo) counts as added on this node */
	uint64_t style;
	struct oracle_flow flow;
};

struct reduced {
	struct policy *policy, part;
	uint32_t added; /* index of the policy's endpoints, UINT32_MAX: none */
};

struct answer {
	char egress[ORACLE_TEXT], ingress[ORACLE_TEXT];
};

struct run {
	uint64_t seed, flows, denied, left_out_ends, failures;
	uint64_t addresses, left_out, prefixes, left_out_prefixes;
};

static bool is_here(const struct view *view, const struct reduced *reduced,
		    const struct address *address)
{
	const struct policy *policy = reduced->policy;
	const struct policy_address *found = policy_address_find(policy, address);
	const struct policy_endpoint *endpoint = found ? &policy->endpoints[found->endpoint] : NULL;

	return endpoint && (found->endpoint == reduced->added ||
			    !strcmp(policy_string(policy, endpoint->node), view->node));
}

/* The maps list an added endpoint even where the policy's own reduction leaves it out. */
static void keep_added(const struct policy *policy, uint32_t added, uint32_t *segments,
		       struct locality *locality)
{
	const struct policy_range *addresses = &policy->endpoints[added].addresses;

	for (uint32_t i = 0; i < addresses->n; i++) {
		uint32_t address = policy->endpoint_addresses[addresses->at + i];

		segments[i] = policy->addresses[address].segment;
		locality->addresses[address] = true;
	}
}

static void reduce(const struct view *view, struct policy *policy, struct reduced *reduced)
{
	struct locality_node node = {.name = view->node};
	struct locality locality;
	uint32_t segments[8];

	*reduced = (struct reduced){.policy = policy, .added = UINT32_MAX};
	locality_init(&locality, policy);
	if (view->added && policy->n_endpoints) {
		reduced->added = view->added % policy->n_endpoints;
		keep_added(policy, reduced->added, segments, &locality);
		node.here = segments;
		node.n_here = policy->endpoints[reduced->added].addresses.n;
	}
	locality_decide(&locality, policy, &node);
	policy_reduce(policy, &locality, &reduced->part);
	locality_free(&locality);
}

static void reduced_free(struct reduced *reduced)
{
	policy_reduced_free(&reduced->part);
	policy_free(reduced->policy);
}

/* The decisions of the ends on this node; "" for other ends. */
static void ask(const struct view *view, const struct reduced *reduced, struct answer *answer)
{
	struct judge_source source = judge_policy(&reduced->part);
	struct flow flow = {view->flow.source, view->flow.destination, view->flow.protocol,
			    view->flow.port};
	struct decision egress, ingress;

	*answer = (struct answer){};
	judge_flow(&source, reduced->policy, &flow, &egress, &ingress);
	if (is_here(view, reduced, &flow.source))
		decision_print(reduced->policy, &egress, answer->egress, sizeof(answer->egress));
	if (is_here(view, reduced, &flow.destination))
		decision_print(reduced->policy, &ingress, answer->ingress, sizeof(answer->ingress));
}

static bool agrees(const struct cluster *cluster, const struct view *view,
		   const struct reduced *reduced, struct answer *wanted, struct answer *found)
{
	struct oracle_decision egress, ingress;

	oracle_judge(cluster, &view->flow, &egress, &ingress);
	oracle_print(&egress, wanted->egress);
	oracle_print(&ingress, wanted->ingress);
	ask(view, reduced, found);
	return (!*found->egress || !strcmp(wanted->egress, found->egress)) &&
	       (!*found->ingress || !strcmp(wanted->ingress, found->ingress));
}

static bool flow_fails(struct cluster *cluster, void *data)
{
	const struct view *view = data;
	struct answer wanted, found;
	struct reduced reduced;
	struct policy *policy;
	bool fails;

	if (generate_policy(cluster, view->style, NULL, NULL, &policy))
		return false;
	reduce(view, policy, &reduced);
	fails = !agrees(cluster, view, &reduced, &wanted, &found);
	reduced_free(&reduced);
	return fails;
}

static void report(struct cluster *cluster, uint64_t seed, struct view *view,
		   const struct answer *wanted, const struct answer *found)
{
	char source[ADDRESS_TEXT], destination[ADDRESS_TEXT];

	printf("# SEED=%" PRIu64 ", node %s: oracle %s | %s, found %s | %s\n", seed, view->node,
	       wanted->egress, wanted->ingress, found->egress, found->ingress);
	generate_shrink(cluster, flow_fails, view);
	generate_comment(cluster, view->style);
	printf("# flow %s %s protocol %u port %u\n", address_print(&view->flow.source, source),
	       address_print(&view->flow.destination, destination), view->flow.protocol,
	       view->flow.port);
}

static bool is_left_out(const struct reduced *reduced, const struct address *address)
{
	return policy_address_find(reduced->policy, address) &&
	       !policy_address_find(&reduced->part, address);
}

static void count(struct run *run, const struct reduced *reduced, const struct view *view,
		  const struct answer *found)
{
	run->flows++;
	run->denied += !strncmp(found->egress, "deny", 4) || !strncmp(found->ingress, "deny", 4);
	run->left_out_ends += is_left_out(reduced, &view->flow.source) ||
			      is_left_out(reduced, &view->flow.destination);
}

/* Returns whether all flows agree; if not, the cluster has been shrunk. */
static bool compare_flows(struct run *run, struct cluster *cluster, struct view *view,
			  const struct reduced *reduced)
{
	struct random random = {run->seed ^ 0x666c6f77};
	struct flow_space space;
	bool agree = true;

	flow_space_init(&space, cluster);
	for (int i = 0; i < FLOWS && agree; i++) {
		struct answer wanted, found;

		generate_flow(&space, &random, &view->flow);
		agree = agrees(cluster, view, reduced, &wanted, &found);
		if (*found.egress || *found.ingress)
			count(run, reduced, view, &found);
		if (!agree)
			report(cluster, run->seed, view, &wanted, &found);
	}
	flow_space_free(&space);
	return agree;
}

static void check_cluster(struct run *run, struct cluster *cluster)
{
	static const char *const nodes[] = {"node-0", "node-1", "node-9"};
	struct random random = {run->seed ^ 0x6e6f6465};
	struct view view = {.style = run->seed};
	struct reduced reduced;
	struct policy *policy;

	view.node = nodes[random_below(&random, 3)];
	view.added = random_chance(&random, 50) ? 1 + random_below(&random, 1000) : 0;
	if (generate_policy(cluster, view.style, NULL, NULL, &policy)) {
		printf("# SEED=%" PRIu64 ": refused\n", run->seed);
		run->failures++;
		return;
	}
	reduce(&view, policy, &reduced);
	run->addresses += policy->n_addresses;
	run->left_out += policy->n_addresses - reduced.part.n_addresses;
	run->prefixes += policy->n_prefixes;
	run->left_out_prefixes += policy->n_prefixes - reduced.part.n_prefixes;
	run->failures += !compare_flows(run, cluster, &view, &reduced);
	reduced_free(&reduced);
}

int main(void)
{
	const struct seeds seeds = generate_seeds(CLUSTERS, CLUSTERS_SAMPLE);
	struct run run = {.seed = seeds.first};
	int failed;

	printf("KTAP version 1\n1..2\n");
	for (uint64_t i = 0; i < seeds.count && run.failures < FAILURES_MAX; i++, run.seed++) {
		struct cluster cluster;

		cluster_init(&cluster);
		generate_cluster(&cluster, run.seed);
		check_cluster(&run, &cluster);
		cluster_free(&cluster);
	}
	failed = ktap_row(1, !run.failures,
			  "what a node needs gives the oracle's verdict, tier and "
			  "rule at each end that is there");
	failed |= ktap_row(2,
			   seeds.count == 1 ||
				   (run.left_out && run.left_out < run.addresses && run.denied &&
				    run.denied < run.flows && run.left_out_ends),
			   "ends were left out and kept, allowed and denied");
	printf("# %" PRIu64 " flows, %" PRIu64 " denied, %" PRIu64 " with an end left out; %" PRIu64
	       " of %" PRIu64 " addresses and %" PRIu64 " of %" PRIu64 " prefixes left out\n",
	       run.flows, run.denied, run.left_out_ends, run.left_out, run.addresses,
	       run.left_out_prefixes, run.prefixes);
	return failed;
}
