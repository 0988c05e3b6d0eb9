// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects.h"

#define PART 65536 /* bytes that are read at once */

struct replay {
	const char *name;
	struct diag *diag;
	struct objects *objects;
	struct json_tokener *tokener;
	size_t events; /* events that have been read */
	size_t taken; /* of these, the events about objects of a kind that is read */
	bool in_event; /* the bytes so far end inside an event */
};

static void on_change(void *data)
{
	(void)data; /* all events together are one batch */
}

static void on_refusal(void *data, struct json_object *object, const char *why)
{
	const struct replay *replay = data;

	(void)object;
	if (why)
		diag_report(replay->diag, DIAG_WARNING, NULL, NULL, "an object is refused: %s",
			    why);
}

static void on_aside(void *data, struct json_object *object, const char *why)
{
	const struct replay *replay = data;
	const char *ns = api_text(object, "metadata.namespace");

	if (why)
		diag_report(replay->diag, DIAG_WARNING, NULL, NULL,
			    "%s %s%s%s is set aside, and %s", api_text(object, "kind"),
			    ns ? ns : "", ns ? "/" : "", api_text(object, "metadata.name"), why);
}

static int fail(const struct replay *replay, const char *why)
{
	diag_report(replay->diag, DIAG_ERROR, NULL, NULL, "%s: event %zu: %s", replay->name,
		    replay->events + 1, why);
	return -EINVAL;
}

static int take(struct replay *replay, struct json_object *event)
{
	static const char *const types[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};
	const char *type = api_text(event, "type");
	struct json_object *object = api_get(event, "object");
	size_t i = 0;

	while (type && i < 4 && strcmp(types[i], type))
		i++;
	if (!type || i == 4)
		return fail(replay, "type: not ADDED, MODIFIED, DELETED or BOOKMARK");
	if (!json_object_is_type(object, json_type_object))
		return fail(replay, "object: missing");
	if (i < 3)
		replay->taken += objects_take(replay->objects, type, object);
	replay->events++;
	return 0;
}

/* Skips white space between events. Returns true if bytes are left. */
static bool skip_space(const struct replay *replay, const char **bytes, size_t *n)
{
	while (!replay->in_event && *n && strchr(" \t\r\n", **bytes)) {
		++*bytes;
		--*n;
	}
	return *n;
}

/* Takes the events that are whole by the end of @bytes. */
static int take_part(struct replay *replay, const char *bytes, size_t n)
{
	int error = 0;

	while (!error && skip_space(replay, &bytes, &n)) {
		struct json_object *event = json_tokener_parse_ex(replay->tokener, bytes, n);
		enum json_tokener_error state = json_tokener_get_error(replay->tokener);
		size_t read = json_tokener_get_parse_end(replay->tokener);

		replay->in_event = state == json_tokener_continue;
		if (replay->in_event)
			return 0;
		if (state != json_tokener_success)
			return fail(replay, json_tokener_error_desc(state));
		error = take(replay, event);
		json_object_put(event);
		bytes += read;
		n -= read;
		json_tokener_reset(replay->tokener);
	}
	return error;
}

static int take_all(struct replay *replay, FILE *from)
{
	char *bytes = malloc(PART);
	int error = bytes ? 0 : -ENOMEM;
	size_t n;

	while (!error && (n = fread(bytes, 1, PART, from)))
		error = take_part(replay, bytes, n);
	free(bytes);
	if (!error && ferror(from))
		error = -EIO;
	if (!error && replay->in_event)
		return fail(replay, "ends in the middle");
	return error;
}

int replay_compile(FILE *from, const char *name, const struct policy *base, struct diag *diag,
		   struct policy **policy)
{
	static const struct objects_ops ops = {
		.changed = on_change, .refused = on_refusal, .aside = on_aside};
	struct replay replay = {.name = name, .diag = diag};
	int error;

	replay.objects = objects_open(NULL, &ops, &replay);
	replay.tokener = json_tokener_new();
	error = replay.objects && replay.tokener ? take_all(&replay, from) : -ENOMEM;
	if (!error && !replay.taken) {
		diag_report(diag, DIAG_ERROR, NULL, NULL,
			    "%s: no event about an object that is read", name);
		error = -EINVAL;
	}
	if (!error)
		error = objects_compile(replay.objects, base, diag, policy);
	objects_close(replay.objects);
	if (replay.tokener)
		json_tokener_free(replay.tokener);
	return error;
}
