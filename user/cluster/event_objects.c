// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/event_objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "cluster/store.h"
#include "model/allowance.h"

#define SECOND_MS 1000
#define NODE_MS 20 /* between two Events of a node, for each node of the cluster */
#define SENT_MAX 8 /* Events that are on their way at once */
#define WAITING_MAX 10000 /* Events that wait for that; further ones are dropped */
#define WAIT_MS 100 /* between two Events of objects that wait for their turn */

/* An Event that is sent: written anew, or in place of an earlier one. */
struct sent {
	struct events *events;
	struct sent *next;
	struct json_object *event;
	bool counts;
	char path[160];
};

struct events {
	struct api *api;
	const char *component, *host; /* the source of the Events; `host` may be NULL */
	unsigned int number; /* part of the next event's name */
	/* References to policies that have changed since the last compile, and before. */
	struct json_object *changed, *compiled;
	/* for allowance_take(): Events of active policies, or of loads; and of objects that wait */
	uint64_t paid, paid_waits;
	/* Events that wait to be sent, since so many are on their way */
	struct sent *first, **end;
	size_t n_waiting, n_sent;
};

static void free_sent(struct sent *sent)
{
	json_object_put(sent->event);
	free(sent);
}

struct events *events_open(struct api *api, const char *component, const char *host)
{
	struct events *events = calloc(1, sizeof(*events));

	if (!events)
		return NULL;
	events->api = api;
	events->component = component;
	events->host = host;
	events->changed = json_object_new_array();
	events->compiled = json_object_new_array();
	events->end = &events->first;
	return events;
}

void events_close(struct events *events)
{
	if (!events)
		return;
	while (events->first) {
		struct sent *sent = events->first;

		events->first = sent->next;
		free_sent(sent);
	}
	json_object_put(events->changed);
	json_object_put(events->compiled);
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
	const char *key; /* tells Events of one reason apart; NULL: the object has one */
	uint64_t count; /* 0: Events are not counted */
	time_t since; /* valid with `count` */
};

/* An Event's name is that of its object, its reason and its key, so that a further Event replaces
 * the last.
 * PolicyStatus has no UID here: its Events have names of their own. */
static void write_name(struct events *events, struct json_object *about, const struct said *said,
		       time_t now, char *name, size_t size)
{
	const char *uid = api_text(about, "metadata.uid");
	const char *object = api_text(about, "metadata.name");
	uint64_t hash;

	if (!uid) {
		snprintf(name, size, "%.200s.%lx%x", object, (long)now, events->number++);
		return;
	}
	hash = XXH3_64bits(uid, strlen(uid));
	hash = XXH3_64bits_withSeed(said->reason, strlen(said->reason), hash);
	if (said->key)
		hash = XXH3_64bits_withSeed(said->key, strlen(said->key), hash);
	snprintf(name, size, "%.200s.%016lx", object, (unsigned long)hash);
}

void events_date(time_t time, char text[32])
{
	struct tm tm;

	gmtime_r(&time, &tm);
	strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

/* An Event's count has 32 bits. */
static struct json_object *count_of(const struct said *said)
{
	return json_object_new_int(said->count > INT32_MAX ? INT32_MAX
				   : said->count	   ? (int32_t)said->count
							   : 1);
}

static struct json_object *event_of(struct events *events, struct json_object *about,
				    const char *ns, const struct said *said)
{
	struct json_object *event = json_object_new_object();
	struct json_object *metadata = json_object_new_object(), *source = json_object_new_object();
	char name[300], when[32], first[32], message[1024];
	const time_t now = time(NULL);

	events_date(now, when);
	events_date(said->count ? said->since : now, first);
	write_name(events, about, said, now, name, sizeof(name));
	snprintf(message, sizeof(message), "%s", said->message);
	json_object_object_add(event, "metadata", metadata);
	add(metadata, "name", name);
	add(metadata, "namespace", ns);
	add(event, "apiVersion", "v1");
	add(event, "kind", "Event");
	add(event, "type", said->warning ? "Warning" : "Normal");
	add(event, "reason", said->reason);
	add(event, "message", message);
	add(event, "firstTimestamp", first);
	add(event, "lastTimestamp", when);
	json_object_object_add(event, "count", count_of(said));
	json_object_object_add(event, "involvedObject", reference(about));
	json_object_object_add(event, "source", source);
	add(source, "component", events->component);
	add(source, "host", events->host);
	return event;
}

static void send_next(struct events *events);

/* The Event is written, or cannot be. */
static void end_sent(struct sent *sent)
{
	struct events *events = sent->events;

	free_sent(sent);
	events->n_sent--;
	send_next(events);
}

static void replaced(void *data, const struct api_answer *answer)
{
	(void)answer;
	end_sent(data);
}

/* The Event exists: says its newest message, time and count. */
static void replace(struct sent *sent)
{
	static const char *const members[] = {"message", "lastTimestamp"};
	const char *name = api_text(sent->event, "metadata.name");
	struct json_object *patch = json_object_new_object();
	char path[512];
	struct api_request request = {.method = "PATCH",
				      .path = path,
				      .body = patch,
				      .brief = true,
				      .done = replaced,
				      .data = sent};

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		add(patch, members[i], api_text(sent->event, members[i]));
	if (sent->counts) {
		add(patch, "firstTimestamp", api_text(sent->event, "firstTimestamp"));
		json_object_object_add(patch, "count",
				       json_object_get(api_get(sent->event, "count")));
	}
	snprintf(path, sizeof(path), "%s/%s", sent->path, name);
	if (api_send(sent->events->api, &request))
		end_sent(sent);
	json_object_put(patch);
}

static void created(void *data, const struct api_answer *answer)
{
	struct sent *sent = data;

	if (answer->status == 409)
		replace(sent);
	else
		end_sent(sent);
}

/* Sends Events that wait, while few are on their way: a tenant may bring about thousands at once.
 */
static void send_next(struct events *events)
{
	while (events->first && events->n_sent < SENT_MAX) {
		struct sent *sent = events->first;
		const struct api_request request = {.method = "POST",
						    .path = sent->path,
						    .body = sent->event,
						    .done = created,
						    .data = sent};

		events->first = sent->next;
		events->end = events->first ? events->end : &events->first;
		events->n_waiting--;
		if (api_send(events->api, &request))
			free_sent(sent);
		else
			events->n_sent++;
	}
}

static void send(struct events *events, struct json_object *object, const struct said *said)
{
	const char *ns = api_text(object, "metadata.namespace");
	struct sent *sent;

	if (events->n_waiting == WAITING_MAX || !api_text(object, "metadata.name"))
		return;
	sent = malloc(sizeof(*sent));
	if (!sent)
		return;
	ns = ns ? ns : "default";
	*sent = (struct sent){.events = events, .counts = said->count};
	snprintf(sent->path, sizeof(sent->path), "/api/v1/namespaces/%.100s/events", ns);
	sent->event = event_of(events, object, ns, said);
	*events->end = sent;
	events->end = &sent->next;
	events->n_waiting++;
	send_next(events);
}

void events_about(struct events *events, struct json_object *object, const char *why)
{
	const struct said said = {.warning = why,
				  .reason = why ? "Refused" : "Accepted",
				  .message = why ? why : "accepted"};

	send(events, object, &said);
}

void events_aside(struct events *events, struct json_object *object, const char *why)
{
	char message[1024];
	const struct said said = {
		.warning = why, .reason = why ? "SetAside" : "Accepted", .message = message};

	snprintf(message, sizeof(message), "%s%s", why ? "set aside, and " : "within its budgets",
		 why ? why : "");
	send(events, object, &said);
}

bool events_waits(struct events *events, struct json_object *object, const char *date)
{
	char message[320];
	const struct said said = {.warning = true, .reason = "Waiting", .message = message};

	if (!allowance_take(&events->paid_waits, api_now(), WAIT_MS, EVENTS_WAITS_BURST))
		return false;
	snprintf(message, sizeof(message),
		 "its last change waits for its turn since %s, and until then the version before "
		 "counts, if there is one: large objects, and changes of policies behind one in "
		 "their namespace, have a quarter of the engine's time, in turns",
		 date);
	send(events, object, &said);
	return true;
}

void events_denied(struct events *events, struct json_object *pod,
		   const struct events_denial *denial)
{
	const struct said said = {.warning = true,
				  .reason = denial->reason,
				  .message = denial->message,
				  .key = denial->key,
				  .count = denial->count,
				  .since = denial->since};

	send(events, pod, &said);
}

uint64_t events_share(uint32_t nodes)
{
	const uint64_t share = (uint64_t)nodes * NODE_MS;

	return share > SECOND_MS ? share : SECOND_MS;
}

/* `kubectl describe node` looks for Events whose object has the node's name as UID, as kubelet
 * writes them. */
static struct json_object *node_of(const char *name)
{
	struct json_object *node = json_object_new_object(), *metadata = json_object_new_object();

	add(node, "apiVersion", "v1");
	add(node, "kind", "Node");
	add(metadata, "name", name);
	add(metadata, "uid", name);
	json_object_object_add(node, "metadata", metadata);
	return node;
}

void events_opened(struct events *events, uint64_t generation, const char *line, uint32_t nodes)
{
	struct json_object *node;
	char key[24];
	const struct said said = {.warning = true, .reason = "Opened", .message = line, .key = key};

	if (!allowance_take(&events->paid, api_now(), events_share(nodes), EVENTS_OPENED_BURST))
		return;
	snprintf(key, sizeof(key), "%" PRIu64, generation);
	node = node_of(events->host);
	send(events, node, &said);
	json_object_put(node);
}

void events_turned(struct events *events, const struct condition *condition)
{
	struct json_object *about = store_object("PolicyStatus", "global", NULL);
	const struct said said = {.warning = !condition->holds,
				  .reason = condition->reason,
				  .message = condition->message};

	send(events, about, &said);
	json_object_put(about);
}

/* Active policies */

/* Adds an object to an array, which holds each object once, and no more than get an Event. */
static void note(struct json_object *array, struct json_object *about)
{
	for (size_t i = 0; i < json_object_array_length(array); i++)
		if (json_object_equal(json_object_array_get_idx(array, i), about))
			return;
	if (json_object_array_length(array) < EVENTS_BURST)
		json_object_array_add(array, json_object_get(about));
}

void events_changed(struct events *events, struct json_object *policy)
{
	struct json_object *about = objects_about(policy);

	note(events->changed, about);
	json_object_put(about);
}

void events_compiled(struct events *events, const struct objects *objects)
{
	for (size_t i = 0; i < json_object_array_length(events->changed); i++) {
		struct json_object *about = json_object_array_get_idx(events->changed, i);

		if (!objects_is_aside(objects, about))
			note(events->compiled, about);
	}
	json_object_put(events->changed);
	events->changed = json_object_new_array();
}

void events_active(struct events *events, uint32_t generation, uint32_t nodes)
{
	char message[80];
	const struct said said = {.reason = "Active", .message = message};

	if (!json_object_array_length(events->compiled))
		return;
	snprintf(message, sizeof(message), "active at generation %u on %u nodes", generation,
		 nodes);
	for (size_t i = 0; i < json_object_array_length(events->compiled) &&
			   allowance_take(&events->paid, api_now(), SECOND_MS, EVENTS_BURST);
	     i++)
		send(events, json_object_array_get_idx(events->compiled, i), &said);
	json_object_put(events->compiled);
	events->compiled = json_object_new_array();
}
