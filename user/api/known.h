/* SPDX-License-Identifier: GPL-2.0-only */
/* The objects of a collection that a watch has told of: their keys and versions. A list after a gap
 * tells by them what has changed and what is gone. */
#ifndef BULKHEAD_API_KNOWN_H
#define BULKHEAD_API_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lh_table;

struct api_known {
	struct lh_table *table; /* key -> the object */
	unsigned int deleted; /* for api_table_deleted() */
	uint32_t list; /* number of the last list that began */
	size_t met; /* objects that were the first of their key in their list, of all lists */
};

/* Returns 0 or -ENOMEM. */
int api_known_open(struct api_known *known);
void api_known_close(struct api_known *known);

/* A list begins. */
void api_known_begin(struct api_known *known);
/* The list has ended: calls @gone for each object that it lacked, and forgets the object. */
void api_known_end(struct api_known *known, void (*gone)(void *data, const char *key), void *data);

/* The list or a stream has the object. @version: its resourceVersion; NULL: it has none. Returns 1
 * if that is new; 0 if the object is known to be so; or -ENOMEM. */
int api_known_put(struct api_known *known, const char *key, const char *version);
/* Returns true if the object was known. */
bool api_known_delete(struct api_known *known, const char *key);

/* Make whatever comes next of the object, of all objects, new: an object of another time may have
 * the version that is known. */
void api_known_doubt(struct api_known *known, const char *key);
void api_known_doubt_all(struct api_known *known);

/* Returns true if the object is known in this version. */
bool api_known_has(const struct api_known *known, const char *key, const char *version);
size_t api_known_count(const struct api_known *known);

#endif
