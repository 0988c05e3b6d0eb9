// SPDX-License-Identifier: GPL-2.0-only
/*
 * `diff` against the verdicts: for two random policies and every flow between two ends that are in
 * both, `diff` finds a change exactly where the two verdicts differ, with the rules that each
 * policy gives. Each pair is in exactly one block.
 *
 * generate_seeds() says which clusters.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy_diff.h"
#include "policy/isolation.h"
#include "selftests/lib/generate.h"
#include "selftests/lib/ktap.h"
#include "selftests/lib/verdict_line.h"

#define CLUSTERS 4000
#define CLUSTERS_SAMPLE 1000
#define FLOWS 400 /* per cluster */
#define FAILURES_MAX 3

struct run {
	uint64_t seed, flows, gains, losses, pairs, blocks, own, named, failures;
};

struct verdict {
	bool allow;
	struct decision decisions[2]; /* by direction */
};

/* The endpoint or node with this address, or NULL. */
static const struct flow_class_member *member_with(const struct diff *diff,
						   const struct address *address)
{
	enum family family = address_is_ipv4(address) ? IPV4 : IPV6;

	for (size_t i = 0; i < diff->kinds.n_members; i++) {
		const struct flow_class_member *member = &diff->kinds.members[i];

		if (member->end.has[family] && (!member->external || member->is_node) &&
		    !memcmp(&member->end.address[family], address, sizeof(*address)))
			return member;
	}
	return NULL;
}

static bool is_somebodys(const struct diff *diff, const struct address *address)
{
	for (enum side side = OLD; side < SIDES; side++) {
		const struct policy *policy = diff->policy[side];

		if (policy_address_find(policy, address))
			return true;
		for (size_t i = 0; i < policy->n_node_addresses; i++)
			if (!memcmp(&policy->node_addresses[i], address, sizeof(*address)))
				return true;
	}
	return false;
}

/* An outside address belongs to the kind with the segments that both policies give it. */
static const struct flow_class *kind_outside(const struct diff *diff, const struct address *address)
{
	for (size_t i = 0; i < diff->kinds.n; i++) {
		const struct flow_class_member *first = diff->kinds.at[i].members;
		bool here = first->external && !first->is_node && !first->end.domain;

		for (enum side side = OLD; side < SIDES && here; side++) {
			const struct policy *policy = diff->policy[side];

			here = first->place[side].segment ==
			       (uint32_t)(policy_prefix_find(policy, address) - policy->segments);
		}
		if (here)
			return &diff->kinds.at[i];
	}
	return NULL;
}

static const struct flow_class *kind_with(const struct diff *diff,
					  const struct flow_class_member *member)
{
	for (size_t i = 0; i < diff->kinds.n; i++) {
		const struct flow_class *kind = &diff->kinds.at[i];

		if (member >= kind->members && member < kind->members + kind->n)
			return kind;
	}
	return NULL;
}

struct found_end {
	const struct flow_class_member *member; /* NULL: an outside address */
	const struct flow_class *kind;
};

/* False: the address has no counterpart in one of the policies. */
static bool find_end(const struct diff *diff, const struct address *address, struct found_end *end)
{
	end->member = member_with(diff, address);
	if (!end->member && is_somebodys(diff, address))
		return false;
	end->kind = end->member ? kind_with(diff, end->member) : kind_outside(diff, address);
	if (!end->kind)
		return false;
	for (enum side side = OLD; side < SIDES; side++)
		if (end->kind->members->place[side].segment == FLOW_CLASS_ABSENT)
			return false;
	/* A member whose node differs between the policies is not compared. */
	return !end->member || !strcmp(end->member->node[OLD], end->member->node[NEW]);
}

/* Returns true if both policies give the end that has this address the same name. */
static bool same_owner(const struct diff *diff, const struct address *address)
{
	const char *names[SIDES] = {"", ""}, *namespaces[SIDES] = {"", ""};

	for (enum side side = OLD; side < SIDES; side++) {
		const struct policy *policy = diff->policy[side];
		const struct policy_address *found = policy_address_find(policy, address);
		const struct policy_endpoint *endpoint =
			found ? &policy->endpoints[found->endpoint] : NULL;

		if (!endpoint)
			continue;
		names[side] = policy_string(policy, endpoint->name);
		namespaces[side] = policy_string(policy, policy->namespaces[endpoint->ns].name);
	}
	return !strcmp(names[OLD], names[NEW]) && !strcmp(namespaces[OLD], namespaces[NEW]);
}

static struct verdict ask(const struct policy *policy, const struct flow *flow)
{
	struct evaluate_source source = evaluate_policy(policy);
	struct verdict verdict;

	verdict.allow = evaluate_flow(&source, policy, flow, &verdict.decisions[EGRESS],
				      &verdict.decisions[INGRESS]);
	/* the kind has the name */
	verdict.decisions[EGRESS].name = NULL;
	return verdict;
}

/* Compares both directions; for an isolation, the isolating policies as well. */
static bool same_decisions(const struct policy *policy, const struct decision *a,
			   const struct decision *b)
{
	char why_a[DECISION_TEXT], why_b[DECISION_TEXT];
	bool same = true;

	for (enum direction d = INGRESS; d <= EGRESS; d++) {
		decision_why(policy, &a[d], why_a, sizeof(why_a));
		decision_why(policy, &b[d], why_b, sizeof(why_b));
		same = same && a[d].subject == b[d].subject && a[d].allow == b[d].allow &&
		       a[d].tier == b[d].tier && a[d].rule == b[d].rule &&
		       a[d].own_node == b[d].own_node && !strcmp(why_a, why_b);
	}
	return same;
}

static bool is_local_node(const struct found_end *a, const struct found_end *b)
{
	return a->member && b->member && a->member->is_node != b->member->is_node &&
	       *a->member->node[NEW] && !strcmp(a->member->node[NEW], b->member->node[NEW]);
}

/* The change that the diff has at a point between two kinds, or NULL. */
static const struct diff_change *find_change(const struct diff *diff, const struct found_end *from,
					     const struct found_end *to, uint32_t point)
{
	bool own = is_local_node(from, to);

	for (size_t i = 0; i < diff->pairs.n; i++) {
		const struct diff_pair *pair = &diff->pairs.at[i];
		struct diff_range list = diff->lists.at[pair->changes];

		if (&diff->kinds.at[pair->from] != from->kind ||
		    &diff->kinds.at[pair->to] != to->kind || pair->own_node != own)
			continue;
		for (size_t k = list.at; k < list.at + list.n; k++)
			if (diff->changes.at[k].first <= point && point < diff->changes.at[k].end)
				return &diff->changes.at[k];
	}
	return NULL;
}

/* Finds the kind of the flow's name instead of the destination's, if both stand for addresses of
 * the same segments. Forgets a name that adds nothing for the source, or stands for others. */
static void find_name(const struct diff *diff, const struct found_end *from, struct found_end *to,
		      struct flow *flow)
{
	const enum family family = address_is_ipv4(&flow->destination) ? IPV4 : IPV6;
	const char *name = flow->name;

	flow->name = NULL;
	for (size_t i = 0; name && !to->member && i < diff->kinds.n_members; i++) {
		const struct flow_class_member *member = &diff->kinds.members[i];
		const struct flow_class *kind = kind_with(diff, member);
		bool here = member->end.domain && !strcmp(member->end.domain, name) &&
			    member->end.has[family];
		bool adds = false;

		for (enum side side = OLD; side < SIDES && here; side++) {
			const uint32_t subject = from->kind->members->place[side].segment;
			const uint32_t own = member->place[side].segment;
			const struct policy *policy = diff->policy[side];

			here = own == to->kind->members->place[side].segment;
			adds |= here && subject != FLOW_CLASS_NOWHERE &&
				flow_class_subject(policy, kind, &policy->segments[subject]) !=
					&policy->segments[subject];
		}
		if (!here || !adds)
			continue;
		flow->name = name;
		to->kind = kind;
	}
}

static bool agrees(struct run *run, const struct diff *diff, const struct flow *asked)
{
	struct flow named = *asked, *flow = &named;
	const struct diff_change *change;
	struct verdict verdicts[SIDES];
	struct found_end from, to;

	if (!find_end(diff, &flow->source, &from) || !find_end(diff, &flow->destination, &to) ||
	    !same_owner(diff, &flow->source) || !same_owner(diff, &flow->destination) ||
	    (from.member && from.member == to.member) ||
	    (from.kind->members->external && to.kind->members->external))
		return true;
	if (!from.kind->members->external)
		find_name(diff, &from, &to, flow);
	run->named += flow->name != NULL;
	for (enum side side = OLD; side < SIDES; side++)
		verdicts[side] = ask(diff->policy[side], flow);
	/* An end may always reach its own other addresses. */
	if (verdicts[OLD].allow && verdicts[NEW].allow && from.kind == to.kind)
		return true;
	change = find_change(diff, &from, &to, bh_point(flow->protocol, flow->port));
	run->flows++;
	run->gains += !verdicts[OLD].allow && verdicts[NEW].allow;
	run->losses += verdicts[OLD].allow && !verdicts[NEW].allow;
	run->own += is_local_node(&from, &to);
	if (!change)
		return verdicts[OLD].allow == verdicts[NEW].allow;
	return verdicts[OLD].allow != verdicts[NEW].allow &&
	       diff_gains(change) == verdicts[NEW].allow &&
	       same_decisions(diff->policy[OLD], change->decisions[OLD], verdicts[OLD].decisions) &&
	       same_decisions(diff->policy[NEW], change->decisions[NEW], verdicts[NEW].decisions);
}

static size_t times_in_blocks(const struct diff *diff, const struct diff_pair *pair)
{
	size_t times = 0;

	for (size_t i = 0; i < diff->blocks.n; i++) {
		const struct diff_block *block = &diff->blocks.at[i];
		bool from = false, to = false;

		for (size_t k = 0; k < block->from.n; k++)
			from |= diff->sets.at[block->from.at + k] == pair->from;
		for (size_t k = 0; k < block->to.n; k++)
			to |= diff->sets.at[block->to.at + k] == pair->to;
		times += from && to && block->changes == pair->changes &&
			 block->own_node == pair->own_node;
	}
	return times;
}

/* Each pair is in one block, and the blocks have no other pairs. */
static bool blocks_are_pairs(struct run *run, const struct diff *diff)
{
	size_t in_blocks = 0, found = 0;

	for (size_t i = 0; i < diff->blocks.n; i++)
		in_blocks += diff->blocks.at[i].from.n * diff->blocks.at[i].to.n;
	for (size_t i = 0; i < diff->pairs.n; i++) {
		size_t times = times_in_blocks(diff, &diff->pairs.at[i]);

		found += times;
		if (times > 1 || (!times && !diff->pairs.at[i].itself))
			return false;
	}
	run->pairs += diff->pairs.n;
	run->blocks += diff->blocks.n;
	return found == in_blocks;
}

static bool compare_flows(struct run *run, const struct cluster *cluster, const struct diff *diff)
{
	struct random random = {run->seed ^ 0x64696666};
	struct flow_space space;
	bool agree = true;

	flow_space_init(&space, cluster);
	for (int i = 0; i < FLOWS && agree; i++) {
		char source[ADDRESS_TEXT], destination[ADDRESS_TEXT];
		struct oracle_flow ask;
		struct flow flow;

		generate_flow(&space, &random, &ask);
		flow = verdict_line_flow(&ask);
		agree = agrees(run, diff, &flow);
		if (!agree)
			printf("# SEED=%" PRIu64 ": %s to %s protocol %u port %u\n", run->seed,
			       address_print(&flow.source, source),
			       address_print(&flow.destination, destination), flow.protocol,
			       flow.port);
	}
	flow_space_free(&space);
	return agree;
}

/* The texts that change_little() allocates. */
struct little {
	struct policy_object *policies;
	struct endpoint *endpoints;
	struct named_port *ports;
};

/* Changes @mixed, a copy of a cluster, a little: a policy loses a rule, another is missing, and a
 * pod numbers its port names otherwise. */
static struct little change_little(struct random *random, struct cluster *mixed)
{
	struct little little = {calloc(mixed->n_policies + 1, sizeof(*little.policies)),
				calloc(mixed->n_endpoints + 1, sizeof(*little.endpoints)), NULL};

	memcpy(little.policies, mixed->policies, mixed->n_policies * sizeof(*mixed->policies));
	memcpy(little.endpoints, mixed->endpoints, mixed->n_endpoints * sizeof(*mixed->endpoints));
	mixed->policies = little.policies;
	mixed->endpoints = little.endpoints;
	if (mixed->n_policies) {
		struct policy_object *changed =
			&mixed->policies[random_below(random, mixed->n_policies)];
		const enum direction direction = random_below(random, 2);

		changed->n_rules[direction] -= !!changed->n_rules[direction];
	}
	if (mixed->n_policies && random_chance(random, 50)) {
		const uint32_t gone = random_below(random, mixed->n_policies);

		mixed->n_policies--;
		mixed->policies[gone] = mixed->policies[mixed->n_policies];
	}
	if (mixed->n_endpoints) {
		struct endpoint *changed =
			&mixed->endpoints[random_below(random, mixed->n_endpoints)];

		little.ports = calloc(changed->n_ports + 1, sizeof(*little.ports));
		for (size_t i = 0; i < changed->n_ports; i++) {
			little.ports[i] = changed->ports[i];
			little.ports[i].port = 1 + little.ports[i].port % 65535;
		}
		changed->ports = little.ports;
	}
	return little;
}

/* The second cluster is another random one, the first with the second's policies, or the first with
 * a little change. */
static void check_clusters(struct run *run, struct cluster clusters[SIDES])
{
	struct random random = {run->seed ^ 0x6c6974};
	struct cluster mixed = clusters[OLD];
	struct little little = {0};
	struct diff diff = {0};
	struct policy *policies[SIDES] = {0};
	bool good = false;

	if (run->seed % 3 == 1) {
		little = change_little(&random, &mixed);
	} else if (run->seed % 3 == 2) {
		mixed.policies = clusters[NEW].policies;
		mixed.n_policies = clusters[NEW].n_policies;
	} else {
		mixed = clusters[NEW];
	}
	if (!generate_policy(&clusters[OLD], run->seed, NULL, NULL, &policies[OLD]) &&
	    !generate_policy(&mixed, run->seed, NULL, NULL, &policies[NEW])) {
		diff.policy[OLD] = policies[OLD];
		diff.policy[NEW] = policies[NEW];
		good = !flow_classes_list(diff.policy, SIDES, &diff.kinds) &&
		       !diff_policies(NULL, &diff) && blocks_are_pairs(run, &diff) &&
		       compare_flows(run, &clusters[OLD], &diff) &&
		       compare_flows(run, &mixed, &diff);
	}
	if (!good) {
		printf("# SEED=%" PRIu64 " fails; the two clusters:\n", run->seed);
		generate_comment(&clusters[OLD], run->seed);
		generate_comment(&mixed, run->seed);
		run->failures++;
	}
	diff_free(&diff);
	policy_free(policies[OLD]);
	policy_free(policies[NEW]);
	free(little.policies);
	free(little.endpoints);
	free(little.ports);
}

int main(void)
{
	const struct seeds seeds = generate_seeds(CLUSTERS, CLUSTERS_SAMPLE);
	struct run run = {.seed = seeds.first};
	int failed;

	printf("KTAP version 1\n1..2\n");
	for (uint64_t i = 0; i < seeds.count && run.failures < FAILURES_MAX; i++, run.seed++) {
		struct cluster clusters[SIDES];

		for (enum side side = OLD; side < SIDES; side++) {
			cluster_init(&clusters[side]);
			generate_cluster(&clusters[side], run.seed + 1000000 * side);
		}
		check_clusters(&run, clusters);
		for (enum side side = OLD; side < SIDES; side++)
			cluster_free(&clusters[side]);
	}
	failed = ktap_row(1, !run.failures,
			  "a change is found exactly where two verdicts differ, with both rules");
	failed |= ktap_row(2,
			   seeds.count == 1 ||
				   (run.gains && run.losses && run.own && run.named &&
				    run.gains + run.losses < run.flows && run.blocks < run.pairs),
			   "flows were gained, lost and kept, and pairs gathered");
	printf("# %" PRIu64 " flows, %" PRIu64 " gained, %" PRIu64 " lost, %" PRIu64
	       " with a pod's own node, %" PRIu64 " by a name; %" PRIu64 " pairs in %" PRIu64
	       " blocks\n",
	       run.flows, run.gains, run.losses, run.own, run.named, run.pairs, run.blocks);
	return failed;
}
