/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Turns the values of the INI form into the trees that YAML has for the same objects. The
 * readers of those trees give them their meaning and check them.
 */
#ifndef BULKHEAD_INPUT_INI_VALUE_H
#define BULKHEAD_INPUT_INI_VALUE_H

#include "input/ini_scan.h"

/* Reads a selector. It ends before a closing parenthesis, before `in`, and at the end of the
 * value. */
void ini_read_selector(struct value *value, struct tree *parent, const char *key);

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

bool ini_value_bool(struct value *value);

#endif
