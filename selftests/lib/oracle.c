// SPDX-License-Identifier: GPL-2.0-only
#include "selftests/lib/oracle.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define NAME_LABEL "kubernetes.io/metadata.name"

/* One end's question: may @subject talk with the other end? */
struct question {
	const struct cluster *cluster;
	enum direction direction;
	const struct endpoint *subject;
	const struct endpoint *peer; /* NULL: no endpoint has that address */
	struct address peer_address;
	uint8_t protocol;
	uint16_t port;
	const char *name; /* that the subject has learned for the peer's address; NULL */
	bool audited; /* as if the policies that are only audited were enforced */
};

static bool same_address(const struct address *a, const struct address *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

static bool is_ipv4(const struct address *address)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(address->bytes, mapped, sizeof(mapped)) == 0;
}

/* ::/0 is every IPv6 address and no IPv4 one, however the model writes those. */
static bool in_prefix(const struct cidr *cidr, const struct address *address)
{
	if (is_ipv4(address) != (is_ipv4(&cidr->address) && cidr->length >= 96))
		return false;
	for (int bit = 0; bit < cidr->length; bit++) {
		int want = cidr->address.bytes[bit / 8] >> (7 - bit % 8) & 1;
		int have = address->bytes[bit / 8] >> (7 - bit % 8) & 1;

		if (want != have)
			return false;
	}
	return true;
}

static const struct endpoint *find_endpoint(const struct cluster *cluster,
					    const struct address *address)
{
	for (size_t i = 0; i < cluster->n_endpoints; i++) {
		const struct endpoint *endpoint = &cluster->endpoints[i];

		for (size_t j = 0; j < endpoint->n_addresses; j++)
			if (same_address(&endpoint->addresses[j], address))
				return endpoint;
	}
	return NULL;
}

static const struct namespace *find_namespace(const struct cluster *cluster, const char *name)
{
	for (size_t i = 0; i < cluster->n_namespaces; i++)
		if (strcmp(cluster->namespaces[i].name, name) == 0)
			return &cluster->namespaces[i];
	return NULL;
}

/* Returns NULL if the object has no such label. */
static const char *find_label(const struct labels *labels, const char *key)
{
	for (size_t i = 0; labels && i < labels->n; i++)
		if (strcmp(labels->at[i].key, key) == 0)
			return labels->at[i].value;
	return NULL;
}

/* "Kubernetes sets an immutable label kubernetes.io/metadata.name on all namespaces." */
static const char *namespace_label(const struct cluster *cluster, const char *name, const char *key)
{
	const struct namespace *ns = find_namespace(cluster, name);

	if (strcmp(key, NAME_LABEL) == 0)
		return name;
	return ns ? find_label(&ns->labels, key) : NULL;
}

static bool value_listed(const struct requirement *requirement, const char *value)
{
	for (size_t i = 0; i < requirement->n_values; i++)
		if (strcmp(requirement->values[i], value) == 0)
			return true;
	return false;
}

/* @value is NULL if the key is missing: NotIn and DoesNotExist then match. */
static bool requirement_holds(const struct requirement *requirement, const char *value)
{
	switch (requirement->op) {
	case SELECTOR_IN:
		return value && value_listed(requirement, value);
	case SELECTOR_NOT_IN:
		return !value || !value_listed(requirement, value);
	case SELECTOR_EXISTS:
		return value;
	case SELECTOR_DOES_NOT_EXIST:
		return !value;
	}
	return false;
}

static bool selects(const struct selector *selector, const struct labels *labels)
{
	for (size_t i = 0; i < selector->n; i++)
		if (!requirement_holds(&selector->at[i], find_label(labels, selector->at[i].key)))
			return false;
	return true;
}

static bool selects_namespace(const struct cluster *cluster, const struct selector *selector,
			      const char *name)
{
	for (size_t i = 0; i < selector->n; i++) {
		const char *value = namespace_label(cluster, name, selector->at[i].key);

		if (!requirement_holds(&selector->at[i], value))
			return false;
	}
	return true;
}

static bool node_has(const struct node *node, const struct address *address)
{
	for (size_t i = 0; i < node->n_addresses; i++)
		if (same_address(&node->addresses[i], address))
			return true;
	return false;
}

/* "To be selected a Namespace must have all of the labels defined in SameLabels, and they must all
 * have the same value as the subject of this policy. If SameLabels is empty then nothing is
 * selected." */
static bool same_labels(const struct question *q, const struct peer *peer)
{
	for (size_t i = 0; i < peer->n_keys; i++) {
		const char *ours = namespace_label(q->cluster, q->subject->ns_name, peer->keys[i]);
		const char *theirs = namespace_label(q->cluster, q->peer->ns_name, peer->keys[i]);

		if (!ours || !theirs || strcmp(ours, theirs) != 0)
			return false;
	}
	return peer->n_keys > 0;
}

/*
 * For every label listed, the peer's namespace lacks it or has another value than the subject's
 * namespace (Story 4's tenants). An empty list selects nothing.
 */
static bool not_same_labels(const struct question *q, const struct peer *peer)
{
	for (size_t i = 0; i < peer->n_keys; i++) {
		const char *ours = namespace_label(q->cluster, q->subject->ns_name, peer->keys[i]);
		const char *theirs = namespace_label(q->cluster, q->peer->ns_name, peer->keys[i]);

		if (ours && theirs && strcmp(ours, theirs) == 0)
			return false;
	}
	return peer->n_keys > 0;
}

static bool matches_cidr(const struct question *q, const struct peer *peer)
{
	if (!in_prefix(&peer->cidr, &q->peer_address))
		return false;
	for (size_t i = 0; i < peer->n_except; i++)
		if (in_prefix(&peer->except[i], &q->peer_address))
			return false;
	return true;
}

static bool matches_nodes(const struct question *q, const struct peer *peer)
{
	for (size_t i = 0; i < q->cluster->n_nodes; i++) {
		const struct node *node = &q->cluster->nodes[i];

		if (selects(&peer->nodes, &node->labels) && node_has(node, &q->peer_address))
			return true;
	}
	return false;
}

/* Returns true if the peer's namespace is one that the selectors select. */
static bool matches_scope(const struct question *q, const struct policy_object *policy,
			  const struct peer *peer)
{
	switch (peer->scope) {
	case PEER_NAMESPACE:
		return strcmp(q->peer->ns_name, policy->ns_name) == 0;
	case PEER_NAMESPACES:
		return selects_namespace(q->cluster, &peer->namespaces, q->peer->ns_name);
	case PEER_SELF:
		return strcmp(q->peer->ns_name, q->subject->ns_name) == 0;
	case PEER_NOT_SELF:
		return strcmp(q->peer->ns_name, q->subject->ns_name) != 0;
	case PEER_SAME_LABELS:
		return same_labels(q, peer);
	case PEER_NOT_SAME_LABELS:
		return not_same_labels(q, peer);
	default:
		return false;
	}
}

/* A name stands for whatever its answer has: "Targeting in-cluster endpoints with FQDN selector is
 * not recommended", and pods and headless Services are supported. */
static bool matches_name(const struct question *q, const struct peer *peer)
{
	for (size_t i = 0; i < peer->n_keys; i++)
		if (q->name && strcmp(peer->keys[i], q->name) == 0)
			return true;
	return false;
}

static bool matches_peer(const struct question *q, const struct policy_object *policy,
			 const struct peer *peer)
{
	if (peer->scope == PEER_CIDR)
		return matches_cidr(q, peer);
	if (peer->scope == PEER_NODES)
		return matches_nodes(q, peer);
	if (peer->scope == PEER_DOMAINS)
		return matches_name(q, peer);
	return q->peer && matches_scope(q, policy, peer) && selects(&peer->pods, &q->peer->labels);
}

/*
 * A port name is looked up in the destination's endpoint; an address without an endpoint has no
 * names.
 */
static bool matches_port_name(const struct question *q, const struct port *port)
{
	const struct endpoint *destination = q->direction == INGRESS ? q->subject : q->peer;

	for (size_t i = 0; destination && i < destination->n_ports; i++) {
		const struct named_port *named = &destination->ports[i];

		if (strcmp(named->name, port->name) == 0 && named->protocol == q->protocol &&
		    named->port == q->port &&
		    (port->protocol == 0 || port->protocol == named->protocol))
			return true;
	}
	return false;
}

static bool matches_port(const struct question *q, const struct port *port)
{
	/* "NetworkPolicy is defined for layer 4 connections (TCP, UDP, and optionally SCTP)." */
	if (q->protocol != IPPROTO_TCP && q->protocol != IPPROTO_UDP && q->protocol != IPPROTO_SCTP)
		return false;
	switch (port->kind) {
	case PORT_PROTOCOL:
		return port->protocol == q->protocol;
	case PORT_RANGE:
		return port->protocol == q->protocol && port->first <= q->port &&
		       q->port <= port->last;
	case PORT_NAME:
		return matches_port_name(q, port);
	}
	return false;
}

static bool matches_peers(const struct question *q, const struct policy_object *policy,
			  const struct rule *rule)
{
	for (size_t i = 0; i < rule->n_peers; i++)
		if (matches_peer(q, policy, &rule->peers[i]))
			return true;
	return rule->any_peer;
}

static bool matches_ports(const struct question *q, const struct rule *rule)
{
	for (size_t i = 0; i < rule->n_ports; i++)
		if (matches_port(q, &rule->ports[i]))
			return true;
	return rule->any_port;
}

/* "If a consumer observes none of its fields are set, they must assume an unknown option has been
 * specified and fail closed": an Allow rule matches nothing, the others deny everything. */
static bool matches_rule(const struct question *q, const struct policy_object *policy,
			 const struct rule *rule)
{
	if (rule->unknown)
		return rule->action != ACTION_ALLOW;
	return matches_peers(q, policy, rule) && matches_ports(q, rule);
}

/* "The policy then denies nothing and isolates nobody": an audited policy selects nobody. */
static bool selects_subject(const struct question *q, const struct policy_object *policy)
{
	const struct endpoint *subject = q->subject;

	if (policy->audit && !q->audited)
		return false;
	if (policy->ns_name)
		return strcmp(policy->ns_name, subject->ns_name) == 0 &&
		       selects(&policy->pods, &subject->labels);
	return selects_namespace(q->cluster, &policy->namespaces, subject->ns_name) &&
	       selects(&policy->pods, &subject->labels);
}

/*
 * Returns true if @a precedes @b in their tier. Cluster-scoped policies: the
 * BaselineAdminNetworkPolicy last, the others by priority, then AdminNetworkPolicies first, then by
 * name. NetworkPolicies are additive; the first by name is reported.
 */
static bool precedes(const struct policy_object *a, const struct policy_object *b)
{
	bool a_last = a->kind == POLICY_BASELINE_ADMIN, b_last = b->kind == POLICY_BASELINE_ADMIN;

	if (a->tier == TIER_NETWORK_POLICY && strcmp(a->name, b->name) != 0)
		return strcmp(a->name, b->name) < 0;
	if (a_last != b_last)
		return b_last;
	if (a->priority != b->priority)
		return a->priority < b->priority;
	if (a->kind != b->kind)
		return a->kind < b->kind;
	return strcmp(a->name, b->name) < 0;
}

/* The first rule of the tier that matches, or NULL. */
static const struct rule *first_match(const struct question *q, enum tier tier,
				      const struct policy_object **decided)
{
	const struct rule *found = NULL;

	for (size_t i = 0; i < q->cluster->n_policies; i++) {
		const struct policy_object *policy = &q->cluster->policies[i];

		if (policy->tier != tier || !policy->applies[q->direction] ||
		    !selects_subject(q, policy) || (found && precedes(*decided, policy)))
			continue;
		for (size_t j = 0; j < policy->n_rules[q->direction]; j++) {
			const struct rule *rule = &policy->rules[q->direction][j];

			if (matches_rule(q, policy, rule)) {
				found = rule;
				*decided = policy;
				break;
			}
		}
	}
	return found;
}

/*
 * "A pod is isolated for ingress if there is any NetworkPolicy that both selects
 * the pod and has Ingress in its policyTypes", and the like for egress; under the
 * proposal, if its namespace says so.
 */
static bool is_isolated(const struct question *q)
{
	const struct namespace *ns = find_namespace(q->cluster, q->subject->ns_name);

	if (q->direction == INGRESS && ns && ns->isolated)
		return true;
	for (size_t i = 0; i < q->cluster->n_policies; i++) {
		const struct policy_object *policy = &q->cluster->policies[i];

		if (policy->kind == POLICY_NETWORK && policy->applies[q->direction] &&
		    selects_subject(q, policy))
			return true;
	}
	return false;
}

static bool is_local_node(const struct question *q)
{
	for (size_t i = 0; q->subject->node && i < q->cluster->n_nodes; i++)
		if (strcmp(q->cluster->nodes[i].name, q->subject->node) == 0 &&
		    node_has(&q->cluster->nodes[i], &q->peer_address))
			return true;
	return false;
}

static struct oracle_decision decision(const struct question *q, bool allow, enum tier tier,
				       const struct policy_object *policy, const struct rule *rule)
{
	return (struct oracle_decision){
		.subject = true,
		.allow = allow,
		.tier = tier,
		.direction = q->direction,
		.policy = rule ? policy : NULL,
		.rule = rule,
	};
}

/* Admin, then NetworkPolicy, then Baseline, then "allow". */
static struct oracle_decision walk(const struct question *q)
{
	const struct policy_object *policy = NULL;
	const struct rule *rule;

	rule = first_match(q, TIER_ADMIN, &policy);
	if (rule && (rule->unknown || rule->action != ACTION_PASS))
		return decision(q, rule->action == ACTION_ALLOW, TIER_ADMIN, policy, rule);

	/* "When a pod is isolated [...] the only allowed connections [...] are those allowed". */
	if (is_isolated(q)) {
		rule = first_match(q, TIER_NETWORK_POLICY, &policy);
		return decision(q, rule, TIER_NETWORK_POLICY, policy, rule);
	}

	rule = first_match(q, TIER_BASELINE, &policy);
	if (rule && (rule->unknown || rule->action != ACTION_PASS))
		return decision(q, rule->action == ACTION_ALLOW, TIER_BASELINE, policy, rule);
	return decision(q, true, TIER_DEFAULT, NULL, NULL);
}

/* Finds the audited policies that isolate the subject, by name. */
static void find_isolating(const struct question *q, struct oracle_decision *said)
{
	const struct policy_object *last = NULL;

	for (said->n_isolating = 0; said->n_isolating < ORACLE_ISOLATING; said->n_isolating++) {
		const struct policy_object *next = NULL;

		for (size_t i = 0; i < q->cluster->n_policies; i++) {
			const struct policy_object *policy = &q->cluster->policies[i];

			if (policy->audit && policy->kind == POLICY_NETWORK &&
			    policy->applies[q->direction] && selects_subject(q, policy) &&
			    (!last || strcmp(policy->name, last->name) > 0) &&
			    (!next || strcmp(policy->name, next->name) < 0))
				next = policy;
		}
		if (!next)
			return;
		said->isolating[said->n_isolating] = last = next;
	}
}

static struct oracle_decision decide(const struct question *q);

/* "What it would have denied is reported under its name": asks again as if the audited policies
 * were enforced. */
static void ask_audited(const struct question *q, struct oracle_decision *said)
{
	struct question again = *q;
	struct oracle_decision would;

	again.audited = true;
	would = decide(&again);
	if (!would.subject || would.allow || (would.policy && !would.policy->audit))
		return;
	if (!would.policy)
		find_isolating(&again, said);
	if (!would.policy && !said->n_isolating)
		return;
	said->would_deny = true;
	said->would_tier = would.tier;
	said->would_policy = would.policy;
	said->would_rule = would.rule;
}

static struct oracle_decision decide(const struct question *q)
{
	struct oracle_decision allowed, said;

	if (!q->subject)
		return (struct oracle_decision){.subject = false};

	allowed = decision(q, true, TIER_DEFAULT, NULL, NULL);
	/* "A pod cannot block access to itself." */
	if (q->peer == q->subject)
		return allowed;
	said = walk(q);
	/* A rule by name allows the node's address as any other. */
	if (q->name || !is_local_node(q))
		return said;
	/* "Traffic to and from the node where a Pod is running is always allowed"; but an
	 * administrator may deny an endpoint its way to the node. */
	if (q->direction == EGRESS && !said.allow && said.tier != TIER_NETWORK_POLICY)
		return said;
	return allowed;
}

static struct oracle_decision decide_audited(const struct question *q)
{
	struct oracle_decision said = decide(q);

	ask_audited(q, &said);
	return said;
}

static bool rule_has_name(const struct question *q, const struct rule *rule)
{
	for (size_t i = 0; i < rule->n_peers; i++)
		if (rule->peers[i].scope == PEER_DOMAINS && matches_name(q, &rule->peers[i]))
			return true;
	return false;
}

/* Returns true if a rule about the subject, audited ones too, has the name. */
static bool has_name(const struct question *named)
{
	struct question all = *named;

	all.audited = true;
	for (size_t i = 0; i < all.cluster->n_policies; i++) {
		const struct policy_object *policy = &all.cluster->policies[i];

		for (size_t j = 0; j < policy->n_rules[EGRESS] && selects_subject(&all, policy);
		     j++)
			if (rule_has_name(&all, &policy->rules[EGRESS][j]))
				return true;
	}
	return false;
}

/* "A packet that would be denied [...] an Accept of an earlier rank lets it pass." */
static struct oracle_decision decide_egress(const struct question *q, const char *name)
{
	struct oracle_decision by_address = decide_audited(q), by_name;
	struct question named = *q;

	if (!name || !by_address.subject || (by_address.allow && !by_address.would_deny))
		return by_address;
	named.name = name;
	if (!has_name(&named))
		return by_address;
	by_name = decide_audited(&named);
	by_name.by_name = true;
	return by_name.allow ? by_name : by_address;
}

bool oracle_evaluate(const struct cluster *cluster, const struct oracle_flow *flow,
		     struct oracle_decision *egress, struct oracle_decision *ingress)
{
	struct question out = {
		.cluster = cluster,
		.direction = EGRESS,
		.subject = find_endpoint(cluster, &flow->source),
		.peer = find_endpoint(cluster, &flow->destination),
		.peer_address = flow->destination,
		.protocol = flow->protocol,
		.port = flow->port,
	};
	struct question in = out;

	in.direction = INGRESS;
	in.subject = out.peer;
	in.peer = out.subject;
	in.peer_address = flow->source;
	*egress = decide_egress(&out, flow->name);
	*ingress = decide_audited(&in);
	return (!egress->subject || egress->allow) && (!ingress->subject || ingress->allow);
}

/* Escapes tabs, newlines and backslashes, which would break the line's columns. */
static void append(char text[ORACLE_TEXT], size_t *length, const char *string)
{
	for (; *string && *length + 2 < ORACLE_TEXT; string++) {
		if (*string == '\t' || *string == '\n' || *string == '\\')
			text[(*length)++] = '\\';
		if (*string == '\t')
			text[(*length)++] = 't';
		else if (*string == '\n')
			text[(*length)++] = 'n';
		else
			text[(*length)++] = *string;
	}
	text[*length] = '\0';
}

static void append_policy(char text[ORACLE_TEXT], size_t *length,
			  const struct policy_object *policy)
{
	if (policy->ns_name) {
		append(text, length, policy->ns_name);
		append(text, length, "/");
	}
	append(text, length, policy->name);
}

static void append_rule(char text[ORACLE_TEXT], size_t *length, enum direction direction,
			const struct policy_object *policy, const struct rule *rule)
{
	char number[32];

	append_policy(text, length, policy);
	append(text, length, "/");
	snprintf(number, sizeof(number), "%s[%u]", direction == INGRESS ? "ingress" : "egress",
		 rule->index);
	append(text, length, rule->name ? rule->name : number);
}

static const char *const tiers[] = {
	[TIER_ADMIN] = "admin",
	[TIER_NETWORK_POLICY] = "network-policy",
	[TIER_BASELINE] = "baseline",
	[TIER_DEFAULT] = "default",
};

static void append_audit(char text[ORACLE_TEXT], size_t *length,
			 const struct oracle_decision *decision)
{
	append(text, length, " (audit: deny ");
	append(text, length, tiers[decision->would_tier]);
	append(text, length, " ");
	if (decision->would_rule)
		append_rule(text, length, decision->direction, decision->would_policy,
			    decision->would_rule);
	for (size_t i = 0; i < decision->n_isolating; i++) {
		append(text, length, i ? ", " : "");
		append_policy(text, length, decision->isolating[i]);
	}
	append(text, length, ")");
}

char *oracle_print(const struct oracle_decision *decision, char text[ORACLE_TEXT])
{
	size_t length = 0;

	if (!decision->subject) {
		append(text, &length, "-");
		return text;
	}
	append(text, &length, decision->allow ? "allow " : "deny ");
	append(text, &length, tiers[decision->tier]);
	if (decision->rule) {
		append(text, &length, " ");
		append_rule(text, &length, decision->direction, decision->policy, decision->rule);
	}
	if (decision->would_deny)
		append_audit(text, &length, decision);
	return text;
}
