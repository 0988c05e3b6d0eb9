// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "compile/distinct_rules.h"
#include "compile/explain.h"
#include "model/grow.h"
#include "policy/match.h"
#include "compile/selection.h"

/* The question of one end: may @subject talk with the other end? */
struct walk {
	struct match_flow match;
	const struct selection *selection; /* NULL: endpoints have labels */
	enum direction direction;
	const struct endpoint *subject;
	ARRAY(struct explain_step) steps;
	struct explanation said;
};

static bool selects(const struct walk *walk, const struct policy_object *policy)
{
	const struct flow *flow = walk->match.flow;

	if (!walk->selection)
		return match_subject(walk->match.cluster, policy, walk->subject);
	return selection_selects(walk->selection, policy,
				 walk->direction == INGRESS ? &flow->destination : &flow->source);
}

static bool lists(const struct walk *walk, const struct policy_object *policy,
		  const struct rule *rule)
{
	if (!walk->selection || rule->any_peer)
		return match_peers(&walk->match, policy, walk->direction, rule);
	return selection_lists(walk->selection, policy, rule, walk->match.flow, walk->direction);
}

static enum explain_outcome ask_rule(const struct walk *walk, const struct policy_object *policy,
				     const struct rule *rule)
{
	static const enum explain_outcome outcomes[] = {
		[ACTION_ALLOW] = EXPLAIN_ALLOWS,
		[ACTION_DENY] = EXPLAIN_DENIES,
		[ACTION_PASS] = EXPLAIN_PASSES,
	};

	/* the API requires to fail closed */
	if (rule->unknown)
		return rule->action == ACTION_ALLOW ? EXPLAIN_EMPTY : EXPLAIN_DENIES;
	if (!lists(walk, policy, rule))
		return EXPLAIN_NO_PEER;
	return match_ports(&walk->match, rule) ? outcomes[rule->action] : EXPLAIN_NO_PORT;
}

static void add_step(struct walk *walk, enum tier tier, const struct policy_object *policy,
		     const struct rule *rule, enum explain_outcome outcome)
{
	array_push(&walk->steps, ((struct explain_step){tier, outcome, policy, rule}));
}

static void decide(struct walk *walk, bool allow, enum tier tier,
		   const struct policy_object *policy, const struct rule *rule)
{
	walk->said.allow = allow;
	walk->said.tier = tier;
	walk->said.policy = policy;
	walk->said.rule = rule;
}

/* Adds a step that allows or denies for the whole end, without a rule. */
static void allow_by_default(struct walk *walk, enum explain_outcome why)
{
	add_step(walk, TIER_DEFAULT, NULL, NULL, why);
	decide(walk, true, TIER_DEFAULT, NULL, NULL);
}

static enum explain_outcome ask_ordered_policy(const struct walk *walk,
					       const struct policy_object *policy)
{
	if (!selects(walk, policy))
		return EXPLAIN_NOT_SELECTED;
	return policy->n_rules[walk->direction] ? EXPLAIN_SELECTS : EXPLAIN_OTHER_DIRECTION;
}

static bool is_match(enum explain_outcome outcome)
{
	return outcome == EXPLAIN_PASSES || outcome == EXPLAIN_ALLOWS || outcome == EXPLAIN_DENIES;
}

/* The rules of a policy in one direction, of equal ones the first: so the compiler has them. */
struct rules {
	const struct rule *next, *end;
	struct rule *distinct; /* NULL: all are */
	size_t n, passed; /* of `distinct` */
};

static struct rules rules_open(const struct policy_object *policy, enum direction direction)
{
	const struct rule *rules = policy->rules[direction];
	size_t n = policy->n_rules[direction];
	struct rules walked = {.next = rules, .end = rules + n};

	walked.distinct = distinct_rules(rules, &n);
	walked.n = n;
	return walked;
}

/* Returns the next rule; NULL: there is no other. */
static const struct rule *rules_next(struct rules *walked)
{
	if (!walked->distinct)
		return walked->next < walked->end ? walked->next++ : NULL;
	if (walked->passed == walked->n)
		return NULL;
	while (walked->next->index != walked->distinct[walked->passed].index)
		walked->next++;
	walked->passed++;
	return walked->next++;
}

static void rules_close(struct rules *walked)
{
	free(walked->distinct);
}

/* Returns the outcome of the first rule that matches, else of the last rule. */
static enum explain_outcome walk_until_match(struct walk *walk, const struct policy_object *policy)
{
	enum explain_outcome outcome = EXPLAIN_NO_PEER;
	struct rules rules = rules_open(policy, walk->direction);
	const struct rule *rule;

	while (!is_match(outcome) && (rule = rules_next(&rules))) {
		outcome = ask_rule(walk, policy, rule);
		add_step(walk, policy->tier, policy, rule, outcome);
		if (is_match(outcome) && outcome != EXPLAIN_PASSES)
			decide(walk, outcome == EXPLAIN_ALLOWS, policy->tier, policy, rule);
	}
	rules_close(&rules);
	return outcome;
}

/* Finds the first rule that matches, in the order of policies and rules. Returns false if none
 * matches or a Pass rule does. */
static bool walk_ordered(struct walk *walk, enum tier tier)
{
	for (size_t i = 0; i < walk->match.cluster->n_policies; i++) {
		const struct policy_object *policy = &walk->match.cluster->policies[i];
		enum explain_outcome outcome;

		if (policy->tier != tier)
			continue;
		outcome = ask_ordered_policy(walk, policy);
		if (outcome == EXPLAIN_SELECTS && policy->audit)
			outcome = EXPLAIN_AUDITED;
		add_step(walk, tier, policy, NULL, outcome);
		if (outcome != EXPLAIN_SELECTS)
			continue;
		outcome = walk_until_match(walk, policy);
		if (is_match(outcome))
			return outcome != EXPLAIN_PASSES;
	}
	return false;
}

typedef ARRAY(const struct policy_object *) objects_t;

static int compare_names(const void *a, const void *b)
{
	const struct policy_object *x = *(const struct policy_object *const *)a;
	const struct policy_object *y = *(const struct policy_object *const *)b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->kind < y->kind ? -1 : x->kind > y->kind;
}

/* Returns true if one of the NetworkPolicies isolates the subject. */
static bool add_network_policies(const struct walk *walk, objects_t *objects)
{
	bool isolates = false;

	for (size_t i = 0; i < walk->match.cluster->n_policies; i++) {
		const struct policy_object *policy = &walk->match.cluster->policies[i];

		if (policy->tier != TIER_NETWORK_POLICY ||
		    strcmp(policy->ns_name, walk->subject->ns_name))
			continue;
		array_push(objects, policy);
		isolates |= policy->isolates[walk->direction] && !policy->audit &&
			    selects(walk, policy);
	}
	/* Of several policies that allow a flow, the first by name counts as the one that
	 * decides. */
	array_sort(objects, compare_names);
	return isolates;
}

static enum explain_outcome ask_network_policy(const struct walk *walk,
					       const struct policy_object *policy)
{
	if (!selects(walk, policy))
		return EXPLAIN_NOT_SELECTED;
	if (!policy->applies[walk->direction])
		return EXPLAIN_OTHER_DIRECTION;
	if (policy->audit)
		return EXPLAIN_AUDITED;
	return policy->isolates[walk->direction] ? EXPLAIN_ISOLATES : EXPLAIN_SELECTS;
}

/* Asks every rule, since NetworkPolicies add up. The first that allows decides. */
static void walk_allowances(struct walk *walk, const struct policy_object *policy)
{
	struct rules rules = rules_open(policy, walk->direction);
	const struct rule *rule;

	while ((rule = rules_next(&rules))) {
		enum explain_outcome outcome = ask_rule(walk, policy, rule);

		add_step(walk, TIER_NETWORK_POLICY, policy, rule, outcome);
		if (outcome == EXPLAIN_ALLOWS && !walk->said.rule)
			decide(walk, true, TIER_NETWORK_POLICY, policy, rule);
	}
	rules_close(&rules);
}

/* Returns true if the subject is isolated. This tier decides then. */
static bool walk_network_policies(struct walk *walk)
{
	bool by_namespace = walk->direction == INGRESS &&
			    walk->match.cluster->namespaces[walk->subject->ns].isolated;
	objects_t objects = {0};
	bool isolated = add_network_policies(walk, &objects) || by_namespace;

	if (by_namespace)
		add_step(walk, TIER_NETWORK_POLICY, NULL, NULL, EXPLAIN_NAMESPACE_ISOLATES);
	for (size_t i = 0; i < objects.n; i++) {
		const struct policy_object *policy = objects.at[i];
		enum explain_outcome outcome = ask_network_policy(walk, policy);

		add_step(walk, TIER_NETWORK_POLICY, policy, NULL, outcome);
		if (isolated && (outcome == EXPLAIN_ISOLATES || outcome == EXPLAIN_SELECTS))
			walk_allowances(walk, policy);
	}
	array_free(&objects);
	if (!isolated) {
		add_step(walk, TIER_NETWORK_POLICY, NULL, NULL, EXPLAIN_NOT_ISOLATED);
	} else if (!walk->said.rule) {
		add_step(walk, TIER_NETWORK_POLICY, NULL, NULL, EXPLAIN_NONE_ALLOWS);
		decide(walk, false, TIER_NETWORK_POLICY, NULL, NULL);
	}
	return isolated;
}

static bool is_local_node(const struct walk *walk)
{
	const struct cluster *cluster = walk->match.cluster;
	const struct flow *flow = walk->match.flow;
	const struct address *other =
		walk->direction == EGRESS ? &flow->destination : &flow->source;

	for (size_t i = 0; walk->subject->node && i < cluster->n_nodes; i++) {
		const struct node *node = &cluster->nodes[i];

		if (strcmp(node->name, walk->subject->node))
			continue;
		for (size_t j = 0; j < node->n_addresses; j++)
			if (!memcmp(&node->addresses[j], other, sizeof(*other)))
				return true;
	}
	return false;
}

static void walk_tiers(struct walk *walk)
{
	/* A rule by name allows the node's address as any other. */
	const bool named = walk->direction == EGRESS && walk->match.flow->name;
	bool own_node = !named && is_local_node(walk);

	if (walk->match.source == walk->match.destination) {
		allow_by_default(walk, EXPLAIN_ITSELF);
		return;
	}
	if (own_node && walk->direction == INGRESS) {
		allow_by_default(walk, EXPLAIN_OWN_NODE);
		return;
	}
	if (!walk_ordered(walk, TIER_ADMIN) && !walk_network_policies(walk) &&
	    !walk_ordered(walk, TIER_BASELINE))
		allow_by_default(walk, EXPLAIN_DEFAULT);
	/* Only an Admin or Baseline rule may deny an endpoint the way to its node. */
	if (own_node && (walk->said.allow || walk->said.tier == TIER_NETWORK_POLICY))
		allow_by_default(walk, EXPLAIN_OWN_NODE);
}

static void explain(const struct cluster *cluster, const struct selection *selection,
		    const struct flow *flow, enum direction direction,
		    struct explanation *explanation)
{
	struct walk walk = {
		.match =
			{
				.cluster = cluster,
				.flow = flow,
				.source = match_endpoint(cluster, &flow->source),
				.destination = match_endpoint(cluster, &flow->destination),
			},
		.selection = selection,
		.direction = direction,
	};

	walk.subject = direction == EGRESS ? walk.match.source : walk.match.destination;
	walk.said.direction = direction;
	walk.said.subject = walk.subject;
	decide(&walk, true, TIER_DEFAULT, NULL, NULL);
	if (walk.subject)
		walk_tiers(&walk);
	*explanation = walk.said;
	explanation->steps = walk.steps.at;
	explanation->n_steps = walk.steps.n;
}

void explain_flow(const struct cluster *cluster, const struct flow *flow, enum direction direction,
		  struct explanation *explanation)
{
	explain(cluster, NULL, flow, direction, explanation);
}

void explain_selection(const struct selection *selection, const struct flow *flow,
		       enum direction direction, struct explanation *explanation)
{
	explain(selection_cluster(selection), selection, flow, direction, explanation);
}

void explanation_free(struct explanation *explanation)
{
	free(explanation->steps);
}

/* @full is "namespace/name" or "name". */
static bool is_named(const struct policy_object *policy, const char *full)
{
	size_t n = policy->ns_name ? strlen(policy->ns_name) : 0;

	if (n && (strncmp(full, policy->ns_name, n) || full[n++] != '/'))
		return false;
	return !strcmp(full + n, policy->name);
}

bool explain_agrees(const struct explanation *explanation, const struct policy *policy,
		    const struct decision *decision)
{
	const struct policy_rule *rule = decision->rule;

	if (!explanation->subject || !decision->subject)
		return !explanation->subject && !decision->subject;
	if (explanation->allow != decision->allow || explanation->tier != decision->tier)
		return false;
	if (!explanation->rule || !rule)
		return !explanation->rule && !rule;
	return rule->direction == explanation->direction &&
	       rule->kind == explanation->policy->kind && rule->index == explanation->rule->index &&
	       is_named(explanation->policy, policy_string(policy, rule->policy));
}

static const char *const outcome_texts[] = {
	[EXPLAIN_NOT_SELECTED] = "does not select",
	[EXPLAIN_OTHER_DIRECTION] = "selects, but not in this direction",
	[EXPLAIN_SELECTS] = "selects",
	[EXPLAIN_ISOLATES] = "isolates",
	[EXPLAIN_AUDITED] = "selects, and is audited only",
	[EXPLAIN_NO_PEER] = "peer does not match",
	[EXPLAIN_NO_PORT] = "port does not match",
	[EXPLAIN_EMPTY] = "has an empty peer or port: allows nothing",
	[EXPLAIN_PASSES] = "passes",
	[EXPLAIN_ALLOWS] = "allows",
	[EXPLAIN_DENIES] = "denies",
	[EXPLAIN_NAMESPACE_ISOLATES] = "the namespace isolates",
	[EXPLAIN_NOT_ISOLATED] = "not isolated",
	[EXPLAIN_NONE_ALLOWS] = "isolated, and no rule allows",
	[EXPLAIN_DEFAULT] = "nothing decides: allowed",
	[EXPLAIN_ITSELF] = "an endpoint to itself: allowed",
	[EXPLAIN_OWN_NODE] = "its own node: allowed",
};

const char *explain_outcome_text(enum explain_outcome outcome)
{
	return outcome_texts[outcome];
}
