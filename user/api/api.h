/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A client of a Kubernetes API server: requests, and collections that are watched. One loop in
 * one thread runs all of it. Callbacks may start further requests and watches.
 *
 * Credentials come from a kubeconfig or from a pod's service account. TLS is always verified: a
 * kubeconfig that turns this off is refused, and so is one that needs another program to log in. A
 * token in a file is read again for each request, since another process may renew the token there.
 *
 * A fault of the server (it ends a stream, hangs, answers nonsense or a status of 500 and above)
 * is never an error for the caller: a watch starts again after 0.1 s at first and 30 s at most,
 * plus a random part of that. Each kind of fault is logged once, until the server answers.
 *
 * A watch waits no longer than is of use. If no server accepts connections, an attempt costs no
 * server anything, and the pause is 0.5 s at most. If the server has answered any other request, a
 * watch to which it gave no answer, or a status of 500 and above, tries at once, though no sooner
 * than 0.5 s after its last attempt. A server that has forgotten earlier events works, so that the
 * list follows after 0.1 s, however many attempts have failed before; but if it forgets what it has
 * just listed, ever later. A watch without an answer for 10 s lists again, since the server's store
 * may be another by then (see Looks back, below).
 */
#ifndef BULKHEAD_API_API_H
#define BULKHEAD_API_API_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "model/diag.h"

struct api;

/*
 * @kubeconfig NULL: $KUBECONFIG, a list as kubectl's, else the service account if there is one,
 * else $HOME/.kube/config. Does not connect yet. Returns 0; -EINVAL, reported, if the kubeconfig is
 * wrong; -ELIBACC, reported, if libcurl is missing; -ENOMEM.
 */
int api_open(const char *kubeconfig, struct diag *diag, struct api **api);
void api_close(struct api *api); /* drops all open requests and watches; NULL is fine */

/* Returns the server's address: https://HOST:PORT. */
const char *api_server(const struct api *api);

/* The answer to a request. Valid until the callback returns. */
struct api_answer {
	long status; /* HTTP status; 0: no answer */
	/* for messages: the server's message, or why there is no answer; NULL: the status is 2xx */
	const char *error;
	struct json_object *body; /* NULL: none, or not JSON */
	bool absent; /* no server accepts connections at the address */
};

typedef void api_done(void *data, const struct api_answer *answer);

struct api_request {
	const char *method; /* GET, POST, PUT, PATCH (a merge patch), DELETE */
	const char *path; /* "/api/v1/namespaces/x?..." */
	struct json_object *body; /* owned by the caller; NULL: none */
	/* only the answer's status is needed: the body is short and not JSON, so `error` is not the
	 * server's message */
	bool brief;
	bool metadata_only; /* the answer is a list of the objects' metadata only */
	unsigned int seconds; /* seconds that the answer may take; 0: 30 */
	api_done *done;
	void *data;
};

/* Sends a request. Copies the members of @request that are needed later. Calls done() later, when
 * there is an answer or its time has passed without one. Returns 0; or -ENOMEM, and then done() is
 * not called. */
int api_send(struct api *api, const struct api_request *request);

/*
 * A collection that is listed and then watched until api_unwatch(). An object's key is
 * "namespace/name" or "name". After a gap (410: the server has forgotten earlier events) the
 * collection is listed again, and the callbacks get the difference, deletions included. A
 * collection that the server does not have (404) is empty until the server has it. If the server
 * has it in other versions alone (served.h), the objects stay as they were, and none was listed at
 * first.
 */
struct api_watch_ops {
	/* An object is new or has changed. @object is valid until the callback returns;
	 * json_object_get() keeps it. */
	void (*changed)(void *data, const char *key, struct json_object *object);
	void (*deleted)(void *data, const char *key);
	/* All objects of a list were reported. Called after each list. */
	void (*synced)(void *data);
	/* A further stream begins since the last list: the server may be another one by now. NULL:
	 * not of interest. */
	void (*resumed)(void *data);
	bool metadata_only; /* ask the server for the objects' metadata only */
	/* list from the server's cache, which finds a node's pods without reading all pods; newer
	 * changes come as events */
	bool cached;
	/* whoever may write in one namespace may write these objects: large ones come in turns, and
	 * make others wait for a quarter of the time at most (turns.h) */
	bool turns;
	/* Names of members of the spec: long lists by these names are not parsed (large.h). NULL:
	 * none. */
	const char *const *lists;
	bool ordered; /* of the changes of one namespace, none passes one that waits */
	/* Names of printer columns, ended by NULL: events have only these columns, as "cells.NAME"
	 * beside the object's name, and are much smaller. A list, or a server that lacks one of the
	 * columns, gives whole objects. NULL: whole objects always. */
	const char *const *columns;
	/* The path of the collection in the API version that has these columns. A server without
	 * that version (404) gives whole objects. NULL: the watch's own path. */
	const char *columns_path;
};

struct api_watch;

/* @path: "/api/v1/pods". @query: "fieldSelector=..." percent-encoded, or NULL. Returns NULL if
 * memory is short. */
struct api_watch *api_watch(struct api *api, const char *path, const char *query,
			    const struct api_watch_ops *ops, void *data);
/* Ends a watch; its callbacks are not called any more. Must not be called by the watch's own
 * callbacks. NULL is fine. */
void api_unwatch(struct api_watch *watch);

/* Returns the versions in which alone the server has the collection, as "v1beta1, v1", where this
 * client watches none of them; NULL: it is not so. */
const char *api_watch_unread(const struct api_watch *watch);

/* Returns true while the watch reports what a list has: then it may go back to an older time. */
bool api_watch_lists(const struct api_watch *watch);

/*
 * Looks back: a store that was put back to a backup has lower versions than a watch has seen, and
 * the server then tells the watch nothing, until the store's versions have caught up. So a
 * collection of few objects, which has to change with all others, is listed beside its watch: when
 * a stream is resumed, and every LOOK_MS (look_back.c). If the list is of an older time than the
 * watch, or differs twice from what the watch tells, all watches of the client list anew.
 */
struct api_mark {
	uint64_t version; /* as a number; 0: the watch lists, or versions are no numbers */
	uint64_t told; /* lists and events that have come */
};
struct api_mark api_watch_mark(const struct api_watch *watch);
enum api_compared {
	API_SAME, /* or nothing can be said */
	API_DIFFERS, /* an event may be on its way */
	API_OLDER, /* the list is of an older time than the watch */
};
/* Compares a list that was asked for at @mark. */
enum api_compared api_watch_compare(const struct api_watch *watch, const struct api_mark *mark,
				    struct json_object *list);
/* Returns the path of the whole list, to free; NULL: no memory. */
char *api_watch_path(const struct api_watch *watch);
/* All watches end their streams and list. Each object is reported again, even if its version is
 * known. */
void api_watches_list_anew(struct api *api);

struct api_look_back;
/* @watch: set by the time of the first look. Returns NULL if memory is short. */
struct api_look_back *api_look_back_open(struct api *api, struct diag *diag,
					 struct api_watch *const *watch);
void api_look_back_soon(struct api_look_back *look);
void api_look_back_close(struct api_look_back *look); /* after api_close(); NULL is fine */

/* Asks for an object again, and reports it even if it has not changed. It waits for its turn as a
 * large one does. Returns 0 or -ENOMEM. */
int api_watch_again(struct api_watch *watch, const char *key);

/* An object whose last change waits for its turn. */
struct api_wait {
	const struct api_watch *watch;
	const char *key, *uid; /* `uid` "": not known */
	/* when the first change came of which none has been taken since */
	uint64_t since; /* ms of api_now() */
	time_t date;
	bool *told; /* the caller's, false at first; stays until a change is taken */
};
typedef void api_wait_each(void *data, const struct api_wait *wait);
/* Calls @each for every object that waits, roughly in the order of their turns: those of one
 * namespace follow each other. */
void api_waits(const struct api *api, api_wait_each *each, void *data);

/* A pause after a failure if no server accepts connections, at most: ms. */
#define API_ABSENT_MS 500

/* An answer that is text, read line by line as it comes. */
#define API_LINE_MAX (256u << 10) /* bytes; a longer line is left out */
struct api_lines_ops {
	/* The server has begun to answer with 200. NULL: not of interest. */
	void (*began)(void *data);
	void (*line)(void *data, const char *line); /* without its end; valid until it returns */
	/* The answer has ended. @status 200: as it should; 0: the connection was lost. @error as in
	 * struct api_answer. Only here may the lines be closed by their own callbacks. */
	void (*ended)(void *data, long status, const char *error);
};

struct api_lines;

/* Sends GET @path. Returns NULL if memory is short. Close the lines before the API. */
struct api_lines *api_lines(struct api *api, const char *path, const struct api_lines_ops *ops,
			    void *data);
void api_lines_close(struct api_lines *lines); /* NULL is fine */

/* Returns since when the collection is followed without a fault, in ms of api_now(); 0: there is
 * a fault. */
uint64_t api_watch_since(const struct api_watch *watch);

/* Calls @run once, in @ms milliseconds or later. A timer that is set already is set anew. */
struct api_timer {
	uint64_t due; /* ms of CLOCK_MONOTONIC; 0: not set */
	void (*run)(void *data);
	void *data;
	struct api_timer *next;
};
void api_timer_set(struct api *api, struct api_timer *timer, unsigned int ms);
void api_timer_stop(struct api *api, struct api_timer *timer);
uint64_t api_now(void); /* ms of CLOCK_MONOTONIC */
uint64_t api_processor_time(void); /* ms that this process has taken of the processors */

/* Returns a random number from 0 to @ms, which is below UINT_MAX. */
unsigned int api_random(unsigned int ms);

/* Returns @ms plus a random part, up to half of @ms, so that many clients do not act at once. */
unsigned int api_jitter(unsigned int ms);

/* Returns the milliseconds to wait after a failure: @first, twice as many after each further one,
 * @most at most, and a random part on top. @backoff: kept from call to call; 0 after a success. */
unsigned int api_backoff(unsigned int *backoff, unsigned int first, unsigned int most);

/* Calls @ready from the loop whenever @fd can be read, until api_close(). */
#define API_READERS_MAX 4
struct api_reader {
	int fd;
	void (*ready)(void *data);
	void *data;
	struct api_reader *next;
};
void api_reader_add(struct api *api, struct api_reader *reader);

/* Calls @ready from the loop whenever @fd can be read. The loop has one such @fd at most; -1
 * removes it. */
void api_listen(struct api *api, int fd, void (*ready)(void *data), void *data);

/* Runs the loop until api_stop(), or until the file descriptor @stop can be read; -1: none. The
 * loop sleeps until the next timer is due, the server sends something, or a file descriptor is
 * ready. */
void api_run(struct api *api, int stop);
void api_stop(struct api *api);

/* Counts for metrics. */
struct api_counts {
	uint64_t requests, failed; /* `failed`: no answer, or a status of 500 and above */
	uint64_t lists, events; /* lists and events of watches */
	uint64_t waited; /* objects that waited for a turn (turns.h) */
	uint64_t sent, received; /* bytes of bodies */
};
const struct api_counts *api_counts(const struct api *api);

/* Returns a member of nested objects, as "metadata.name"; NULL: it is absent or null. */
struct json_object *api_get(struct json_object *object, const char *path);
const char *api_text(struct json_object *object, const char *path); /* NULL: absent, or no string */
int64_t api_number(struct json_object *object, const char *path); /* 0: absent */
/* Makes the server forget who wrote which field of an object, once @object replaces it or is merged
 * with it. The server would send this record with each event, and it is larger than the object. */
void api_forget_managers(struct json_object *object);
/* Returns this machine's time of day as Kubernetes writes it: RFC 3339 with microseconds. */
struct json_object *api_time(void);

#endif
