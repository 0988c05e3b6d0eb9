/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The words of a value of the INI form, one after another, and the nodes of the tree that they
 * become. A newline in a value counts as a line. After a fault, `failed` is set and nothing more is
 * reported.
 */
#ifndef BULKHEAD_INPUT_INI_SCAN_H
#define BULKHEAD_INPUT_INI_SCAN_H

#include "input/tree.h"
#include "model/cluster.h"

#define INI_SPACE " \t\r\n"

struct value {
	struct obstack *memory;
	struct diag *diag;
	const char *file, *field;
	const char *at; /* rest of the value; ends in NUL */
	uint32_t line; /* line of `at` */
	bool failed; /* an error was reported, and the rest is not read */
};

void ini_fail(struct value *value, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reports that @expected is missing at the place that is reached. */
void ini_fail_here(struct value *value, const char *expected);

void ini_skip(struct value *value, size_t n); /* bytes */
/* Returns true if @c came next. */
bool ini_take(struct value *value, char c);
bool ini_expect(struct value *value, char c); /* reports if it did not */
bool ini_at_end(struct value *value);
void ini_expect_end(struct value *value);

/* Returns the length of the next word. White space and punctuation end a word. */
size_t ini_word_length(struct value *value);
/* Returns true if the text is @word, or @word in the API's spelling: not-self is notSelf. */
bool ini_is_word(const char *text, size_t length, const char *word);
bool ini_next_is(struct value *value, const char *word);
/* Returns true if @word came next. */
bool ini_take_word(struct value *value, const char *word);

/* Make nodes one by one. With @key the node becomes a member of @parent, else an item. */
struct tree *ini_add_map(struct value *value, struct tree *parent, const char *key);
struct tree *ini_add_list(struct value *value, struct tree *parent, const char *key);
void ini_add_scalar(struct value *value, enum scalar_type type, struct tree *parent,
		    const char *key, const char *text, size_t length);
void ini_add_text(struct value *value, struct tree *parent, const char *key, const char *text);
void ini_add_true(struct value *value, struct tree *parent, const char *key);
void ini_add_number(struct value *value, struct tree *parent, const char *key, const char *text,
		    size_t length);
/* Add the next word as a string, or as a number where it is one. Return false, reported, if there
 * is none. */
bool ini_add_word(struct value *value, struct tree *parent, const char *key);
bool ini_add_number_or_word(struct value *value, struct tree *parent, const char *key);

#endif
