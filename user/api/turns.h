/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Turns for large objects. Whoever may write in one namespace may write an object of 1 MB anew
 * many times a second. To parse and read each version takes this process 20 ms and more, and
 * everybody's changes would wait for it. So the large objects of all namespaces together get a
 * quarter of the time: after one was taken, none is for three times as long as that took. One that
 * the server tells of meanwhile is not parsed. Its key waits for a turn, once, however often the
 * object is written; in that turn the server is asked for it. The namespaces take turns: however
 * many objects of one wait, an object of another waits for one of them.
 *
 * An object that waits is as one of which the server has not told yet: its former version counts.
 * Smaller objects and deletions do not wait, unless the collection is ordered, as one of policies
 * is: whoever creates a policy and then deletes the one that it replaces must never be without
 * both. While an object of an ordered collection waits, all later changes of its namespace do, in
 * the order of the last change of each object. An answer counts only if it has the version of which
 * the watch told last: a newer one waits until the watch tells of it, behind what changed before.
 * So a tenant that writes an object faster than it can be asked for may keep its own former
 * version.
 */
#ifndef BULKHEAD_API_TURNS_H
#define BULKHEAD_API_TURNS_H

#include "api/internal.h"

#define TURN_BYTES (64u << 10) /* an event of so many bytes has a large object */

struct lh_table;
struct turn;
struct turn_queue;

struct api_turns {
	/* the objects that wait, by namespace: the first of the first is asked for next; NULL: none
	 */
	struct turn_queue *first;
	struct lh_table *table; /* all of these, by watch and key */
	unsigned int deleted; /* for api_table_deleted() */
	struct turn *asked; /* the object that is asked for; NULL: none */
	/* objects that were asked for, and of whose newer version the watch has yet to tell */
	struct turn *missed;
	struct api_transfer *transfer; /* that asks for it */
	/* the watch has told of that object meanwhile: the answer may be older, and does not count
	 */
	bool overtaken;
	unsigned int backoff; /* ms: of requests without an answer */
	uint64_t next; /* ms: no large object is taken before */
	unsigned int rest; /* so many times as long as one took the next one waits */
	struct api_timer timer; /* begins the next turn */
};

/* What a watch does in a turn. */
struct api_turn_ops {
	/* Returns the path of a list that has the object alone, to free; NULL: no memory. */
	char *(*path)(const struct api_watch *watch, const char *key);
	/* Takes the answer. Returns 0; -ESTALE: it has another version, and was not taken; or
	 * another -errno: the object is asked for again. */
	int (*take)(struct api_watch *watch, const char *key, const char *version,
		    struct api_buffer *answer);
	void (*gone)(struct api_watch *watch, const char *key);
};

int api_turns_open(struct api *api); /* returns 0 or -ENOMEM */
void api_turns_end(struct api *api); /* all watches have ended */

/* Returns true if a large object may be taken now. */
bool api_turns_free(const struct api *api);
/* A large object was taken, from @began (ms) until now. */
void api_turns_took(struct api *api, uint64_t began);

/* A change that waits. */
struct api_turn {
	const char *key; /* "namespace/name" */
	const char *version; /* resourceVersion; "": any */
	const char *uid; /* NULL: not known */
	bool gone; /* the object was deleted */
};

/* The change waits for its turn, in place of a former one of the same object. Returns 0 or -ENOMEM.
 */
int api_turns_add(struct api *api, struct api_watch *watch, const struct api_turn_ops *ops,
		  const struct api_turn *turn);
/* Returns true if an object of the namespace of @key waits. */
bool api_turns_wait(const struct api *api, const struct api_watch *watch, const char *key);
/* The watch has told of the object: it waits no longer. */
void api_turns_forget(struct api *api, const struct api_watch *watch, const char *key);
void api_turns_close(struct api *api, const struct api_watch *watch); /* the watch ends */

#endif
