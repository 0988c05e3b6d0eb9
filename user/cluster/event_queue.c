// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/event_queue.h"

#include <stdlib.h>
#include <string.h>

/* A namespace that has Events here. */
struct event_tenant {
	struct event_tenant *next;
	struct queued_event *first, **end;
	size_t n;
	char ns[];
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

/* Removes the first Event of the namespace whose turn it is. The namespace comes last then, or goes
 * if it has none left. */
static struct queued_event *take_first(struct event_queue *queue)
{
	struct event_tenant *tenant = queue->first, **end;
	struct queued_event *event = tenant->first;

	tenant->first = event->next;
	event->next = NULL;
	tenant->n--;
	queue->n--;
	queue->first = tenant->next;
	tenant->next = NULL;
	if (!tenant->first) {
		free(tenant);
		return event;
	}
	for (end = &queue->first; *end; end = &(*end)->next)
		;
	*end = tenant;
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
	if (most->n == 1)
		return false;
	for (last = &most->first; (*last)->next; last = &(*last)->next)
		;
	queued_event_free(*last);
	*last = NULL;
	most->end = last;
	most->n--;
	queue->n--;
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
	const char *ns = api_text(event, "metadata.namespace");
	const struct queued_event new = {
		.event = event, .name = api_text(event, "metadata.name"), .counts = counts};
	const struct event_tenant *tenant = *find(queue, ns);
	struct queued_event *earlier = tenant ? find_name(tenant, new.name) : NULL;

	if (earlier) {
		json_object_put(earlier->event);
		earlier->event = event;
		earlier->name = new.name;
		earlier->counts = counts;
	} else if ((tenant && tenant->n == EVENT_QUEUE_TENANT) || !add(queue, ns, &new)) {
		json_object_put(event);
	}
}

struct queued_event *event_queue_take(struct event_queue *queue)
{
	return queue->first ? take_first(queue) : NULL;
}

void event_queue_close(struct event_queue *queue)
{
	struct queued_event *event;

	while ((event = event_queue_take(queue)))
		queued_event_free(event);
}
