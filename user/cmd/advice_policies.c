// SPDX-License-Identifier: GPL-2.0-only
/* Flows that were seen → NetworkPolicies and ClusterNetworkPolicies that allow them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/advice_part.h"
#include "cmd/json_output.h"
#include "model/protocol.h"

/* One policy after another: by subject, then direction, then peer. */
static int compare_wants(const void *a, const void *b)
{
	const struct advice_want *first = a, *second = b;
	const uint32_t x[] = {first->subject, first->direction, first->peer, first->point};
	const uint32_t y[] = {second->subject, second->direction, second->peer, second->point};

	for (int i = 0; i < 4; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

static bool has_labels_of(const struct endpoint *endpoint, const struct endpoint *of)
{
	const struct label *label;
	size_t i = 0;

	while ((label = advice_next_label(of, &i)))
		if (labels_get(&endpoint->labels, label->key) != label->value)
			return false;
	return true;
}

/* Returns a label key of @endpoint's workload that @of lacks; NULL: there is none. */
static const char *further_key(const struct endpoint *endpoint, const struct endpoint *of)
{
	const struct label *label;
	size_t i = 0;

	while ((label = advice_next_label(endpoint, &i)))
		if (!labels_get(&of->labels, label->key))
			return label->key;
	return NULL;
}

static struct json_object *expression(const char *key)
{
	struct json_object *object = json_object_new_object();

	json_add_text(object, "key", key);
	json_add_text(object, "operator", "DoesNotExist");
	return object;
}

static bool names_key(struct json_object *expressions, const struct endpoint *endpoint)
{
	for (size_t i = 0; i < json_object_array_length(expressions); i++) {
		struct json_object *object = json_object_array_get_idx(expressions, i);

		if (labels_get(&endpoint->labels, json_get_text(object, "key")))
			return true;
	}
	return false;
}

/* Returns the matchExpressions that keep out pods of other groups that have all labels of @of and
 * further labels. */
static struct json_object *expressions_json(const struct advice *advice, const struct endpoint *of)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < advice->cluster->n_endpoints; i++) {
		const struct endpoint *other = &advice->cluster->endpoints[i];

		if (other->ns == of->ns && !advice_same_workload(other, of) &&
		    has_labels_of(other, of) && !names_key(array, other))
			json_object_array_add(array, expression(further_key(other, of)));
	}
	return array;
}

static struct json_object *selector_json(const struct advice *advice, const struct endpoint *of)
{
	struct json_object *object = json_object_new_object();
	struct json_object *labels = json_object_new_object();
	struct json_object *expressions = expressions_json(advice, of);
	const struct label *label;
	size_t i = 0;

	while ((label = advice_next_label(of, &i)))
		json_add_text(labels, label->key, label->value);
	if (json_object_object_length(labels))
		json_add(object, "matchLabels", labels);
	else
		json_object_put(labels);
	if (json_object_array_length(expressions))
		json_add(object, "matchExpressions", expressions);
	else
		json_object_put(expressions);
	return object;
}

static struct json_object *namespace_json(const struct endpoint *endpoint)
{
	struct json_object *object = json_object_new_object();
	struct json_object *labels = json_object_new_object();

	json_add_text(labels, "kubernetes.io/metadata.name", endpoint->ns_name);
	json_add(object, "matchLabels", labels);
	return object;
}

static struct json_object *peer_json(const struct advice *advice,
				     const struct advice_group *subject,
				     const struct advice_group *peer)
{
	struct json_object *object = json_object_new_object(), *block;
	char text[ADDRESS_TEXT];

	if (!peer->endpoint) {
		const struct cidr cidr = {peer->address, 128};

		block = json_object_new_object();
		json_add_text(block, "cidr", cidr_print(&cidr, text));
		json_add(object, "ipBlock", block);
		return object;
	}
	if (peer->endpoint->ns != subject->endpoint->ns)
		json_add(object, "namespaceSelector", namespace_json(peer->endpoint));
	json_add(object, "podSelector", selector_json(advice, peer->endpoint));
	return object;
}

/* Consecutive ports become one range. */
static struct json_object *ports_json(const struct advice_want *wants, size_t n)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0, k; i < n; i = k) {
		struct json_object *port = json_object_new_object();
		uint32_t first = wants[i].point;

		for (k = i + 1; k < n && wants[k].point == first + (k - i) &&
				wants[k].point >> 16 == first >> 16;)
			k++;
		json_add_text(port, "protocol", protocols[first >> 16].name);
		json_add_number(port, "port", first & 0xffff);
		if (k - i > 1)
			json_add_number(port, "endPort", wants[k - 1].point & 0xffff);
		json_object_array_add(array, port);
	}
	return array;
}

/* Adds the peer of @wants to the rule that has the same ports. Makes the rule if no rule has
 * them. */
static void add_rule(const struct advice *advice, struct json_object *rules, const char *peers,
		     const struct advice_want *wants, size_t n)
{
	struct json_object *ports = ports_json(wants, n), *rule, *array;
	struct json_object *peer =
		peer_json(advice, &advice->groups[wants->subject], &advice->groups[wants->peer]);

	for (size_t i = 0; i < json_object_array_length(rules); i++) {
		rule = json_object_array_get_idx(rules, i);
		if (!json_object_equal(json_object_object_get(rule, "ports"), ports))
			continue;
		json_object_array_add(json_object_object_get(rule, peers), peer);
		json_object_put(ports);
		return;
	}
	rule = json_object_new_object();
	array = json_object_new_array();
	json_object_array_add(array, peer);
	json_add(rule, peers, array);
	json_add(rule, "ports", ports);
	json_object_array_add(rules, rule);
}

/* Returns the rules of one subject and direction as an array; null: there are none. @wants are
 * sorted. */
static struct json_object *rules_json(const struct advice *advice, uint32_t subject,
				      enum direction direction)
{
	struct json_object *rules = json_object_new_array();

	for (size_t i = 0, k; i < advice->n_wants; i = k) {
		const struct advice_want *want = &advice->wants[i];

		for (k = i + 1; k < advice->n_wants && want->subject == advice->wants[k].subject &&
				want->direction == advice->wants[k].direction &&
				want->peer == advice->wants[k].peer;)
			k++;
		if (want->subject == subject && want->direction == direction &&
		    !advice->groups[want->peer].name)
			add_rule(advice, rules, direction == INGRESS ? "from" : "to", want, k - i);
	}
	if (json_object_array_length(rules))
		return rules;
	json_object_put(rules);
	return NULL;
}

/* The ports of a ClusterNetworkPolicy's rule. */
static struct json_object *protocols_json(const struct advice_want *wants, size_t n)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < n; i++) {
		struct json_object *item = json_object_new_object();
		struct json_object *protocol = json_object_new_object();
		struct json_object *port = json_object_new_object();

		json_add_number(port, "number", wants[i].point & 0xffff);
		json_add(protocol, "destinationPort", port);
		json_add(item, protocols[wants[i].point >> 16].key, protocol);
		json_object_array_add(array, item);
	}
	return array;
}

#define PROTOCOLS_MAX 25 /* of a rule, by the API */

static struct json_object *name_rule_json(const char *name, const struct advice_want *wants,
					  size_t n)
{
	struct json_object *rule = json_object_new_object(), *to = json_object_new_array();
	struct json_object *peer = json_object_new_object(), *names = json_object_new_array();

	json_append_text(names, name);
	json_add(peer, "domainNames", names);
	json_object_array_add(to, peer);
	json_add_text(rule, "action", "Accept");
	json_add(rule, "to", to);
	json_add(rule, "protocols", protocols_json(wants, n));
	return rule;
}

/* Returns the rules of one subject that allow domain names. @wants are sorted. */
static struct json_object *name_rules_json(const struct advice *advice, uint32_t subject)
{
	struct json_object *rules = json_object_new_array();

	for (size_t i = 0, k; i < advice->n_wants; i = k) {
		const struct advice_want *want = &advice->wants[i];
		const char *name = advice->groups[want->peer].name;

		for (k = i + 1; k < advice->n_wants && k - i < PROTOCOLS_MAX &&
				want->subject == advice->wants[k].subject &&
				want->direction == advice->wants[k].direction &&
				want->peer == advice->wants[k].peer;)
			k++;
		if (want->subject == subject && want->direction == EGRESS && name)
			json_object_array_add(rules, name_rule_json(name, want, k - i));
	}
	return rules;
}

static bool is_taken(const struct advice *advice, const char *ns, const char *name)
{
	for (size_t i = 0; i < advice->cluster->n_policies; i++) {
		const struct policy_object *policy = &advice->cluster->policies[i];

		if (!policy->ns_name == !ns && (!ns || !strcmp(policy->ns_name, ns)) &&
		    !strcmp(policy->name, name))
			return true;
	}
	return false;
}

/* Names a policy "allow-seen-db" for the label app=db. A number follows if a policy has the
 * name already. */
static void name_policy(const struct advice *advice, struct json_object *policies,
			const struct endpoint *of, char name[80])
{
	static const char *const keys[] = {"app.kubernetes.io/name", "app", "k8s-app", "name",
					   "role"};
	const struct label *label;
	const char *base = NULL;
	char plain[41] = "";
	size_t i = 0;

	for (size_t k = 0; k < sizeof(keys) / sizeof(*keys) && !base; k++)
		for (size_t l = 0; l < of->labels.n; l++)
			if (!strcmp(of->labels.at[l].key, keys[k]))
				base = of->labels.at[l].value;
	label = advice_next_label(of, &i);
	base = base ? base : label ? label->value : "all";
	for (i = 0; i < sizeof(plain) - 1 && base[i]; i++) {
		char c = base[i] >= 'A' && base[i] <= 'Z' ? base[i] + 32 : base[i];

		plain[i] = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
	}
	while (i && plain[i - 1] == '-')
		plain[--i] = '\0';
	for (unsigned int n = 1;; n++) {
		bool used;

		snprintf(name, 80, "allow-seen%s%s", *plain ? "-" : "", plain);
		if (n > 1)
			snprintf(name + strlen(name), 80 - strlen(name), "-%u", n);
		used = is_taken(advice, of->ns_name, name);
		for (i = 0; i < json_object_array_length(policies) && !used; i++) {
			struct json_object *metadata = json_object_object_get(
				json_object_array_get_idx(policies, i), "metadata");

			const char *ns = json_get_text(metadata, "namespace");

			used = ns && !strcmp(ns, of->ns_name) &&
			       !strcmp(json_get_text(metadata, "name"), name);
		}
		if (!used)
			return;
	}
}

static bool has_cluster_policy(struct json_object *policies, const char *name)
{
	for (size_t i = 0; i < json_object_array_length(policies); i++) {
		struct json_object *policy = json_object_array_get_idx(policies, i);
		struct json_object *metadata = json_object_object_get(policy, "metadata");

		if (!json_get_text(metadata, "namespace") &&
		    !strcmp(json_get_text(metadata, "name"), name))
			return true;
	}
	return false;
}

/* Adds a ClusterNetworkPolicy with the domain names that the subject may reach: a NetworkPolicy has
 * none. It is asked after all others of its tier. */
static void add_names_policy(const struct advice *advice, struct json_object *policies,
			     uint32_t subject)
{
	const struct endpoint *endpoint = advice->groups[subject].endpoint;
	struct json_object *rules = name_rules_json(advice, subject);
	struct json_object *object, *metadata, *spec, *who, *pods;
	char name[80 + 64], base[80];

	if (!json_object_array_length(rules)) {
		json_object_put(rules);
		return;
	}
	object = json_object_new_object();
	metadata = json_object_new_object();
	spec = json_object_new_object();
	who = json_object_new_object();
	pods = json_object_new_object();
	name_policy(advice, policies, endpoint, base);
	/* the group's number sets workloads of one name apart */
	snprintf(name, sizeof(name), "%s-%s", base, endpoint->ns_name);
	if (is_taken(advice, NULL, name) || has_cluster_policy(policies, name))
		snprintf(name, sizeof(name), "%s-%s-%u", base, endpoint->ns_name, subject);
	json_add_text(object, "apiVersion", "policy.networking.k8s.io/v1alpha2");
	json_add_text(object, "kind", "ClusterNetworkPolicy");
	json_add_text(metadata, "name", name);
	json_add(object, "metadata", metadata);
	json_add_text(spec, "tier", "Admin");
	json_add_number(spec, "priority", 1000);
	json_add(pods, "namespaceSelector", namespace_json(endpoint));
	json_add(pods, "podSelector", selector_json(advice, endpoint));
	json_add(who, "pods", pods);
	json_add(spec, "subject", who);
	json_add(spec, "egress", rules);
	json_add(object, "spec", spec);
	json_object_array_add(policies, object);
}

static void add_policy(const struct advice *advice, struct json_object *policies, uint32_t subject)
{
	const struct endpoint *endpoint = advice->groups[subject].endpoint;
	struct json_object *rules[2], *object, *metadata, *spec, *types;
	char name[80];

	rules[INGRESS] = rules_json(advice, subject, INGRESS);
	rules[EGRESS] = rules_json(advice, subject, EGRESS);
	if (!rules[INGRESS] && !rules[EGRESS])
		return;
	object = json_object_new_object();
	metadata = json_object_new_object();
	spec = json_object_new_object();
	types = json_object_new_array();
	name_policy(advice, policies, endpoint, name);
	json_add_text(object, "apiVersion", "networking.k8s.io/v1");
	json_add_text(object, "kind", "NetworkPolicy");
	json_add_text(metadata, "name", name);
	json_add_text(metadata, "namespace", endpoint->ns_name);
	json_add(object, "metadata", metadata);
	json_add(spec, "podSelector", selector_json(advice, endpoint));
	if (rules[INGRESS])
		json_append_text(types, "Ingress");
	if (rules[EGRESS])
		json_append_text(types, "Egress");
	json_add(spec, "policyTypes", types);
	if (rules[INGRESS])
		json_add(spec, "ingress", rules[INGRESS]);
	if (rules[EGRESS])
		json_add(spec, "egress", rules[EGRESS]);
	json_add(object, "spec", spec);
	json_object_array_add(policies, object);
}

struct json_object *advice_policies(struct advice *advice)
{
	struct json_object *policies = json_object_new_array();

	if (advice->n_wants)
		qsort(advice->wants, advice->n_wants, sizeof(*advice->wants), compare_wants);
	for (uint32_t subject = 0; subject < advice->n_groups; subject++)
		add_policy(advice, policies, subject);
	for (uint32_t subject = 0; subject < advice->n_groups; subject++)
		if (advice->groups[subject].endpoint)
			add_names_policy(advice, policies, subject);
	return policies;
}
