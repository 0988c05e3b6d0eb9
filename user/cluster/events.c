// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cluster/store.h"

struct events {
	struct api *api;
	unsigned int number; /* part of the next event's name */
};

struct events *events_open(struct api *api)
{
	struct events *events = calloc(1, sizeof(*events));

	if (events)
		events->api = api;
	return events;
}

void events_close(struct events *events)
{
	free(events);
}

static void add(struct json_object *object, const char *key, const char *text)
{
	if (text)
		json_object_object_add(object, key, json_object_new_string(text));
}

static struct json_object *reference(struct json_object *about)
{
	struct json_object *object = json_object_new_object();

	add(object, "apiVersion", api_text(about, "apiVersion"));
	add(object, "kind", api_text(about, "kind"));
	add(object, "name", api_text(about, "metadata.name"));
	add(object, "namespace", api_text(about, "metadata.namespace"));
	add(object, "uid", api_text(about, "metadata.uid"));
	return object;
}

struct said {
	bool warning;
	const char *reason, *message;
};

static struct json_object *event_of(struct events *events, struct json_object *about,
				    const char *ns, const struct said *said)
{
	struct json_object *event = json_object_new_object();
	struct json_object *metadata = json_object_new_object(), *source = json_object_new_object();
	char name[300], when[32], message[1024];
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	snprintf(name, sizeof(name), "%.200s.%lx%x", api_text(about, "metadata.name"), (long)now,
		 events->number++);
	snprintf(message, sizeof(message), "%s", said->message);
	json_object_object_add(event, "metadata", metadata);
	add(metadata, "name", name);
	add(metadata, "namespace", ns);
	add(event, "apiVersion", "v1");
	add(event, "kind", "Event");
	add(event, "type", said->warning ? "Warning" : "Normal");
	add(event, "reason", said->reason);
	add(event, "message", message);
	add(event, "firstTimestamp", when);
	add(event, "lastTimestamp", when);
	json_object_object_add(event, "count", json_object_new_int(1));
	json_object_object_add(event, "involvedObject", reference(about));
	json_object_object_add(event, "source", source);
	add(source, "component", "bulkhead-engine");
	return event;
}

static void done(void *data, const struct api_answer *answer)
{
	(void)data;
	(void)answer;
}

static void send(struct events *events, struct json_object *object, const struct said *said)
{
	const char *ns = api_text(object, "metadata.namespace");
	struct api_request request = {.method = "POST", .done = done};
	char path[160];

	if (!api_text(object, "metadata.name"))
		return;
	ns = ns ? ns : "default";
	snprintf(path, sizeof(path), "/api/v1/namespaces/%.100s/events", ns);
	request.path = path;
	request.body = event_of(events, object, ns, said);
	api_send(events->api, &request);
	json_object_put(request.body);
}

void events_about(struct events *events, struct json_object *object, const char *why)
{
	const struct said said = {why, why ? "Refused" : "Accepted", why ? why : "accepted"};

	send(events, object, &said);
}

void events_aside(struct events *events, struct json_object *object, const char *why)
{
	char message[1024];
	const struct said said = {why, why ? "SetAside" : "Accepted", message};

	snprintf(message, sizeof(message), "%s%s", why ? "set aside, and " : "within its budgets",
		 why ? why : "");
	send(events, object, &said);
}

void events_turned(struct events *events, const struct condition *condition)
{
	struct json_object *about = store_object("PolicyStatus", "global", NULL);
	const struct said said = {!condition->holds, condition->reason, condition->message};

	send(events, about, &said);
	json_object_put(about);
}
