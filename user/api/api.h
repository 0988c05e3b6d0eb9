/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A Kubernetes API server: requests, and collections that are watched. One loop of one thread runs
 * it all; callbacks may start further requests and watches.
 *
 * Credentials come from a kubeconfig, or from the service account of a pod. TLS is always verified:
 * a kubeconfig that says otherwise is refused, and so is one that needs another program to log in.
 * A token that stands in a file is read again for each request, since it is renewed there.
 *
 * What the server does wrong (it ends a stream, hangs, answers nonsense or an error of 500 and
 * above) is never an error of the caller's: a watch starts again after a while, 0.1 s at first and
 * at most 30 s, each time a random part of it longer. Messages about it go to the log, once a
 * fault.
 */
#ifndef BULKHEAD_API_API_H
#define BULKHEAD_API_API_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "model/diag.h"

struct api;

/*
 * @kubeconfig NULL: $KUBECONFIG, else the service account where there is one, else
 * $HOME/.kube/config. Connects to nothing yet. Returns 0; -EINVAL, reported, where the kubeconfig
 * is wrong; -ENOMEM.
 */
int api_open(const char *kubeconfig, struct diag *diag, struct api **api);
void api_close(struct api *api); /* forgets what is under way; NULL is fine */

/* The server's address: https://HOST:PORT. */
const char *api_server(const struct api *api);

/* What came of a request. Good until the callback returns. */
struct api_answer {
	long status; /* HTTP; 0: no answer */
	const char *error; /* for messages: why there is none, or what the server says; NULL: 2xx */
	struct json_object *body; /* NULL: none, or not JSON */
};

typedef void api_done(void *data, const struct api_answer *answer);

struct api_request {
	const char *method; /* GET, POST, PUT, PATCH (a merge patch), DELETE */
	const char *path; /* "/api/v1/namespaces/x?..." */
	struct json_object *body; /* NULL: none. Stays the caller's */
	api_done *done;
	void *data;
};

/* Copies what it needs of @request. Once there is an answer, or none within 30 s, done() is called;
 * never from here. Returns 0 or -ENOMEM, and then done() is not called. */
int api_send(struct api *api, const struct api_request *request);

/*
 * A collection, listed and then watched for good. Each object's key is "namespace/name" or "name".
 * After a gap (the server has forgotten what came since: 410) the collection is listed anew and the
 * difference told, deletions included. A collection that the server does not have (404) is empty
 * until it has it.
 */
struct api_watch_ops {
	/* It is new, or another version. @object: good until it returns, json_object_get() keeps
	 * it.
	 */
	void (*changed)(void *data, const char *key, struct json_object *object);
	void (*gone)(void *data, const char *key);
	/* All that was listed has been told. Each time that it is listed. */
	void (*synced)(void *data);
	bool metadata_only; /* of an object, the server is asked for nothing else */
};

struct api_watch;

/* @path: "/api/v1/pods"; @query: "fieldSelector=..." percent-encoded, or NULL. NULL: no memory. */
struct api_watch *api_watch(struct api *api, const char *path, const char *query,
			    const struct api_watch_ops *ops, void *data);
/* No callback follows; NULL is fine. Not from the watch's own callbacks. */
void api_unwatch(struct api_watch *watch);

/* Since when the collection has been followed without a fault, ms as of api_now(); 0: it is not. */
uint64_t api_watch_since(const struct api_watch *watch);

/* Calls @run once, in @ms milliseconds or later; a timer that is set is set anew. */
struct api_timer {
	uint64_t due; /* ms of CLOCK_MONOTONIC; 0: not set */
	void (*run)(void *data);
	void *data;
	struct api_timer *next;
};
void api_timer_set(struct api *api, struct api_timer *timer, unsigned int ms);
void api_timer_stop(struct api *api, struct api_timer *timer);
uint64_t api_now(void); /* ms of CLOCK_MONOTONIC */

/* @ms, and up to half as long again, at random: so that many do not do the same at once. */
unsigned int api_jitter(unsigned int ms);

/* Calls @ready each time that @fd can be read, from the loop; one @fd at most. -1: none any more.
 */
void api_listen(struct api *api, int fd, void (*ready)(void *data), void *data);

/* Runs until api_stop(), or until a signal that @stop is set by. */
void api_run(struct api *api, const volatile int *stop);
void api_stop(struct api *api);

/* For metrics. */
struct api_counts {
	uint64_t requests, failed; /* without answer, or 500 and above */
	uint64_t lists, events; /* of watches */
	uint64_t sent, received; /* bytes, bodies only */
};
const struct api_counts *api_counts(const struct api *api);

/* The member of nested objects, "metadata.name"; NULL: there is none, or it is null. */
struct json_object *api_get(struct json_object *object, const char *path);
const char *api_text(struct json_object *object, const char *path); /* NULL: none, or no string */
int64_t api_number(struct json_object *object, const char *path); /* 0: none */
/* The time of day by this machine's clock, as Kubernetes writes it: RFC 3339 with microseconds. */
struct json_object *api_time(void);

#endif
