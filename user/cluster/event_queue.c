// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/event_queue.h"

#include <stdlib.h>
#include <string.h>

/* A namespace that has Events here. */
struct event_tenant {
	struct event_tenant *next;
	struct queued_event *first, **end;
	size_t n;
	char ns[]; /* "": the objects of no namespace */
};

void queued_event_free(struct queued_event *event)
{
	json_object_put(event->event);
	free(event);
}

/* Returns where the pointer to the namespace is; to NULL: it has no Event here. */
static struct event_tenant **find(struct event_queue *queue, const char *ns)
{
	struct event_tenant **at = &queue->first;

	while (*at && strcmp((*at)->ns, ns))
		at = &(*at)->next;
	return at;
}

/* Returns the namespace, which a new one of comes last; NULL: no memory. */
static struct event_tenant *tenant_of(struct event_queue *queue, const char *ns)
{
	struct event_tenant **at = find(queue, ns), *tenant = *at;

	if (tenant)
		return tenant;
	tenant = malloc(sizeof(*tenant) + strlen(ns) + 1);
	if (!tenant)
		return NULL;
	*tenant = (struct event_tenant){.end = &tenant->first};
	strcpy(tenant->ns, ns);
	*at = tenant;
	return tenant;
}

static void append(struct event_queue *queue, struct event_tenant *tenant,
		   struct queued_event *event)
{
	*tenant->end = event;
	tenant->end = &event->next;
	tenant->n++;
	queue->n++;
}

/* Returns the time in ms until the namespace may send one more Event. */
static unsigned int wait_of(const struct event_queue *queue, const struct event_tenant *tenant,
			    uint64_t now)
{
	return *tenant->ns ? allowances_wait(&queue->allowances, tenant->ns, now,
					     EVENT_QUEUE_STEP_MS, EVENT_QUEUE_BURST)
			   : 0;
}

/* Removes the first Event of the namespace, which comes last then. */
static struct queued_event *take_first(struct event_queue *queue, struct event_tenant **at)
{
	struct event_tenant *tenant = *at;
	struct queued_event *event = tenant->first;

	tenant->first = event->next;
	event->next = NULL;
	tenant->n--;
	queue->n--;
	*at = tenant->next;
	tenant->next = NULL;
	if (!tenant->first) {
		free(tenant);
		return event;
	}
	while (*at)
		at = &(*at)->next;
	*at = tenant;
	return event;
}

/* Drops the newest Event of the namespace that has most. Returns false if each has one. */
static bool drop_one(struct event_queue *queue)
{
	struct event_tenant *most = queue->first;
	struct queued_event **last;

	for (struct event_tenant *tenant = most; tenant; tenant = tenant->next)
		if (tenant->n > most->n)
			most = tenant;
	if (most->n <= 1)
		return false;
	for (last = &most->first; (*last)->next; last = &(*last)->next)
		;
	queued_event_free(*last);
	*last = NULL;
	most->end = last;
	most->n--;
	queue->n--;
	queue->held_back++;
	return true;
}

static struct queued_event *find_name(const struct event_tenant *tenant, const char *name)
{
	struct queued_event *queued = tenant->first;

	while (queued && strcmp(queued->name, name))
		queued = queued->next;
	return queued;
}

/* Adds an Event, which has no earlier one of its name here. Returns false if it is dropped. */
static bool add(struct event_queue *queue, const char *ns, const struct queued_event *event)
{
	struct queued_event *queued;
	struct event_tenant *tenant;

	if (queue->n == EVENT_QUEUE_MAX && !drop_one(queue))
		return false;
	queued = malloc(sizeof(*queued));
	tenant = queued ? tenant_of(queue, ns) : NULL;
	if (!tenant) {
		free(queued);
		return false;
	}
	*queued = *event;
	append(queue, tenant, queued);
	return true;
}

void event_queue_put(struct event_queue *queue, struct json_object *event, bool counts)
{
	const char *about = api_text(event, "involvedObject.namespace");
	const char *ns = about ? about : "";
	const struct queued_event new = {
		.event = event, .name = api_text(event, "metadata.name"), .counts = counts};
	const struct event_tenant *tenant = *find(queue, ns);
	struct queued_event *earlier = tenant ? find_name(tenant, new.name) : NULL;

	if (earlier) {
		json_object_put(earlier->event);
		earlier->event = event;
		earlier->name = new.name;
		earlier->counts = counts;
		queue->held_back++;
	} else if ((tenant && tenant->n == EVENT_QUEUE_TENANT) || !add(queue, ns, &new)) {
		json_object_put(event);
		queue->held_back++;
	}
}

struct queued_event *event_queue_take(struct event_queue *queue, uint64_t now, unsigned int *wait)
{
	struct event_tenant **at = &queue->first;

	*wait = 0;
	while (*at) {
		struct event_tenant *tenant = *at;
		const unsigned int own = wait_of(queue, tenant, now);

		if (!own && *tenant->ns)
			allowances_take(&queue->allowances, tenant->ns, now, EVENT_QUEUE_STEP_MS,
					EVENT_QUEUE_BURST);
		if (!own)
			return take_first(queue, at);
		if (!*wait || own < *wait)
			*wait = own;
		at = &tenant->next;
	}
	return NULL;
}

void event_queue_close(struct event_queue *queue)
{
	struct event_tenant *tenant;

	while ((tenant = queue->first)) {
		struct queued_event *event;

		while ((event = tenant->first)) {
			tenant->first = event->next;
			queued_event_free(event);
		}
		queue->first = tenant->next;
		free(tenant);
	}
	allowances_free(&queue->allowances);
}
