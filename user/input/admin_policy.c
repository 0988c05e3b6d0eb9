// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cluster-scoped kinds: AdminNetworkPolicy and BaselineAdminNetworkPolicy
 * (policy.networking.k8s.io/v1alpha1, as KEP-2091 has them and as released),
 * and ClusterNetworkPolicy (v1alpha2).
 */
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include "input/object.h"
#include "input/name_syntax.h"
#include "model/protocol.h"

/* The APIs refuse longer lists. */
#define ADMIN_MAX 100
#define CLUSTER_MAX 25
#define NETWORKS_MAX 25
#define NAMES_MAX 25
#define RULE_NAME_MAX 100

static const char *const kep_namespaces[] = {"related", "namespaceSelector", "sameLabels",
					     "notSameLabels", NULL};

static bool is_cluster(const struct policy_object *policy)
{
	return policy->kind == POLICY_CLUSTER;
}

/* Makes the rule fail closed, as the APIs call it: the object may come from a newer API, and the
 * peer may have had a field that was lost on the way here. */
static void fail_closed(struct reader *reader, const struct tree *node, struct rule *rule)
{
	reader_warn(reader, node, "says nothing: the rule %s",
		    rule->action == ACTION_ALLOW ? "matches nothing" : "denies all");
	rule->unknown = true;
}

static void read_related(struct reader *reader, const struct tree *node, struct peer *peer)
{
	const char *relation = reader_string(reader, node);

	if (relation && !strcasecmp(relation, "Self"))
		peer->scope = PEER_SELF;
	else if (relation && !strcasecmp(relation, "NotSelf"))
		peer->scope = PEER_NOT_SELF;
	else if (relation)
		reader_error(reader, node, "must be Self or NotSelf, not \"%.40s\"", relation);
}

/* The KEP's NamespacedPeer. */
static void read_kep_namespaces(struct reader *reader, const struct tree *node, struct peer *peer)
{
	const struct tree *one;

	if (!reader_map(reader, node, kep_namespaces))
		return;
	one = reader_one_of(reader, node, kep_namespaces);
	if (!one)
		return;
	if (!strcmp(one->key, "related")) {
		read_related(reader, one, peer);
	} else if (!strcmp(one->key, "namespaceSelector")) {
		peer->scope = PEER_NAMESPACES;
		reader_selector(reader, one, &peer->namespaces);
	} else {
		peer->scope =
			!strcmp(one->key, "sameLabels") ? PEER_SAME_LABELS : PEER_NOT_SAME_LABELS;
		peer->n_keys = reader_label_keys(reader, one, &peer->keys);
	}
}

static bool is_kep_namespaces(const struct tree *node)
{
	for (const char *const *field = kep_namespaces; node->type == TREE_MAP && *field; field++)
		for (const struct tree *member = node->first; member; member = member->next)
			if (!strcmp(member->key, *field))
				return true;
	return false;
}

static void read_namespaces(struct reader *reader, const struct tree *node,
			    const struct policy_object *policy, struct peer *peer)
{
	peer->scope = PEER_NAMESPACES;
	if (!is_cluster(policy) && is_kep_namespaces(node))
		read_kep_namespaces(reader, node, peer);
	else
		reader_selector(reader, node, &peer->namespaces);
}

/* Reads the podSelector of @map, which the APIs require. */
static void read_pod_selector(struct reader *reader, const struct tree *map,
			      struct selector *selector)
{
	const struct tree *pods = tree_get(map, "podSelector");

	if (pods)
		reader_selector(reader, pods, selector);
	else
		reader_missing(reader, map, "podSelector");
}

/* Reads the namespaces of a v1alpha1 peer's pods, in the form of the release or of the KEP. */
static void read_pods_place(struct reader *reader, const struct tree *node, struct rule *rule,
			    struct peer *peer)
{
	static const char *const places[] = {"namespaces", "namespaceSelector", NULL};
	const struct tree *one = reader_one_of(reader, node, places);

	if (!one)
		return;
	if (!strcmp(one->key, "namespaceSelector"))
		reader_selector(reader, one, &peer->namespaces);
	else if (one->type == TREE_MAP && !one->n)
		fail_closed(reader, one, rule);
	else
		read_kep_namespaces(reader, one, peer);
}

static void read_pods(struct reader *reader, const struct tree *node,
		      const struct policy_object *policy, struct rule *rule, struct peer *peer)
{
	static const char *const cluster[] = {"namespaceSelector", "podSelector", NULL};
	static const char *const admin[] = {"namespaces", "namespaceSelector", "podSelector", NULL};

	peer->scope = PEER_NAMESPACES;
	if (!reader_map(reader, node, is_cluster(policy) ? cluster : admin))
		return;
	if (is_cluster(policy))
		reader_selector(reader, tree_get(node, "namespaceSelector"), &peer->namespaces);
	else
		read_pods_place(reader, node, rule, peer);
	read_pod_selector(reader, node, &peer->pods);
}

/* Returns the list @node of a peer, of @max items at most and one at least. NULL: it is no such
 * list (reported). */
static const struct tree *read_set(struct reader *reader, const struct tree *node, unsigned int max)
{
	const struct tree *list = reader_list(reader, node->parent, node->key, max);

	if (!list || list->n)
		return list;
	reader_error(reader, list, "must have one item at least");
	return NULL;
}

/* The APIs refuse an item that a list has twice. */
static void check_twice(struct reader *reader, const struct tree *item)
{
	for (const struct tree *other = item->parent->first; other != item; other = other->next)
		if (other->type == TREE_SCALAR && !strcmp(other->text, item->text))
			reader_error(reader, item, "%s is given twice", item->text);
}

static void read_networks(struct reader *reader, const struct tree *node, struct rule *rule)
{
	const struct tree *list = read_set(reader, node, NETWORKS_MAX);

	for (const struct tree *item = list ? list->first : NULL; item; item = item->next) {
		struct peer *peer = &rule->peers[rule->n_peers];

		peer->scope = PEER_CIDR;
		if (!reader_cidr(reader, item, &peer->cidr))
			continue;
		rule->n_peers++;
		check_twice(reader, item);
	}
}

/* Returns a domain name as DNS compares it. NULL: it is
 * none (reported). */
static const char *read_domain_name(struct reader *reader, const struct tree *node)
{
	const char *name = reader_string(reader, node);
	char folded[NAME_SYNTAX_DOMAIN_TEXT];

	if (name && !name_syntax_is_domain_name(name)) {
		reader_error(reader, node, "\"%.60s\" is " NAME_SYNTAX_DOMAIN_NAME, name);
		return NULL;
	}
	if (!name)
		return NULL;
	name_syntax_fold_domain_name(name, folded);
	return cluster_intern(reader->cluster, folded, strlen(folded));
}

static void read_names(struct reader *reader, const struct tree *node, const struct rule *rule,
		       struct peer *peer)
{
	const struct tree *list = read_set(reader, node, NAMES_MAX);

	peer->scope = PEER_DOMAINS;
	if (rule->action != ACTION_ALLOW)
		reader_error(reader, node,
			     "a rule with domain names must allow: a node never knows all "
			     "addresses of a name; use networks");
	if (!list)
		return;
	reader_array(reader, peer->keys, list->n);
	for (const struct tree *item = list->first; item; item = item->next) {
		const char *name = read_domain_name(reader, item);

		if (!name)
			continue;
		peer->keys[peer->n_keys++] = name;
		check_twice(reader, item);
	}
	peer->n_keys = texts_sort(peer->keys, peer->n_keys);
}

static void read_peer(struct reader *reader, const struct tree *node,
		      const struct policy_object *policy, enum direction direction,
		      struct rule *rule)
{
	static const char *const ingress[] = {"namespaces", "pods", NULL};
	/* BaselineAdminNetworkPolicy has no domain names. */
	const char *const egress[] = {"namespaces",
				      "pods",
				      "nodes",
				      "networks",
				      policy->kind == POLICY_BASELINE_ADMIN ? NULL : "domainNames",
				      NULL};
	struct peer *peer = &rule->peers[rule->n_peers];
	const struct tree *one;

	if (!reader_map(reader, node, direction == EGRESS ? egress : ingress))
		return;
	if (!node->n) {
		fail_closed(reader, node, rule);
		return;
	}
	one = reader_one_of(reader, node, direction == EGRESS ? egress : ingress);
	if (!one)
		return;
	if (!strcmp(one->key, "networks")) {
		read_networks(reader, one, rule);
		return;
	}
	rule->n_peers++;
	if (!strcmp(one->key, "namespaces")) {
		read_namespaces(reader, one, policy, peer);
	} else if (!strcmp(one->key, "pods")) {
		read_pods(reader, one, policy, rule, peer);
	} else if (!strcmp(one->key, "nodes")) {
		peer->scope = PEER_NODES;
		reader_selector(reader, one, &peer->nodes);
	} else {
		read_names(reader, one, rule, peer);
	}
}

static void read_range(struct reader *reader, const struct tree *node, const char *const *fields,
		       struct port *port)
{
	const struct tree *start = tree_get(node, "start"), *end = tree_get(node, "end");
	long first, last;

	if (!reader_map(reader, node, fields))
		return;
	if (!start)
		reader_missing(reader, node, "start");
	if (!end)
		reader_missing(reader, node, "end");
	if (!start || !end || !reader_number(reader, start, 1, 65535, &first) ||
	    !reader_number(reader, end, 1, 65535, &last))
		return;
	if (first >= last)
		reader_error(reader, node, "start must be less than end");
	port->first = first;
	port->last = last;
}

static void read_number(struct reader *reader, const struct tree *node, struct port *port)
{
	long number;

	if (reader_number(reader, node, 1, 65535, &number))
		port->first = port->last = number;
}

static void read_name(struct reader *reader, const struct tree *node, struct port *port)
{
	port->kind = PORT_NAME;
	port->name = reader_port_name(reader, node);
}

/* Returns the one of @fields that an entry has; NULL: it has none, or the entry is refused. */
static const struct tree *read_port_choice(struct reader *reader, const struct tree *node,
					   const char *const *fields, struct rule *rule)
{
	if (!reader_map(reader, node, fields))
		return NULL;
	if (node->n)
		return reader_one_of(reader, node, fields);
	fail_closed(reader, node, rule);
	return NULL;
}

/* Reads v1alpha1's AdminNetworkPolicyPort. */
static void read_port(struct reader *reader, const struct tree *node, struct rule *rule)
{
	static const char *const fields[] = {"portNumber", "namedPort", "portRange", NULL};
	static const char *const number_fields[] = {"protocol", "port", NULL};
	static const char *const range_fields[] = {"protocol", "start", "end", NULL};
	const struct tree *one = read_port_choice(reader, node, fields, rule);
	struct port *port = &rule->ports[rule->n_ports];

	if (!one)
		return;
	rule->n_ports++;
	if (!strcmp(one->key, "namedPort")) {
		read_name(reader, one, port);
		return;
	}
	port->kind = PORT_RANGE;
	if (!strcmp(one->key, "portRange")) {
		read_range(reader, one, range_fields, port);
	} else if (reader_map(reader, one, number_fields)) {
		if (tree_get(one, "port"))
			read_number(reader, tree_get(one, "port"), port);
		else
			reader_missing(reader, one, "port");
	}
	if (one->type == TREE_MAP)
		reader_protocol(reader, tree_get(one, "protocol"), &port->protocol);
}

static void read_destination_port(struct reader *reader, const struct tree *node, struct port *port)
{
	static const char *const fields[] = {"number", "range", NULL};
	static const char *const range_fields[] = {"start", "end", NULL};
	const struct tree *one;

	if (!reader_map(reader, node, fields))
		return;
	one = reader_one_of(reader, node, fields);
	if (!one)
		return;
	if (!strcmp(one->key, "number"))
		read_number(reader, one, port);
	else
		read_range(reader, one, range_fields, port);
}

/* Reads v1alpha2's ClusterNetworkPolicyProtocol. */
static void read_protocol(struct reader *reader, const struct tree *node, struct rule *rule)
{
	static const char *const fields[] = {
#define PROTOCOL(name, number, functions, ...) #functions,
#include "maps/protocols.def"
		"destinationNamedPort", NULL};
	static const char *const protocol_fields[] = {"destinationPort", NULL};
	const struct tree *one = read_port_choice(reader, node, fields, rule);
	struct port *port = &rule->ports[rule->n_ports];

	if (!one)
		return;
	rule->n_ports++;
	if (!strcmp(one->key, "destinationNamedPort")) {
		read_name(reader, one, port);
		return;
	}
	port->kind = PORT_RANGE;
	port->protocol = protocol_by_name(one->key, strlen(one->key), true)->number;
	if (!reader_map(reader, one, protocol_fields))
		return;
	if (!one->n)
		fail_closed(reader, one, rule);
	else if (reader_one_of(reader, one, protocol_fields))
		read_destination_port(reader, tree_get(one, "destinationPort"), port);
}

static bool read_action(struct reader *reader, const struct tree *node,
			const struct policy_object *policy, enum action *action)
{
	static const struct {
		const char *name;
		enum action action;
		unsigned int kinds;
	} actions[] = {
		{"Allow", ACTION_ALLOW, 1 << POLICY_ADMIN | 1 << POLICY_BASELINE_ADMIN},
		{"Accept", ACTION_ALLOW, 1 << POLICY_CLUSTER},
		{"Deny", ACTION_DENY,
		 1 << POLICY_ADMIN | 1 << POLICY_BASELINE_ADMIN | 1 << POLICY_CLUSTER},
		{"Pass", ACTION_PASS, 1 << POLICY_ADMIN | 1 << POLICY_CLUSTER},
	};
	const char *name = reader_string(reader, node);

	for (size_t i = 0; name && i < sizeof(actions) / sizeof(*actions); i++) {
		if (strcmp(name, actions[i].name) || !(actions[i].kinds & 1 << policy->kind))
			continue;
		*action = actions[i].action;
		return true;
	}
	if (name)
		reader_error(reader, node, "must be %s, not \"%.40s\"",
			     is_cluster(policy)		    ? "Accept, Deny or Pass"
			     : policy->kind == POLICY_ADMIN ? "Allow, Deny or Pass"
							    : "Allow or Deny",
			     name);
	return false;
}

static void read_rule_name(struct reader *reader, const struct tree *node, struct rule *rule)
{
	unsigned int characters = 0;

	rule->name = reader_string(reader, node);
	for (const char *byte = rule->name; byte && *byte; byte++)
		characters += (*byte & 0xc0) != 0x80;
	if (characters > RULE_NAME_MAX)
		reader_error(reader, node, "has %u characters, more than the %u allowed",
			     characters, RULE_NAME_MAX);
	if (rule->name && !*rule->name)
		rule->name = NULL;
}

static unsigned int list_max(const struct policy_object *policy)
{
	return is_cluster(policy) ? CLUSTER_MAX : ADMIN_MAX;
}

static void read_peers(struct reader *reader, const struct tree *node,
		       const struct policy_object *policy, enum direction direction,
		       struct rule *rule)
{
	const char *key = direction == INGRESS ? "from" : "to";
	const struct tree *list = reader_list(reader, node, key, list_max(policy));
	size_t n = 0;

	if (!tree_get(node, key))
		reader_missing(reader, node, key);
	if (list && !list->n)
		reader_error(reader, list, "must have one item at least");
	if (!list)
		return;
	for (const struct tree *item = list->first; item; item = item->next) {
		const struct tree *networks = tree_get(item, "networks");

		n += networks && networks->type == TREE_LIST ? networks->n : 1;
	}
	reader_array(reader, rule->peers, n);
	for (const struct tree *item = list->first; item; item = item->next)
		read_peer(reader, item, policy, direction, rule);
}

static void read_rule_ports(struct reader *reader, const struct tree *node,
			    const struct policy_object *policy, struct rule *rule)
{
	const char *key = is_cluster(policy) ? "protocols" : "ports";
	const struct tree *list = reader_list(reader, node, key, list_max(policy));

	rule->any_port = !list;
	if (!list)
		return;
	if (!list->n)
		reader_error(reader, list, "must have one item at least, or not be there");
	reader_array(reader, rule->ports, list->n);
	for (const struct tree *item = list->first; item; item = item->next) {
		if (is_cluster(policy))
			read_protocol(reader, item, rule);
		else
			read_port(reader, item, rule);
	}
}

static void check_named_ports(struct reader *reader, const struct tree *node,
			      const struct rule *rule)
{
	bool outside = false, named = false;

	for (size_t i = 0; i < rule->n_peers; i++)
		outside |= rule->peers[i].scope >= PEER_NODES;
	for (size_t i = 0; i < rule->n_ports; i++)
		named |= rule->ports[i].kind == PORT_NAME;
	if (outside && named)
		reader_error(reader, node,
			     "a named port beside nodes, networks or domain names, which name no "
			     "ports");
}

static void read_rule(struct reader *reader, const struct tree *node,
		      const struct policy_object *policy, enum direction direction,
		      struct rule *rule)
{
	const char *fields[] = {"name", "action", direction == INGRESS ? "from" : "to",
				is_cluster(policy) ? "protocols" : "ports", NULL};

	rule->index = node->index;
	rule->where = reader_where(reader, node);
	if (!reader_map(reader, node, fields))
		return;
	if (tree_get(node, "name"))
		read_rule_name(reader, tree_get(node, "name"), rule);
	if (!tree_get(node, "action"))
		reader_missing(reader, node, "action");
	else if (!read_action(reader, tree_get(node, "action"), policy, &rule->action))
		return;
	read_peers(reader, node, policy, direction, rule);
	read_rule_ports(reader, node, policy, rule);
	check_named_ports(reader, node, rule);
	if (rule->unknown)
		rule->n_peers = rule->n_ports = 0;
}

static void read_subject(struct reader *reader, const struct tree *spec,
			 struct policy_object *policy)
{
	static const char *const fields[] = {"namespaces", "pods", NULL};
	static const char *const pods_fields[] = {"namespaceSelector", "podSelector", NULL};
	const struct tree *subject = tree_get(spec, "subject"), *one, *namespaces;

	if (!subject)
		reader_missing(reader, spec, "subject");
	if (!subject || !reader_map(reader, subject, fields))
		return;
	one = reader_one_of(reader, subject, fields);
	if (!one)
		return;
	if (!strcmp(one->key, "namespaces")) {
		reader_selector(reader, one, &policy->namespaces);
		return;
	}
	if (!reader_map(reader, one, pods_fields))
		return;
	namespaces = tree_get(one, "namespaceSelector");
	if (!namespaces && !is_cluster(policy))
		reader_missing(reader, one, "namespaceSelector");
	reader_selector(reader, namespaces, &policy->namespaces);
	read_pod_selector(reader, one, &policy->pods);
}

static void read_priority(struct reader *reader, const struct tree *spec,
			  struct policy_object *policy)
{
	const struct tree *node = tree_get(spec, "priority");
	long priority;

	if (!node)
		reader_missing(reader, spec, "priority");
	else if (reader_number(reader, node, 0, 1000, &priority))
		policy->priority = priority;
}

static void read_tier(struct reader *reader, const struct tree *spec, struct policy_object *policy)
{
	const struct tree *node = tree_get(spec, "tier");
	const char *tier = node ? reader_string(reader, node) : NULL;

	policy->tier = TIER_ADMIN;
	if (!node)
		reader_missing(reader, spec, "tier");
	else if (tier && !strcmp(tier, "Baseline"))
		policy->tier = TIER_BASELINE;
	else if (tier && strcmp(tier, "Admin"))
		reader_error(reader, node, "must be Admin or Baseline, not \"%.40s\"", tier);
}

void admin_policy_read(struct reader *reader, const struct tree *spec, struct policy_object *policy)
{
	/* One list serves three kinds: each kind's fields begin later in it and end with the
	 * last. */
	static const char *const fields[] = {"tier",	"priority", "subject",
					     "ingress", "egress",   NULL};
	unsigned int skip = is_cluster(policy) ? 0 : policy->kind == POLICY_ADMIN ? 1 : 2;

	policy->applies[INGRESS] = policy->applies[EGRESS] = true;
	policy->tier = policy->kind == POLICY_ADMIN ? TIER_ADMIN : TIER_BASELINE;
	if (!reader_map(reader, spec, fields + skip))
		return;
	if (is_cluster(policy))
		read_tier(reader, spec, policy);
	if (policy->kind != POLICY_BASELINE_ADMIN)
		read_priority(reader, spec, policy);
	read_subject(reader, spec, policy);
	reader_rules(reader, spec, policy, INGRESS, list_max(policy), read_rule);
	reader_rules(reader, spec, policy, EGRESS, list_max(policy), read_rule);
}
