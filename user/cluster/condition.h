/* SPDX-License-Identifier: GPL-2.0-only */
/* Conditions of a status, as Kubernetes writes them (metav1.Condition). */
#ifndef BULKHEAD_CLUSTER_CONDITION_H
#define BULKHEAD_CLUSTER_CONDITION_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

struct condition {
	const char *type;
	bool holds;
	bool unknown; /* whether it holds */
	const char *reason; /* a word: AllNodes */
	const char *message; /* for people */
	int64_t generation; /* the metadata.generation that the condition is about; 0: none */
};

/* Returns the condition of that type of an array (NULL: there is none); NULL: it has none. */
struct json_object *condition_find(struct json_object *conditions, const char *type);

/* Adds the condition to @conditions, an array. The time of its last transition is that of the same
 * condition in @before (an array, or NULL), or now. Returns true if the condition has turned:
 * @before has its opposite, or lacks it and the condition is false. */
bool condition_add(struct json_object *conditions, struct json_object *before,
		   const struct condition *condition);

/* Adds the conditions of @before (an array, or NULL) whose types @conditions lacks. */
void condition_keep(struct json_object *conditions, struct json_object *before);

#endif
