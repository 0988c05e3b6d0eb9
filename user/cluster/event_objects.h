/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes Kubernetes Events, which `kubectl get events` shows: about policies that are active, about
 * refused objects, and about PolicyStatus; a follower's, about the pods whose packets are denied,
 * and about its node if a load has opened pods.
 *
 * Few are on their way at once, and the others wait (event_queue.h). Their number is bounded: an
 * object has one Event for each reason, which is written again when the reason comes again. Active
 * policies take turns (active_policies.h). A node gets EVENTS_OPENED_BURST at once, and then one in
 * each events_share(). Objects that wait for their turn get EVENTS_WAITS_BURST at once and ten a
 * second; others get theirs later.
 */
#ifndef BULKHEAD_CLUSTER_EVENT_OBJECTS_H
#define BULKHEAD_CLUSTER_EVENT_OBJECTS_H

#include <time.h>

#include "api/api.h"
#include "cluster/condition.h"
#include "cluster/objects.h"

struct events;

#define EVENTS_OPENED_BURST 20
#define EVENTS_WAITS_BURST 20

/* @component writes the Events; @host: the node where it runs, or NULL. Both must outlive the
 * events. NULL: no memory. */
struct events *events_open(struct api *api, const char *component, const char *host);
void events_close(struct events *events); /* NULL is fine */

struct event_counts {
	size_t waiting;
	uint64_t held_back; /* see struct event_queue */
};
struct event_counts events_counts(const struct events *events);

/* @why: what is wrong with the object; NULL: it is accepted now. An Event that cannot be written
 * is dropped. */
void events_about(struct events *events, struct json_object *object, const char *why);

/* The object is over a budget: @why says what is done with it, and why. NULL: it counts again. */
void events_aside(struct events *events, struct json_object *object, const char *why);

/* Writes a time as an Event has it: RFC 3339 in seconds. */
void events_date(time_t time, char text[32]);

/* The object waits for its turn since @date, and this was not said before. Returns false if the
 * Event has to be written later, since others were written just now. */
bool events_waits(struct events *events, struct json_object *object, const char *date);

/* A policy object has changed. Its Event follows when a rollout ends that has this version. */
void events_changed(struct events *events, struct json_object *policy);
/* A compile has ended: the next rollout that ends has all changes until now, but for the objects
 * that the compile has set aside. */
void events_compiled(struct events *events, const struct objects *objects);
/* A rollout has ended: the changed policies are active. */
void events_active(struct events *events, uint32_t generation, uint32_t nodes);

/* Packets from or to a pod are denied. Denials with the same @key are one Event of the pod. @count:
 * how many were denied since @since. */
struct events_denial {
	const char *key, *reason, *message;
	uint64_t count;
	time_t since; /* the first one */
};
void events_denied(struct events *events, struct json_object *pod,
		   const struct events_denial *denial);

/* A load on the events' host has opened pods there. @line: node_change_print()'s. */
void events_opened(struct events *events, uint64_t generation, const char *line, uint32_t nodes);
/* Returns the time in ms between two Events of one of @nodes followers. So all of them together
 * write no more than some 50 Events a second. */
uint64_t events_share(uint32_t nodes);

/* A condition of PolicyStatus has turned. */
void events_turned(struct events *events, const struct condition *condition);

#endif
