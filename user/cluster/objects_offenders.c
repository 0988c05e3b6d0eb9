// SPDX-License-Identifier: GPL-2.0-only
/* Namespaces of which a NetworkPolicy was over a budget, and when these are evaluated anew. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects_state.h"

#define PAUSE_FIRST 1000 /* ms */
#define PAUSE_MAX 300000
/* after a compile that evaluates, none evaluates for so many times as long as it took */
#define SHARE 10
/* ms: so long after it was evaluated, a namespace whose policies have not changed is evaluated
 * anew, since other objects count too; and one that is within its budgets is forgotten. */
#define AGAIN_MS 600000

struct offender {
	uint64_t next; /* ms: not to be evaluated before */
	uint64_t again; /* ms: to be evaluated then in any case */
	unsigned int pause; /* ms */
	bool touched; /* one of its policies has changed since it was evaluated */
	bool evaluated; /* by this compile */
	bool over; /* this compile has set a policy aside */
	bool closes; /* a policy is set aside */
};

static void free_offender(struct lh_entry *entry)
{
	free(lh_entry_v(entry));
	free(lh_entry_k(entry));
}

static struct offender *find(const struct objects *objects, const char *ns)
{
	struct lh_entry *entry = lh_table_lookup_entry(objects->offenders, ns);

	return entry ? lh_entry_v(entry) : NULL;
}

/* Returns the offender whose NetworkPolicy has the key; NULL: none. */
static struct offender *offender_of(const struct objects *objects, const struct object_kind *kind,
				    const char *key)
{
	const char *slash = strchr(key, '/');
	char ns[256];

	if (strcmp(kind->name, "NetworkPolicy") || !slash || !lh_table_length(objects->offenders))
		return NULL;
	snprintf(ns, sizeof(ns), "%.*s", (int)(slash - key), key);
	return find(objects, ns);
}

/* ms: an offender whose policies have changed is not evaluated before. */
static uint64_t due_at(const struct objects *objects, const struct offender *offender)
{
	return offender->next > objects->evaluate_next ? offender->next : objects->evaluate_next;
}

static void on_evaluate(void *data)
{
	struct objects *objects = data;

	objects->since.others = true;
	objects->ops.changed(objects->data);
}

int offenders_open(struct objects *objects)
{
	objects->evaluate = (struct api_timer){.run = on_evaluate, .data = objects};
	objects->offenders = lh_kchar_table_new(16, free_offender);
	return objects->offenders ? 0 : -ENOMEM;
}

void offenders_close(struct objects *objects)
{
	if (objects->api)
		api_timer_stop(objects->api, &objects->evaluate);
	if (objects->offenders)
		lh_table_free(objects->offenders);
}

/* Sets the timer for the first offender that waits to be evaluated. */
static void wait_for_next(struct objects *objects)
{
	const uint64_t now = api_now();
	uint64_t first = UINT64_MAX;
	struct lh_entry *entry;

	if (!objects->api)
		return;
	for (entry = objects->offenders->head; entry; entry = entry->next) {
		const struct offender *offender = lh_entry_v(entry);
		uint64_t due = offender->touched ? offender->next : offender->again;

		if (due < objects->evaluate_next)
			due = objects->evaluate_next;
		if ((offender->touched || offender->closes) && due < first)
			first = due;
	}
	if (first == UINT64_MAX)
		api_timer_stop(objects->api, &objects->evaluate);
	else
		api_timer_set(objects->api, &objects->evaluate, first > now ? first - now : 0);
}

/* Makes the policy that isolates in the place of one that is set aside. A large one without a
 * stand-in has none: it was tried when the policy came. */
static void close_policy(const struct object_kind *kind, const char *key, struct object_state *kept)
{
	const bool large = strlen(kept->text) >= UNSEEN_BYTES;
	struct json_object *object = large ? NULL : json_tokener_parse(kept->text);

	free(kept->closed);
	kept->closed = object		? objects_isolating(kind, object, key)
		       : kept->stand_in ? strdup(kept->stand_in)
					: NULL;
	json_object_put(object);
}

/* Sets a policy aside that has come during the pause. */
static void close_unseen(struct collection *collection, const char *key, struct object_state *kept,
			 const struct offender *offender)
{
	const uint64_t now = api_now(), due = due_at(collection->objects, offender);
	char *why = NULL;

	close_policy(collection->kind, key, kept);
	if (kept->closed &&
	    asprintf(&why,
		     "isolates what it selects: its namespace was over a budget, and is looked at "
		     "again within %llu s",
		     (unsigned long long)(due > now ? due - now : 0) / 1000 + 1) >= 0)
		objects_set_aside(collection->objects, collection->kind, key, kept, why);
}

bool offenders_note(struct collection *collection, const char *key, struct object_state *kept)
{
	struct objects *objects = collection->objects;
	struct offender *offender = offender_of(objects, collection->kind, key);
	char *last;
	bool same, waits;

	if (!offender)
		return false;
	offender->touched = true;
	wait_for_next(objects);
	if (!kept || !kept->text || kept->refused)
		return false;
	waits = objects->api && api_now() < due_at(objects, offender);
	last = kept->closed;
	kept->closed = NULL;
	/* a small policy is looked at during the pause, too */
	if (strlen(kept->text) >= UNSEEN_BYTES && last)
		close_policy(collection->kind, key, kept);
	else if (strlen(kept->text) >= UNSEEN_BYTES && waits)
		close_unseen(collection, key, kept, offender);
	/* the timer evaluates the namespace in time */
	same = waits && last && kept->closed && !strcmp(last, kept->closed);
	free(last);
	return same;
}

static bool is_due(const struct objects *objects, const struct offender *offender)
{
	const uint64_t now = objects->evaluate_began;

	if (!objects->api)
		return offender->touched;
	return now >= objects->evaluate_next &&
	       now >= (offender->touched ? offender->next : offender->again);
}

void offenders_begin(struct objects *objects)
{
	struct lh_entry *entry, *next;
	bool evaluates = false;

	objects->evaluate_began = api_now();
	for (entry = objects->offenders->head; entry; entry = next) {
		struct offender *offender = lh_entry_v(entry);

		next = entry->next;
		offender->over = false;
		offender->evaluated = is_due(objects, offender) && !(evaluates && objects->api);
		evaluates |= offender->evaluated;
		if (offender->evaluated && !offender->touched && !offender->closes)
			lh_table_delete_entry(objects->offenders, entry);
	}
}

bool offenders_hide(const struct objects *objects, const struct object_kind *kind, const char *key,
		    const struct object_state *kept)
{
	const struct offender *offender = kept->closed ? offender_of(objects, kind, key) : NULL;

	return offender && !offender->evaluated;
}

const char *offenders_text(const struct objects *objects, const struct object_kind *kind,
			   const char *key, const struct object_state *kept)
{
	return offenders_hide(objects, kind, key, kept) ? kept->closed : kept->text;
}

static struct offender *add(struct objects *objects, const char *key)
{
	const char *slash = strchr(key, '/');
	struct offender *offender = slash ? calloc(1, sizeof(*offender)) : NULL;
	char *ns = offender ? strndup(key, slash - key) : NULL;

	if (!ns || lh_table_insert(objects->offenders, ns, offender)) {
		free(ns);
		free(offender);
		return NULL;
	}
	offender->evaluated = true;
	return offender;
}

void offenders_set(struct objects *objects, const struct object_kind *kind, const char *key,
		   struct object_state *kept, bool nameless)
{
	struct offender *offender = offender_of(objects, kind, key);
	bool closes;

	if (strcmp(kind->name, "NetworkPolicy"))
		return;
	if (kept->aside && !offender)
		offender = add(objects, key);
	closes = kept->aside && offender;
	if (closes)
		offender->over = true;
	if (!closes || nameless) {
		free(kept->closed);
		kept->closed = NULL;
	} else if (!kept->closed) {
		close_policy(kind, key, kept);
	}
}

void offenders_end(struct objects *objects)
{
	const uint64_t now = api_now();
	struct lh_entry *entry;

	for (entry = objects->offenders->head; entry; entry = entry->next) {
		struct offender *offender = lh_entry_v(entry);

		if (!offender->evaluated)
			continue;
		objects->evaluate_next = now + (now - objects->evaluate_began) * SHARE;
		if (offender->over && offender->touched)
			offender->pause =
				offender->pause * 2 < PAUSE_MAX ? offender->pause * 2 : PAUSE_MAX;
		if (!offender->pause)
			offender->pause = PAUSE_FIRST;
		offender->next = now + offender->pause;
		offender->again = now + AGAIN_MS;
		offender->touched = offender->evaluated = false;
		offender->closes = offender->over;
	}
	wait_for_next(objects);
}
