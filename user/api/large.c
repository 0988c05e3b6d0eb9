// SPDX-License-Identifier: GPL-2.0-only
#include "api/large.h"

#include <errno.h>
#include <json-c/json_tokener.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"

/* Objects and lists within one another that are parsed. json-c takes one more, and the value in it.
 */
#define DEPTH_MAX (JSON_TOKENER_DEFAULT_DEPTH - 2)

/* Of an object with more objects and lists, repeated items {} are left out. */
#define REPEATS_MAX 10000

static bool opens(char c)
{
	return c == '{' || c == '[';
}

static bool closes(char c)
{
	return c == '}' || c == ']';
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static char *skip_space(char *at, const char *end)
{
	while (at < end && is_space(*at))
		at++;
	return at;
}

/* Returns the character after the string that begins at @at, or @end. */
static char *skip_string(char *at, char *end)
{
	for (at++; at < end && *at != '"'; at++)
		at += *at == '\\' && at + 1 < end;
	return at < end ? at + 1 : end;
}

/* Returns the character after the value that begins at @at, or @end. */
static char *skip_value(char *at, char *end)
{
	size_t depth = 0;

	while (at < end) {
		if (*at == '"') {
			at = skip_string(at, end);
		} else if (opens(*at)) {
			depth++;
			at++;
		} else if (closes(*at) || *at == ',') {
			if (!depth)
				return at;
			depth -= closes(*at++);
		} else {
			at++;
			continue;
		}
		if (!depth)
			return at;
	}
	return end;
}

/* How much of a text json-c makes memory for, and how deep the text is nested. */
struct shape {
	size_t values; /* objects and lists */
	size_t depth; /* of them within one another */
};

static struct shape measure(char *text, char *end)
{
	struct shape shape = {0};
	size_t depth = 0;

	for (char *at = text; at < end;) {
		if (*at == '"') {
			at = skip_string(at, end);
			continue;
		}
		if (opens(*at)) {
			shape.values++;
			depth++;
		} else if (closes(*at) && depth) {
			depth--;
		}
		if (depth > shape.depth)
			shape.depth = depth;
		at++;
	}
	return shape;
}

size_t api_object_length(char *text, size_t n)
{
	char *at = text, *end = text + n;
	size_t depth = 0;

	while (at < end) {
		if (*at == '"') {
			at = skip_string(at, end);
			continue;
		}
		depth += opens(*at);
		if (closes(*at++) && depth && !--depth)
			return at - text;
	}
	return 0;
}

/* An object or list that is open. */
struct open {
	char *to; /* where it begins in what is written */
	size_t values; /* objects and lists in it so far */
};

/* Writes a string in place of each list with more than @most objects and lists in it, of which no
 * list in it has more. The text is no deeper than DEPTH_MAX. Returns the length that is left. */
static size_t cut_lists(char *text, size_t n, size_t most)
{
	struct open open[DEPTH_MAX];
	char *at = text, *to = text, *end = text + n;
	size_t depth = 0;

	while (at < end) {
		char *from = at;

		at = *at == '"' ? skip_string(at, end) : at + 1;
		memmove(to, from, at - from);
		to += at - from;
		if (opens(*from)) {
			open[depth++] = (struct open){to - 1, 0};
		} else if (closes(*from) && depth) {
			const struct open *closed = &open[--depth];
			size_t values = closed->values;

			if (*from == ']' && values > most) {
				to = closed->to;
				to += sprintf(to, "\"%zu objects and lists: too many\"", values);
				values = 0;
			}
			if (depth)
				open[depth - 1].values += values + 1;
		}
	}
	*to = '\0';
	return to - text;
}

/* Returns true if @at, after an item of a list, is another item {}. */
static bool is_empty_item(const char *at, const char *end)
{
	return end - at > 3 && !memcmp(at, ",{}", 3) && (at[3] == ',' || at[3] == ']');
}

/* Returns true if what is written ends with an item {} of a list: after the colon of a member is
 * none. */
static bool ends_with_empty_item(const char *text, const char *to)
{
	return to - text > 2 && !memcmp(to - 2, "{}", 2) && (to[-3] == '[' || to[-3] == ',');
}

/* Leaves out each item {} that follows another one. Returns the length that is left. */
static size_t cut_repeats(char *text, size_t n)
{
	char *at = text, *to = text, *end = text + n;

	while (at < end) {
		char *from = at;

		if (is_empty_item(at, end) && ends_with_empty_item(text, to)) {
			at += 3;
			continue;
		}
		at = *at == '"' ? skip_string(at, end) : at + 1;
		memmove(to, from, at - from);
		to += at - from;
	}
	*to = '\0';
	return to - text;
}

/* Writes an empty string in place of each object and list within DEPTH_MAX others. Returns the
 * length that is left. */
static size_t cut_deep(char *text, size_t n)
{
	char *at = text, *to = text, *end = text + n;
	size_t depth = 0;

	while (at < end) {
		char *from = at;

		if (opens(*at) && depth == DEPTH_MAX) {
			at = skip_value(at, end);
			*to++ = '"';
			*to++ = '"';
			continue;
		}
		depth += opens(*at);
		depth -= closes(*at) && depth;
		at = *at == '"' ? skip_string(at, end) : at + 1;
		memmove(to, from, at - from);
		to += at - from;
	}
	*to = '\0';
	return to - text;
}

/* Cuts a text until json-c may parse it. Returns the length that is left; 0: it stays too large. */
static size_t cut(char *text, size_t n)
{
	struct shape shape = measure(text, text + n);

	if (shape.depth > DEPTH_MAX) {
		n = cut_deep(text, n);
		shape = measure(text, text + n);
	}
	if (shape.values > REPEATS_MAX) {
		n = cut_repeats(text, n);
		shape = measure(text, text + n);
	}
	for (size_t most = API_VALUES_MAX; shape.values > API_VALUES_MAX && most; most /= 2) {
		n = cut_lists(text, n, most);
		shape = measure(text, text + n);
	}
	return shape.values > API_VALUES_MAX ? 0 : n;
}

struct json_object *api_parse(char *text, size_t n)
{
	return cut(text, n) ? json_tokener_parse(text) : NULL;
}

/* Returns the value of a member of the object that a text begins with, or NULL. @name: as in the
 * text, with its quotes. */
static char *member_of(char *text, char *end, const char *name)
{
	char *at = skip_space(text, end);

	if (at < end && *at == '{')
		at++;
	else
		at = end;
	while (at < end && *at != '}') {
		char *member = skip_space(at, end), *value = skip_value(member, end);
		bool is_it = (size_t)(value - member) == strlen(name) &&
			     !memcmp(member, name, strlen(name));

		value = skip_space(value, end);
		if (value == end || *value != ':')
			break;
		value = skip_space(value + 1, end);
		if (is_it)
			return value < end ? value : NULL;
		at = skip_space(skip_value(value, end), end);
		if (at < end && *at == ',')
			at++;
	}
	return NULL;
}

/* A list of fewer bytes is parsed. */
#define LIST_BYTES 4096

/* Takes a long list out of the text, and leaves an empty one. Returns its text, to free; NULL:
 * there is none. */
static char *take_out(char *list, char **end)
{
	char *after = list && *list == '[' ? skip_value(list, *end) : list, *text;

	if (after - list < LIST_BYTES)
		return NULL;
	text = strndup(list, after - list);
	if (!text)
		return NULL;
	list[1] = ']';
	memmove(list + 2, after, *end - after + 1);
	*end -= after - (list + 2);
	return text;
}

/* Makes a list that is printed as @text, which it takes over. */
static struct json_object *printed_as(char *text)
{
	struct json_object *list = json_object_new_array();

	json_object_set_serializer(list, json_object_userdata_to_json_string, text,
				   json_object_free_userdata);
	return list;
}

/* Returns the list of that name in an object's spec; NULL: there is none. */
static char *list_of(char *object, char *end, const char *name)
{
	char *spec = object ? member_of(object, end, "\"spec\"") : NULL, quoted[32];

	snprintf(quoted, sizeof(quoted), "\"%s\"", name);
	return spec ? member_of(spec, end, quoted) : NULL;
}

/* Puts the lists that were taken out into the parsed spec. Returns false if it is no object. */
static bool put_back(struct json_object *spec, const char *const *lists, char *taken[API_LISTS_MAX])
{
	const bool fits = json_object_is_type(spec, json_type_object);

	for (size_t i = 0; i < API_LISTS_MAX; i++) {
		if (taken[i] && fits)
			json_object_object_add(spec, lists[i], printed_as(taken[i]));
		else
			free(taken[i]);
	}
	return fits;
}

/* Parses an event, or an object alone, but for long lists of the object's spec. */
static struct json_object *parse_but(char *text, size_t n, bool event, const char *const *lists)
{
	char *taken[API_LISTS_MAX] = {0}, *end = text + cut(text, n);
	char *object = event ? member_of(text, end, "\"object\"") : text;
	struct json_object *parsed;
	bool any = false;

	for (size_t i = 0; lists && i < API_LISTS_MAX && lists[i]; i++) {
		taken[i] = take_out(list_of(object, end, lists[i]), &end);
		any |= taken[i] != NULL;
	}
	parsed = end > text ? json_tokener_parse(text) : NULL;
	if (!any || put_back(api_get(parsed, event ? "object.spec" : "spec"), lists, taken))
		return parsed;
	json_object_put(parsed);
	return NULL;
}

struct json_object *api_parse_event(char *text, size_t n, const char *const *lists)
{
	return parse_but(text, n, true, lists);
}

/* Copies a string without escapes that is the member of an object. Returns its length; 0: there is
 * none, or it has @size characters and more. */
static size_t copy_member(char *text, char *end, const char *name, char *to, size_t size)
{
	char *from = text ? member_of(text, end, name) : NULL;
	size_t n;

	if (!from || *from != '"')
		return 0;
	n = skip_string(from, end) - from;
	if (n <= 2 || n - 2 >= size || from[n - 1] != '"' || memchr(from, '\\', n))
		return 0;
	memcpy(to, from + 1, n - 2);
	to[n - 2] = '\0';
	return n - 2;
}

bool api_version_of(char *object, char *end, char version[API_VERSION_MAX])
{
	return copy_member(member_of(object, end, "\"metadata\""), end, "\"resourceVersion\"",
			   version, API_VERSION_MAX);
}

bool api_event_about(char *text, size_t n, struct api_event *event)
{
	char *end = text + n, *object = member_of(text, end, "\"object\"");
	char *metadata = object ? member_of(object, end, "\"metadata\"") : NULL;
	size_t ns;

	if (!copy_member(text, end, "\"type\"", event->type, sizeof(event->type)) || !object ||
	    !api_version_of(object, end, event->version))
		return false;
	if (!copy_member(metadata, end, "\"uid\"", event->uid, sizeof(event->uid)))
		*event->uid = '\0';
	/* a slash stands between namespace and name */
	ns = copy_member(metadata, end, "\"namespace\"", event->key, sizeof(event->key) - 1);
	event->key[ns] = '/';
	return ns && copy_member(metadata, end, "\"name\"", event->key + ns + 1,
				 sizeof(event->key) - ns - 1);
}

struct api_items api_items_of(char *text, size_t n)
{
	char *end = text + n, *list = member_of(text, end, "\"items\"");

	if (!list || *list != '[')
		return (struct api_items){NULL, NULL, end};
	return (struct api_items){list + 1, list + 1, end};
}

int api_items_next(struct api_items *items, const char *const *lists, struct json_object **item)
{
	char *at = skip_space(items->at, items->end), *after, was;

	items->at = at;
	if (*at == ']')
		return -ENOENT;
	after = skip_value(at, items->end);
	if (after == items->end)
		return -EPROTO;
	was = *after;
	*after = '\0';
	*item = parse_but(at, after - at, false, lists);
	*after = was;
	items->at = skip_space(after, items->end);
	if (*items->at == ',')
		items->at++;
	return *item ? 0 : -EPROTO;
}

void api_items_cut(const struct api_items *items)
{
	memmove(items->first, items->at, items->end - items->at + 1);
}
