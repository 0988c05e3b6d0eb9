/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>

#include "cmd/explain.h"

struct chain {
	const struct match_flow *match;
	enum direction direction;
	const struct endpoint *subject;
	struct json_object *steps;
	bool decided;
};

static void step(struct chain *chain, const struct policy_object *object, const struct rule *rule,
		 const char *says)
{
	struct json_object *step = json_object_new_object();
	char policy[512], name[RULE_NAME_TEXT];

	snprintf(policy, sizeof(policy), "%s%s%s", object->ns_name ? object->ns_name : "",
		 object->ns_name ? "/" : "", object->name);
	snprintf(name, sizeof(name), "%s[%u]", chain->direction == INGRESS ? "ingress" : "egress",
		 rule ? rule->index : 0);
	json_add_text(step, "policy", policy);
	json_add_text(step, "rule", !rule ? NULL : rule->name ? rule->name : name);
	json_add_text(step, "says", says);
	json_object_array_add(chain->steps, step);
}

/* Returns whether the rule matches. */
static bool explain_rule(struct chain *chain, const struct policy_object *object,
			 const struct rule *rule)
{
	static const char *const matches[] = {
		[ACTION_ALLOW] = "matches: allow",
		[ACTION_DENY] = "matches: deny",
		[ACTION_PASS] = "matches: pass on to the next tier",
	};

	if (rule->unknown) {
		step(chain, object, rule,
		     rule->action == ACTION_ALLOW ? "a peer or port is {}: matches nothing"
						  : "a peer or port is {}: denies all");
		return rule->action != ACTION_ALLOW;
	}
	if (!match_peers(chain->match, object, chain->direction, rule)) {
		step(chain, object, rule, "the other end is not among its peers");
		return false;
	}
	if (!match_ports(chain->match, rule)) {
		step(chain, object, rule, "the port is not among its ports");
		return false;
	}
	step(chain, object, rule, matches[rule->action]);
	return true;
}

/* Of the policies that do not select the subject, those of its namespace and the cluster's are
 * worth a word. */
static bool selects(struct chain *chain, const struct policy_object *object)
{
	const struct cluster *cluster = chain->match->cluster;

	if (object->ns_name &&
	    strcmp(object->ns_name, cluster->namespaces[chain->subject->ns].name))
		return false;
	if (!match_subject(cluster, object, chain->subject)) {
		step(chain, object, NULL, "does not select it");
		return false;
	}
	if (!object->applies[chain->direction]) {
		step(chain, object, NULL, "says nothing in this direction");
		return false;
	}
	step(chain, object, NULL, "selects it");
	return true;
}

/* Admin and Baseline: the first rule that matches decides, or passes on. */
static void explain_ordered(struct chain *chain, enum tier tier)
{
	const struct cluster *cluster = chain->match->cluster;

	for (size_t i = 0; i < cluster->n_policies && !chain->decided; i++) {
		const struct policy_object *object = &cluster->policies[i];

		if (object->tier != tier || !selects(chain, object))
			continue;
		for (size_t k = 0; k < object->n_rules[chain->direction]; k++) {
			const struct rule *rule = &object->rules[chain->direction][k];

			if (!explain_rule(chain, object, rule))
				continue;
			chain->decided = rule->action != ACTION_PASS || rule->unknown;
			return;
		}
	}
}

/* NetworkPolicies add up: any rule that matches allows, and isolation denies the rest. */
static void explain_network(struct chain *chain)
{
	const struct cluster *cluster = chain->match->cluster;
	bool isolated =
		chain->direction == INGRESS && cluster->namespaces[chain->subject->ns].isolated;

	for (size_t i = 0; i < cluster->n_policies && !chain->decided; i++) {
		const struct policy_object *object = &cluster->policies[i];

		if (object->tier != TIER_NETWORK_POLICY || !selects(chain, object))
			continue;
		isolated |= object->isolates[chain->direction];
		for (size_t k = 0; k < object->n_rules[chain->direction] && !chain->decided; k++)
			chain->decided =
				explain_rule(chain, object, &object->rules[chain->direction][k]);
	}
	chain->decided |= isolated;
}

struct json_object *explain(const struct match_flow *match, enum direction direction)
{
	struct chain chain = {
		.match = match,
		.direction = direction,
		.subject = direction == INGRESS ? match->destination : match->source,
		.steps = json_object_new_array(),
	};

	if (!chain.subject)
		return chain.steps;
	explain_ordered(&chain, TIER_ADMIN);
	if (!chain.decided)
		explain_network(&chain);
	if (!chain.decided)
		explain_ordered(&chain, TIER_BASELINE);
	return chain.steps;
}
