// SPDX-License-Identifier: GPL-2.0-only
/* Objects whose last change waits for its turn (api/turns.h), and kinds that cannot be read. Their
 * authors are told: nothing else says why a change has no effect yet. */
#include <stdio.h>
#include <string.h>

#include "cluster/engine.h"

#define LOOK_MS 1000
/* The author of an object that waits longer is told. In this time 40 objects of 1 MB have their
 * turns, so a tenant that changes a few large policies at once waits less, and needs no Event. */
#define LATE_MS 10000

static bool is_late(const struct api_wait *wait)
{
	return wait->since + LATE_MS <= api_now();
}

static void count(void *data, const struct api_wait *wait)
{
	struct waits *waits = data;
	const bool first = !waits->n++;

	waits->n_late += is_late(wait);
	if (!first && (wait->since > waits->since ||
		       (wait->since == waits->since && strcmp(wait->key, waits->key) > 0)))
		return;
	waits->since = wait->since;
	waits->date = wait->date;
	snprintf(waits->key, sizeof(waits->key), "%s", wait->key);
}

struct waits engine_waits(const struct engine *engine)
{
	struct waits waits = {0};

	api_waits(engine->api, count, &waits);
	return waits;
}

struct teller {
	struct engine *engine;
	char ns[256]; /* of the object that was told of last */
};

/* Tells of one object of each namespace: whoever has many does not use up what others have. */
static void tell(void *data, const struct api_wait *wait)
{
	struct teller *teller = data;
	struct engine *engine = teller->engine;
	const size_t n = strcspn(wait->key, "/");
	struct json_object *about;
	char date[32];

	if (*wait->told || !is_late(wait) || (!strncmp(teller->ns, wait->key, n) && !teller->ns[n]))
		return;
	about = objects_about_wait(engine->objects, wait);
	events_date(wait->date, date);
	*wait->told = about && events_waits(engine->events, about, date);
	if (*wait->told)
		diag_report_about(engine->diag, DIAG_NOTE, api_text(about, "metadata.namespace"),
				  "engine: an object waits for its turn: %s %s, since %s",
				  api_text(about, "kind"), wait->key, date);
	json_object_put(about);
	snprintf(teller->ns, sizeof(teller->ns), "%.*s", (int)n, wait->key);
}

/* Returns true if the condition ObjectsAccepted tells of as many kinds that cannot be read as there
 * are. */
static bool is_unread_written(const struct engine *engine)
{
	char text[300];

	return engine->written_unread == objects_unread(engine->objects, text, sizeof(text));
}

static void look(void *data)
{
	struct engine *engine = data;
	struct teller teller = {.engine = engine};

	api_timer_set(engine->api, &engine->look, LOOK_MS);
	if (!lease_held(engine->lease))
		return;
	api_waits(engine->api, tell, &teller);
	/* writes the condition, if that is due */
	if (engine_waits(engine).n_late || engine->written_waits || !is_unread_written(engine))
		engine->go_on(engine);
}

void engine_watch_waits(struct engine *engine)
{
	engine->look = (struct api_timer){.run = look, .data = engine};
	api_timer_set(engine->api, &engine->look, LOOK_MS);
}
