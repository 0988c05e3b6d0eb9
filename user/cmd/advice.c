// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/advice.h"
#include "cmd/json_output.h"
#include "policy/flow_classes.h"
#include "policy/verdicts.h"
#include "model/protocol.h"

/* Labels that differ between pods of one workload. Groups ignore these labels. */
static const char *const pod_labels[] = {
	"pod-template-hash",
	"pod-template-generation",
	"controller-revision-hash",
	"statefulset.kubernetes.io/pod-name",
	"apps.kubernetes.io/pod-index",
	"batch.kubernetes.io/controller-uid",
	"batch.kubernetes.io/job-completion-index",
	"controller-uid",
	"job-completion-index",
};

#define N_POD_LABELS (sizeof(pod_labels) / sizeof(*pod_labels))
#define NO_GROUP UINT32_MAX

struct group {
	/* a pod of the group; NULL: the group is an address outside, or a domain name */
	const struct endpoint *endpoint;
	struct address address;
	const char *name; /* interned by the cluster; NULL: the group is no domain name */
};

/* A flow that the policies are to allow: @subject's rule in this direction lets @peer use the
 * port. */
struct want {
	uint32_t subject, peer; /* indexes of groups */
	uint32_t direction;
	uint32_t point;
};

struct advice {
	const struct cluster *cluster;
	const struct policy *policy;
	struct group *groups;
	size_t n_groups;
	/* group of each endpoint, by index of cluster->endpoints; NO_GROUP: not looked up yet */
	uint32_t *group_of;
	struct want *wants; /* advice_policies() sorts them by compare_wants() */
	size_t n_wants;
	struct flow *flows; /* every flow that advice_add() took */
	size_t n_flows;
};

/* Makes room for one more record. Returns false if memory is short. The room doubles each time. */
static bool grow(void **array, size_t n, size_t record)
{
	void *grown;

	if (n & (n - 1))
		return true;
	grown = realloc(*array, (n ? 2 * n : 1) * record);
	if (grown)
		*array = grown;
	return grown;
}

static bool is_pod_label(const char *key)
{
	for (size_t i = 0; i < N_POD_LABELS; i++)
		if (!strcmp(key, pod_labels[i]))
			return true;
	return false;
}

/* Returns the next label from *i on that tells workloads apart; NULL: there are no more. */
static const struct label *next_label(const struct endpoint *endpoint, size_t *i)
{
	while (*i < endpoint->labels.n) {
		const struct label *label = &endpoint->labels.at[(*i)++];

		if (!is_pod_label(label->key))
			return label;
	}
	return NULL;
}

static bool same_workload(const struct endpoint *a, const struct endpoint *b)
{
	size_t i = 0, k = 0;

	if (a->ns != b->ns)
		return false;
	for (;;) {
		const struct label *first = next_label(a, &i), *second = next_label(b, &k);

		if (!first || !second)
			return first == second;
		if (first->key != second->key || first->value != second->value)
			return false;
	}
}

static const struct endpoint *endpoint_at(const struct advice *advice,
					  const struct address *address)
{
	const struct policy_address *found = policy_address_find(advice->policy, address);

	/* The compiled policy and the cluster have the same endpoints, both sorted by namespace and
	 * name. */
	return found ? &advice->cluster->endpoints[found->endpoint] : NULL;
}

/* Returns the group that has the address, or if that is no endpoint's the @name by which it was
 * learned, and makes the group; NO_GROUP: memory is short. */
static uint32_t group_of(struct advice *advice, const struct address *address, const char *name)
{
	const struct endpoint *endpoint = endpoint_at(advice, address);
	uint32_t *known =
		endpoint ? &advice->group_of[endpoint - advice->cluster->endpoints] : NULL;
	void *groups = advice->groups;

	if (known && *known != NO_GROUP)
		return *known;
	for (size_t i = 0; i < advice->n_groups; i++) {
		const struct group *group = &advice->groups[i];

		if (endpoint ? group->endpoint && same_workload(group->endpoint, endpoint)
			     : !group->endpoint && group->name == name &&
				       (name ||
					!memcmp(&group->address, address, sizeof(*address)))) {
			if (known)
				*known = i;
			return i;
		}
	}
	if (!grow(&groups, advice->n_groups, sizeof(*advice->groups)))
		return NO_GROUP;
	advice->groups = groups;
	advice->groups[advice->n_groups] =
		(struct group){endpoint, *address, endpoint ? NULL : name};
	if (known)
		*known = advice->n_groups;
	return advice->n_groups++;
}

struct advice *advice_open(const struct cluster *cluster, const struct policy *policy)
{
	struct advice *advice = calloc(1, sizeof(*advice));
	size_t size = (cluster->n_endpoints + 1) * sizeof(*advice->group_of);

	if (!advice)
		return NULL;
	advice->cluster = cluster;
	advice->policy = policy;
	advice->group_of = malloc(size);
	if (!advice->group_of) {
		free(advice);
		return NULL;
	}
	memset(advice->group_of, 0xff, size);
	return advice;
}

void advice_close(struct advice *advice)
{
	if (!advice)
		return;
	free(advice->groups);
	free(advice->group_of);
	free(advice->wants);
	free(advice->flows);
	free(advice);
}

/* Returns true if no selector of labels can select the group without the rest of its namespace. */
static bool is_nameless(const struct advice *advice, const struct group *group)
{
	size_t i = 0;

	if (!group->endpoint || next_label(group->endpoint, &i))
		return false;
	for (size_t k = 0; k < advice->cluster->n_endpoints; k++) {
		const struct endpoint *other = &advice->cluster->endpoints[k];

		if (other->ns == group->endpoint->ns && !same_workload(other, group->endpoint))
			return true;
	}
	return false;
}

static bool has_want(const struct advice *advice, const struct want *want)
{
	for (size_t i = 0; i < advice->n_wants; i++)
		if (!memcmp(&advice->wants[i], want, sizeof(*want)))
			return true;
	return false;
}

/* Returns ADVICE_TAKEN, ADVICE_KNOWN or -ENOMEM. */
static int add_want(struct advice *advice, const struct want *want)
{
	void *wants = advice->wants;

	if (has_want(advice, want))
		return ADVICE_KNOWN;
	if (!grow(&wants, advice->n_wants, sizeof(*advice->wants)))
		return -ENOMEM;
	advice->wants = wants;
	advice->wants[advice->n_wants++] = *want;
	return ADVICE_TAKEN;
}

static bool is_isolation(const struct decision *decision)
{
	return !decision->subject || decision->allow || decision->tier == TIER_NETWORK_POLICY;
}

static int add_flow(struct advice *advice, const struct flow *flow)
{
	void *flows = advice->flows;

	if (!grow(&flows, advice->n_flows, sizeof(*advice->flows)))
		return -ENOMEM;
	advice->flows = flows;
	advice->flows[advice->n_flows++] = *flow;
	return 0;
}

/* Returns true if policy allows the flow, or will with the new policies. */
static bool is_allowed(struct advice *advice, const struct flow *flow)
{
	struct evaluate_source source = evaluate_policy(advice->policy);
	struct decision said[2];
	uint32_t group[2];

	if (evaluate_flow(&source, advice->policy, flow, &said[EGRESS], &said[INGRESS]))
		return true;
	group[EGRESS] = group_of(advice, &flow->source, NULL);
	group[INGRESS] = group_of(advice, &flow->destination, NULL);
	for (enum direction d = INGRESS; d <= EGRESS; d++) {
		const struct want want = {group[d], group[!d], d,
					  bh_point(flow->protocol, flow->port)};

		if (said[d].subject && !said[d].allow && !has_want(advice, &want))
			return false;
	}
	return true;
}

#define FIRST_DYNAMIC_PORT 32768 /* of Linux' ip_local_port_range: clients' ports */

/*
 * Returns true if the flow is an answer of a server of UDP that came after the table of connections
 * had lost the question: then policy evaluates the answer as a call of the server's. A server has a
 * fixed port, its client one that the kernel has chosen.
 */
static bool is_answer(struct advice *advice, const struct flow *flow, uint16_t source_port)
{
	const struct flow call = {.source = flow->destination,
				  .destination = flow->source,
				  .protocol = flow->protocol,
				  .port = source_port};

	return flow->protocol == IPPROTO_UDP && !flow->name && source_port &&
	       source_port < FIRST_DYNAMIC_PORT && flow->port >= FIRST_DYNAMIC_PORT &&
	       is_allowed(advice, &call);
}

int advice_add(struct advice *advice, const struct flow *flow, uint16_t source_port)
{
	struct evaluate_source source = evaluate_policy(advice->policy);
	struct decision said[2];
	uint32_t group[2];
	int answer = ADVICE_KNOWN, added;

	if (evaluate_flow(&source, advice->policy, flow, &said[EGRESS], &said[INGRESS]))
		return ADVICE_ALLOWED;
	if (is_answer(advice, flow, source_port))
		return ADVICE_ANSWER;
	if (!is_isolation(&said[EGRESS]) || !is_isolation(&said[INGRESS]))
		return ADVICE_HIGHER;
	if (!protocol_by_number(flow->protocol))
		return ADVICE_PROTOCOL;
	group[EGRESS] = group_of(advice, &flow->source, NULL);
	group[INGRESS] = group_of(advice, &flow->destination, flow->name);
	if (group[EGRESS] == NO_GROUP || group[INGRESS] == NO_GROUP)
		return -ENOMEM;
	if (is_nameless(advice, &advice->groups[group[EGRESS]]) ||
	    is_nameless(advice, &advice->groups[group[INGRESS]]))
		return ADVICE_NAMELESS;
	for (enum direction d = INGRESS; d <= EGRESS; d++) {
		struct want want = {group[d], group[!d], d, bh_point(flow->protocol, flow->port)};

		if (!said[d].subject || said[d].allow)
			continue;
		added = add_want(advice, &want);
		if (added < 0)
			return added;
		if (added == ADVICE_TAKEN)
			answer = ADVICE_TAKEN;
	}
	if (answer == ADVICE_TAKEN && add_flow(advice, flow))
		return -ENOMEM;
	return answer;
}

/* One policy after another: by subject, then direction, then peer. */
static int compare_wants(const void *a, const void *b)
{
	const struct want *first = a, *second = b;
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

	while ((label = next_label(of, &i)))
		if (labels_get(&endpoint->labels, label->key) != label->value)
			return false;
	return true;
}

/* Returns a label key of @endpoint's workload that @of lacks; NULL: there is none. */
static const char *further_key(const struct endpoint *endpoint, const struct endpoint *of)
{
	const struct label *label;
	size_t i = 0;

	while ((label = next_label(endpoint, &i)))
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

		if (other->ns == of->ns && !same_workload(other, of) && has_labels_of(other, of) &&
		    !names_key(array, other))
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

	while ((label = next_label(of, &i)))
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

static struct json_object *peer_json(const struct advice *advice, const struct group *subject,
				     const struct group *peer)
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
static struct json_object *ports_json(const struct want *wants, size_t n)
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
		     const struct want *wants, size_t n)
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
		const struct want *want = &advice->wants[i];

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
static struct json_object *protocols_json(const struct want *wants, size_t n)
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

static struct json_object *name_rule_json(const char *name, const struct want *wants, size_t n)
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
		const struct want *want = &advice->wants[i];
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
	label = next_label(of, &i);
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

/* Returns true if advice_add() took this flow, or another flow between the same two groups. */
static bool is_wanted(const struct advice *advice, uint32_t source, uint32_t destination,
		      uint32_t point)
{
	for (size_t i = 0; i < advice->n_flows; i++) {
		const struct flow *flow = &advice->flows[i];
		/* group_of() adds no group here: both groups exist by now */
		struct advice *groups = (struct advice *)advice;

		if (bh_point(flow->protocol, flow->port) == point &&
		    group_of(groups, &flow->source, NULL) == source &&
		    group_of(groups, &flow->destination, flow->name) == destination)
			return true;
	}
	return false;
}

/* Returns the group of a kind's member; NO_GROUP: no flow of the member was taken. */
static uint32_t group_of_member(const struct advice *advice, const struct flow_class_member *member)
{
	const struct policy_endpoint *endpoint;
	struct address address;
	struct cidr cidr;
	char ns[FLOW_TEXT], *name;

	snprintf(ns, sizeof(ns), "%s", member->end.name);
	for (size_t i = 0; member->end.domain && i < advice->n_groups; i++)
		if (advice->groups[i].name && !strcmp(advice->groups[i].name, member->end.domain))
			return i;
	if (member->external) {
		ns[strcspn(ns, " ")] = '\0';
		if (address_parse(ns, &address) && (cidr_parse(ns, &cidr) || cidr.length < 128))
			return NO_GROUP;
		if (address_parse(ns, &address))
			address = cidr.address;
		for (size_t i = 0; i < advice->n_groups; i++)
			if (!advice->groups[i].endpoint &&
			    !memcmp(&advice->groups[i].address, &address, sizeof(address)))
				return i;
		return NO_GROUP;
	}
	name = strchr(ns, '/');
	*name++ = '\0';
	name[strcspn(name, " ")] = '\0';
	endpoint = policy_endpoint_by_name(advice->policy, ns, name);
	for (size_t i = 0; i < advice->n_groups && endpoint; i++)
		if (advice->groups[i].endpoint &&
		    same_workload(
			    advice->groups[i].endpoint,
			    &advice->cluster->endpoints[endpoint - advice->policy->endpoints]))
			return i;
	return NO_GROUP;
}

struct comparison {
	const struct advice *advice;
	const struct policy *policies[FLOW_CLASSES_POLICIES];
	struct flow_classes kinds;
	char *why;
};

/* Returns true if both ends' policies allow @point. */
static bool allows(const struct comparison *comparison, size_t p, const struct flow_class *from,
		   const struct flow_class *to, uint32_t point)
{
	const struct policy *policy = comparison->policies[p];
	const struct flow_class_index a = from->members->place[p], b = to->members->place[p];

	for (enum direction d = INGRESS; d <= EGRESS; d++) {
		const struct policy_segment *source = &policy->segments[a.segment];
		const struct policy_segment *target = &policy->segments[b.segment];
		struct verdicts verdicts = verdicts_of(
			policy, d == INGRESS ? target : flow_class_subject(policy, to, source),
			d == INGRESS ? source : target, d, b.resolution);

		if (!verdicts_allow(&verdicts, point))
			return false;
	}
	return true;
}

static void differ(const struct comparison *comparison, const struct flow_class_member *from,
		   const struct flow_class_member *to, uint32_t point, const char *how)
{
	snprintf(comparison->why, 2 * FLOW_TEXT, "%.150s to %.150s, point %" PRIu32 ": %s",
		 from->end.name, to->end.name, point, how);
}

/* Compares the two policies at one protocol and port. Returns 0 or -EPERM. */
static int compare_at(const struct comparison *comparison, const struct flow_class *from,
		      const struct flow_class *to, uint32_t point)
{
	bool was = allows(comparison, 0, from, to, point);

	if (was == allows(comparison, 1, from, to, point))
		return 0;
	if (was) {
		differ(comparison, from->members, to->members, point, "would be closed");
		return -EPERM;
	}
	for (size_t i = 0; i < from->n; i++)
		for (size_t k = 0; k < to->n; k++) {
			const struct flow_class_member *a = &from->members[i], *b = &to->members[k];
			uint32_t source = group_of_member(comparison->advice, a);
			uint32_t target = group_of_member(comparison->advice, b);

			if ((from == to && i == k) ||
			    (source != NO_GROUP && target != NO_GROUP &&
			     is_wanted(comparison->advice, source, target, point)))
				continue;
			differ(comparison, a, b, point, "would be opened");
			return -EPERM;
		}
	return 0;
}

/* Compares the two policies at each point where a verdict of either may change. */
static int compare_flow_classes(const struct comparison *comparison, const struct flow_class *from,
				const struct flow_class *to)
{
	int error = 0;

	for (size_t p = 0; p < FLOW_CLASSES_POLICIES && !error; p++)
		for (enum direction d = INGRESS; d <= EGRESS && !error; d++) {
			const struct policy *policy = comparison->policies[p];
			const struct policy_segment *source =
				&policy->segments[from->members->place[p].segment];
			const struct policy_segment *target =
				&policy->segments[to->members->place[p].segment];
			struct verdicts verdicts = verdicts_of(
				policy,
				d == INGRESS ? target : flow_class_subject(policy, to, source),
				d == INGRESS ? source : target, d,
				to->members->place[p].resolution);

			for (size_t i = 0; i < verdicts.n && !error; i++)
				error = compare_at(comparison, from, to,
						   verdicts_at(&verdicts, i)->start);
		}
	return error;
}

static int check_flows(const struct advice *advice, const struct policy *wider,
		       char why[FLOW_TEXT * 2])
{
	struct evaluate_source source = evaluate_policy(wider);
	struct decision egress, ingress;

	for (size_t i = 0; i < advice->n_flows; i++) {
		char from[ADDRESS_TEXT], to[ADDRESS_TEXT], port[FLOW_TEXT];
		const struct flow *flow = &advice->flows[i];

		if (evaluate_flow(&source, wider, flow, &egress, &ingress))
			continue;
		snprintf(why, FLOW_TEXT * 2, "%s to %s %.20s would still be denied",
			 address_print(&flow->source, from), address_print(&flow->destination, to),
			 port_print(flow, port));
		return -EPERM;
	}
	return 0;
}

int advice_check(const struct advice *advice, const struct policy *wider, char why[FLOW_TEXT * 2])
{
	struct comparison comparison = {advice, {advice->policy, wider}, {0}, why};
	int error = check_flows(advice, wider, why);

	if (!error)
		error = flow_classes_list(comparison.policies, FLOW_CLASSES_POLICIES,
					  &comparison.kinds);
	for (size_t i = 0; i < comparison.kinds.n && !error; i++)
		for (size_t k = 0; k < comparison.kinds.n && !error; k++) {
			const struct flow_class *from = &comparison.kinds.at[i];
			const struct flow_class *to = &comparison.kinds.at[k];

			if ((!from->members->external || !to->members->external) &&
			    !from->members->end.domain)
				error = compare_flow_classes(&comparison, from, to);
		}
	flow_classes_free(&comparison.kinds);
	return error;
}
