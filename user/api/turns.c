// SPDX-License-Identifier: GPL-2.0-only
#include "api/turns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/large.h"
#include "api/loop.h"

#define REST 3
#define ASK_SECONDS 60
#define BACKOFF_FIRST 500 /* ms */
#define BACKOFF_MAX 30000

struct turn {
	struct api_watch *watch;
	const struct api_turn_ops *ops;
	struct turn *next;
	bool gone;
	char version[API_VERSION_MAX];
	char uid[API_UID_MAX];
	/* when the first change came of which none has been taken since */
	uint64_t since; /* ms */
	time_t date;
	bool told; /* for api_waits() */
	char key[];
};

static bool is_about(const struct turn *turn, const struct api_watch *watch, const char *key)
{
	return turn && turn->watch == watch && !strcmp(turn->key, key);
}

/* Returns true if the namespaces of two keys are the same. */
static bool same_namespace(const char *a, const char *b)
{
	const size_t n = strcspn(a, "/");

	return !strncmp(a, b, n) && b[n] == '/';
}

/* Puts a turn behind the others of its namespace; without any, behind all. */
static void insert(struct api_turns *turns, struct turn *turn)
{
	struct turn **at = &turns->first, **after = NULL;

	for (; *at; at = &(*at)->next)
		if (same_namespace((*at)->key, turn->key))
			after = &(*at)->next;
	if (!after)
		after = at;
	turn->next = *after;
	*after = turn;
}

static void free_turn(struct turn **at)
{
	struct turn *turn = *at;

	*at = turn->next;
	free(turn);
}

/* Begins the next turn when it is due, at the earliest in @ms. */
static void next_turn(struct api *api, unsigned int ms)
{
	struct api_turns *turns = &api->turns;
	const uint64_t now = api_now();
	const uint64_t due = turns->next > now + ms ? turns->next : now + ms;

	if (turns->first && !turns->asked)
		api_timer_set(api, &turns->timer, due - now);
}

/* Puts the objects of a namespace that has had its turn behind all others. */
static void rotate(struct api_turns *turns, const struct turn *had)
{
	struct turn *others = NULL, **end = &others, **at = &turns->first;

	while (*at) {
		struct turn *turn = *at;

		if (same_namespace(had->key, turn->key)) {
			at = &turn->next;
			continue;
		}
		*at = turn->next;
		turn->next = NULL;
		*end = turn;
		end = &turn->next;
	}
	*end = turns->first;
	turns->first = others;
}

static void begin_wait(struct turn *turn)
{
	turn->since = api_now();
	turn->date = time(NULL);
	turn->told = false;
}

static struct turn *find(struct turn *turn, const struct api_watch *watch, const char *key)
{
	while (turn && !is_about(turn, watch, key))
		turn = turn->next;
	return turn;
}

/* The object was taken: a later change of it waits since now. */
static void was_taken(struct api_turns *turns, struct turn *turn)
{
	struct turn *later = find(turns->first, turn->watch, turn->key);

	if (later)
		begin_wait(later);
	free(turn);
}

/* The object has a newer version, which was not taken. Until the watch tells of that, nothing is to
 * be asked for, and the object goes on to wait. */
static void was_missed(struct api_turns *turns, struct turn *turn)
{
	if (find(turns->first, turn->watch, turn->key)) {
		free(turn);
		return;
	}
	turn->next = turns->missed;
	turns->missed = turn;
}

static void end_turn(struct api *api, const struct turn *turn, uint64_t began)
{
	api_turns_took(api, began);
	rotate(&api->turns, turn);
	next_turn(api, 0);
}

static void put_back(struct api *api, struct turn *turn)
{
	turn->next = api->turns.first;
	api->turns.first = turn;
	next_turn(api, api_backoff(&api->turns.backoff, BACKOFF_FIRST, BACKOFF_MAX));
}

static void turn_ended(void *data, struct api_transfer *transfer, long status)
{
	struct api *api = data;
	struct api_turns *turns = &api->turns;
	struct turn *turn = turns->asked;
	const uint64_t began = api_now();
	int error = status == 200 ? 0 : -EAGAIN;

	turns->asked = NULL;
	turns->transfer = NULL;
	if (!error && !turns->overtaken)
		error = turn->ops->take(turn->watch, turn->key, turn->version, &transfer->received);
	if (error && error != -ESTALE && !turns->overtaken) {
		put_back(api, turn);
		return;
	}
	turns->backoff = 0;
	end_turn(api, turn, began);
	if (error == -ESTALE)
		was_missed(turns, turn);
	else
		was_taken(turns, turn);
}

static void ask(struct api *api, struct turn *turn)
{
	struct api_turns *turns = &api->turns;
	char *path = turn->ops->path(turn->watch, turn->key);
	const struct api_transfer_options options = {.method = "GET",
						     .path = path,
						     .seconds = ASK_SECONDS,
						     .ended = turn_ended,
						     .data = api};

	turns->transfer = path ? api_transfer_begin(api, &options) : NULL;
	free(path);
	if (!turns->transfer) {
		put_back(api, turn);
		return;
	}
	turns->asked = turn;
	turns->overtaken = false;
}

static void begin_turn(void *data)
{
	struct api *api = data;
	struct turn *turn = api->turns.first;
	const uint64_t began = api_now();

	if (!turn)
		return;
	api->turns.first = turn->next;
	turn->next = NULL;
	if (!turn->gone) {
		ask(api, turn);
		return;
	}
	turn->ops->gone(turn->watch, turn->key);
	end_turn(api, turn, began);
	free(turn);
}

void api_turns_open(struct api *api)
{
	api->turns.rest = REST;
	api->turns.timer = (struct api_timer){.run = begin_turn, .data = api};
}

bool api_turns_free(const struct api *api)
{
	return !api->turns.first && !api->turns.asked && api->turns.next <= api_now();
}

void api_turns_took(struct api *api, uint64_t began)
{
	const uint64_t now = api_now();

	/* a fraction of a millisecond counts as a whole one */
	api->turns.next = now + (now - began + 1) * api->turns.rest;
}

/* Removes the object from a list, but for one turn (NULL: none). */
static void drop(struct turn **at, const struct api_watch *watch, const char *key,
		 const struct turn *but)
{
	while (*at && (*at == but || !is_about(*at, watch, key)))
		at = &(*at)->next;
	if (*at)
		free_turn(at);
}

/* Returns the turn of an earlier change of the object, which has not been taken; NULL: none. */
static const struct turn *earlier(const struct api_turns *turns, const struct api_watch *watch,
				  const char *key)
{
	const struct turn *turn = find(turns->first, watch, key);

	if (!turn)
		turn = find(turns->missed, watch, key);
	if (!turn && is_about(turns->asked, watch, key) && !turns->overtaken)
		turn = turns->asked;
	return turn;
}

int api_turns_add(struct api *api, struct api_watch *watch, const struct api_turn_ops *ops,
		  const struct api_turn *change)
{
	const struct turn *former = earlier(&api->turns, watch, change->key);
	struct turn *turn;

	/* what the watch has told, as an end, is not to be forgotten for a mere question */
	if (!*change->version && find(api->turns.first, watch, change->key))
		return 0;
	turn = malloc(sizeof(*turn) + strlen(change->key) + 1);
	if (!turn)
		return -ENOMEM;
	turn->watch = watch;
	turn->ops = ops;
	turn->gone = change->gone;
	snprintf(turn->version, sizeof(turn->version), "%s", change->version);
	snprintf(turn->uid, sizeof(turn->uid), "%s", change->uid ? change->uid : "");
	strcpy(turn->key, change->key);
	begin_wait(turn);
	if (former) {
		turn->since = former->since;
		turn->date = former->date;
		turn->told = former->told;
	}
	/* keeps the place of its namespace */
	insert(&api->turns, turn);
	drop(&api->turns.first, watch, change->key, turn);
	drop(&api->turns.missed, watch, change->key, NULL);
	api->counts.waited++;
	if (!api->turns.timer.due)
		next_turn(api, 0);
	return 0;
}

bool api_turns_wait(const struct api *api, const struct api_watch *watch, const char *key)
{
	const struct turn *turn = api->turns.asked;

	if (turn && turn->watch == watch && same_namespace(turn->key, key))
		return true;
	for (turn = api->turns.first; turn; turn = turn->next)
		if (turn->watch == watch && same_namespace(turn->key, key))
			return true;
	return false;
}

void api_turns_forget(struct api *api, const struct api_watch *watch, const char *key)
{
	if (is_about(api->turns.asked, watch, key))
		api->turns.overtaken = true;
	drop(&api->turns.first, watch, key, NULL);
	drop(&api->turns.missed, watch, key, NULL);
}

/* Calls @each for the turns of a list. */
static void each_of(struct turn *turn, api_wait_each *each, void *data)
{
	for (; turn; turn = turn->next) {
		const struct api_wait wait = {turn->watch, turn->key,  turn->uid,
					      turn->since, turn->date, &turn->told};

		each(data, &wait);
	}
}

void api_waits(const struct api *api, api_wait_each *each, void *data)
{
	const struct api_turns *turns = &api->turns;

	each_of(turns->asked, each, data);
	each_of(turns->first, each, data);
	each_of(turns->missed, each, data);
}

static void close_list(struct turn **at, const struct api_watch *watch)
{
	while (*at)
		if ((*at)->watch == watch)
			free_turn(at);
		else
			at = &(*at)->next;
}

void api_turns_close(struct api *api, const struct api_watch *watch)
{
	struct api_turns *turns = &api->turns;

	close_list(&turns->first, watch);
	close_list(&turns->missed, watch);
	if (turns->asked && turns->asked->watch == watch) {
		api_transfer_end(turns->transfer);
		free_turn(&turns->asked);
		next_turn(api, 0);
	}
	if (!turns->first)
		api_timer_stop(api, &turns->timer);
}
