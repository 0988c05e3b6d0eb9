/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>

#include "policy/match.h"

const struct endpoint *match_endpoint(const struct cluster *cluster, const struct address *address)
{
	for (size_t i = 0; i < cluster->n_endpoints; i++) {
		const struct endpoint *endpoint = &cluster->endpoints[i];

		for (size_t k = 0; k < endpoint->n_addresses; k++)
			if (!memcmp(&endpoint->addresses[k], address, sizeof(*address)))
				return endpoint;
	}
	return NULL;
}

bool match_subject(const struct cluster *cluster, const struct policy_object *object,
		   const struct endpoint *endpoint)
{
	const struct namespace *ns = &cluster->namespaces[endpoint->ns];

	if (object->ns_name ? strcmp(object->ns_name, ns->name)
			    : !selector_matches(&object->namespaces, &ns->labels))
		return false;
	return selector_matches(&object->pods, &endpoint->labels);
}

bool match_block(const struct peer *peer, const struct address *address)
{
	if (!cidr_contains(&peer->cidr, address))
		return false;
	for (size_t i = 0; i < peer->n_except; i++)
		if (cidr_contains(&peer->except[i], address))
			return false;
	return true;
}

static bool node_has(const struct cluster *cluster, const struct peer *peer,
		     const struct address *address)
{
	for (size_t i = 0; i < cluster->n_nodes; i++) {
		const struct node *node = &cluster->nodes[i];

		for (size_t k = 0; k < node->n_addresses; k++)
			if (!memcmp(&node->addresses[k], address, sizeof(*address)) &&
			    selector_matches(&peer->nodes, &node->labels))
				return true;
	}
	return false;
}

/* Returns how many of the keys have one value in both namespaces. */
static size_t shared_labels(const struct peer *peer, const struct namespace *a,
			    const struct namespace *b)
{
	size_t n = 0;

	for (size_t i = 0; i < peer->n_keys; i++) {
		const char *mine = labels_get(&a->labels, peer->keys[i]);
		const char *other = labels_get(&b->labels, peer->keys[i]);

		n += mine && other && !strcmp(mine, other);
	}
	return n;
}

static bool namespace_matches(const struct policy_object *object, const struct peer *peer,
			      const struct namespace *subject, const struct namespace *other)
{
	switch (peer->scope) {
	case PEER_NAMESPACE:
		return !strcmp(object->ns_name, other->name);
	case PEER_NAMESPACES:
		return selector_matches(&peer->namespaces, &other->labels);
	case PEER_SELF:
		return subject == other;
	case PEER_NOT_SELF:
		return subject != other;
	case PEER_SAME_LABELS:
		return peer->n_keys && shared_labels(peer, subject, other) == peer->n_keys;
	case PEER_NOT_SAME_LABELS:
		return peer->n_keys && !shared_labels(peer, subject, other);
	case PEER_NODES:
	case PEER_CIDR:
	case PEER_DOMAINS:
		break;
	}
	return false;
}

/* Returns true if the peer has the domain name by which the address was learned. */
static bool has_name(const struct peer *peer, const char *name)
{
	for (size_t i = 0; name && i < peer->n_keys; i++)
		if (!strcmp(peer->keys[i], name))
			return true;
	return false;
}

bool match_peers(const struct match_flow *match, const struct policy_object *object,
		 enum direction direction, const struct rule *rule)
{
	const struct cluster *cluster = match->cluster;
	bool in = direction == INGRESS;
	const struct endpoint *subject = in ? match->destination : match->source;
	const struct endpoint *other = in ? match->source : match->destination;
	const struct address *address = in ? &match->flow->source : &match->flow->destination;

	if (rule->unknown)
		return rule->action != ACTION_ALLOW;
	if (rule->any_peer)
		return true;
	for (size_t i = 0; i < rule->n_peers; i++) {
		const struct peer *peer = &rule->peers[i];
		bool matches;

		if (peer->scope == PEER_CIDR)
			matches = match_block(peer, address);
		else if (peer->scope == PEER_NODES)
			matches = node_has(cluster, peer, address);
		else if (peer->scope == PEER_DOMAINS)
			matches = !in && has_name(peer, match->flow->name);
		else
			matches = other &&
				  namespace_matches(object, peer, &cluster->namespaces[subject->ns],
						    &cluster->namespaces[other->ns]) &&
				  selector_matches(&peer->pods, &other->labels);
		if (matches)
			return true;
	}
	return false;
}

static bool has_named_port(const struct match_flow *match, const struct port *port)
{
	const struct endpoint *endpoint = match->destination;

	for (size_t i = 0; endpoint && i < endpoint->n_ports; i++) {
		const struct named_port *named = &endpoint->ports[i];

		if (!strcmp(named->name, port->name) && named->port == match->flow->port &&
		    named->protocol == match->flow->protocol &&
		    (!port->protocol || port->protocol == named->protocol))
			return true;
	}
	return false;
}

bool match_ports(const struct match_flow *match, const struct rule *rule)
{
	if (rule->unknown)
		return rule->action != ACTION_ALLOW;
	if (rule->any_port)
		return true;
	for (size_t i = 0; i < rule->n_ports; i++) {
		const struct port *port = &rule->ports[i];

		if (port->kind == PORT_NAME ? has_named_port(match, port)
					    : port->protocol == match->flow->protocol &&
						      (port->kind == PORT_PROTOCOL ||
						       (match->flow->port >= port->first &&
							match->flow->port <= port->last)))
			return true;
	}
	return false;
}
