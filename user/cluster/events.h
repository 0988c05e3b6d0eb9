/* SPDX-License-Identifier: GPL-2.0-only */
/* Kubernetes Events about objects that are refused: `kubectl describe` shows them. */
#ifndef BULKHEAD_CLUSTER_EVENTS_H
#define BULKHEAD_CLUSTER_EVENTS_H

#include "api/api.h"

struct events;

struct events *events_open(struct api *api); /* NULL: no memory */
void events_close(struct events *events); /* NULL is fine */

/* @why: what is wrong with it; NULL: it is accepted now. One that cannot be written is left out. */
void events_about(struct events *events, struct json_object *object, const char *why);

#endif
