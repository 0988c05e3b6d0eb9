/* SPDX-License-Identifier: GPL-2.0-only */
/* JSON output, by json-c. What is added belongs to what it is added to. */
#ifndef BULKHEAD_CMD_JSON_H
#define BULKHEAD_CMD_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "compile/judge.h"

void json_add(struct json_object *object, const char *key, struct json_object *value);
void json_add_text(struct json_object *object, const char *key, const char *text); /* NULL: null */
void json_add_number(struct json_object *object, const char *key, uint64_t number);
void json_add_bool(struct json_object *object, const char *key, bool value);
void json_append_text(struct json_object *array, const char *text);
void json_append_visit(void *array, const char *text); /* the same, as a callback */

/* The text of a value; numbers print as they do in JSON. */
const char *json_get_text(struct json_object *object, const char *key);

/* "policy" and "rule", both null where @rule is NULL. */
void json_add_rule(struct json_object *object, const struct policy *policy,
		   const struct policy_rule *rule);

/* An object of "verdict", "tier", "policy" and "rule"; null where the end has no say. */
void json_add_decision(struct json_object *object, const char *key, const struct policy *policy,
		       const struct decision *decision);

/* To stdout, or @to, with a newline; frees @root. */
void json_print(struct json_object *root, bool pretty);
void json_write(FILE *to, struct json_object *root, bool pretty);

#endif
