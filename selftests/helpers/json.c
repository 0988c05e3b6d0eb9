// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads JSON values from standard input, one behind the other.
 *
 *   json check                    nothing but JSON, and at least one value
 *   json keys                     a line for each object: its keys in order
 *   json get FIELD                a line for each object: the field's text
 *   json count [FIELD KEY=TEXT...]   the length of the first array; or of the arrays FIELD of all
 * its objects whose fields KEY have these texts
 *
 * Exit status: 1 where the input is something else.
 */
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX (16 << 20)

static _Noreturn void fail(const char *why)
{
	fprintf(stderr, "json: %s\n", why);
	exit(1);
}

static int compare_keys(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void print_keys(struct json_object *object)
{
	const char *keys[64];
	size_t n = 0;

	if (json_object_object_length(object) > 64)
		fail("an object has more than 64 fields");
	json_object_object_foreach(object, key, value)
	{
		(void)value;
		keys[n++] = key;
	}
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < n; i++)
		printf("%s%s", i ? " " : "", keys[i]);
	putchar('\n');
}

static void print_field(struct json_object *object, const char *field)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, field, &value))
		fail("an object lacks the field");
	puts(value ? json_object_get_string(value) : "null");
}

static bool has(struct json_object *object, const char *condition)
{
	const char *equals = strchr(condition, '=');
	struct json_object *value;
	char key[64];

	if (!equals || equals - condition >= (long)sizeof(key))
		fail("a condition is no KEY=TEXT");
	snprintf(key, sizeof(key), "%.*s", (int)(equals - condition), condition);
	return json_object_object_get_ex(object, key, &value) && value &&
	       !strcmp(json_object_get_string(value), equals + 1);
}

static size_t count_in(struct json_object *object, const char *field, char **conditions)
{
	struct json_object *array;

	for (; *conditions; conditions++)
		if (!has(object, *conditions))
			return 0;
	if (!json_object_object_get_ex(object, field, &array) ||
	    !json_object_is_type(array, json_type_array))
		fail("an object lacks the array");
	return json_object_array_length(array);
}

static void print_count(struct json_object *array, char **arguments)
{
	size_t n;

	if (!json_object_is_type(array, json_type_array))
		fail("the value is no array");
	n = json_object_array_length(array);
	if (*arguments) {
		const size_t objects = n;

		n = 0;
		for (size_t i = 0; i < objects; i++)
			n += count_in(json_object_array_get_idx(array, i), *arguments,
				      arguments + 1);
	}
	printf("%zu\n", n);
}

static void tell(struct json_object *value, char **arguments)
{
	if (!strcmp(*arguments, "check"))
		return;
	if (!strcmp(*arguments, "count")) {
		print_count(value, arguments + 1);
		return;
	}
	if (!json_object_is_type(value, json_type_object))
		fail("a value is no object");
	if (!strcmp(*arguments, "keys"))
		print_keys(value);
	else if (!strcmp(*arguments, "get") && arguments[1])
		print_field(value, arguments[1]);
	else
		fail("usage: json check | keys | get FIELD | count [FIELD KEY=TEXT...]");
}

int main(int argc, char **argv)
{
	static char text[INPUT_MAX];
	struct json_tokener *tokener = json_tokener_new();
	size_t length = fread(text, 1, sizeof(text), stdin), at = 0;
	struct json_object *value;

	if (argc < 2 || !tokener || length == sizeof(text))
		fail("no command, or too much input");
	length -= strspn(text, " \t\r\n") == length ? length : 0;
	if (!length)
		fail("there is no value");
	while (at < length) {
		/* the NUL behind the text ends a number */
		value = json_tokener_parse_ex(tokener, text + at, length - at + 1);
		if (json_tokener_get_error(tokener) != json_tokener_success)
			fail(json_tokener_error_desc(json_tokener_get_error(tokener)));
		at += json_tokener_get_parse_end(tokener);
		tell(value, argv + 1);
		json_object_put(value);
		at += strspn(text + at, " \t\r\n");
	}
	json_tokener_free(tokener);
	return 0;
}
