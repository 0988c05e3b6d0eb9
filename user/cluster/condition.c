// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/condition.h"

#include <string.h>

#include "api/api.h"

struct json_object *condition_find(struct json_object *conditions, const char *type)
{
	if (!json_object_is_type(conditions, json_type_array))
		return NULL;
	for (size_t i = 0; i < json_object_array_length(conditions); i++) {
		struct json_object *condition = json_object_array_get_idx(conditions, i);
		const char *name = api_text(condition, "type");

		if (name && !strcmp(name, type))
			return condition;
	}
	return NULL;
}

static void add(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, json_object_new_string(text));
}

bool condition_add(struct json_object *conditions, struct json_object *before,
		   const struct condition *condition)
{
	struct json_object *last = condition_find(before, condition->type), *added;
	struct json_object *since = api_get(last, "lastTransitionTime");
	const char *status = condition->unknown ? "Unknown" : condition->holds ? "True" : "False";
	const char *was = api_text(last, "status");
	bool same = was && !strcmp(was, status);

	added = json_object_new_object();
	add(added, "type", condition->type);
	add(added, "status", status);
	add(added, "reason", condition->reason);
	add(added, "message", condition->message);
	if (condition->generation)
		json_object_object_add(added, "observedGeneration",
				       json_object_new_int64(condition->generation));
	json_object_object_add(added, "lastTransitionTime",
			       same && since ? json_object_get(since) : api_time());
	json_object_array_add(conditions, added);
	return was ? !same : !condition->holds;
}

void condition_keep(struct json_object *conditions, struct json_object *before)
{
	if (!json_object_is_type(before, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(before); i++) {
		struct json_object *condition = json_object_array_get_idx(before, i);
		const char *type = api_text(condition, "type");

		if (type && !condition_find(conditions, type))
			json_object_array_add(conditions, json_object_get(condition));
	}
}
