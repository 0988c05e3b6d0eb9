/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The objects of the API server that make a policy. They are watched, checked one by one, and
 * kept as last accepted.
 *
 * A refused object does not stop the others. Its last accepted version stays in effect. If no
 * version was accepted, a policy isolates the pods that the refused object selects, in the
 * directions that it names.
 */
#ifndef BULKHEAD_CLUSTER_OBJECTS_H
#define BULKHEAD_CLUSTER_OBJECTS_H

#include "api/api.h"
#include "policy/policy.h"
#include "model/cluster.h"

struct objects;

struct objects_ops {
	void (*changed)(void *data); /* an object that a policy depends on has changed */
	/* @object is refused, or an address of it: @why says `FIELD: what is wrong`. @why NULL:
	 * @object is accepted again. */
	void (*refused)(void *data, struct json_object *object, const char *why);
	/* A policy object has changed since the first list, and is accepted. NULL: not of interest.
	 */
	void (*accepted)(void *data, struct json_object *policy);
	/* The policy or Service @object is over a budget: @why says what is done with it, and why.
	 * @why NULL: it counts again. May be NULL. */
	void (*aside)(void *data, struct json_object *object, const char *why);
	/* An address passes from one Pod to another in two policies: the first gives the address to
	 * no Pod, and changed() is called for the second. So no node evaluates a Pod by the labels
	 * of another while nodes change from one policy to the next. */
	bool two_steps;
};

/* Watches every kind that a policy depends on. Without an @api, objects come by objects_take()
 * only. NULL: no memory. */
struct objects *objects_open(struct api *api, const struct objects_ops *ops, void *data);
void objects_close(struct objects *objects); /* NULL is fine */

/* Takes a watch event: @type is "ADDED", "MODIFIED" or "DELETED". Returns true if a policy depends
 * on objects of this kind. */
bool objects_take(struct objects *objects, const char *type, struct json_object *object);

/* Takes the addresses that @node says have left its Pods: status.leftAddresses of NodePolicyStatus
 * (store.h); NULL: none. */
void objects_left(struct objects *objects, const char *node, struct json_object *left);

/* Returns true if all objects of the server have come once. */
bool objects_synced(const struct objects *objects);

/*
 * Compiles the objects as a successor of @base (NULL: of none). Of several objects with one address
 * one gets the address (compile/address_claims.h); the others are refused and keep their other
 * addresses. Returns as compile_cluster() does.
 *
 * If @base is the policy that the last call returned, and only Pods and EndpointSlices have changed
 * since then, it reads these alone if it can, and the Services of the slices' namespaces. It knows
 * @base by lineage and generation: call objects_forget() first if @base comes from elsewhere and
 * may have the same lineage and generation as that policy.
 */
int objects_compile(struct objects *objects, const struct policy *base, struct diag *diag,
		    struct policy **policy);
void objects_forget(struct objects *objects);
/* Returns true if objects_compile() may need no compile of all objects, so that it is quick. */
bool objects_may_patch(const struct objects *objects, const struct policy *base);
/* Returns how many kinds the server has in versions alone that are not read: what was read of them
 * before counts. Writes which the first is, in which versions, and which one is read. */
size_t objects_unread(const struct objects *objects, char *text, size_t size);
/* how many policies were made from changed Pods and EndpointSlices alone */
uint64_t objects_patched(const struct objects *objects);

size_t objects_count(const struct objects *objects);
size_t objects_refused(const struct objects *objects);
/* How many objects the last compile of all objects set aside, since they were over a budget. */
size_t objects_aside(const struct objects *objects);
/* Writes which object is refused or set aside, and why: the first one of the first kind that has
 * any. Returns false if no object is, or only addresses of objects are refused. */
bool objects_first_fault(const struct objects *objects, char *text, size_t size);
/* Returns a number that grows if objects_first_fault() may write another text. */
uint64_t objects_faults(const struct objects *objects);
/* Returns true if the last compile of all objects set this object aside. @object needs a kind, a
 * namespace and a name alone. */
bool objects_is_aside(const struct objects *objects, struct json_object *object);
/* Calls ops.refused() for each object that is refused now, and ops.aside() for each that is set
 * aside. */
void objects_report_refused(const struct objects *objects);
/* Returns objects_about() an object that waits for its turn, to free; NULL: it is none of these. */
struct json_object *objects_about_wait(const struct objects *objects, const struct api_wait *wait);
/* Returns true if a Node of that name exists. */
bool objects_have_node(const struct objects *objects, const char *name);

/* Returns what an Event about an object needs of it: kind, version, name, namespace and UID. */
struct json_object *objects_about(struct json_object *object);
/* A Pod whose labels and port names take too much has this label in their place, and so has a
 * Namespace whose labels do. Pods with it, and those of a Namespace with it, are isolated, and no
 * policy lets them to others. */
#define CLOSED_LABEL "bulkhead.dev/closed"
bool objects_pod_is_closed(struct json_object *read); /* @read: by objects_pod_read() */
/* objects_pod_read() returns an object with the fields of a Pod that are read, which it shares with
 * @pod; objects_pod_text() returns these fields as JSON text, to free; NULL: no memory. */
struct json_object *objects_pod_read(struct json_object *pod);
char *objects_pod_text(struct json_object *pod);

#endif
