// SPDX-License-Identifier: GPL-2.0-only
#include "input/ini_value.h"

#include <string.h>

/* Reads a label's value, which may be empty. */
static void label_value(struct value *value, struct tree *parent, const char *key)
{
	size_t length = ini_word_length(value);

	ini_add_scalar(value, SCALAR_STRING, parent, key, value->at, length);
	value->at += length;
}

static void read_set(struct value *value, struct tree *requirement, const char *op)
{
	struct tree *values;

	ini_add_text(value, requirement, "operator", op);
	values = ini_add_list(value, requirement, "values");
	if (!ini_expect(value, '(') || ini_take(value, ')'))
		return;
	do {
		label_value(value, values, NULL);
	} while (ini_take(value, ','));
	ini_expect(value, ')');
}

/* Returns true if `in` asks for values: a parenthesis follows. Otherwise namespaces of the
 * endpoints follow. */
static bool asks_for_values(struct value *value)
{
	size_t length = ini_word_length(value);

	if (!ini_is_word(value->at, length, "in"))
		return false;
	return value->at[length + strspn(value->at + length, INI_SPACE)] == '(';
}

static void read_requirement(struct value *value, struct tree *expressions)
{
	struct tree *requirement = ini_add_map(value, expressions, NULL);
	bool negated = ini_take(value, '!');

	if (!ini_add_word(value, requirement, "key"))
		return;
	if (negated) {
		ini_add_text(value, requirement, "operator", "DoesNotExist");
	} else if (ini_take(value, '!')) {
		ini_add_text(value, requirement, "operator", "NotIn");
		if (ini_expect(value, '='))
			label_value(value, ini_add_list(value, requirement, "values"), NULL);
	} else if (ini_take(value, '=')) {
		ini_take(value, '=');
		ini_add_text(value, requirement, "operator", "In");
		label_value(value, ini_add_list(value, requirement, "values"), NULL);
	} else if (asks_for_values(value)) {
		ini_take_word(value, "in");
		read_set(value, requirement, "In");
	} else if (ini_take_word(value, "notin")) {
		read_set(value, requirement, "NotIn");
	} else {
		ini_add_text(value, requirement, "operator", "Exists");
	}
}

void ini_read_selector(struct value *value, struct tree *parent, const char *key)
{
	struct tree *selector = ini_add_map(value, parent, key), *expressions;

	if (ini_at_end(value) || *value->at == ')' || ini_next_is(value, "in"))
		return;
	expressions = ini_add_list(value, selector, "matchExpressions");
	do {
		read_requirement(value, expressions);
	} while (!value->failed && ini_take(value, ','));
}

void ini_value_selector(struct value *value, struct tree *parent, const char *key)
{
	ini_read_selector(value, parent, key);
	ini_expect_end(value);
}

/* Reads "KEY=VALUE, ...". */
static void read_labels(struct value *value, struct tree *labels)
{
	const struct tree *twice;

	do {
		size_t length = ini_word_length(value);
		const char *name = obstack_copy0(value->memory, value->at, length);

		value->at += length;
		if (ini_expect(value, '='))
			label_value(value, labels, name);
	} while (!value->failed && ini_take(value, ','));
	twice = value->failed ? NULL : tree_duplicate(labels);
	if (twice)
		ini_fail(value, "the label %.100s is given twice", twice->key);
}

void ini_value_labels(struct value *value, struct tree *parent, const char *key)
{
	struct tree *labels = ini_add_map(value, parent, key);

	if (ini_at_end(value))
		return;
	read_labels(value, labels);
	ini_expect_end(value);
}

void ini_value_words(struct value *value, struct tree *parent, const char *key, const char *member)
{
	struct tree *list = ini_add_list(value, parent, key);

	do {
		ini_add_word(value, member ? ini_add_map(value, list, NULL) : list, member);
	} while (!value->failed && ini_take(value, ','));
	ini_expect_end(value);
}

void ini_value_string(struct value *value, struct tree *parent, const char *key)
{
	ini_add_word(value, parent, key);
	ini_expect_end(value);
}

void ini_value_number(struct value *value, struct tree *parent, const char *key)
{
	size_t length = ini_word_length(value);

	ini_add_number(value, parent, key, value->at, length);
	value->at += length;
	ini_expect_end(value);
}

bool ini_value_bool(struct value *value)
{
	bool yes = ini_take_word(value, "yes") || ini_take_word(value, "true") ||
		   ini_take_word(value, "on");

	if (!yes && !ini_take_word(value, "no") && !ini_take_word(value, "false") &&
	    !ini_take_word(value, "off"))
		ini_fail(value, "must be yes or no");
	ini_expect_end(value);
	return yes;
}

/* Reads "PROTOCOL/NUMBER" as `protocol` and @field of @port. */
static bool read_protocol_port(struct value *value, struct tree *port, const char *field,
			       const char *expected)
{
	size_t length = ini_word_length(value);
	const char *text = value->at, *slash = memchr(text, '/', length);

	if (!slash) {
		ini_fail(value, "expected %s", expected);
		return false;
	}
	ini_add_scalar(value, SCALAR_STRING, port, "protocol", text, slash - text);
	ini_add_number(value, port, field, slash + 1, text + length - slash - 1);
	value->at += length;
	return true;
}

void ini_value_named_ports(struct value *value, struct tree *ports)
{
	do {
		struct tree *port = ini_add_map(value, ports, NULL);

		if (!ini_add_word(value, port, "name") ||
		    !read_protocol_port(value, port, "containerPort",
					"NAME PROTOCOL/NUMBER, such as http TCP/80"))
			return;
	} while (ini_take(value, ','));
	ini_expect_end(value);
}

void ini_value_service_ports(struct value *value, struct tree *ports)
{
	static const char expected[] = "[NAME] PROTOCOL/NUMBER, such as http TCP/80";

	do {
		struct tree *port = ini_add_map(value, ports, NULL);
		size_t length = ini_word_length(value);

		if ((!memchr(value->at, '/', length) && !ini_add_word(value, port, "name")) ||
		    !read_protocol_port(value, port, "port", expected))
			return;
		if (ini_take_word(value, "to") &&
		    !ini_add_number_or_word(value, port, "targetPort"))
			return;
		if (ini_take_word(value, "node") &&
		    !ini_add_number_or_word(value, port, "nodePort"))
			return;
	} while (ini_take(value, ','));
	ini_expect_end(value);
}

void ini_value_backends(struct value *value, struct tree *parent, const char *key)
{
	struct tree *backends;

	if (ini_take_word(value, "endpoints")) {
		if (ini_expect(value, '('))
			read_labels(value, ini_add_map(value, parent, "selector"));
		ini_expect(value, ')');
		ini_expect_end(value);
		return;
	}
	backends = ini_add_list(value, parent, key);
	do {
		struct tree *backend = ini_add_map(value, backends, NULL);

		if (!ini_add_word(value, backend, "address"))
			return;
		if (ini_take_word(value, "to") && !ini_add_number_or_word(value, backend, "port"))
			return;
	} while (ini_take(value, ','));
	ini_expect_end(value);
}
