// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads JSON (RFC 8259), with the line of each node. YAML's parser refuses what JSON allows
 * (tabs, surrogate pairs). The usual JSON libraries know no lines, and let the last of two equal
 * keys win.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "input/tree.h"

struct json {
	struct tree_maker *maker;
	const char *at, *end;
	unsigned int line;
	unsigned int depth;
};

static int refuse(const struct json *json, const char *what)
{
	struct where where = {json->maker->file, json->line};

	diag_error(json->maker->diag, &where, NULL, "not JSON: %s", what);
	return -EINVAL;
}

/* Refuses what stands at the place, or that nothing stands there any more. */
static int refuse_next(const struct json *json, const char *what)
{
	return refuse(json, json->at == json->end ? "it ends too early" : what);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static void skip_space(struct json *json)
{
	for (; json->at < json->end && is_space(*json->at); json->at++)
		json->line += *json->at == '\n';
}

/* Takes the next character if it is @c. Returns true if it was. */
static bool take(struct json *json, char c)
{
	skip_space(json);
	if (json->at == json->end || *json->at != c)
		return false;
	json->at++;
	return true;
}

static int read_hex(struct json *json, unsigned int *value)
{
	*value = 0;
	if (json->end - json->at < 4)
		return refuse(json, "a \\u escape is cut short");
	for (int i = 0; i < 4; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = memchr(digits, *json->at | 0x20, 16);

		if (!digit || (*json->at < '0'))
			return refuse(json, "a \\u escape without four hexadecimal digits");
		*value = *value << 4 | (digit - digits);
		json->at++;
	}
	return 0;
}

static void grow_utf8(struct obstack *memory, unsigned int c)
{
	if (c < 0x80) {
		obstack_1grow(memory, c);
		return;
	}
	if (c < 0x800) {
		obstack_1grow(memory, 0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			obstack_1grow(memory, 0xe0 | c >> 12);
		} else {
			obstack_1grow(memory, 0xf0 | c >> 18);
			obstack_1grow(memory, 0x80 | (c >> 12 & 0x3f));
		}
		obstack_1grow(memory, 0x80 | (c >> 6 & 0x3f));
	}
	obstack_1grow(memory, 0x80 | (c & 0x3f));
}

static int read_unicode(struct json *json)
{
	unsigned int c, low;

	if (read_hex(json, &c))
		return -EINVAL;
	if (c >= 0xd800 && c < 0xdc00 && json->end - json->at >= 2 && json->at[0] == '\\' &&
	    json->at[1] == 'u') {
		json->at += 2;
		if (read_hex(json, &low))
			return -EINVAL;
		if (low < 0xdc00 || low > 0xdfff)
			return refuse(json, "half of a surrogate pair");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	if (c >= 0xd800 && c <= 0xdfff)
		return refuse(json, "half of a surrogate pair");
	if (!c)
		return refuse(json, "a string holds a NUL character");
	grow_utf8(json->maker->memory, c);
	return 0;
}

static int read_escape(struct json *json)
{
	static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	const char *name;

	if (json->at == json->end)
		return refuse(json, "a string without its end");
	if (*json->at == 'u') {
		json->at++;
		return read_unicode(json);
	}
	name = memchr(names, *json->at, sizeof(names) - 1);
	if (!name)
		return refuse(json, "an escape that JSON does not have");
	json->at++;
	obstack_1grow(json->maker->memory, bytes[name - names]);
	return 0;
}

/* Reads a string from behind its opening quote. */
static int read_string(struct json *json, const char **text, uint32_t *length)
{
	struct obstack *memory = json->maker->memory;
	int err = 0;

	while (!err) {
		const char *start = json->at;

		while (json->at < json->end && *json->at != '"' && *json->at != '\\' &&
		       (unsigned char)*json->at >= 0x20)
			json->at++;
		obstack_grow(memory, start, json->at - start);
		if (json->at == json->end)
			err = refuse(json, "a string without its end");
		else if (*json->at == '"')
			break;
		else if (*json->at++ == '\\')
			err = read_escape(json);
		else
			err = refuse(json, "a control character in a string");
	}
	*length = obstack_object_size(memory);
	obstack_1grow(memory, '\0');
	*text = obstack_finish(memory);
	json->at++;
	return err;
}

static size_t digits_at(const struct json *json, size_t at)
{
	size_t n = 0;

	while (at + n < (size_t)(json->end - json->at) && json->at[at + n] >= '0' &&
	       json->at[at + n] <= '9')
		n++;
	return n;
}

static char char_at(const struct json *json, size_t at)
{
	return at < (size_t)(json->end - json->at) ? json->at[at] : '\0';
}

/* Returns the length of the number that begins here; 0: no number does. */
static size_t number_length(const struct json *json)
{
	size_t at = char_at(json, 0) == '-', n = digits_at(json, at);

	if (!n || (n > 1 && char_at(json, at) == '0'))
		return 0;
	at += n;
	if (char_at(json, at) == '.') {
		n = digits_at(json, at + 1);
		if (!n)
			return 0;
		at += 1 + n;
	}
	if ((char_at(json, at) | 0x20) == 'e') {
		at++;
		if (char_at(json, at) == '+' || char_at(json, at) == '-')
			at++;
		n = digits_at(json, at);
		if (!n)
			return 0;
		at += n;
	}
	return at;
}

static int read_bare(struct json *json, struct tree *node)
{
	static const char *const words[] = {"null", "true", "false"};
	size_t length = number_length(json);

	node->scalar = SCALAR_NUMBER;
	for (int i = 0; i < 3 && !length; i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(json->end - json->at) >= n && !memcmp(json->at, words[i], n)) {
			length = n;
			node->scalar = i ? SCALAR_BOOL : SCALAR_NULL;
		}
	}
	if (!length)
		return refuse_next(json, "no value where one belongs");
	node->text = obstack_copy0(json->maker->memory, json->at, length);
	node->n = length;
	json->at += length;
	return 0;
}

static int read_value(struct json *json, struct tree *node);

static struct tree *make_node(struct json *json)
{
	skip_space(json);
	return tree_new(json->maker->memory, TREE_SCALAR, json->line);
}

/* Skips the object that begins here. json_open() finds whether it is well-formed. */
static int skip_object(struct json *json, struct tree *node)
{
	unsigned int open = 0;

	node->type = TREE_UNREAD;
	node->text = json->at;
	do {
		char c = *json->at++;

		json->line += c == '\n';
		open += (c == '{' || c == '[') - (c == '}' || c == ']');
		while (c == '"' && json->at < json->end && *json->at != '"')
			json->at += *json->at == '\\' && json->end - json->at > 1 ? 2 : 1;
		json->at += c == '"' && json->at < json->end;
	} while (open && json->at < json->end);
	node->n = json->at - node->text;
	return open ? refuse(json, "it ends too early") : 0;
}

/* Returns true if the list is the document's `items`, whose objects are left unread. */
static bool is_deferred(const struct json *json, const struct tree *list)
{
	return json->maker->defers && json->depth == 2 && list->key &&
	       !strcmp(list->key, "items") && json->at < json->end && *json->at == '{';
}

static int read_list(struct json *json, struct tree *list)
{
	list->type = TREE_LIST;
	if (take(json, ']'))
		return 0;
	do {
		struct tree *item = make_node(json);
		int err =
			is_deferred(json, list) ? skip_object(json, item) : read_value(json, item);

		if (err)
			return err;
		tree_append(list, item);
	} while (take(json, ','));
	return take(json, ']') ? 0 : refuse_next(json, "a list goes on without a comma");
}

static int read_member(struct json *json, struct tree **made)
{
	struct tree *member = make_node(json);
	uint32_t length;

	*made = member;
	if (!take(json, '"'))
		return refuse_next(json, "a key that is no string");
	if (read_string(json, &member->key, &length))
		return -EINVAL;
	member->key_is_string = true;
	if (!take(json, ':'))
		return refuse(json, "a key without a colon");
	return read_value(json, member);
}

static int read_map(struct json *json, struct tree *map)
{
	struct tree *member;

	map->type = TREE_MAP;
	if (take(json, '}'))
		return 0;
	do {
		int err = read_member(json, &member);

		if (err)
			return err;
		tree_append(map, member);
	} while (take(json, ','));
	if (!take(json, '}'))
		return refuse_next(json, "an object goes on without a comma");
	return 0;
}

static int read_value(struct json *json, struct tree *node)
{
	int err;

	if (json->depth >= TREE_DEPTH_MAX)
		return refuse(json, "nested more than 200 deep");
	json->depth++;
	if (take(json, '{')) {
		err = read_map(json, node);
	} else if (take(json, '[')) {
		err = read_list(json, node);
	} else if (take(json, '"')) {
		node->scalar = SCALAR_STRING;
		err = read_string(json, &node->text, &node->n);
	} else {
		err = read_bare(json, node);
	}
	json->depth--;
	return err;
}

int json_open(struct tree_maker *maker, struct tree *node)
{
	struct json json = {.maker = maker,
			    .at = node->text,
			    .end = node->text + node->n,
			    .line = node->line,
			    .depth = 2};
	int err;

	*node = (struct tree){.parent = node->parent,
			      .next = node->next,
			      .line = node->line,
			      .index = node->index};
	err = read_value(&json, node);
	if (!err && json.at < json.end)
		err = refuse(&json, "brackets that do not match");
	return err ? err : tree_check_keys(maker, node);
}

const char *json_read(struct tree_maker *maker, const char *text, const char *end,
		      unsigned int *line, struct tree **root)
{
	struct json json = {.maker = maker, .at = text, .end = end, .line = *line};

	*root = NULL;
	skip_space(&json);
	if (json.at < json.end) {
		struct tree *node = make_node(&json);

		if (read_value(&json, node) || tree_check_keys(maker, node))
			return NULL;
		*root = node;
	}
	skip_space(&json);
	*line = json.line;
	return json.at;
}
