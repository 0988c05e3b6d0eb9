// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints a CNI network's list in one form: keys in order, no space.
 *
 *   conflist plugins FILE     a line for each plugin
 *   conflist rest FILE        the list without its plugins
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_keys(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct json_object *in_order(struct json_object *from);

static struct json_object *object_in_order(struct json_object *from)
{
	struct json_object *to = json_object_new_object();
	const char **keys = calloc(json_object_object_length(from) + 1, sizeof(*keys));
	size_t n = 0;

	if (!keys)
		abort();
	json_object_object_foreach(from, key, value)
	{
		(void)value;
		keys[n++] = key;
	}
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < n; i++)
		json_object_object_add(to, keys[i],
				       in_order(json_object_object_get(from, keys[i])));
	free(keys);
	return to;
}

static struct json_object *in_order(struct json_object *from)
{
	struct json_object *to;

	if (json_object_is_type(from, json_type_object))
		return object_in_order(from);
	if (!json_object_is_type(from, json_type_array))
		return json_object_get(from);
	to = json_object_new_array();
	for (size_t i = 0; i < json_object_array_length(from); i++)
		json_object_array_add(to, in_order(json_object_array_get_idx(from, i)));
	return to;
}

static void print(struct json_object *object)
{
	struct json_object *ordered = in_order(object);

	puts(json_object_to_json_string_ext(ordered, JSON_C_TO_STRING_PLAIN |
							     JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(ordered);
}

int main(int argc, char **argv)
{
	struct json_object *list = argc == 3 ? json_object_from_file(argv[2]) : NULL;
	struct json_object *plugins;

	if (!json_object_object_get_ex(list, "plugins", &plugins)) {
		fprintf(stderr, "usage: conflist plugins|rest FILE, a list with plugins\n");
		return 1;
	}
	if (!strcmp(argv[1], "plugins")) {
		for (size_t i = 0; i < json_object_array_length(plugins); i++)
			print(json_object_array_get_idx(plugins, i));
	} else {
		json_object_object_del(list, "plugins");
		print(list);
	}
	json_object_put(list);
	return 0;
}
