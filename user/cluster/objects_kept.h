/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the files about objects: objects.c keeps the objects, objects_compile.c makes a policy
 * of them. */
#ifndef BULKHEAD_CLUSTER_OBJECTS_KEPT_H
#define BULKHEAD_CLUSTER_OBJECTS_KEPT_H

#include <json-c/linkhash.h>

#include "cluster/objects.h"

struct kind {
	const char *name, *version, *path;
	bool policy;
};

#define N_KINDS 10
extern const struct kind object_kinds[N_KINDS];

/* The kept members of an object. */
struct kept {
	char *text; /* its text as last accepted, or the text of the policy that replaces it */
	char *why; /* the fault of the last version, which is refused; NULL: it is accepted */
	struct json_object *refused; /* the refused version; NULL: none */
	char *aside; /* why the last compile of all objects set the policy aside; NULL: it did not
		      */
};

struct collection {
	struct objects *objects;
	const struct kind *kind;
	struct api_watch *watch;
	struct lh_table *kept; /* key -> struct kept */
	bool synced;
};

/* The changes since a policy was compiled. */
struct since {
	bool known; /* the changes since the policy below are known, and its Pods and Services allow
		     * a patch */
	uint64_t lineage;
	uint32_t generation;
	bool others; /* an object other than a Pod has changed */
	struct lh_table *pods; /* the keys of the Pods that have changed; no values */
	unsigned int patches; /* policies made from changed Pods since the last compile of all
			       * objects */
};

struct objects {
	struct objects_ops ops;
	void *data;
	size_t refused;
	struct asides *asides; /* what the last compile of all objects set aside; NULL: nothing */
	size_t aside; /* how many kept objects these are */
	struct since since;
	uint64_t patched; /* policies that were made from changed Pods alone */
	struct collection collections[N_KINDS];
};

bool kind_is_pod(const struct kind *kind);
void objects_free_key(struct lh_entry *entry); /* for tables of keys without values */

/* objects_aside.c: keeps what a compile of all objects set aside (NULL: nothing), and reports each
 * change. */
struct asides;
void objects_note_asides(struct objects *objects, struct asides *asides);
void objects_tell_asides(const struct objects *objects); /* reports what is set aside now */

#endif
