/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The objects of the API server that a policy is made of: watched, checked one by one, and kept as
 * they were last accepted.
 *
 * An object that is refused does not stop the rest. Its last accepted version stays; without one, a
 * policy isolates what it selects in the directions that it names.
 */
#ifndef BULKHEAD_CLUSTER_OBJECTS_H
#define BULKHEAD_CLUSTER_OBJECTS_H

#include "api/api.h"
#include "compile/policy.h"
#include "model/cluster.h"

struct objects;

struct objects_ops {
	void (*changed)(void *data); /* something that a policy is made of */
	/* @object is refused: @why says `FIELD: what is wrong`. NULL: it is accepted again. */
	void (*refused)(void *data, struct json_object *object, const char *why);
};

/* Watches every kind that is read; without an @api, objects come by objects_take() alone. NULL: no
 * memory. */
struct objects *objects_open(struct api *api, const struct objects_ops *ops, void *data);
void objects_close(struct objects *objects); /* NULL is fine */

/* A watch event: "ADDED", "MODIFIED" or "DELETED", and the object. Returns whether it is of a kind
 * that is read. */
bool objects_take(struct objects *objects, const char *type, struct json_object *object);

/* Whether all that the server has was told once. */
bool objects_synced(const struct objects *objects);

/* The policy that they make, as a successor of @base (NULL: of none). Of two Pods with one address,
 * the one that is being deleted, else the older one, is left out. Returns as compile_cluster()
 * does.
 */
int objects_compile(const struct objects *objects, const struct policy *base, struct diag *diag,
		    struct policy **policy);

size_t objects_count(const struct objects *objects);
size_t objects_refused(const struct objects *objects);
/* Whether there is a Node of that name. */
bool objects_have_node(const struct objects *objects, const char *name);

/* What of a Pod is read, as JSON text to free; NULL: no memory. */
char *objects_pod_text(struct json_object *pod);

#endif
