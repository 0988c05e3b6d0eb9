// SPDX-License-Identifier: GPL-2.0-only
#include "input/ini_scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ini_fail(struct value *value, const char *format, ...)
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

void ini_fail_here(struct value *value, const char *expected)
{
	if (*value->at)
		ini_fail(value, "expected %s before \"%.40s\"", expected, value->at);
	else
		ini_fail(value, "expected %s at the end", expected);
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

struct tree *ini_add_map(struct value *value, struct tree *parent, const char *key)
{
	return add(value, TREE_MAP, parent, key);
}

struct tree *ini_add_list(struct value *value, struct tree *parent, const char *key)
{
	return add(value, TREE_LIST, parent, key);
}

void ini_add_scalar(struct value *value, enum scalar_type type, struct tree *parent,
		    const char *key, const char *text, size_t length)
{
	struct tree *node = add(value, TREE_SCALAR, parent, key);

	node->scalar = type;
	node->text = obstack_copy0(value->memory, text, length);
	node->n = length;
}

void ini_add_text(struct value *value, struct tree *parent, const char *key, const char *text)
{
	ini_add_scalar(value, SCALAR_STRING, parent, key, text, strlen(text));
}

void ini_skip(struct value *value, size_t n)
{
	while (n--)
		value->line += *value->at++ == '\n';
}

static void skip_space(struct value *value)
{
	ini_skip(value, strspn(value->at, INI_SPACE));
}

bool ini_take(struct value *value, char c)
{
	skip_space(value);
	if (*value->at != c)
		return false;
	value->at++;
	return true;
}

bool ini_expect(struct value *value, char c)
{
	const char expected[] = {'"', c, '"', '\0'};

	if (ini_take(value, c))
		return true;
	ini_fail_here(value, expected);
	return false;
}

bool ini_at_end(struct value *value)
{
	skip_space(value);
	return !*value->at;
}

void ini_expect_end(struct value *value)
{
	if (!value->failed && !ini_at_end(value))
		ini_fail(value, "does not go on with \"%.40s\"%s", value->at,
			 *value->at == '#' ? "; a comment behind a value begins with ;" : "");
}

size_t ini_word_length(struct value *value)
{
	skip_space(value);
	return strcspn(value->at, INI_SPACE ",()=!<>");
}

bool ini_is_word(const char *text, size_t length, const char *word)
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

bool ini_next_is(struct value *value, const char *word)
{
	size_t length = ini_word_length(value);

	return ini_is_word(value->at, length, word);
}

bool ini_take_word(struct value *value, const char *word)
{
	size_t length = ini_word_length(value);

	if (!ini_is_word(value->at, length, word))
		return false;
	value->at += length;
	return true;
}

bool ini_add_word(struct value *value, struct tree *parent, const char *key)
{
	size_t length = ini_word_length(value);

	if (!length) {
		ini_fail_here(value, "a word");
		return false;
	}
	ini_add_scalar(value, SCALAR_STRING, parent, key, value->at, length);
	value->at += length;
	return true;
}

void ini_add_number(struct value *value, struct tree *parent, const char *key, const char *text,
		    size_t length)
{
	ini_add_scalar(value, SCALAR_NUMBER, parent, key, text, length);
}

void ini_add_true(struct value *value, struct tree *parent, const char *key)
{
	ini_add_scalar(value, SCALAR_BOOL, parent, key, "true", strlen("true"));
}

bool ini_add_number_or_word(struct value *value, struct tree *parent, const char *key)
{
	size_t length = ini_word_length(value);

	if (!length || strspn(value->at, "0123456789") < length)
		return ini_add_word(value, parent, key);
	ini_add_number(value, parent, key, value->at, length);
	value->at += length;
	return true;
}
