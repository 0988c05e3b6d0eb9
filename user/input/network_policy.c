// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads a NetworkPolicy: networking.k8s.io/v1, or extensions/v1beta1 as the proposal has it
 * (ingress only; a present but empty list matches nothing).
 */
#include <limits.h>
#include <netinet/in.h>
#include <string.h>

#include "input/object.h"

static bool is_v1(const struct policy_object *policy)
{
	return policy->kind == POLICY_NETWORK;
}

static void read_except(struct reader *reader, const struct tree *block, struct peer *peer)
{
	const struct tree *list = reader_list(reader, block, "except", UINT_MAX);

	if (!list)
		return;
	reader_array(reader, peer->except, list->n);
	for (const struct tree *item = list->first; item; item = item->next) {
		struct cidr *except = &peer->except[peer->n_except];

		if (!reader_cidr(reader, item, except))
			continue;
		if (cidr_covers(&peer->cidr, except) && except->length > peer->cidr.length)
			peer->n_except++;
		else
			reader_error(reader, item, "%s is no strict subset of the cidr",
				     item->text);
	}
}

static void read_ip_block(struct reader *reader, const struct tree *block, struct peer *peer)
{
	static const char *const fields[] = {"cidr", "except", NULL};
	const struct tree *cidr;

	if (!reader_map(reader, block, fields))
		return;
	cidr = tree_get(block, "cidr");
	if (!cidr)
		reader_missing(reader, block, "cidr");
	else if (reader_cidr(reader, cidr, &peer->cidr))
		read_except(reader, block, peer);
}

static void read_peer(struct reader *reader, const struct tree *node,
		      const struct policy_object *policy, struct peer *peer)
{
	static const char *const fields[] = {"podSelector", "namespaceSelector", "ipBlock", NULL};
	static const char *const v1beta1_fields[] = {"podSelector", "namespaceSelector", NULL};
	const struct tree *pods, *namespaces, *block;

	if (!reader_map(reader, node, is_v1(policy) ? fields : v1beta1_fields))
		return;
	if (!is_v1(policy) && !reader_one_of(reader, node, v1beta1_fields))
		return;
	pods = tree_get(node, "podSelector");
	namespaces = tree_get(node, "namespaceSelector");
	block = tree_get(node, "ipBlock");
	if (!pods && !namespaces && !block)
		reader_error(reader, node,
			     "must have a podSelector, a namespaceSelector or an ipBlock");
	if (block && (pods || namespaces))
		reader_error(reader, node, "an ipBlock stands alone, beside no selector");
	peer->scope = block ? PEER_CIDR : namespaces ? PEER_NAMESPACES : PEER_NAMESPACE;
	reader_selector(reader, pods, &peer->pods);
	reader_selector(reader, namespaces, &peer->namespaces);
	if (block)
		read_ip_block(reader, block, peer);
}

static void read_port_number(struct reader *reader, const struct tree *node, struct port *port)
{
	const struct tree *number = tree_get(node, "port"), *end = tree_get(node, "endPort");
	long first = 0, last;

	if (end && !number)
		reader_error(reader, end, "needs a port that is a number");
	if (!number)
		return;
	if (number->type == TREE_SCALAR && number->scalar == SCALAR_STRING) {
		port->kind = PORT_NAME;
		if (reader_is_quoted_number(number))
			reader_error(reader, number,
				     "\"%.40s\" is no port name; a number has no quotes",
				     number->text);
		else
			port->name = reader_port_name(reader, number);
		if (end && port->name)
			reader_error(reader, end, "needs a port that is a number");
		return;
	}
	if (number->type != TREE_SCALAR || number->scalar != SCALAR_NUMBER) {
		reader_error(reader, number, "must be a number, or a port's name");
		return;
	}
	port->kind = PORT_RANGE;
	if (!reader_number(reader, number, 1, 65535, &first))
		return;
	last = first;
	if (end && reader_number(reader, end, 1, 65535, &last) && last < first)
		reader_error(reader, end, "must not be less than the port, %ld", first);
	port->first = first;
	port->last = last;
}

static void read_port(struct reader *reader, const struct tree *node,
		      const struct policy_object *policy, struct port *port)
{
	static const char *const fields[] = {"protocol", "port", "endPort", NULL};
	static const char *const v1beta1_fields[] = {"protocol", "port", NULL};
	const struct tree *protocol;

	if (!reader_map(reader, node, is_v1(policy) ? fields : v1beta1_fields))
		return;
	protocol = tree_get(node, "protocol");
	port->kind = PORT_PROTOCOL;
	if (reader_protocol(reader, protocol, &port->protocol) && port->protocol == IPPROTO_SCTP &&
	    !is_v1(policy))
		reader_error(reader, protocol, "must be TCP or UDP in extensions/v1beta1");
	read_port_number(reader, node, port);
}

static void read_rule(struct reader *reader, const struct tree *node,
		      const struct policy_object *policy, enum direction direction,
		      struct rule *rule)
{
	static const char *const fields[][3] = {
		[INGRESS] = {"from", "ports", NULL}, [EGRESS] = {"to", "ports", NULL}};
	const struct tree *peers, *ports;

	rule->index = node->index;
	rule->where = reader_where(reader, node);
	rule->action = ACTION_ALLOW;
	if (!reader_map(reader, node, fields[direction]))
		return;
	peers = reader_list(reader, node, fields[direction][0], UINT_MAX);
	ports = reader_list(reader, node, "ports", UINT_MAX);
	rule->any_peer = !peers || (is_v1(policy) && !peers->n);
	rule->no_list = peers && rule->any_peer;
	rule->any_port = !ports || (is_v1(policy) && !ports->n);
	if (peers) {
		reader_array(reader, rule->peers, peers->n);
		for (const struct tree *item = peers->first; item; item = item->next)
			read_peer(reader, item, policy, &rule->peers[rule->n_peers++]);
	}
	if (ports) {
		reader_array(reader, rule->ports, ports->n);
		for (const struct tree *item = ports->first; item; item = item->next)
			read_port(reader, item, policy, &rule->ports[rule->n_ports++]);
	}
}

static void read_types(struct reader *reader, const struct tree *spec, struct policy_object *policy)
{
	const struct tree *types = reader_list(reader, spec, "policyTypes", 2);

	if (!types || !types->n) {
		policy->isolates[INGRESS] = true;
		policy->isolates[EGRESS] = policy->n_rules[EGRESS] > 0;
		return;
	}
	for (const struct tree *item = types->first; item; item = item->next) {
		const char *type = reader_string(reader, item);

		if (type && !strcmp(type, "Ingress"))
			policy->isolates[INGRESS] = true;
		else if (type && !strcmp(type, "Egress"))
			policy->isolates[EGRESS] = true;
		else if (type)
			reader_error(reader, item, "must be Ingress or Egress, not \"%.40s\"",
				     type);
	}
}

void network_policy_read(struct reader *reader, const struct tree *spec,
			 struct policy_object *policy)
{
	static const char *const fields[] = {"podSelector", "policyTypes", "ingress", "egress",
					     NULL};
	static const char *const v1beta1_fields[] = {"podSelector", "ingress", NULL};

	policy->tier = TIER_NETWORK_POLICY;
	if (!reader_map(reader, spec, is_v1(policy) ? fields : v1beta1_fields))
		return;
	reader_selector(reader, tree_get(spec, "podSelector"), &policy->pods);
	reader_rules(reader, spec, policy, INGRESS, UINT_MAX, read_rule);
	if (!is_v1(policy)) {
		policy->applies[INGRESS] = true;
		return;
	}
	reader_rules(reader, spec, policy, EGRESS, UINT_MAX, read_rule);
	read_types(reader, spec, policy);
	memcpy(policy->applies, policy->isolates, sizeof(policy->applies));
}
