/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>

#include "cmd/json_output.h"

void json_add(struct json_object *object, const char *key, struct json_object *value)
{
	json_object_object_add(object, key, value);
}

void json_add_text(struct json_object *object, const char *key, const char *text)
{
	json_add(object, key, text ? json_object_new_string(text) : NULL);
}

void json_add_number(struct json_object *object, const char *key, uint64_t number)
{
	json_add(object, key, json_object_new_uint64(number));
}

void json_add_bool(struct json_object *object, const char *key, bool value)
{
	json_add(object, key, json_object_new_boolean(value));
}

void json_append_text(struct json_object *array, const char *text)
{
	json_object_array_add(array, json_object_new_string(text));
}

void json_append_visit(void *array, const char *text)
{
	json_append_text(array, text);
}

const char *json_get_text(struct json_object *object, const char *key)
{
	return json_object_get_string(json_object_object_get(object, key));
}

void json_write(FILE *to, struct json_object *root, bool pretty)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE;

	flags |=
		pretty ? JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED : JSON_C_TO_STRING_PLAIN;
	fprintf(to, "%s\n", json_object_to_json_string_ext(root, flags));
	json_object_put(root);
}
