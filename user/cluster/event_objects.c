// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/event_objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "cluster/active_policies.h"
#include "cluster/event_queue.h"
#include "cluster/store.h"
#include "model/allowance.h"

#define SECOND_MS 1000
#define NODE_MS 20 /* between two Events of a node, for each node of the cluster */
#define SENT_MAX 8 /* Events that are on their way at once */
#define WAIT_MS 100 /* between two Events of objects that wait for their turn */

/* An Event that is on its way: written anew, or in place of an earlier one. */
struct sent {
	struct events *events;
	struct queued_event *queued;
	char path[160];
};

struct events {
	struct api *api;
	const char *component, *host; /* the source of the Events; `host` may be NULL */
	unsigned int number; /* part of the next event's name */
	struct active_policies active;
	struct api_timer active_turn; /* for the next policy that is active */
	/* for allowance_take(): Events of loads; and of objects that wait for their turn */
	uint64_t paid, paid_waits;
	struct event_queue queue;
	struct api_timer next; /* for an Event that waits for its namespace's allowance */
	size_t n_sent;
};

static void tell_active(void *data);
static void on_next(void *data);

static void free_sent(struct sent *sent)
{
	queued_event_free(sent->queued);
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
	events->active_turn = (struct api_timer){.run = tell_active, .data = events};
	events->next = (struct api_timer){.run = on_next, .data = events};
	active_policies_open(&events->active);
	return events;
}

void events_close(struct events *events)
{
	if (!events)
		return;
	api_timer_stop(events->api, &events->active_turn);
	api_timer_stop(events->api, &events->next);
	event_queue_close(&events->queue);
	active_policies_close(&events->active);
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
	struct json_object *event = sent->queued->event;
	const char *name = api_text(event, "metadata.name");
	struct json_object *patch = json_object_new_object();
	char path[512];
	struct api_request request = {.method = "PATCH",
				      .path = path,
				      .body = patch,
				      .brief = true,
				      .done = replaced,
				      .data = sent};

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		add(patch, members[i], api_text(event, members[i]));
	if (sent->queued->counts) {
		add(patch, "firstTimestamp", api_text(event, "firstTimestamp"));
		json_object_object_add(patch, "count", json_object_get(api_get(event, "count")));
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

/* An Event that cannot be sent is dropped. */
static void send_one(struct events *events, struct queued_event *queued)
{
	struct sent *sent = malloc(sizeof(*sent));
	const struct api_request request = {.method = "POST",
					    .path = sent ? sent->path : NULL,
					    .body = queued->event,
					    .done = created,
					    .data = sent};

	if (!sent) {
		queued_event_free(queued);
		return;
	}
	*sent = (struct sent){.events = events, .queued = queued};
	snprintf(sent->path, sizeof(sent->path), "/api/v1/namespaces/%.100s/events",
		 api_text(queued->event, "metadata.namespace"));
	events->n_sent++;
	if (!api_send(events->api, &request))
		return;
	events->n_sent--;
	free_sent(sent);
}

/* Sends Events that wait, while few are on their way. */
static void send_next(struct events *events)
{
	struct queued_event *queued;
	unsigned int wait = 0;

	while (events->n_sent < SENT_MAX &&
	       (queued = event_queue_take(&events->queue, api_now(), &wait)))
		send_one(events, queued);
	if (wait && !events->next.due)
		api_timer_set(events->api, &events->next, wait);
}

static void on_next(void *data)
{
	send_next(data);
}

struct event_counts events_counts(const struct events *events)
{
	return (struct event_counts){events->queue.n, events->queue.held_back};
}

static void send(struct events *events, struct json_object *object, const struct said *said)
{
	const char *ns = api_text(object, "metadata.namespace");

	if (!api_text(object, "metadata.name"))
		return;
	event_queue_put(&events->queue, event_of(events, object, ns ? ns : "default", said),
			said->count);
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

void events_changed(struct events *events, struct json_object *policy)
{
	struct json_object *about = objects_about(policy);

	active_policies_changed(&events->active, about);
	json_object_put(about);
}

void events_compiled(struct events *events, const struct objects *objects)
{
	active_policies_compiled(&events->active, objects);
}

static void tell_active(void *data)
{
	struct events *events = data;
	struct json_object *about;
	char message[80];
	const struct said said = {.reason = "Active", .message = message};

	while ((about = active_policies_next(&events->active, api_now(), message))) {
		send(events, about, &said);
		json_object_put(about);
	}
	if (active_policies_wait(&events->active) && !events->active_turn.due)
		api_timer_set(events->api, &events->active_turn, ACTIVE_STEP_MS);
}

void events_active(struct events *events, uint32_t generation, uint32_t nodes)
{
	active_policies_active(&events->active, generation, nodes);
	tell_active(events);
}
