/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by objects.c and objects_*.c; what each file has stands below its name. */
#ifndef BULKHEAD_CLUSTER_OBJECTS_STATE_H
#define BULKHEAD_CLUSTER_OBJECTS_STATE_H

#include <json-c/linkhash.h>

#include "cluster/claims.h"
#include "cluster/objects.h"
#include "compile/service_needs.h"

struct asides;

/* What is kept of an object. */
enum object_part { PART_LABELLED, PART_NODE, PART_POD, PART_SERVICE, PART_SLICE, PART_POLICY };

struct object_kind {
	const char *name, *version, *path;
	enum object_part part;
	bool policy;
};

#define N_KINDS 10
extern const struct object_kind object_kinds[N_KINDS];

/* The kept members of an object. */
struct object_state {
	char *uid; /* NULL: the object has none */
	/* its text as last accepted, or the text of what stands in for it; NULL: it counts for
	 * nothing */
	char *text;
	char *why; /* the fault of the last version, which is refused; NULL: it is accepted */
	size_t bytes; /* that count for its namespace; 0: none, or `text` is a stand-in */
	/* bytes for which the namespace had no room, so that the last version is refused; 0: it is
	 * not, or for something else */
	size_t wants;
	struct json_object *refused; /* objects_about() the refused version; NULL: none */
	bool marked; /* a Pod or Namespace has CLOSED_LABEL, as one with too many labels */
	/* it came before the first compile: an earlier engine may have seen another version */
	bool early;
	/* why the last compile of all objects set the policy aside; NULL: it did not */
	char *aside;
	/* of a large policy: the text of the policy that isolates what it selects, since to read
	 * the large one again takes long; NULL: it is small, or none can be made */
	char *stand_in;
	/* the text of the policy that isolates what this one selects, which is set aside; NULL: it
	 * is not */
	char *closed;
	/* the object as it was read from `text`, in the memory of objects->read; NULL: it makes
	 * nothing */
	const struct cluster_part *part;
	uint64_t reading; /* objects->reading then; 0: it is not read */
};

struct collection {
	struct objects *objects;
	const struct object_kind *kind;
	struct api_watch *watch;
	struct lh_table *kept; /* key -> struct object_state */
	unsigned int deleted; /* of them, for api_table_deleted() */
	bool synced;
};

/* The memory that objects take, by namespace (objects_room.c). */
struct room {
	struct lh_table *namespaces; /* name -> bytes */
	size_t bytes; /* of all namespaces */
	size_t waiting; /* objects that found no room */
	struct api_timer look; /* for an object that finds room now */
};

/* The changes since a policy was compiled. */
struct since {
	bool known; /* the changes since the policy below are known */
	uint64_t lineage;
	uint32_t generation;
	bool others; /* an object other than a Pod, a Service or an EndpointSlice has changed */
	bool rest; /* an object that is neither a Pod nor a policy has changed */
	struct lh_table *pods; /* the keys of the Pods that have changed; no values */
	/* the namespaces whose Services have to be made anew: one of them, or an EndpointSlice, has
	 * changed; no values */
	struct lh_table *services;
	/* the namespaces with a Service that takes its backends from Pods; no values */
	struct lh_table *following;
	/* the keys of the Pods that wait for an address which the last policy gives to another Pod;
	 * no values */
	struct lh_table *held;
	/* the addresses for which these wait; and those for which Pods waited when the policy above
	 * was made, so that they are nobody's in it */
	struct passing *passing, *passed;
	size_t n_passing, n_passed;
	/* policies made from these alone since the last compile of all objects */
	unsigned int patches;
	/* what the Services of the last policy need of the limits for all namespaces' together, and
	 * those of each namespace: name -> struct service_needs */
	struct service_needs needs;
	struct lh_table *needs_of;
};

struct objects {
	struct api *api; /* NULL: none */
	struct objects_ops ops;
	void *data;
	size_t refused;
	struct asides *asides; /* what the last compile of all objects set aside; NULL: nothing */
	size_t aside; /* how many kept objects these are */
	uint64_t faults; /* for objects_faults() */
	struct lh_table *offenders; /* namespace -> struct offender (objects_offenders.c) */
	struct api_timer evaluate; /* for the next offender whose policies have changed */
	uint64_t evaluate_began,
		evaluate_next; /* ms: when the compile began; no offender is evaluated before */
	struct since since;
	/* Holds the objects as they were read, for the next compile: it reads those that have
	 * changed. Each object is in its object_state. NULL: none is read. */
	struct cluster *read;
	uint64_t reading; /* how often all objects were read */
	size_t read_bytes; /* of `read`, when all had been read */
	struct made_cluster *made; /* of the last policy (objects_cluster.c); NULL: none */
	struct claims *claims;
	/* by the last compile: "KIND KEY" of the objects that name an address which another object
	 * names too -> why the object does not get the address; NULL: it does */
	struct lh_table *contested;
	size_t lost; /* how many of these do not get the address */
	struct room room;
	size_t marked; /* objects */
	uint64_t patched; /* policies that were made without a compile of all objects */
	struct collection collections[N_KINDS];
};

/* objects_state.c */
/* Returns true if the changes are those since this policy (NULL: none). */
bool since_is(const struct since *since, const struct policy *base);
void objects_note(const struct collection *collection,
		  const char *key); /* the object has changed */
/* Notes that the Services of an object's namespace have to be made anew. Returns false if memory is
 * short. */
bool since_note_services(struct since *since, const char *key);
/* The object is set aside now, or no longer is. */
void objects_set_aside(struct objects *objects, const struct object_kind *kind, const char *key,
		       struct object_state *kept,
		       /* owns @why; NULL: not aside */
		       char *why);
bool kind_is_pod(const struct object_kind *kind);
/* Returns true if a table of namespaces has that of an object's key, or the namespace that @key is.
 */
bool objects_has_namespace(struct lh_table *namespaces, const char *key);
void objects_free_key(struct lh_entry *entry); /* for tables of keys without values */
void objects_free_value(struct lh_entry *entry); /* for tables of keys with values */
/* Reports that the object is set aside, or no longer is. */
void objects_report_aside(const struct objects *objects, const struct object_kind *kind,
			  const char *key, const struct object_state *kept);
/* Returns objects_about() an object that is kept. */
struct json_object *objects_about_kept(const struct object_kind *kind, const char *key,
				       const struct object_state *kept);
#define UNSEEN_BYTES 16384 /* a policy of so many bytes is large */
#define POD_BYTES 16384 /* what is read of a Pod may have so many bytes as text */
#define NAMESPACE_BYTES_OF_LABELS 16384 /* and the labels of a Namespace */
#define NODE_BYTES 65536 /* and what is read of a Node */
#define NODE_ADDRESSES 64 /* a Node's, at most */

/*
 * objects_room.c: what the objects of a namespace take of the engine's memory
 * (model/cluster_bytes.h). A Service, EndpointSlice, NetworkPolicy or Pod without an address that
 * finds no room is refused. When there is room for it again, it is asked for again: one object a
 * second at most, whatever a tenant does.
 */
int room_open(struct objects *objects); /* 0 or -ENOMEM */
void room_close(struct objects *objects);
/* Counts @bytes for the namespace of the key in place of those that the object took. */
void room_set(struct objects *objects, const char *key, struct object_state *kept, size_t bytes);
/* Returns why there is no room for so many bytes, to free; NULL: there is. @name: for messages. */
char *room_lacks(const struct objects *objects, const char *key, const char *name,
		 const struct object_state *kept, size_t bytes);
/* The object waits for room for so many bytes; 0: it does not wait. */
void room_want(struct objects *objects, struct object_state *kept, size_t bytes);

/* objects_cluster.c */
/* Makes the finished cluster of all objects, which stays objects->made until
 * objects_cluster_end(). @contested: receives the objects that name an address which another object
 * names too. Returns 0, or -errno, reported. */
int objects_cluster(struct objects *objects, const struct policy *base, struct diag *diag,
		    struct lh_table *contested, const struct cluster **cluster);
/* @error: of the compile. Keeps the cluster if a compile of other policies may make use of it. */
void objects_cluster_end(struct objects *objects, int error);
/* Returns true if nothing but policies has changed since @base was made, and the cluster is kept.
 */
bool objects_keep_all_but_policies(const struct objects *objects, const struct policy *base);
/* Makes a finished cluster of the Services, and of their EndpointSlices, of the namespaces in
 * since.services. It needs objects->read. Returns 0 and a cluster to free; or -EOPNOTSUPP: all
 * objects must be read. */
int objects_services(struct objects *objects, struct cluster *services);
/* Adds the Pods that have not changed of the namespaces in since.services and since.following.
 * Returns 0; or -EOPNOTSUPP: all objects must be read. */
int objects_add_followed(struct objects *objects, struct cluster *pods);
void objects_forget_made(struct objects *objects); /* frees objects->made */
void objects_forget_read(struct objects *objects); /* frees objects->read, and `made` */

/* objects_former.c */
/* Opens the policies of the last policy for former_add(), before the cluster that this one is
 * added to: that cluster has its strings. Returns NULL if there is none to add. */
struct cluster *former_open(const struct objects *objects, const struct policy *base);
/* Adds the policies of @former (NULL: none) that stand for objects which cannot be read. */
void former_add(const struct objects *objects, const struct cluster *former,
		struct cluster *cluster);
void former_close(struct cluster *former); /* after that cluster; NULL is fine */

/* objects_claims.c */
/* Gives each address that is read to one of the objects of @cluster, and notes the Pods that wait
 * for an address. @contested NULL: @cluster has a part of the objects, so nothing is contested. */
void objects_resolve_claims(struct objects *objects, struct cluster *cluster,
			    const struct policy *base, struct lh_table *contested);
/* Notes the Pods that wait for an address, for the next compile. */
void objects_note_held(struct objects *objects);
/* The policy that objects_resolve_claims() was called for is made. */
void objects_keep_passing(struct since *since);
void objects_free_passing(struct since *since);
struct lh_table *contested_new(void);
/* Calls ops.refused() for each object that differs from the last compile, and keeps @table. */
void contested_set(struct objects *objects, struct lh_table *table);
/* Returns true if the Pod names an address that another object names too, by the last compile of
 * all objects. */
bool objects_contest(const struct objects *objects, const char *pod);
void contested_report(const struct objects *objects); /* as objects_report_refused() */

/* objects_text.c */
/* Returns an object's text. Adds apiVersion and kind, which items of a list lack. */
char *objects_text(const struct object_kind *kind, struct json_object *object);
/* Reads one object without the others. Returns 0; -EINVAL with the fault in *@why, to free; or
 * -ENOMEM. */
int objects_check(const char *text, const char *name, char **why, size_t *bytes);
/* Returns the text of a policy that isolates what a policy selects, or all pods of its
 * namespace if the selector itself is wrong. NULL: no such policy can be made. */
char *objects_isolating(const struct object_kind *kind, struct json_object *object,
			const char *name);
/* Returns the text of a Service that has the addresses of a refused one and no backends. NULL: no
 * such Service can be made. */
char *objects_closed_service(struct json_object *service, const char *name);
/* Returns the text of a Namespace that has the labels of a refused one and isolates its pods. NULL:
 * no such Namespace can be made. */
char *objects_closed_namespace(struct json_object *namespace, const char *name);

/*
 * objects_offenders.c: namespaces of which a NetworkPolicy was over a budget. It costs much to find
 * that out, so a policy that is set aside is compiled as the one that isolates in its place, until
 * the namespace's policies change. Then all of these are evaluated anew, but not before a pause
 * that doubles each time that one is over a budget again. A compile evaluates one such namespace,
 * and so rarely that a tenth of the time goes there. So long, what is large and new in that
 * namespace is set aside unseen.
 */
int offenders_open(struct objects *objects); /* 0 or -ENOMEM */
void offenders_close(struct objects *objects);
/* A policy of a namespace has changed, to @kept (NULL: it is gone). Returns true if what is
 * compiled for the policy stays the same. */
bool offenders_note(struct collection *collection, const char *key, struct object_state *kept);
void offenders_begin(struct objects *objects); /* a compile of all objects begins */
/* Returns the text to compile for an object. */
const char *offenders_text(const struct objects *objects, const struct object_kind *kind,
			   const char *key, const struct object_state *kept);
/* Returns true if the last compile has not seen the policy itself. */
bool offenders_hide(const struct objects *objects, const struct object_kind *kind, const char *key,
		    const struct object_state *kept);
/* The compile has set the policy aside, or no longer does. @nameless: the port names of its
 * namespace's Pods have no numbers either, which an isolating policy does not bring about. */
void offenders_set(struct objects *objects, const struct object_kind *kind, const char *key,
		   struct object_state *kept, bool nameless);
void offenders_end(struct objects *objects); /* the compile has succeeded */

/* objects_aside.c: keeps what a compile of all objects set aside (NULL: nothing), and reports each
 * change. */
void objects_note_asides(struct objects *objects, struct asides *asides);
void objects_report_asides(const struct objects *objects); /* reports what is set aside now */

#endif
