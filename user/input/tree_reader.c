// SPDX-License-Identifier: GPL-2.0-only
#include "input/tree_reader.h"

#include <limits.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/name_syntax.h"
#include "model/nearest.h"
#include "model/protocol.h"

struct where reader_where(const struct reader *reader, const struct tree *node)
{
	return (struct where){reader->file, node->line};
}

/* Returns the name of @node for a message: its path in the tree, or the input's own name for the
 * field followed by the rest of the path. */
static const char *field_name(const struct reader *reader, const struct tree *node,
			      const char *path)
{
	static const char spec[] = "spec.";
	const char *name = reader->field ? reader->field(reader, node->line) : NULL;
	size_t length = name ? strlen(name) : 0;

	if (!name)
		return path;
	if (strncmp(path, spec, strlen(spec)))
		return name;
	path += strlen(spec);
	return !strncmp(path, name, length) && strchr("[.", path[length]) ? path : name;
}

/* Reports a fault of the object that is read. */
static void report_fault(struct reader *reader, const struct where *where, const char *field,
			 const char *text)
{
	if (!reader->aside) {
		diag_error(reader->diag, where, field, "%s", text);
		return;
	}
	reader->faults++;
	diag_warn(reader->diag, where, field, "%s: %s", text, reader->aside);
}

static void report(struct reader *reader, enum diag_level level, const struct tree *node,
		   const char *format, va_list args)
{
	struct where where = reader_where(reader, node);
	char *path = tree_path(node), text[512];
	const char *field = field_name(reader, node, path);

	vsnprintf(text, sizeof(text), format, args);
	if (level == DIAG_ERROR)
		report_fault(reader, &where, field, text);
	else
		diag_report(reader->diag, level, &where, field, "%s", text);
	free(path);
}

void reader_error(struct reader *reader, const struct tree *node, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report(reader, DIAG_ERROR, node, format, args);
	va_end(args);
}

void reader_warn(struct reader *reader, const struct tree *node, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report(reader, DIAG_WARNING, node, format, args);
	va_end(args);
}

void reader_missing(struct reader *reader, const struct tree *map, const char *key)
{
	struct tree member = {.parent = (struct tree *)map, .key = key, .line = map->line};
	struct where where = reader_where(reader, map);
	const char *name = reader->field ? reader->field(reader, map->line) : NULL;
	char *path = tree_path(&member), text[200];

	snprintf(text, sizeof(text), "%.150s is missing", key);
	if (reader->field && !name)
		report_fault(reader, &where, key, "is missing");
	else if (field_name(reader, map, path) == name)
		report_fault(reader, &where, name, text);
	else
		reader_error(reader, &member, "is missing");
	free(path);
}

void *reader_alloc(struct reader *reader, size_t n, size_t size)
{
	return n ? memset(obstack_alloc(&reader->cluster->memory, n * size), 0, n * size) : NULL;
}

static void refuse_field(struct reader *reader, const struct tree *member,
			 const char *const *fields)
{
	struct nearest nearest = {.word = member->key};
	char like[NEAREST_TEXT];

	for (; !diag_full(reader->diag) && *fields; fields++)
		nearest_try(&nearest, *fields);
	reader_error(reader, member, "unknown field%s", nearest_print(&nearest, like));
}

/* Names the fields, which the kind of object alone does not tell. */
static void refuse_map(struct reader *reader, const struct tree *node, const char *const *fields)
{
	char names[160] = "";
	size_t length = 0;

	for (; fields && *fields && length < sizeof(names); fields++)
		length += snprintf(names + length, sizeof(names) - length, "%s%s",
				   length ? ", " : ": ", *fields);
	reader_error(reader, node, "must be a map of fields%s",
		     length < sizeof(names) ? names : "");
}

bool reader_map(struct reader *reader, const struct tree *node, const char *const *fields)
{
	bool known = true;

	if (node->type != TREE_MAP) {
		refuse_map(reader, node, fields);
		return false;
	}
	for (const struct tree *member = node->first; fields && member; member = member->next) {
		if (texts_have(fields, member->key))
			continue;
		refuse_field(reader, member, fields);
		known = false;
	}
	return known;
}

struct tree *reader_list(struct reader *reader, const struct tree *map, const char *key,
			 unsigned int max)
{
	struct tree *list = tree_get(map, key);

	if (!list)
		return NULL;
	if (list->type != TREE_LIST) {
		if (list->type == TREE_SCALAR && list->n)
			reader_error(reader, list, "must be a list, not \"%.60s\"", list->text);
		else
			reader_error(reader, list, "must be a list");
		return NULL;
	}
	if (list->n > max) {
		reader_error(reader, list, "has %u items, more than the %u allowed", list->n, max);
		return NULL;
	}
	return list;
}

struct tree *reader_one_of(struct reader *reader, const struct tree *map, const char *const *fields)
{
	struct tree *found = NULL;
	char names[200] = "";
	unsigned int n = 0;

	for (const char *const *field = fields; *field; field++) {
		struct tree *member = tree_get(map, *field);
		size_t end = strlen(names);

		if (member) {
			found = member;
			n++;
		}
		snprintf(names + end, sizeof(names) - end, "%s%s", end ? ", " : "", *field);
	}
	if (n == 1)
		return found;
	reader_error(reader, map, "must have exactly one of %s", names);
	return NULL;
}

const char *reader_string(struct reader *reader, const struct tree *node)
{
	if (node->type == TREE_SCALAR && node->scalar == SCALAR_STRING)
		return cluster_intern(reader->cluster, node->text, node->n);
	reader_error(reader, node, "must be a string%s",
		     node->type == TREE_SCALAR && node->scalar != SCALAR_NULL ? "; quote it" : "");
	return NULL;
}

const char *reader_plain(struct reader *reader, const struct tree *node)
{
	const char *text = reader_string(reader, node);

	if (!text || diag_is_plain(text))
		return text;
	reader_error(reader, node, "has a control character");
	return NULL;
}

bool reader_is_quoted_number(const struct tree *node)
{
	return node->type == TREE_SCALAR && node->scalar == SCALAR_STRING && node->n &&
	       strspn(node->text, "0123456789") == node->n;
}

bool reader_number(struct reader *reader, const struct tree *node, long min, long max, long *value)
{
	const char *digits;
	long number;

	if (node->type != TREE_SCALAR || node->scalar != SCALAR_NUMBER) {
		reader_error(reader, node, "must be a number%s",
			     reader_is_quoted_number(node) ? "; a number has no quotes" : "");
		return false;
	}
	digits = node->text + (*node->text == '-');
	if (!*digits || strspn(digits, "0123456789") != strlen(digits) ||
	    (*digits == '0' && digits[1])) {
		reader_error(reader, node, "must be a whole number in decimal, not \"%.40s\"",
			     node->text);
		return false;
	}
	number = strlen(digits) > 18 ? LONG_MAX : strtol(node->text, NULL, 10);
	if (number < min || number > max) {
		reader_error(reader, node, "must be %ld to %ld, not %.40s", min, max, node->text);
		return false;
	}
	*value = number;
	return true;
}

bool reader_bool(struct reader *reader, const struct tree *node, bool *value)
{
	if (node->type != TREE_SCALAR || node->scalar != SCALAR_BOOL) {
		reader_error(reader, node, "must be true or false%s",
			     node->type == TREE_SCALAR && node->scalar == SCALAR_STRING
				     ? ", without quotes"
				     : "");
		return false;
	}
	*value = strchr("tTyY", node->text[0]) || !strcasecmp(node->text, "on");
	return true;
}

static const char *label_key(struct reader *reader, const struct tree *node, const char *key,
			     size_t length)
{
	if (!name_syntax_is_label_key(key)) {
		reader_error(reader, node, "\"%.100s\" is " NAME_SYNTAX_LABEL_KEY, key);
		return NULL;
	}
	return cluster_intern(reader->cluster, key, length);
}

static const char *member_key(struct reader *reader, const struct tree *member)
{
	if (!member->key_is_string) {
		reader_error(reader, member, "the label key must be a string; quote it");
		return NULL;
	}
	return label_key(reader, member, member->key, strlen(member->key));
}

static const char *label_value(struct reader *reader, const struct tree *node)
{
	const char *value;

	/* The API server takes null for an empty string, too. */
	if (node->type == TREE_SCALAR && node->scalar == SCALAR_NULL)
		return cluster_intern(reader->cluster, "", 0);
	value = reader_string(reader, node);
	if (value && !name_syntax_is_label_value(value)) {
		reader_error(reader, node, "\"%.100s\" is " NAME_SYNTAX_LABEL_VALUE, value);
		return NULL;
	}
	return value;
}

void reader_labels(struct reader *reader, const struct tree *node, struct labels *labels)
{
	if (!node || !reader_map(reader, node, NULL))
		return;
	reader_array(reader, labels->at, node->n);
	for (const struct tree *member = node->first; member; member = member->next) {
		struct label label = {member_key(reader, member), label_value(reader, member)};

		if (label.key && label.value)
			labels->at[labels->n++] = label;
	}
	labels_sort(labels);
}

static bool read_operator(struct reader *reader, const struct tree *node, enum selector_op *op)
{
	static const char *const names[] = {[SELECTOR_IN] = "In",
					    [SELECTOR_NOT_IN] = "NotIn",
					    [SELECTOR_EXISTS] = "Exists",
					    [SELECTOR_DOES_NOT_EXIST] = "DoesNotExist"};
	const char *name = reader_string(reader, node);

	if (!name)
		return false;
	for (*op = SELECTOR_IN; *op <= SELECTOR_DOES_NOT_EXIST; (*op)++)
		if (!strcmp(name, names[*op]))
			return true;
	reader_error(reader, node, "must be In, NotIn, Exists or DoesNotExist, not \"%.40s\"",
		     name);
	return false;
}

static void read_values(struct reader *reader, const struct tree *expression,
			struct requirement *requirement)
{
	const struct tree *values = reader_list(reader, expression, "values", UINT_MAX);
	bool takes_values = requirement->op == SELECTOR_IN || requirement->op == SELECTOR_NOT_IN;

	if (takes_values && (values ? !values->n : !tree_get_filled(expression, "values"))) {
		reader_missing(reader, expression, "values");
		return;
	}
	if (!takes_values && values && values->n) {
		reader_error(reader, values, "Exists and DoesNotExist take no values");
		return;
	}
	if (!values)
		return;
	reader_array(reader, requirement->values, values->n);
	for (const struct tree *item = values->first; item; item = item->next) {
		const char *value = label_value(reader, item);

		if (value)
			requirement->values[requirement->n_values++] = value;
	}
}

static void read_expression(struct reader *reader, const struct tree *node,
			    struct selector *selector)
{
	static const char *const fields[] = {"key", "operator", "values", NULL};
	struct requirement requirement = {0};
	const struct tree *key, *op;

	if (!reader_map(reader, node, fields))
		return;
	key = tree_get(node, "key");
	op = tree_get(node, "operator");
	if (!key)
		reader_missing(reader, node, "key");
	else if (reader_string(reader, key))
		requirement.key = label_key(reader, key, key->text, key->n);
	if (!op)
		reader_missing(reader, node, "operator");
	else if (read_operator(reader, op, &requirement.op))
		read_values(reader, node, &requirement);
	if (requirement.key)
		selector->at[selector->n++] = requirement;
}

static void read_match_label(struct reader *reader, const struct tree *member,
			     struct selector *selector)
{
	struct requirement requirement = {.op = SELECTOR_IN, .n_values = 1};
	const char *value = label_value(reader, member);

	requirement.key = member_key(reader, member);
	if (!requirement.key || !value)
		return;
	reader_array(reader, requirement.values, 1);
	requirement.values[0] = value;
	selector->at[selector->n++] = requirement;
}

void reader_selector(struct reader *reader, const struct tree *node, struct selector *selector)
{
	static const char *const fields[] = {"matchLabels", "matchExpressions", NULL};
	const struct tree *labels, *expressions;

	if (!node || !reader_map(reader, node, fields))
		return;
	labels = tree_get(node, "matchLabels");
	if (labels && !reader_map(reader, labels, NULL))
		return;
	expressions = reader_list(reader, node, "matchExpressions", UINT_MAX);
	reader_array(reader, selector->at,
		     (labels ? labels->n : 0) + (expressions ? expressions->n : 0));
	for (const struct tree *at = labels ? labels->first : NULL; at; at = at->next)
		read_match_label(reader, at, selector);
	for (const struct tree *at = expressions ? expressions->first : NULL; at; at = at->next)
		read_expression(reader, at, selector);
	selector_sort(selector);
}

size_t reader_label_keys(struct reader *reader, const struct tree *list, const char ***keys)
{
	size_t n = 0;

	if (list->type != TREE_LIST) {
		reader_error(reader, list, "must be a list of label keys");
		return 0;
	}
	reader_array(reader, *keys, list->n);
	for (const struct tree *item = list->first; item; item = item->next) {
		const char *key = reader_string(reader, item);

		key = key ? label_key(reader, item, key, item->n) : NULL;
		if (key)
			(*keys)[n++] = key;
	}
	return texts_sort(*keys, n);
}

bool reader_address(struct reader *reader, const struct tree *node, struct address *address)
{
	const char *text = reader_string(reader, node);

	if (text && address_parse(text, address))
		reader_error(reader, node, "\"%.60s\" is no IPv4 or IPv6 address", text);
	else
		return text;
	return false;
}

bool reader_cidr(struct reader *reader, const struct tree *node, struct cidr *cidr)
{
	const char *text = reader_string(reader, node);

	if (text && cidr_parse(text, cidr))
		reader_error(reader, node, "\"%.60s\" is no CIDR such as 10.0.0.0/8 or fd00::/8",
			     text);
	else
		return text;
	return false;
}

bool reader_protocol(struct reader *reader, const struct tree *node, uint8_t *protocol)
{
	const char *name = node ? reader_string(reader, node) : "TCP";
	const struct protocol *found = name ? protocol_by_name(name, strlen(name), false) : NULL;

	if (found)
		*protocol = found->number;
	else if (name)
		reader_error(reader, node, "must be " PROTOCOL_NAMES ", not \"%.40s\"", name);
	return found;
}

const char *reader_port_name(struct reader *reader, const struct tree *node)
{
	const char *name = reader_string(reader, node);

	if (name && !name_syntax_is_port_name(name)) {
		reader_error(reader, node, "\"%.40s\" is " NAME_SYNTAX_PORT_NAME, name);
		return NULL;
	}
	return name;
}

void reader_rules(struct reader *reader, const struct tree *spec, struct policy_object *policy,
		  enum direction direction, unsigned int max, reader_rule *read)
{
	const struct tree *list =
		reader_list(reader, spec, direction == INGRESS ? "ingress" : "egress", max);

	if (!list)
		return;
	reader_array(reader, policy->rules[direction], list->n);
	for (const struct tree *item = list->first; item; item = item->next)
		read(reader, item, policy, direction,
		     &policy->rules[direction][policy->n_rules[direction]++]);
}
