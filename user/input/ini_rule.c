// SPDX-License-Identifier: GPL-2.0-only
#include "input/ini_rule.h"

#include <string.h>

#include "input/ini_value.h"
#include "model/protocol.h"

static bool is_admin(enum policy_kind kind)
{
	return kind == POLICY_ADMIN || kind == POLICY_BASELINE_ADMIN;
}

/* Reads a selector in parentheses. */
static void selector_in_parentheses(struct value *value, struct tree *parent, const char *key)
{
	if (!ini_expect(value, '('))
		return;
	ini_read_selector(value, parent, key);
	ini_expect(value, ')');
}

static void read_keys(struct value *value, struct tree *parent, const char *key)
{
	struct tree *list = ini_add_list(value, parent, key);

	if (!ini_expect(value, '(') || ini_take(value, ')'))
		return;
	do {
		ini_add_word(value, list, NULL);
	} while (!value->failed && ini_take(value, ','));
	ini_expect(value, ')');
}

/* Reads self, not-self, same-labels or not-same-labels, which only the v1alpha1 kinds have. Returns
 * true if one of them came next. */
static bool read_related(struct value *value, struct tree *parent)
{
	static const struct {
		const char *word, *field, *text;
	} ways[] = {
		{"self", "related", "Self"},
		{"not-self", "related", "NotSelf"},
		{"same-labels", "sameLabels", NULL},
		{"not-same-labels", "notSameLabels", NULL},
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct tree *map;

		if (!ini_take_word(value, ways[i].word))
			continue;
		map = ini_add_map(value, parent, "namespaces");
		if (ways[i].text)
			ini_add_text(value, map, ways[i].field, ways[i].text);
		else
			read_keys(value, map, ways[i].field);
		return true;
	}
	return false;
}

/* Reads the namespaces of endpoints(... in NAMESPACES). */
static void read_namespaces(struct value *value, enum policy_kind kind, struct tree *parent)
{
	if (ini_take_word(value, "namespaces"))
		selector_in_parentheses(value, parent, "namespaceSelector");
	else if (!is_admin(kind) || !read_related(value, parent))
		ini_fail_here(value, is_admin(kind)
					     ? "namespaces(), self, not-self, same-labels() or "
					       "not-same-labels()"
					     : "namespaces()");
}

/* Reads the rest of a peer that begins with the word `endpoints`. */
static void read_endpoints(struct value *value, enum policy_kind kind, struct tree *peer)
{
	struct tree *parent =
		policy_kind_is_network(kind) ? peer : ini_add_map(value, peer, "pods");

	if (!ini_expect(value, '('))
		return;
	ini_read_selector(value, parent, "podSelector");
	if (!value->failed && ini_take_word(value, "in"))
		read_namespaces(value, kind, parent);
	else if (!policy_kind_is_network(kind))
		ini_add_map(value, parent, "namespaceSelector");
	ini_expect(value, ')');
}

/* Reads the rest of a peer that begins with the word `cidr`. */
static void read_cidr(struct value *value, enum policy_kind kind, struct tree *peer)
{
	struct tree *block, *except;

	if (!ini_expect(value, '('))
		return;
	if (!policy_kind_is_network(kind)) {
		ini_add_word(value, ini_add_list(value, peer, "networks"), NULL);
		if (ini_next_is(value, "except"))
			ini_fail(value, "except is for network-policy only");
		ini_expect(value, ')');
		return;
	}
	block = ini_add_map(value, peer, "ipBlock");
	ini_add_word(value, block, "cidr");
	if (ini_take_word(value, "except")) {
		except = ini_add_list(value, block, "except");
		do {
			ini_add_word(value, except, NULL);
		} while (!value->failed && ini_take(value, ','));
	}
	ini_expect(value, ')');
}

/* Reports the peers that a rule of the kind may have here. @first: `any` stands alone. */
static void refuse_peer(struct value *value, enum policy_kind kind, bool first)
{
	switch (kind) {
	case POLICY_NETWORK:
		ini_fail_here(value, first ? "any, endpoints(), namespaces() or cidr()"
					   : "endpoints(), namespaces() or cidr()");
		break;
	case POLICY_NETWORK_V1BETA1:
		ini_fail_here(value, first ? "any, none, endpoints() or namespaces()"
					   : "endpoints() or namespaces()");
		break;
	case POLICY_ADMIN:
	case POLICY_BASELINE_ADMIN:
		ini_fail_here(value, "endpoints(), namespaces(), self, not-self, same-labels(), "
				     "not-same-labels(), or in egress nodes(), cidr() or names()");
		break;
	case POLICY_CLUSTER:
		ini_fail_here(value, "endpoints(), namespaces(), or in egress nodes(), cidr() or "
				     "names()");
		break;
	}
}

static void read_peer(struct value *value, enum policy_kind kind, struct tree *peers)
{
	struct tree *peer = ini_add_map(value, peers, NULL);

	if (ini_take_word(value, "endpoints"))
		read_endpoints(value, kind, peer);
	else if (ini_take_word(value, "cidr"))
		read_cidr(value, kind, peer);
	else if (!policy_kind_is_network(kind) && ini_take_word(value, "nodes"))
		selector_in_parentheses(value, peer, "nodes");
	else if (!policy_kind_is_network(kind) && ini_take_word(value, "names"))
		read_keys(value, peer, "domainNames");
	else if (ini_take_word(value, "namespaces"))
		selector_in_parentheses(value, peer,
					policy_kind_is_network(kind) ? "namespaceSelector"
								     : "namespaces");
	else if (!is_admin(kind) || !read_related(value, peer))
		refuse_peer(value, kind, peers->n == 1);
}

/* Reads `any`, which leaves the field out, or `none`, which leaves the list empty. Returns true if
 * one of them came next. */
static bool read_any_or_none(struct value *value, enum policy_kind kind, struct tree *rule,
			     const char *key)
{
	if (ini_take_word(value, "any"))
		return true;
	if (!ini_next_is(value, "none"))
		return false;
	if (kind != POLICY_NETWORK_V1BETA1)
		ini_fail(value, "none is for network-policy-v1beta1 only");
	ini_take_word(value, "none");
	ini_add_list(value, rule, key);
	return true;
}

static void read_peers(struct value *value, enum policy_kind kind, struct tree *rule,
		       const char *key)
{
	struct tree *peers;

	if (policy_kind_is_network(kind) && read_any_or_none(value, kind, rule, key))
		return;
	peers = ini_add_list(value, rule, key);
	do {
		read_peer(value, kind, peers);
	} while (!value->failed && ini_take(value, ','));
}

/* A port as it stands in the value: "80-90" of "TCP/80-90". */
struct written_port {
	char protocol[8];
	const char *text; /* the text behind the protocol; NULL: the whole protocol */
	size_t length, first_length;
	bool is_number, has_end;
};

static bool split_port(struct value *value, struct written_port *port)
{
	size_t length = ini_word_length(value), name = 0;
	const char *text = value->at, *slash = memchr(text, '/', length), *dash;

	*port = (struct written_port){.text = text, .length = length};
	if (slash)
		name = slash - text;
	else if (protocol_by_name(text, length, false))
		name = length;
	if (!length || (slash && !protocol_by_name(text, name, false))) {
		ini_fail_here(value, "a port such as TCP/80, UDP/7000-7010, SCTP or http");
		return false;
	}
	memcpy(port->protocol, text, name);
	if (slash) {
		port->text = slash + 1;
		port->length -= name + 1;
	} else if (name) {
		port->text = NULL;
	}
	if (port->text)
		port->is_number = port->length && strspn(port->text, "0123456789-") >= port->length;
	dash = port->is_number ? memchr(port->text, '-', port->length) : NULL;
	port->has_end = dash;
	port->first_length = dash ? (size_t)(dash - port->text) : port->length;
	value->at += length;
	return true;
}

/* Writes the first and last port of @port into @map as @first and @last. */
static void put_ends(struct value *value, const struct written_port *port, struct tree *map,
		     const char *first, const char *last)
{
	if (!port->text) {
		ini_add_number(value, map, first, "1", 1);
		ini_add_number(value, map, last, "65535", 5);
		return;
	}
	ini_add_number(value, map, first, port->text, port->first_length);
	if (port->has_end)
		ini_add_number(value, map, last, port->text + port->first_length + 1,
			       port->length - port->first_length - 1);
}

static void put_network_port(struct value *value, const struct written_port *port, struct tree *map)
{
	if (*port->protocol)
		ini_add_text(value, map, "protocol", port->protocol);
	if (port->is_number)
		put_ends(value, port, map, "port", "endPort");
	else if (port->text)
		ini_add_scalar(value, SCALAR_STRING, map, "port", port->text, port->length);
}

static void put_admin_port(struct value *value, const struct written_port *port, struct tree *map)
{
	bool range = !port->text || port->has_end;

	map = ini_add_map(value, map, range ? "portRange" : "portNumber");
	if (*port->protocol)
		ini_add_text(value, map, "protocol", port->protocol);
	put_ends(value, port, map, range ? "start" : "port", "end");
}

static void put_cluster_port(struct value *value, const struct written_port *port, struct tree *map)
{
	const char *name = *port->protocol ? port->protocol : protocols[BH_PROTOCOL_TCP].name;
	bool range = !port->text || port->has_end;

	map = ini_add_map(value, map, protocol_by_name(name, strlen(name), false)->key);
	map = ini_add_map(value, map, "destinationPort");
	if (range)
		map = ini_add_map(value, map, "range");
	put_ends(value, port, map, range ? "start" : "number", "end");
}

static void read_port(struct value *value, enum policy_kind kind, struct tree *ports)
{
	struct tree *map = ini_add_map(value, ports, NULL);
	struct written_port port;

	if (!split_port(value, &port))
		return;
	if (policy_kind_is_network(kind)) {
		put_network_port(value, &port, map);
	} else if (port.text && !port.is_number) {
		if (*port.protocol)
			ini_fail(value, "a port name stands alone here: the endpoint's port has "
					"the protocol");
		ini_add_scalar(value, SCALAR_STRING, map,
			       kind == POLICY_CLUSTER ? "destinationNamedPort" : "namedPort",
			       port.text, port.length);
	} else if (kind == POLICY_CLUSTER) {
		put_cluster_port(value, &port, map);
	} else {
		put_admin_port(value, &port, map);
	}
}

static void read_ports(struct value *value, enum policy_kind kind, struct tree *rule)
{
	const char *key = kind == POLICY_CLUSTER ? "protocols" : "ports";
	struct tree *ports;

	if (read_any_or_none(value, kind, rule, key))
		return;
	ports = ini_add_list(value, rule, key);
	do {
		read_port(value, kind, ports);
	} while (!value->failed && ini_take(value, ','));
}

/* Reads "NAME: ACTION". If the value does not begin with an action, all before the first colon is
 * the name. */
static void read_action(struct value *value, struct tree *rule)
{
	static const char *const actions[] = {"Allow", "Accept", "Deny", "Pass"};
	size_t length = ini_word_length(value), i;
	const char *colon;

	for (i = 0; i < 4; i++)
		if (length == strlen(actions[i]) && !strncmp(value->at, actions[i], length))
			break;
	colon = i < 4 ? NULL : strchr(value->at, ':');
	if (colon) {
		ini_add_scalar(value, SCALAR_STRING, rule, "name", value->at, colon - value->at);
		ini_skip(value, colon + 1 - value->at);
	}
	ini_add_word(value, rule, "action");
}

void ini_read_rule(struct value *value, enum policy_kind kind, enum direction direction,
		   struct tree *rules)
{
	const char *key = direction == INGRESS ? "from" : "to";
	struct tree *rule = ini_add_map(value, rules, NULL);
	bool peers, ports;

	if (!policy_kind_is_network(kind))
		read_action(value, rule);
	peers = !value->failed && ini_take_word(value, key);
	if (peers)
		read_peers(value, kind, rule, key);
	ports = !value->failed && ini_take_word(value, "ports");
	if (ports)
		read_ports(value, kind, rule);
	if (!peers && !ports && !value->failed)
		ini_fail_here(value, !strcmp(key, "from") ? "from PEERS or ports PORTS"
							  : "to PEERS or ports PORTS");
	ini_expect_end(value);
}

void ini_read_subject(struct value *value, struct tree *parent, const char *key)
{
	struct tree *subject = ini_add_map(value, parent, key);

	if (ini_take_word(value, "endpoints"))
		read_endpoints(value, POLICY_CLUSTER, subject);
	else if (ini_take_word(value, "namespaces"))
		selector_in_parentheses(value, subject, "namespaces");
	else
		ini_fail_here(value, "namespaces() or endpoints()");
	ini_expect_end(value);
}
