// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/large.h"
#include "cluster/objects.h"
#include "input/text.h"

#define PART 65536 /* bytes that are read at once */
#define EVENT_MAX (16 << 20) /* bytes of one event; a store keeps objects of 1.5 MiB */

struct replay {
	const char *name;
	struct diag *diag;
	struct objects *objects;
	char *bytes; /* that are read and not taken yet: part of an event */
	size_t n;
	bool begun; /* the first bytes have been read */
	size_t events; /* events that have been read */
	size_t taken; /* of these, the events about objects of a kind that is read */
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
	char why[300];
	size_t i = 0;

	if (type && !strcmp(type, "ERROR")) {
		const char *message = api_text(object, "message");

		snprintf(why, sizeof(why), "type: ERROR: the API server ended the watch: %s",
			 message ? message : "it does not say why");
		return fail(replay, why);
	}
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

/* Takes the event that @text begins with. *@length: what it takes; 0: more must come. */
static int take_event(struct replay *replay, char *text, size_t n, size_t *length)
{
	struct json_object *event;
	char after;
	int error;

	if (*text != '{')
		return fail(replay, "is no JSON object");
	*length = api_object_length(text, n);
	if (!*length)
		return 0;
	after = text[*length];
	text[*length] = '\0';
	event = api_parse(text, *length);
	error = event ? take(replay, event) : fail(replay, "is not JSON");
	json_object_put(event);
	text[*length] = after;
	return error;
}

/* Takes the events that are whole by now. */
static int take_events(struct replay *replay)
{
	size_t at = 0, length = 1;
	int error = 0;

	while (!error && length) {
		at += strspn(replay->bytes + at, " \t\r\n");
		if (at == replay->n)
			break;
		error = take_event(replay, replay->bytes + at, replay->n - at, &length);
		at += error ? 0 : length;
	}
	replay->n -= at;
	memmove(replay->bytes, replay->bytes + at, replay->n + 1);
	return error;
}

/* Skips the byte order mark that the stream may begin with. */
static void skip_mark(struct replay *replay)
{
	const size_t length = strlen(TEXT_BOM);

	replay->begun = true;
	if (strncmp(replay->bytes, TEXT_BOM, length))
		return;
	replay->n -= length;
	memmove(replay->bytes, replay->bytes + length, replay->n + 1);
}

static int unreadable(const struct replay *replay)
{
	diag_report(replay->diag, DIAG_ERROR, NULL, NULL, "%s: %s", replay->name, strerror(errno));
	return -EINVAL;
}

static int take_all(struct replay *replay, FILE *from)
{
	int error = 0;
	size_t n = 1;

	while (!error && n) {
		char *bytes = realloc(replay->bytes, replay->n + PART + 1);

		if (!bytes)
			return -ENOMEM;
		replay->bytes = bytes;
		n = fread(bytes + replay->n, 1, PART, from);
		if (ferror(from))
			return unreadable(replay);
		replay->n += n;
		bytes[replay->n] = '\0';
		if (!replay->begun)
			skip_mark(replay);
		error = take_events(replay);
		if (!error && replay->n > EVENT_MAX)
			return fail(replay, "has more than 16 MiB, the most of one event");
	}
	if (!error && replay->n)
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
	error = replay.objects ? take_all(&replay, from) : -ENOMEM;
	free(replay.bytes);
	if (!error && !replay.taken) {
		diag_report(diag, DIAG_ERROR, NULL, NULL,
			    "%s: no event about an object that is read", name);
		error = -EINVAL;
	}
	if (!error)
		error = objects_compile(replay.objects, base, diag, policy);
	objects_close(replay.objects);
	return error;
}
