/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Turns the values of the INI form into the trees that YAML has for the same objects. The
 * readers of those trees give them their meaning and check them. A newline in a value counts as
 * a line.
 */
#ifndef BULKHEAD_INPUT_INI_VALUE_H
#define BULKHEAD_INPUT_INI_VALUE_H

#include "input/tree.h"
#include "model/cluster.h"

struct value {
	struct obstack *memory;
	struct diag *diag;
	const char *file, *field;
	const char *at; /* rest of the value; ends in NUL */
	uint32_t line; /* line of `at` */
	bool failed; /* an error was reported, and the rest is not read */
};

/* Make nodes one by one. With @key the node becomes a member of @parent, else an item. */
struct tree *ini_value_map(struct value *value, struct tree *parent, const char *key);
struct tree *ini_value_list(struct value *value, struct tree *parent, const char *key);
void ini_value_text(struct value *value, struct tree *parent, const char *key, const char *text);
void ini_value_true(struct value *value, struct tree *parent, const char *key);

/* Each of the following reads to the end of the value and adds the result to @parent as @key. */
void ini_value_labels(struct value *value, struct tree *parent, const char *key);
void ini_value_selector(struct value *value, struct tree *parent, const char *key);
/* Reads words separated by commas. Each becomes a string, or a map with the string as @member. */
void ini_value_words(struct value *value, struct tree *parent, const char *key, const char *member);
void ini_value_number(struct value *value, struct tree *parent, const char *key);
void ini_value_string(struct value *value, struct tree *parent, const char *key);
/* Reads "NAME PROTOCOL/NUMBER, ..." into the list @ports, as container ports. */
void ini_value_named_ports(struct value *value, struct tree *ports);
/* Reads "[NAME] PROTOCOL/NUMBER [to NUMBER|NAME] [node NUMBER], ..." into the list @ports, as a
 * Service's ports. */
void ini_value_service_ports(struct value *value, struct tree *ports);
/* Reads "endpoints(KEY=VALUE, ...)" as @parent's `selector`, or "ADDRESS [to NUMBER], ..." as
 * its `backends`, maps of `address` and `port`. */
void ini_value_backends(struct value *value, struct tree *parent, const char *key);
void ini_value_subject(struct value *value, struct tree *parent, const char *key);
/* Reads one rule into the list @rules. */
void ini_value_rule(struct value *value, enum policy_kind kind, enum direction direction,
		    struct tree *rules);

bool ini_value_bool(struct value *value);

#endif
