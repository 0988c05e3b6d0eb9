// SPDX-License-Identifier: GPL-2.0-only
/* Namespaces of which a NetworkPolicy was over a budget, and when these are evaluated anew. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects_state.h"

#define GATHER_MS 200 /* so long after a change, further changes are awaited */
#define PAUSE_FIRST 1000 /* ms */
#define PAUSE_MAX 300000
/* After an evaluation, none begins for so many times its processor time. */
#define SHARE 10
/* ms: so long after it was evaluated, a namespace whose policies have not changed is evaluated
 * anew, since other objects count too; and one that is within its budgets is forgotten. */
#define AGAIN_MS 600000

struct offender {
	uint64_t next; /* ms: not to be evaluated before */
	uint64_t again; /* ms: to be evaluated then in any case */
	unsigned int pause; /* ms */
	bool touched; /* one of its policies has changed since its evaluation began */
	bool shown; /* its policies themselves count, also those that are set aside */
};

static void free_offender(struct lh_entry *entry)
{
	free(lh_entry_v(entry));
	free(lh_entry_k(entry));
}

/* Returns the offender whose NetworkPolicy has the key; NULL: none. */
static struct offender *offender_of(const struct objects *objects, const struct object_kind *kind,
				    const char *key)
{
	const char *slash = strchr(key, '/');
	struct lh_entry *entry;
	char ns[256];

	if (strcmp(kind->name, "NetworkPolicy") || !slash || !lh_table_length(objects->offenders))
		return NULL;
	snprintf(ns, sizeof(ns), "%.*s", (int)(slash - key), key);
	entry = lh_table_lookup_entry(objects->offenders, ns);
	return entry ? lh_entry_v(entry) : NULL;
}

static uint64_t due_at(const struct objects *objects, const struct offender *offender)
{
	const uint64_t due = offender->touched ? offender->next : offender->again;

	return due > objects->evaluate_next ? due : objects->evaluate_next;
}

/* Returns the offender that is due first; NULL: there is none. */
static struct lh_entry *first_due(const struct objects *objects)
{
	struct lh_entry *first = NULL;

	for (struct lh_entry *entry = objects->offenders->head; entry; entry = entry->next)
		if (!first ||
		    due_at(objects, lh_entry_v(entry)) < due_at(objects, lh_entry_v(first)))
			first = entry;
	return first;
}

/* Sets the timer for the offender that is due first. */
static void wait_for_next(struct objects *objects)
{
	const struct lh_entry *first = first_due(objects);
	const uint64_t now = api_now();
	uint64_t due;

	if (!objects->api)
		return;
	if (!first || !objects->evaluates || evaluation_runs(objects->evaluation)) {
		api_timer_stop(objects->api, &objects->evaluate);
		return;
	}
	due = due_at(objects, lh_entry_v(first));
	api_timer_set(objects->api, &objects->evaluate, due > now ? due - now : 0);
}

/* Makes the policy that isolates in the place of one that is set aside. */
static void close_policy(const struct object_kind *kind, const char *key, struct object_state *kept)
{
	struct json_object *object = kept->stand_in ? NULL : json_tokener_parse(kept->text);

	free(kept->closed);
	kept->closed = object		? objects_isolating(kind, object, key)
		       : kept->stand_in ? strdup(kept->stand_in)
					: NULL;
	json_object_put(object);
}

static void open_policy(struct object_state *kept)
{
	free(kept->closed);
	kept->closed = NULL;
}

/* Evaluations */

/* Calls @each for each NetworkPolicy of the offender. */
static void for_policies(struct objects *objects, const struct offender *offender,
			 void (*each)(struct objects *objects, const struct object_kind *kind,
				      const char *key, struct object_state *kept, void *data),
			 void *data)
{
	for (size_t i = 0; i < N_KINDS; i++) {
		struct lh_entry *entry = objects->collections[i].kept->head;

		for (; entry; entry = entry->next)
			if (offender_of(objects, &object_kinds[i], lh_entry_k(entry)) == offender)
				each(objects, &object_kinds[i], lh_entry_k(entry),
				     lh_entry_v(entry), data);
	}
}

static void find_closed(struct objects *objects, const struct object_kind *kind, const char *key,
			struct object_state *kept, void *data)
{
	bool *closes = data;

	(void)objects;
	(void)kind;
	(void)key;
	*closes |= !!kept->closed;
}

/* Writes an object's text to compile, with its NUL. */
static int write_object(struct objects *objects, const struct object_place *at, void *to,
			struct diag *diag)
{
	const char *text = offenders_text(objects, at->kind, at->key, at->kept);

	(void)diag;
	return text && fwrite(text, strlen(text) + 1, 1, to) != 1 ? -errno : 0;
}

static int write_objects(void *data, FILE *to)
{
	struct objects *objects = data;
	int error;

	objects->evaluated->shown = true;
	error = objects_each(objects, write_object, to, NULL);
	objects->evaluated->shown = false;
	return error;
}

/* Evaluates the offender, or forgets it if none of its policies has been set aside for long. */
static void evaluate(struct objects *objects, struct lh_entry *entry)
{
	struct offender *offender = lh_entry_v(entry);
	const bool forgets = !offender->touched;
	bool closes = false;

	offender->touched = false;
	for_policies(objects, offender, find_closed, &closes);
	offender->next = api_now() + offender->pause;
	offender->again = api_now() + AGAIN_MS;
	if (closes) {
		objects->evaluated = offender;
		evaluation_begin(objects->evaluation, lh_entry_k(entry));
	} else if (forgets) {
		lh_table_delete_entry(objects->offenders, entry);
	}
}

static void on_evaluate(void *data)
{
	struct objects *objects = data;
	struct lh_entry *first = first_due(objects);

	if (first && due_at(objects, lh_entry_v(first)) <= api_now())
		evaluate(objects, first);
	wait_for_next(objects);
}

/* What an evaluation has found out of a namespace. */
struct verdict {
	const struct asides *over;
	const char *why; /* why it has found out nothing */
	bool is_over;
	bool changed; /* other policies than before are to be compiled */
};

/* The compile that takes a policy in again reports that it counts. */
static void take_verdict(struct objects *objects, const struct object_kind *kind, const char *key,
			 struct object_state *kept, void *data)
{
	struct verdict *verdict = data;
	const struct aside *aside = objects_find_aside(verdict->over, kind, key);
	const bool was_closed = kept->closed;

	verdict->is_over |= !!aside;
	if (aside && !aside->nameless) {
		if (!was_closed)
			close_policy(kind, key, kept);
		objects_set_aside(objects, kept, objects_aside_text(aside->effect, aside->why));
	} else {
		open_policy(kept);
	}
	verdict->changed |= was_closed != !!kept->closed;
}

/* Says of a policy that stays closed why it does. */
static void take_failure(struct objects *objects, const struct object_kind *kind, const char *key,
			 struct object_state *kept, void *data)
{
	const struct verdict *verdict = data;
	char *effect = "isolates what it selects: its namespace was over a budget, and cannot be "
		       "evaluated now";
	char *why = kept->closed ? objects_aside_text(effect, verdict->why) : NULL;
	const bool same = why && kept->aside && !strcmp(why, kept->aside);

	(void)kind;
	(void)key;
	if (!why)
		return;
	objects_set_aside(objects, kept, why);
	if (!same)
		objects_report_aside(objects, kept);
}

/* Takes the verdict, unless the policies have changed since they were evaluated. */
static void on_verdict(void *data, const struct asides *over, const char *why, uint64_t ms)
{
	struct objects *objects = data;
	struct offender *offender = objects->evaluated;
	struct verdict verdict = {.over = over, .why = why, .is_over = why};
	const uint64_t now = api_now();

	objects->evaluated = NULL;
	objects->evaluate_next = now + ms * SHARE;
	if (!offender->touched) {
		for_policies(objects, offender, why ? take_failure : take_verdict, &verdict);
		if (verdict.is_over)
			offender->pause =
				offender->pause * 2 < PAUSE_MAX ? offender->pause * 2 : PAUSE_MAX;
		offender->again = now + (why ? offender->pause : AGAIN_MS);
	}
	offender->next = now + offender->pause;
	wait_for_next(objects);
	if (!verdict.changed)
		return;
	objects->since.others = true;
	objects->ops.changed(objects->data);
}

int offenders_open(struct objects *objects)
{
	static const struct evaluation_ops ops = {.write = write_objects, .done = on_verdict};

	objects->evaluate = (struct api_timer){.run = on_evaluate, .data = objects};
	objects->offenders = lh_kchar_table_new(16, free_offender);
	objects->evaluation = evaluation_open(objects->api, &ops, objects);
	return objects->offenders && objects->evaluation ? 0 : -ENOMEM;
}

void offenders_close(struct objects *objects)
{
	if (objects->api)
		api_timer_stop(objects->api, &objects->evaluate);
	evaluation_close(objects->evaluation);
	if (objects->offenders)
		lh_table_free(objects->offenders);
}

void objects_evaluate(struct objects *objects, bool evaluates)
{
	objects->evaluates = evaluates;
	if (!evaluates && objects->evaluated) {
		evaluation_stop(objects->evaluation);
		objects->evaluated->touched = true;
		objects->evaluated = NULL;
	}
	wait_for_next(objects);
}

void offenders_begin(struct objects *objects)
{
	for (struct lh_entry *entry = objects->offenders->head, *next; entry && !objects->api;
	     entry = next) {
		next = entry->next;
		if (((struct offender *)lh_entry_v(entry))->touched)
			evaluate(objects, entry);
	}
}

/* Changes */

/* Sets a large policy aside that is new in an offender's namespace, until it is evaluated. */
static void close_unseen(struct collection *collection, const char *key, struct object_state *kept,
			 const struct offender *offender)
{
	struct objects *objects = collection->objects;
	const uint64_t now = api_now(), due = due_at(objects, offender);
	char *why = NULL;

	close_policy(collection->kind, key, kept);
	/* without a loop, nobody hears of the time until the next compile */
	if (kept->closed && objects->api &&
	    asprintf(&why,
		     "isolates what it selects: its namespace was over a budget, and is looked at "
		     "again within %llu s",
		     (unsigned long long)(due > now ? due - now : 0) / 1000 + 1) >= 0)
		objects_set_aside(objects, kept, why);
}

bool offenders_note(struct collection *collection, const char *key, struct object_state *kept)
{
	struct objects *objects = collection->objects;
	struct offender *offender = offender_of(objects, collection->kind, key);
	const uint64_t gathered = api_now() + GATHER_MS;
	char *last;
	bool same;

	if (!offender)
		return false;
	offender->touched = true;
	if (offender->next < gathered)
		offender->next = gathered;
	wait_for_next(objects);
	if (!kept || !kept->text || kept->refused)
		return false;
	last = kept->closed;
	kept->closed = NULL;
	/* a small policy counts at once */
	if (strlen(kept->text) >= UNSEEN_BYTES && last)
		close_policy(collection->kind, key, kept);
	else if (strlen(kept->text) >= UNSEEN_BYTES)
		close_unseen(collection, key, kept, offender);
	same = last && kept->closed && !strcmp(last, kept->closed);
	free(last);
	return same;
}

bool offenders_hide(const struct objects *objects, const struct object_kind *kind, const char *key,
		    const struct object_state *kept)
{
	const struct offender *offender = kept->closed ? offender_of(objects, kind, key) : NULL;

	return offender && !offender->shown;
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
	offender->pause = PAUSE_FIRST;
	offender->next = api_now() + PAUSE_FIRST;
	offender->again = api_now() + AGAIN_MS;
	return offender;
}

void offenders_set(struct objects *objects, const struct object_kind *kind, const char *key,
		   struct object_state *kept, bool nameless)
{
	struct offender *offender = offender_of(objects, kind, key);

	if (strcmp(kind->name, "NetworkPolicy"))
		return;
	if (kept->aside && !offender)
		offender = add(objects, key);
	if (!kept->aside || !offender || nameless) {
		open_policy(kept);
		return;
	}
	if (!kept->closed)
		close_policy(kind, key, kept);
}

void offenders_end(struct objects *objects)
{
	wait_for_next(objects);
}
