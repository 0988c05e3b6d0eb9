/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which versions of a group have a collection. A server that lacks one version of a kind (404) may
 * serve the kind's objects in another: these are not gone, and whoever cannot read them must not
 * take them for deleted.
 */
#ifndef BULKHEAD_API_SERVED_H
#define BULKHEAD_API_SERVED_H

#include <stdbool.h>

struct api;
struct api_served;

struct api_served_ops {
	/* Returns true if the caller reads the collection at @path, too: each version of a kind has
	 * all its objects. */
	bool (*reads)(void *data, const char *path);
	/* The server has answered. @fault: why it cannot be known; NULL: it is known. @unread: the
	 * versions that have the collection, as "v1beta1, v1", none of which the caller reads;
	 * NULL: none has it, or the caller reads one. The strings are valid until it returns, and
	 * so is the question, which it may close. */
	void (*known)(void *data, const char *fault, const char *unread);
	void *data;
};

/* Returns true if the path is in a group with versions: /apis/GROUP/VERSION/... */
bool api_served_has_versions(const char *path);
/* Asks about the collection at @path, which has versions. Returns NULL if memory is short. */
struct api_served *api_served_ask(struct api *api, const char *path,
				  const struct api_served_ops *ops);
void api_served_close(struct api_served *served); /* before the API; NULL is fine */

#endif
