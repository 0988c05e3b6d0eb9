// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/misconfigured.h"

#include <stdio.h>

#include "cluster/condition.h"
#include "cluster/store.h"

#define ANSWER_SECONDS 5

struct last_words {
	struct api *api;
	const char *node, *why;
};

static void patch(struct last_words *words, struct json_object *conditions, api_done *done)
{
	struct json_object *object = json_object_new_object(), *status = json_object_new_object();
	char path[320];
	const struct api_request request = {.method = "PATCH",
					    .path = path,
					    .body = object,
					    .seconds = ANSWER_SECONDS,
					    .done = done,
					    .data = words};

	snprintf(path, sizeof(path), STORE_NODE_STATUS "/%s/status", words->node);
	json_object_object_add(object, "status", status);
	json_object_object_add(status, "message", json_object_new_string(words->why));
	if (conditions)
		json_object_object_add(status, "conditions", conditions);
	if (api_send(words->api, &request))
		api_stop(words->api);
	json_object_put(object);
}

static void told(void *data, const struct api_answer *answer)
{
	struct last_words *words = data;

	(void)answer;
	api_stop(words->api);
}

static void asked(void *data, const struct api_answer *answer);

static void made(void *data, const struct api_answer *answer)
{
	struct last_words *words = data;

	if (answer->error)
		return api_stop(words->api);
	patch(words, NULL, asked);
}

static void make(struct last_words *words)
{
	struct json_object *object = store_object("NodePolicyStatus", words->node, NULL);
	const struct api_request request = {.method = "POST",
					    .path = STORE_NODE_STATUS,
					    .body = object,
					    .seconds = ANSWER_SECONDS,
					    .done = made,
					    .data = words};

	if (api_send(words->api, &request))
		api_stop(words->api);
	json_object_put(object);
}

/* A follower may not read its status, but the answer to a patch has the whole object. */
static void asked(void *data, const struct api_answer *answer)
{
	struct last_words *words = data;
	struct json_object *before = api_get(answer->body, "status.conditions");
	struct json_object *conditions;
	const struct condition ready = {
		.type = "Ready", .reason = MISCONFIGURED, .message = words->why};

	if (answer->status == 404)
		return make(words);
	if (answer->error)
		return api_stop(words->api);
	conditions = json_object_new_array();
	condition_add(conditions, before, &ready);
	condition_keep(conditions, before);
	patch(words, conditions, told);
}

void misconfigured_tell(struct api *api, const char *node, const char *why, int stop)
{
	struct last_words words = {.api = api, .node = node, .why = why};

	patch(&words, NULL, asked);
	api_run(api, stop);
}
