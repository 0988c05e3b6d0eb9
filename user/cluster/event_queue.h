/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events that wait to be sent. Whoever may write in one namespace may bring about thousands at
 * once, so the namespaces take turns: however many Events of one wait, one of another is sent next.
 * Of too many in one namespace the newest is dropped; of too many in all, the newest of the
 * namespace that has most. A namespace gets EVENT_QUEUE_BURST at once, and then one in each
 * EVENT_QUEUE_STEP_MS: its others wait, and of one object and reason the newest takes the place of
 * the one that waits. The objects of no namespace are not a tenant's, and have no limit.
 */
#ifndef BULKHEAD_CLUSTER_EVENT_QUEUE_H
#define BULKHEAD_CLUSTER_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/api.h"
#include "model/allowance.h"

#define EVENT_QUEUE_TENANT 1000 /* Events of a namespace that wait */
#define EVENT_QUEUE_MAX 10000 /* of all namespaces */
#define EVENT_QUEUE_BURST 100
#define EVENT_QUEUE_STEP_MS 1000

struct queued_event {
	struct queued_event *next;
	struct json_object *event; /* a reference of its own */
	const char *name; /* of the Event, in it */
	bool counts; /* `count` and `firstTimestamp` are the Event's newest, too */
};

struct event_tenant;

struct event_queue {
	struct event_tenant *first; /* whose turn is next */
	size_t n;
	struct allowances allowances;
	/* Events that were never sent: a newer one of their object and reason came meanwhile, or
	 * too many waited */
	uint64_t held_back;
};

/* Puts an Event, which has a name and a namespace, behind the others of its namespace, or in the
 * place of one that has its name. Takes the reference. The Event may be dropped: see above, or
 * there is no memory. */
void event_queue_put(struct event_queue *queue, struct json_object *event, bool counts);

/* Returns the next Event for queued_event_free(). NULL: none may be sent at @now (ms); sets @wait
 * to the ms until one may, 0 if none waits. */
struct queued_event *event_queue_take(struct event_queue *queue, uint64_t now, unsigned int *wait);

void queued_event_free(struct queued_event *event);
void event_queue_close(struct event_queue *queue);

#endif
