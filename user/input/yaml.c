// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads YAML through libyaml's events. So lines are exact, and the size of a document bounds its
 * memory: an alias shares the nodes of its anchor.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "input/tree.h"
#include "model/cluster.h"
#include "model/memory.h"

struct anchor {
	struct anchor *next;
	const char *name;
	const struct tree *node;
	uint32_t size; /* number of nodes, counting those that its aliases stand for */
};

struct yaml {
	struct tree_maker *maker;
	const char *text;
	size_t size;
	yaml_parser_t parser;
	yaml_event_t event; /* the current one */
	struct anchor *anchors; /* anchors of this document, the latest first */
	uint32_t nodes; /* number of nodes read, including the nodes that aliases stand for */
	uint32_t aliased;
	unsigned int n_anchors;
	unsigned int depth;
};

static int refuse(const struct yaml *yaml, size_t line, const char *what)
{
	struct where where = {yaml->maker->file, line + 1};

	diag_error(yaml->maker->diag, &where, NULL, "not YAML that can be read: %s", what);
	return -EINVAL;
}

/* Returns the start of a line, which counts from 0; NULL: the text has fewer lines. */
static const char *line_start(const struct yaml *yaml, size_t line)
{
	const char *text = yaml->text, *end = text + yaml->size;

	while (line-- && text) {
		text = memchr(text, '\n', end - text);
		text = text ? text + 1 : NULL;
	}
	return text;
}

/* Returns true if a line is indented by a tab. @line counts from 0. */
static bool tab_indents(const struct yaml *yaml, size_t line)
{
	const char *text = line_start(yaml, line), *end = yaml->text + yaml->size;

	while (text && text < end && *text == ' ')
		text++;
	return text && text < end && *text == '\t';
}

/* Returns the character at a mark if it is one of ASCII; 0: it is not, or the text ends there. */
static char character_at(const struct yaml *yaml, const yaml_mark_t *mark)
{
	const char *text = line_start(yaml, mark->line), *end = yaml->text + yaml->size;
	size_t column = mark->column;

	/* A column counts characters: bytes that continue one do not count. */
	while (text && text < end && (column || (*text & 0xc0) == 0x80))
		column -= (*text++ & 0xc0) != 0x80;
	return text && text < end && !(*text & 0x80) ? *text : '\0';
}

/* Reports libyaml's words, with the line of what began before and has no end. */
static int refuse_problem(const struct yaml *yaml)
{
	const yaml_parser_t *parser = &yaml->parser;
	size_t line = parser->problem_mark.line;
	char text[200], c = character_at(yaml, &parser->problem_mark);

	if (tab_indents(yaml, line))
		return refuse(yaml, line, "a tab in the indentation");
	if (c == '\t')
		return refuse(yaml, line, "a tab in place of a blank");
	if (c && strchr("@`%", c)) {
		snprintf(text, sizeof(text), "a text that begins with %c needs quotes", c);
		return refuse(yaml, line, text);
	}
	if (!parser->context || parser->context_mark.line >= line)
		return refuse(yaml, line, parser->problem);
	snprintf(text, sizeof(text), "%s, %s that begins in line %zu", parser->problem,
		 parser->context, parser->context_mark.line + 1);
	return refuse(yaml, line, text);
}

/* libyaml reports only the offset of a byte that it refuses. This reports the byte's line. */
static int refuse_byte(const struct yaml *yaml)
{
	size_t line = 0;

	for (size_t i = 0; i < yaml->parser.problem_offset && i < yaml->size; i++)
		line += yaml->text[i] == '\n';
	return refuse(yaml, line, yaml->parser.problem);
}

static int next(struct yaml *yaml)
{
	yaml_event_delete(&yaml->event);
	if (yaml_parser_parse(&yaml->parser, &yaml->event))
		return 0;
	switch ((int)yaml->parser.error) { /* libyaml may have more */
	case YAML_MEMORY_ERROR:
		memory_exhausted();
		break;
	case YAML_READER_ERROR:
		return refuse_byte(yaml);
	default:
		break;
	}
	return refuse_problem(yaml);
}

/* Returns true if the text begins like a number and has no character that a number cannot have.
 * Such text is no string unless it is quoted. */
static bool looks_like_number(const char *text)
{
	static const char *const words[] = {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN", NULL};
	const char *digits = text + (*text == '-' || *text == '+');
	size_t n;
	char *end;

	if (texts_have(words, digits))
		return true;
	if (*digits == '.' ? !(digits[1] >= '0' && digits[1] <= '9')
			   : !(*digits >= '0' && *digits <= '9'))
		return false;
	if (!digits[strspn(digits, "0123456789_")])
		return true;
	if (*digits == '0' && (digits[1] == 'b' || digits[1] == 'o')) {
		n = strspn(digits + 2, digits[1] == 'b' ? "01_" : "01234567_");
		return n && !digits[2 + n];
	}
	strtod(digits, &end);
	return !*end;
}

/* Returns the type of a plain scalar. YAML 1.1 also reads y and n as booleans; here they are
 * strings, since people name things x, y and z. */
static enum scalar_type resolve(const char *text)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
	static const char *const bools[] = {
		"true", "True", "TRUE", "false", "False", "FALSE", "yes", "Yes", "YES", "no",
		"No",	"NO",	"on",	"On",	 "ON",	  "off",   "Off", "OFF", NULL};

	/* A short cut: nearly all scalars are strings, and their first character shows it. */
	if (!strchr("~nNtTfFyYoO+-.0123456789", *text))
		return SCALAR_STRING;
	if (texts_have(nulls, text))
		return SCALAR_NULL;
	if (texts_have(bools, text))
		return SCALAR_BOOL;
	return looks_like_number(text) ? SCALAR_NUMBER : SCALAR_STRING;
}

static struct tree *make_node(struct yaml *yaml, enum tree_type type)
{
	yaml->nodes++;
	return tree_new(yaml->maker->memory, type, yaml->event.start_mark.line + 1);
}

static int remember_anchor(struct yaml *yaml, const char *name, const struct tree *node,
			   uint32_t size)
{
	struct anchor *anchor = obstack_alloc(yaml->maker->memory, sizeof(*anchor));

	if (++yaml->n_anchors > TREE_ANCHORS_MAX)
		return refuse(yaml, node->line - 1, "more than 1000 anchors");
	*anchor = (struct anchor){yaml->anchors, name, node, size};
	yaml->anchors = anchor;
	return 0;
}

static int read_alias(struct yaml *yaml, struct tree **made)
{
	const char *name = (const char *)yaml->event.data.alias.anchor;
	struct anchor *anchor = yaml->anchors;
	struct tree *node;

	while (anchor && strcmp(anchor->name, name))
		anchor = anchor->next;
	if (!anchor)
		return refuse(yaml, yaml->event.start_mark.line, "an alias of an unknown anchor");
	if (anchor->size > TREE_ALIAS_MAX - yaml->aliased)
		return refuse(yaml, yaml->event.start_mark.line,
			      "aliases stand for more than 100000 nodes");
	yaml->aliased += anchor->size;
	node = make_node(yaml, anchor->node->type);
	yaml->nodes += anchor->size - 1;
	node->first = anchor->node->first;
	node->n = anchor->node->n;
	node->scalar = anchor->node->scalar;
	*made = node;
	return 0;
}

static int check_tag(struct yaml *yaml, const char *tag, const char *standard)
{
	if (!tag || !strcmp(tag, "!") || !strcmp(tag, standard))
		return 0;
	return refuse(yaml, yaml->event.start_mark.line,
		      "a tag that Kubernetes objects do not use");
}

static int read_scalar(struct yaml *yaml, struct tree **made)
{
	const char *text = (const char *)yaml->event.data.scalar.value;
	size_t length = yaml->event.data.scalar.length;
	struct tree *node;

	if (check_tag(yaml, (const char *)yaml->event.data.scalar.tag, YAML_STR_TAG))
		return -EINVAL;
	if (memchr(text, '\0', length))
		return refuse(yaml, yaml->event.start_mark.line, "a string holds a NUL character");
	node = make_node(yaml, TREE_SCALAR);
	node->text = obstack_copy0(yaml->maker->memory, text, length);
	node->n = length;
	/* A quoted or tagged scalar is a string. */
	node->scalar = yaml->event.data.scalar.plain_implicit ? resolve(node->text) : SCALAR_STRING;
	*made = node;
	return 0;
}

static int read_node(struct yaml *yaml, struct tree **made);

static int read_list(struct yaml *yaml, struct tree **made)
{
	struct tree *list, *item;
	int err;

	if (check_tag(yaml, (const char *)yaml->event.data.sequence_start.tag, YAML_SEQ_TAG))
		return -EINVAL;
	list = make_node(yaml, TREE_LIST);
	while (!(err = next(yaml)) && yaml->event.type != YAML_SEQUENCE_END_EVENT) {
		err = read_node(yaml, &item);
		if (err)
			return err;
		tree_append(list, item);
	}
	*made = list;
	return err;
}

static int read_member(struct yaml *yaml, struct tree **made)
{
	struct tree *key, *value;
	int err;

	if (yaml->event.type != YAML_SCALAR_EVENT)
		return refuse(yaml, yaml->event.start_mark.line, "a key that is no scalar");
	err = read_scalar(yaml, &key);
	if (err)
		return err;
	if (yaml->event.data.scalar.plain_implicit && !strcmp(key->text, "<<"))
		return refuse(yaml, key->line - 1, "merge keys (<<) are not read");
	err = next(yaml);
	if (!err)
		err = read_node(yaml, &value);
	if (err)
		return err;
	value->key = key->text;
	value->key_is_string = key->scalar == SCALAR_STRING;
	value->line = key->line;
	*made = value;
	return 0;
}

static int read_map(struct yaml *yaml, struct tree **made)
{
	struct tree *map, *member = NULL;
	int err;

	if (check_tag(yaml, (const char *)yaml->event.data.mapping_start.tag, YAML_MAP_TAG))
		return -EINVAL;
	map = make_node(yaml, TREE_MAP);
	while (!(err = next(yaml)) && yaml->event.type != YAML_MAPPING_END_EVENT) {
		err = read_member(yaml, &member);
		if (err)
			return err;
		tree_append(map, member);
	}
	*made = map;
	return err;
}

static const char *event_anchor(const yaml_event_t *event)
{
	switch ((int)event->type) {
	case YAML_SCALAR_EVENT:
		return (const char *)event->data.scalar.anchor;
	case YAML_SEQUENCE_START_EVENT:
		return (const char *)event->data.sequence_start.anchor;
	case YAML_MAPPING_START_EVENT:
		return (const char *)event->data.mapping_start.anchor;
	default:
		return NULL;
	}
}

/* Reads the node that begins at the current event. Its last event is the current one afterwards. */
static int read_node(struct yaml *yaml, struct tree **made)
{
	const char *anchor = event_anchor(&yaml->event);
	uint32_t before = yaml->nodes;
	int err;

	if (yaml->depth >= TREE_DEPTH_MAX)
		return refuse(yaml, yaml->event.start_mark.line, "nested more than 200 deep");
	if (anchor)
		anchor = obstack_copy0(yaml->maker->memory, anchor, strlen(anchor));
	yaml->depth++;
	switch ((int)yaml->event.type) {
	case YAML_ALIAS_EVENT:
		err = read_alias(yaml, made);
		break;
	case YAML_SCALAR_EVENT:
		err = read_scalar(yaml, made);
		break;
	case YAML_SEQUENCE_START_EVENT:
		err = read_list(yaml, made);
		break;
	default:
		err = read_map(yaml, made);
	}
	yaml->depth--;
	if (!err && anchor)
		err = remember_anchor(yaml, anchor, *made, yaml->nodes - before);
	return err;
}

static int read_documents(struct yaml *yaml, bool (*object)(void *data, struct tree *root),
			  void *data)
{
	void *bottom = obstack_alloc(yaml->maker->memory, 1);
	bool more = true;
	int err;

	while (more && !(err = next(yaml)) && yaml->event.type != YAML_STREAM_END_EVENT) {
		struct tree *root;

		if (yaml->event.type != YAML_DOCUMENT_START_EVENT)
			continue;
		yaml->anchors = NULL;
		yaml->nodes = yaml->aliased = yaml->n_anchors = 0;
		err = next(yaml);
		if (!err)
			err = read_node(yaml, &root);
		if (!err)
			err = tree_check_keys(yaml->maker, root);
		if (err)
			break;
		if (root->type != TREE_SCALAR || root->scalar != SCALAR_NULL)
			more = object(data, root);
		obstack_free(yaml->maker->memory, bottom);
		bottom = obstack_alloc(yaml->maker->memory, 1);
	}
	return more ? err : 0;
}

int yaml_read(struct tree_maker *maker, const char *text, size_t size,
	      bool (*object)(void *data, struct tree *root), void *data)
{
	struct yaml yaml = {.maker = maker, .text = text, .size = size};
	int err;

	if (!yaml_parser_initialize(&yaml.parser))
		memory_exhausted();
	yaml_parser_set_encoding(&yaml.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&yaml.parser, (const unsigned char *)text, size);
	err = read_documents(&yaml, object, data);
	yaml_event_delete(&yaml.event);
	yaml_parser_delete(&yaml.parser);
	return err;
}
