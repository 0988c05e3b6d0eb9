/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Large answers of the API server, so that whoever may write objects cannot use up this process's
 * memory: json-c takes some 800 bytes for each object `{}`, of which etcd takes 750,000 in one.
 */
#ifndef BULKHEAD_API_LARGE_H
#define BULKHEAD_API_LARGE_H

#include <json-c/json_object.h>
#include <stdbool.h>

/* The most objects and lists within one object of the API: json-c takes 160 MB for these. A
 * NetworkPolicy of 1.5 MB whose peers are all addresses has 125,000. */
#define API_VALUES_MAX 200000

/*
 * Parses the text of an object; changes the text. What is nested deeper than json-c reads, as a
 * tenant's list of managed fields may be, is an empty string. If there are many objects and lists
 * in it, an item {} that follows another one in a list is left out: in no list that is read here
 * does the second one say more, and json-c takes a second for those that a policy may have. If
 * there are still more than API_VALUES_MAX, a string that says so stands in place of the largest
 * lists: readers refuse it as they refuse any other string there. Returns NULL if the text is no
 * JSON, or memory is short.
 */
struct json_object *api_parse(char *text, size_t n);

#define API_LISTS_MAX 2

/*
 * As api_parse(), for a watch event; but a long list that is a member of the object's spec is not
 * parsed: json-c takes 30 ms for the 65,000 objects of a policy of 1 MB, and as long to print and
 * to free them. Such a list is printed as it came, and seems to be empty to whoever asks for its
 * items.
 * @lists: the names of these members, API_LISTS_MAX at most, ended by NULL; NULL: none.
 */
struct json_object *api_parse_event(char *text, size_t n, const char *const *lists);

/* Returns the length of the object that a text begins with; 0: the text ends before the object
 * does.
 */
size_t api_object_length(char *text, size_t n);

#define API_VERSION_MAX 64 /* characters of a resourceVersion, and a NUL */
#define API_UID_MAX 64 /* and of a UID */

/* What a watch event is about. */
struct api_event {
	char type[16];
	char key[512]; /* "namespace/name" */
	char version[API_VERSION_MAX]; /* resourceVersion */
	char uid[API_UID_MAX]; /* "": none */
};

/* Reads of the text of a watch event what it is about, without parsing the whole. Returns false if
 * it is about no object of a namespace, or not written as an API server writes it. */
bool api_event_about(char *text, size_t n, struct api_event *event);
/* Reads the resourceVersion of an object's text alike. Returns false if there is none. */
bool api_version_of(char *object, char *end, char version[API_VERSION_MAX]);

/* The items of a list, in its text. */
struct api_items {
	char *at; /* where the next item begins; NULL: the text has no items */
	char *first; /* after the list's bracket */
	char *end; /* of the text: its NUL */
};

/* Begins with the list that the member "items" of a text is. */
struct api_items api_items_of(char *text, size_t n);

/* Sets *@item to the next item, to free; changes the text. @lists: as in api_parse_event(). Returns
 * 0, -ENOENT: there is no other, or -EPROTO: it is no object. */
int api_items_next(struct api_items *items, const char *const *lists, struct json_object **item);

/* Removes the items from the text, after the last of them. */
void api_items_cut(const struct api_items *items);

#endif
