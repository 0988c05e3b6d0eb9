/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The values of the INI form, into the trees that YAML has for the same: all
 * meaning and validation is the readers' of those. A newline in a value counts
 * its lines.
 */
#ifndef BULKHEAD_INPUT_VALUE_H
#define BULKHEAD_INPUT_VALUE_H

#include "input/tree.h"
#include "model/cluster.h"

struct value {
	struct obstack *memory;
	struct diag *diag;
	const char *file, *field;
	const char *at; /* what is still to be read; ends in NUL */
	uint32_t line; /* of `at` */
	bool failed; /* an error was reported; the rest is not read */
};

/* Nodes to put together by hand; a member of @parent where @key is given, else an item. */
struct tree *value_map(struct value *value, struct tree *parent, const char *key);
struct tree *value_list(struct value *value, struct tree *parent, const char *key);
void value_text(struct value *value, struct tree *parent, const char *key, const char *text);
void value_true(struct value *value, struct tree *parent, const char *key);

/* Each reads up to the end of the value and adds what it read to @parent as @key. */
void value_labels(struct value *value, struct tree *parent, const char *key);
void value_selector(struct value *value, struct tree *parent, const char *key);
/* Words with commas between; each is a string, or a map with the string as @member. */
void value_words(struct value *value, struct tree *parent, const char *key, const char *member);
void value_number(struct value *value, struct tree *parent, const char *key);
void value_string(struct value *value, struct tree *parent, const char *key);
/* "NAME PROTOCOL/NUMBER, ...", as container ports; adds to the list @ports. */
void value_named_ports(struct value *value, struct tree *ports);
/* "[NAME] PROTOCOL/NUMBER [to NUMBER|NAME] [node NUMBER], ...", as ports of a Service; adds to the
 * list @ports. */
void value_service_ports(struct value *value, struct tree *ports);
/* "endpoints(KEY=VALUE, ...)" as @parent's `selector`, or "ADDRESS [to NUMBER], ..." as its
 * `backends`, maps of `address` and `port`. */
void value_backends(struct value *value, struct tree *parent, const char *key);
void value_subject(struct value *value, struct tree *parent, const char *key);
/* One rule; adds it to the list @rules. */
void value_rule(struct value *value, enum policy_kind kind, enum direction direction,
		struct tree *rules);

bool value_bool(struct value *value);

#endif
