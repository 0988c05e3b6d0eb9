/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers for objects of json-c that a command builds before it writes them, or reads. emit.h
 * writes records one after another. An object that is added to another belongs to that other. */
#ifndef BULKHEAD_CMD_JSON_OUTPUT_H
#define BULKHEAD_CMD_JSON_OUTPUT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

void json_add(struct json_object *object, const char *key, struct json_object *value);
/* @text NULL: null */
void json_add_text(struct json_object *object, const char *key, const char *text);
void json_add_number(struct json_object *object, const char *key, uint64_t number);
void json_add_bool(struct json_object *object, const char *key, bool value);
void json_append_text(struct json_object *array, const char *text);
void json_append_visit(void *array, const char *text); /* json_append_text() as a callback */

/* Returns the text of a value; a number's as JSON prints it. */
const char *json_get_text(struct json_object *object, const char *key);

/* Writes @root and a newline, and frees @root. */
void json_write(FILE *to, struct json_object *root, bool pretty);

#endif
