/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes Kubernetes Events about refused objects and about PolicyStatus, which `kubectl describe`
 * shows. */
#ifndef BULKHEAD_CLUSTER_EVENTS_H
#define BULKHEAD_CLUSTER_EVENTS_H

#include "api/api.h"
#include "cluster/condition.h"

struct events;

struct events *events_open(struct api *api); /* NULL: no memory */
void events_close(struct events *events); /* NULL is fine */

/* @why: what is wrong with the object; NULL: it is accepted now. An Event that cannot be written
 * is dropped. */
void events_about(struct events *events, struct json_object *object, const char *why);

/* The object is over a budget: @why says what is done with it, and why. NULL: it counts again. */
void events_aside(struct events *events, struct json_object *object, const char *why);

/* A condition of PolicyStatus has turned. */
void events_turned(struct events *events, const struct condition *condition);

#endif
