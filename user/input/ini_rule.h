/* SPDX-License-Identifier: GPL-2.0-only */
/* Turns the rules and subjects of policies in the INI form into the trees that YAML has for them.
 */
#ifndef BULKHEAD_INPUT_INI_RULE_H
#define BULKHEAD_INPUT_INI_RULE_H

#include "input/ini_scan.h"

/* Each reads to the end of the value. Adds the subject to @parent as @key. */
void ini_read_subject(struct value *value, struct tree *parent, const char *key);
/* Reads one rule into the list @rules. */
void ini_read_rule(struct value *value, enum policy_kind kind, enum direction direction,
		   struct tree *rules);

#endif
