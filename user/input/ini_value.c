// SPDX-License-Identifier: GPL-2.0-only
#include "input/ini_value.h"
#include "model/protocol.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SPACE " \t\r\n"

static void fail(struct value *value, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void fail(struct value *value, const char *format, ...)
{
	struct where where = {value->file, value->line};
	char text[300];
	va_list args;

	if (value->failed)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	diag_error(value->diag, &where, value->field, "%s", text);
	value->failed = true;
}

/* Reports that @expected is missing at the place that is reached. */
static void fail_here(struct value *value, const char *expected)
{
	if (*value->at)
		fail(value, "expected %s before \"%.40s\"", expected, value->at);
	else
		fail(value, "expected %s at the end", expected);
}

static struct tree *add(struct value *value, enum tree_type type, struct tree *parent,
			const char *key)
{
	struct tree *node = tree_new(value->memory, type, value->line);

	node->key = key;
	node->key_is_string = key;
	if (parent)
		tree_append(parent, node);
	return node;
}

struct tree *ini_value_map(struct value *value, struct tree *parent, const char *key)
{
	return add(value, TREE_MAP, parent, key);
}

struct tree *ini_value_list(struct value *value, struct tree *parent, const char *key)
{
	return add(value, TREE_LIST, parent, key);
}

static void add_scalar(struct value *value, enum scalar_type type, struct tree *parent,
		       const char *key, const char *text, size_t length)
{
	struct tree *node = add(value, TREE_SCALAR, parent, key);

	node->scalar = type;
	node->text = obstack_copy0(value->memory, text, length);
	node->n = length;
}

void ini_value_text(struct value *value, struct tree *parent, const char *key, const char *text)
{
	add_scalar(value, SCALAR_STRING, parent, key, text, strlen(text));
}

static void skip(struct value *value, size_t n)
{
	while (n--)
		value->line += *value->at++ == '\n';
}

static void skip_space(struct value *value)
{
	skip(value, strspn(value->at, SPACE));
}

static bool take(struct value *value, char c)
{
	skip_space(value);
	if (*value->at != c)
		return false;
	value->at++;
	return true;
}

static bool expect(struct value *value, char c)
{
	const char expected[] = {'"', c, '"', '\0'};

	if (take(value, c))
		return true;
	fail_here(value, expected);
	return false;
}

static bool at_end(struct value *value)
{
	skip_space(value);
	return !*value->at;
}

static void expect_end(struct value *value)
{
	if (!value->failed && !at_end(value))
		fail(value, "does not go on with \"%.40s\"", value->at);
}

/* Returns the length of the next word. White space and punctuation end a word. */
static size_t word_length(struct value *value)
{
	skip_space(value);
	return strcspn(value->at, SPACE ",()=!<>");
}

/* Returns true if the text is @word, or @word in the API's spelling: not-self is notSelf. */
static bool is_word(const char *text, size_t length, const char *word)
{
	const char *end = text + length;

	for (; *word; word++, text++) {
		if (text == end)
			return false;
		if (*text == *word)
			continue;
		if (*word != '-' || *text != (word[1] & ~0x20))
			return false;
		word++;
	}
	return text == end;
}

static bool next_is(struct value *value, const char *word)
{
	size_t length = word_length(value);

	return is_word(value->at, length, word);
}

static bool take_word(struct value *value, const char *word)
{
	size_t length = word_length(value);

	if (!is_word(value->at, length, word))
		return false;
	value->at += length;
	return true;
}

/* Reads the next word as a string. Reports if there is none. */
static bool word(struct value *value, struct tree *parent, const char *key)
{
	size_t length = word_length(value);

	if (!length) {
		fail_here(value, "a word");
		return false;
	}
	add_scalar(value, SCALAR_STRING, parent, key, value->at, length);
	value->at += length;
	return true;
}

/* Reads a label's value, which may be empty. */
static void label_value(struct value *value, struct tree *parent, const char *key)
{
	size_t length = word_length(value);

	add_scalar(value, SCALAR_STRING, parent, key, value->at, length);
	value->at += length;
}

static void read_set(struct value *value, struct tree *requirement, const char *op)
{
	struct tree *values;

	ini_value_text(value, requirement, "operator", op);
	values = ini_value_list(value, requirement, "values");
	if (!expect(value, '(') || take(value, ')'))
		return;
	do {
		label_value(value, values, NULL);
	} while (take(value, ','));
	expect(value, ')');
}

/* Returns true if `in` asks for values: a parenthesis follows. Otherwise namespaces of the
 * endpoints follow. */
static bool asks_for_values(struct value *value)
{
	size_t length = word_length(value);

	if (!is_word(value->at, length, "in"))
		return false;
	return value->at[length + strspn(value->at + length, SPACE)] == '(';
}

static void read_requirement(struct value *value, struct tree *expressions)
{
	struct tree *requirement = ini_value_map(value, expressions, NULL);
	bool negated = take(value, '!');

	if (!word(value, requirement, "key"))
		return;
	if (negated) {
		ini_value_text(value, requirement, "operator", "DoesNotExist");
	} else if (take(value, '!')) {
		ini_value_text(value, requirement, "operator", "NotIn");
		if (expect(value, '='))
			label_value(value, ini_value_list(value, requirement, "values"), NULL);
	} else if (take(value, '=')) {
		take(value, '=');
		ini_value_text(value, requirement, "operator", "In");
		label_value(value, ini_value_list(value, requirement, "values"), NULL);
	} else if (asks_for_values(value)) {
		take_word(value, "in");
		read_set(value, requirement, "In");
	} else if (take_word(value, "notin")) {
		read_set(value, requirement, "NotIn");
	} else {
		ini_value_text(value, requirement, "operator", "Exists");
	}
}

/* Reads a selector. It ends before a closing parenthesis, before `in`, and at the end of the
 * value. */
static void read_selector(struct value *value, struct tree *parent, const char *key)
{
	struct tree *selector = ini_value_map(value, parent, key), *expressions;

	if (at_end(value) || *value->at == ')' || next_is(value, "in"))
		return;
	expressions = ini_value_list(value, selector, "matchExpressions");
	do {
		read_requirement(value, expressions);
	} while (!value->failed && take(value, ','));
}

void ini_value_selector(struct value *value, struct tree *parent, const char *key)
{
	read_selector(value, parent, key);
	expect_end(value);
}

/* Reads "KEY=VALUE, ...". */
static void read_labels(struct value *value, struct tree *labels)
{
	const struct tree *twice;

	do {
		size_t length = word_length(value);
		const char *name = obstack_copy0(value->memory, value->at, length);

		value->at += length;
		if (expect(value, '='))
			label_value(value, labels, name);
	} while (!value->failed && take(value, ','));
	twice = value->failed ? NULL : tree_duplicate(labels);
	if (twice)
		fail(value, "the label %.100s is given twice", twice->key);
}

void ini_value_labels(struct value *value, struct tree *parent, const char *key)
{
	struct tree *labels = ini_value_map(value, parent, key);

	if (at_end(value))
		return;
	read_labels(value, labels);
	expect_end(value);
}

void ini_value_words(struct value *value, struct tree *parent, const char *key, const char *member)
{
	struct tree *list = ini_value_list(value, parent, key);

	do {
		word(value, member ? ini_value_map(value, list, NULL) : list, member);
	} while (!value->failed && take(value, ','));
	expect_end(value);
}

void ini_value_string(struct value *value, struct tree *parent, const char *key)
{
	word(value, parent, key);
	expect_end(value);
}

static void number(struct value *value, struct tree *parent, const char *key, const char *text,
		   size_t length)
{
	add_scalar(value, SCALAR_NUMBER, parent, key, text, length);
}

void ini_value_true(struct value *value, struct tree *parent, const char *key)
{
	add_scalar(value, SCALAR_BOOL, parent, key, "true", strlen("true"));
}

void ini_value_number(struct value *value, struct tree *parent, const char *key)
{
	size_t length = word_length(value);

	number(value, parent, key, value->at, length);
	value->at += length;
	expect_end(value);
}

bool ini_value_bool(struct value *value)
{
	bool yes = take_word(value, "yes") || take_word(value, "true") || take_word(value, "on");

	if (!yes && !take_word(value, "no") && !take_word(value, "false") &&
	    !take_word(value, "off"))
		fail(value, "must be yes or no");
	expect_end(value);
	return yes;
}

/* Reads "PROTOCOL/NUMBER" as `protocol` and @field of @port. */
static bool read_protocol_port(struct value *value, struct tree *port, const char *field,
			       const char *expected)
{
	size_t length = word_length(value);
	const char *text = value->at, *slash = memchr(text, '/', length);

	if (!slash) {
		fail(value, "expected %s", expected);
		return false;
	}
	add_scalar(value, SCALAR_STRING, port, "protocol", text, slash - text);
	number(value, port, field, slash + 1, text + length - slash - 1);
	value->at += length;
	return true;
}

void ini_value_named_ports(struct value *value, struct tree *ports)
{
	do {
		struct tree *port = ini_value_map(value, ports, NULL);

		if (!word(value, port, "name") ||
		    !read_protocol_port(value, port, "containerPort",
					"NAME PROTOCOL/NUMBER, such as http TCP/80"))
			return;
	} while (take(value, ','));
	expect_end(value);
}

/* Reads a number, or else a name. */
static bool number_or_word(struct value *value, struct tree *parent, const char *key)
{
	size_t length = word_length(value);

	if (!length || strspn(value->at, "0123456789") < length)
		return word(value, parent, key);
	number(value, parent, key, value->at, length);
	value->at += length;
	return true;
}

void ini_value_service_ports(struct value *value, struct tree *ports)
{
	static const char expected[] = "[NAME] PROTOCOL/NUMBER, such as http TCP/80";

	do {
		struct tree *port = ini_value_map(value, ports, NULL);
		size_t length = word_length(value);

		if ((!memchr(value->at, '/', length) && !word(value, port, "name")) ||
		    !read_protocol_port(value, port, "port", expected))
			return;
		if (take_word(value, "to") && !number_or_word(value, port, "targetPort"))
			return;
		if (take_word(value, "node") && !number_or_word(value, port, "nodePort"))
			return;
	} while (take(value, ','));
	expect_end(value);
}

void ini_value_backends(struct value *value, struct tree *parent, const char *key)
{
	struct tree *backends;

	if (take_word(value, "endpoints")) {
		if (expect(value, '('))
			read_labels(value, ini_value_map(value, parent, "selector"));
		expect(value, ')');
		expect_end(value);
		return;
	}
	backends = ini_value_list(value, parent, key);
	do {
		struct tree *backend = ini_value_map(value, backends, NULL);

		if (!word(value, backend, "address"))
			return;
		if (take_word(value, "to") && !number_or_word(value, backend, "port"))
			return;
	} while (take(value, ','));
	expect_end(value);
}

static bool is_admin(enum policy_kind kind)
{
	return kind == POLICY_ADMIN || kind == POLICY_BASELINE_ADMIN;
}

/* Reads a selector in parentheses. */
static void selector_in_parentheses(struct value *value, struct tree *parent, const char *key)
{
	if (!expect(value, '('))
		return;
	read_selector(value, parent, key);
	expect(value, ')');
}

static void read_keys(struct value *value, struct tree *parent, const char *key)
{
	struct tree *list = ini_value_list(value, parent, key);

	if (!expect(value, '(') || take(value, ')'))
		return;
	do {
		word(value, list, NULL);
	} while (!value->failed && take(value, ','));
	expect(value, ')');
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

		if (!take_word(value, ways[i].word))
			continue;
		map = ini_value_map(value, parent, "namespaces");
		if (ways[i].text)
			ini_value_text(value, map, ways[i].field, ways[i].text);
		else
			read_keys(value, map, ways[i].field);
		return true;
	}
	return false;
}

/* @key: the kind's field for a selector of namespaces at this place. */
static void read_namespaces(struct value *value, enum policy_kind kind, struct tree *parent,
			    const char *key)
{
	if (take_word(value, "namespaces"))
		selector_in_parentheses(value, parent, key);
	else if (!is_admin(kind) || !read_related(value, parent))
		fail_here(value, is_admin(kind) ? "namespaces(), self, not-self, same-labels() or "
						  "not-same-labels()"
						: "namespaces()");
}

/* Reads the rest of a peer that begins with the word `endpoints`. */
static void read_endpoints(struct value *value, enum policy_kind kind, struct tree *peer)
{
	struct tree *parent =
		policy_kind_is_network(kind) ? peer : ini_value_map(value, peer, "pods");

	if (!expect(value, '('))
		return;
	read_selector(value, parent, "podSelector");
	if (!value->failed && take_word(value, "in"))
		read_namespaces(value, kind, parent, "namespaceSelector");
	else if (!policy_kind_is_network(kind))
		ini_value_map(value, parent, "namespaceSelector");
	expect(value, ')');
}

/* Reads the rest of a peer that begins with the word `cidr`. */
static void read_cidr(struct value *value, enum policy_kind kind, struct tree *peer)
{
	struct tree *block, *except;

	if (!expect(value, '('))
		return;
	if (!policy_kind_is_network(kind)) {
		word(value, ini_value_list(value, peer, "networks"), NULL);
		if (next_is(value, "except"))
			fail(value, "except is for network-policy only");
		expect(value, ')');
		return;
	}
	block = ini_value_map(value, peer, "ipBlock");
	word(value, block, "cidr");
	if (take_word(value, "except")) {
		except = ini_value_list(value, block, "except");
		do {
			word(value, except, NULL);
		} while (!value->failed && take(value, ','));
	}
	expect(value, ')');
}

static void read_peer(struct value *value, enum policy_kind kind, struct tree *peers)
{
	struct tree *peer = ini_value_map(value, peers, NULL);

	if (take_word(value, "endpoints"))
		read_endpoints(value, kind, peer);
	else if (take_word(value, "cidr"))
		read_cidr(value, kind, peer);
	else if (!policy_kind_is_network(kind) && take_word(value, "nodes"))
		selector_in_parentheses(value, peer, "nodes");
	else if (!policy_kind_is_network(kind) && take_word(value, "names"))
		read_keys(value, peer, "domainNames");
	else
		read_namespaces(value, kind, peer,
				policy_kind_is_network(kind) ? "namespaceSelector" : "namespaces");
}

/* Reads `any`, which leaves the field out, or `none`, which leaves the list empty. Returns true if
 * one of them came next. */
static bool read_any_or_none(struct value *value, enum policy_kind kind, struct tree *rule,
			     const char *key)
{
	if (take_word(value, "any"))
		return true;
	if (!next_is(value, "none"))
		return false;
	if (kind != POLICY_NETWORK_V1BETA1)
		fail(value, "none is for network-policy-v1beta1 only");
	take_word(value, "none");
	ini_value_list(value, rule, key);
	return true;
}

static void read_peers(struct value *value, enum policy_kind kind, struct tree *rule,
		       const char *key)
{
	struct tree *peers;

	if (policy_kind_is_network(kind) && read_any_or_none(value, kind, rule, key))
		return;
	peers = ini_value_list(value, rule, key);
	do {
		read_peer(value, kind, peers);
	} while (!value->failed && take(value, ','));
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
	size_t length = word_length(value), name = 0;
	const char *text = value->at, *slash = memchr(text, '/', length), *dash;

	*port = (struct written_port){.text = text, .length = length};
	if (slash)
		name = slash - text;
	else if (protocol_by_name(text, length, false))
		name = length;
	if (!length || (slash && !protocol_by_name(text, name, false))) {
		fail_here(value, "a port such as TCP/80, UDP/7000-7010, SCTP or http");
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
		number(value, map, first, "1", 1);
		number(value, map, last, "65535", 5);
		return;
	}
	number(value, map, first, port->text, port->first_length);
	if (port->has_end)
		number(value, map, last, port->text + port->first_length + 1,
		       port->length - port->first_length - 1);
}

static void put_network_port(struct value *value, const struct written_port *port, struct tree *map)
{
	if (*port->protocol)
		ini_value_text(value, map, "protocol", port->protocol);
	if (port->is_number)
		put_ends(value, port, map, "port", "endPort");
	else if (port->text)
		add_scalar(value, SCALAR_STRING, map, "port", port->text, port->length);
}

static void put_admin_port(struct value *value, const struct written_port *port, struct tree *map)
{
	bool range = !port->text || port->has_end;

	map = ini_value_map(value, map, range ? "portRange" : "portNumber");
	if (*port->protocol)
		ini_value_text(value, map, "protocol", port->protocol);
	put_ends(value, port, map, range ? "start" : "port", "end");
}

static void put_cluster_port(struct value *value, const struct written_port *port, struct tree *map)
{
	const char *name = *port->protocol ? port->protocol : protocols[BH_PROTOCOL_TCP].name;
	bool range = !port->text || port->has_end;

	map = ini_value_map(value, map, protocol_by_name(name, strlen(name), false)->key);
	map = ini_value_map(value, map, "destinationPort");
	if (range)
		map = ini_value_map(value, map, "range");
	put_ends(value, port, map, range ? "start" : "number", "end");
}

static void read_port(struct value *value, enum policy_kind kind, struct tree *ports)
{
	struct tree *map = ini_value_map(value, ports, NULL);
	struct written_port port;

	if (!split_port(value, &port))
		return;
	if (policy_kind_is_network(kind)) {
		put_network_port(value, &port, map);
	} else if (port.text && !port.is_number) {
		if (*port.protocol)
			fail(value,
			     "a port name stands alone here: the endpoint's port has the protocol");
		add_scalar(value, SCALAR_STRING, map,
			   kind == POLICY_CLUSTER ? "destinationNamedPort" : "namedPort", port.text,
			   port.length);
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
	ports = ini_value_list(value, rule, key);
	do {
		read_port(value, kind, ports);
	} while (!value->failed && take(value, ','));
}

/* Reads "NAME: ACTION". If the value does not begin with an action, all before the first colon is
 * the name. */
static void read_action(struct value *value, struct tree *rule)
{
	static const char *const actions[] = {"Allow", "Accept", "Deny", "Pass"};
	size_t length = word_length(value), i;
	const char *colon;

	for (i = 0; i < 4; i++)
		if (length == strlen(actions[i]) && !strncmp(value->at, actions[i], length))
			break;
	colon = i < 4 ? NULL : strchr(value->at, ':');
	if (colon) {
		add_scalar(value, SCALAR_STRING, rule, "name", value->at, colon - value->at);
		skip(value, colon + 1 - value->at);
	}
	word(value, rule, "action");
}

void ini_value_rule(struct value *value, enum policy_kind kind, enum direction direction,
		    struct tree *rules)
{
	const char *key = direction == INGRESS ? "from" : "to";
	struct tree *rule = ini_value_map(value, rules, NULL);
	bool peers, ports;

	if (!policy_kind_is_network(kind))
		read_action(value, rule);
	peers = !value->failed && take_word(value, key);
	if (peers)
		read_peers(value, kind, rule, key);
	ports = !value->failed && take_word(value, "ports");
	if (ports)
		read_ports(value, kind, rule);
	if (!peers && !ports && !value->failed)
		fail_here(value, !strcmp(key, "from") ? "from PEERS or ports PORTS"
						      : "to PEERS or ports PORTS");
	expect_end(value);
}

void ini_value_subject(struct value *value, struct tree *parent, const char *key)
{
	struct tree *subject = ini_value_map(value, parent, key);

	if (take_word(value, "endpoints"))
		read_endpoints(value, POLICY_CLUSTER, subject);
	else if (take_word(value, "namespaces"))
		selector_in_parentheses(value, subject, "namespaces");
	else
		fail_here(value, "namespaces() or endpoints()");
	expect_end(value);
}
