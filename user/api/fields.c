// SPDX-License-Identifier: GPL-2.0-only
/* Members of the API server's objects. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/api.h"

struct json_object *api_get(struct json_object *object, const char *path)
{
	char key[128];

	while (object && *path) {
		size_t n = strcspn(path, ".");

		if (n >= sizeof(key) || !json_object_is_type(object, json_type_object))
			return NULL;
		memcpy(key, path, n);
		key[n] = '\0';
		object = json_object_object_get(object, key);
		path += n + (path[n] == '.');
	}
	return object;
}

const char *api_text(struct json_object *object, const char *path)
{
	object = api_get(object, path);
	return json_object_is_type(object, json_type_string) ? json_object_get_string(object)
							     : NULL;
}

int64_t api_number(struct json_object *object, const char *path)
{
	object = api_get(object, path);
	return json_object_is_type(object, json_type_int) ? json_object_get_int64(object) : 0;
}

struct json_object *api_time(void)
{
	struct timespec now;
	struct tm tm;
	char text[40];
	size_t n;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, sizeof(text) - n, ".%06ldZ", now.tv_nsec / 1000);
	return json_object_new_string(text);
}

void api_forget_managers(struct json_object *object)
{
	struct json_object *metadata = api_get(object, "metadata");
	struct json_object *nobody = json_object_new_array();

	if (!metadata) {
		metadata = json_object_new_object();
		json_object_object_add(object, "metadata", metadata);
	}
	json_object_array_add(nobody, json_object_new_object());
	json_object_object_add(metadata, "managedFields", nobody);
}
