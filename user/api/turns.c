// SPDX-License-Identifier: GPL-2.0-only
#include "api/turns.h"

#include <errno.h>
#include <json-c/linkhash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "api/key_table.h"
#include "api/large.h"
#include "api/loop.h"
#include "model/arrays.h"

#define REST 3
#define ASK_SECONDS 60
#define BACKOFF_FIRST 500 /* ms */
#define BACKOFF_MAX 30000

struct turn {
	struct api_watch *watch;
	const struct api_turn_ops *ops;
	struct turn_queue *queue; /* NULL: it is in none */
	struct turn *next, **at; /* *at: the pointer to this turn in its queue */
	bool gone;
	char version[API_VERSION_MAX];
	char uid[API_UID_MAX];
	/* when the first change came of which none has been taken since */
	uint64_t since; /* ms */
	time_t date;
	bool told; /* for api_waits() */
	const char *key; /* in `text` */
	char text[];
};

/* The turns of a namespace. There are as many queues as namespaces that wait, and a tenant has few
 * of these. */
struct turn_queue {
	struct turn_queue *next;
	struct turn *first, **end;
	char ns[];
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

static unsigned long hash_turn(const void *key)
{
	const struct turn *turn = key;

	return XXH3_64bits_withSeed(turn->key, strlen(turn->key), (uintptr_t)turn->watch);
}

static int equals_turn(const void *a, const void *b)
{
	const struct turn *turn = b;

	return is_about(a, turn->watch, turn->key);
}

/* Returns the turn of an object in the queues; NULL: it has none. */
static struct turn *find(const struct api_turns *turns, const struct api_watch *watch,
			 const char *key)
{
	const struct turn wanted = {.watch = (struct api_watch *)watch, .key = key};
	struct lh_entry *entry = lh_table_lookup_entry(turns->table, &wanted);

	return entry ? lh_entry_v(entry) : NULL;
}

/* Returns where the pointer to the queue of a key's namespace is; to NULL: it has none. */
static struct turn_queue **find_queue(struct api_turns *turns, const char *key)
{
	const size_t n = strcspn(key, "/");
	struct turn_queue **at = &turns->first;

	while (*at && (strncmp((*at)->ns, key, n) || (*at)->ns[n]))
		at = &(*at)->next;
	return at;
}

/* Returns the queue of a key's namespace, which a new one of comes last. */
static struct turn_queue *queue_of(struct api_turns *turns, const char *key)
{
	const size_t n = strcspn(key, "/");
	struct turn_queue **at = find_queue(turns, key), *queue = *at;

	if (queue)
		return queue;
	queue = check_memory(calloc(1, sizeof(*queue) + n + 1));
	queue->end = &queue->first;
	memcpy(queue->ns, key, n);
	*at = queue;
	return queue;
}

/* Puts a turn into its queue, where *@at is. */
static void put(struct api_turns *turns, struct turn_queue *queue, struct turn *turn,
		struct turn **at)
{
	turn->queue = queue;
	turn->next = *at;
	turn->at = at;
	*at = turn;
	if (turn->next)
		turn->next->at = &turn->next;
	else
		queue->end = &turn->next;
	if (lh_table_insert(turns->table, turn, turn))
		check_memory(NULL);
}

/* Takes a turn out of its queue, which may be empty then. */
static struct turn_queue *take_out(struct api_turns *turns, struct turn *turn)
{
	struct turn_queue *queue = turn->queue;

	lh_table_delete(turns->table, turn);
	api_table_deleted(&turns->table, &turns->deleted);
	*turn->at = turn->next;
	if (turn->next)
		turn->next->at = turn->at;
	else
		queue->end = turn->at;
	turn->queue = NULL;
	turn->next = NULL;
	return queue;
}

static void free_empty(struct api_turns *turns, struct turn_queue *queue)
{
	struct turn_queue **at = &turns->first;

	if (queue->first)
		return;
	while (*at != queue)
		at = &(*at)->next;
	*at = queue->next;
	free(queue);
}

/* Forgets the turn of an object in the queues. */
static void drop(struct api_turns *turns, struct turn *turn)
{
	if (turn)
		free_empty(turns, take_out(turns, turn));
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
	struct turn_queue **at = find_queue(turns, had->key), *queue = *at;

	if (!queue)
		return;
	*at = queue->next;
	queue->next = NULL;
	for (at = &turns->first; *at; at = &(*at)->next)
		;
	*at = queue;
}

static void begin_wait(struct turn *turn)
{
	turn->since = api_now();
	turn->date = time(NULL);
	turn->told = false;
}

/* The object was taken: a later change of it waits since now. */
static void was_taken(struct api_turns *turns, struct turn *turn)
{
	struct turn *later = find(turns, turn->watch, turn->key);

	if (later)
		begin_wait(later);
	free(turn);
}

/* The object has a newer version, which was not taken. Until the watch tells of that, nothing is to
 * be asked for, and the object goes on to wait. */
static void was_missed(struct api_turns *turns, struct turn *turn)
{
	if (find(turns, turn->watch, turn->key)) {
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

/* The server has not answered, or with what cannot be read: the object is asked for again. That
 * comes before what waits in its namespace and after the others' turns, since it may fail for ever.
 */
static void put_back(struct api *api, struct turn *turn)
{
	struct api_turns *turns = &api->turns;
	struct turn_queue *queue = queue_of(turns, turn->key);

	put(turns, queue, turn, &queue->first);
	rotate(turns, turn);
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
	struct turn *turn = api->turns.first ? api->turns.first->first : NULL;
	const uint64_t began = api_now();

	if (!turn)
		return;
	free_empty(&api->turns, take_out(&api->turns, turn));
	if (!turn->gone) {
		ask(api, turn);
		return;
	}
	turn->ops->gone(turn->watch, turn->key);
	end_turn(api, turn, began);
	free(turn);
}

int api_turns_open(struct api *api)
{
	api->turns.rest = REST;
	api->turns.timer = (struct api_timer){.run = begin_turn, .data = api};
	api->turns.table = lh_table_new(64, NULL, hash_turn, equals_turn);
	return api->turns.table ? 0 : -ENOMEM;
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

/* Forgets the turn of an object that was asked for, and of whose newer version the watch tells. */
static void drop_missed(struct api_turns *turns, const struct api_watch *watch, const char *key)
{
	struct turn **at = &turns->missed, *turn;

	while (*at && !is_about(*at, watch, key))
		at = &(*at)->next;
	turn = *at;
	if (!turn)
		return;
	*at = turn->next;
	free(turn);
}

/* Returns the turn of an earlier change of the object, which has not been taken; NULL: none. */
static const struct turn *earlier(const struct api_turns *turns, const struct api_watch *watch,
				  const char *key)
{
	const struct turn *turn = find(turns, watch, key);

	if (!turn)
		for (turn = turns->missed; turn && !is_about(turn, watch, key);)
			turn = turn->next;
	if (!turn && is_about(turns->asked, watch, key) && !turns->overtaken)
		turn = turns->asked;
	return turn;
}

int api_turns_add(struct api *api, struct api_watch *watch, const struct api_turn_ops *ops,
		  const struct api_turn *change)
{
	struct api_turns *turns = &api->turns;
	const struct turn *former = earlier(turns, watch, change->key);
	struct turn *last = find(turns, watch, change->key), *turn;
	struct turn_queue *queue;

	/* what the watch has told, as an end, is not to be forgotten for a mere question */
	if (!*change->version && last)
		return 0;
	turn = malloc(sizeof(*turn) + strlen(change->key) + 1);
	if (!turn)
		return -ENOMEM;
	turn->watch = watch;
	turn->ops = ops;
	turn->gone = change->gone;
	snprintf(turn->version, sizeof(turn->version), "%s", change->version);
	snprintf(turn->uid, sizeof(turn->uid), "%s", change->uid ? change->uid : "");
	strcpy(turn->text, change->key);
	turn->key = turn->text;
	begin_wait(turn);
	if (former) {
		turn->since = former->since;
		turn->date = former->date;
		turn->told = former->told;
	}
	/* keeps the place of its namespace */
	queue = queue_of(turns, change->key);
	if (last)
		take_out(turns, last);
	free(last);
	put(turns, queue, turn, queue->end);
	drop_missed(turns, watch, change->key);
	api->counts.waited++;
	if (!turns->timer.due)
		next_turn(api, 0);
	return 0;
}

bool api_turns_wait(const struct api *api, const struct api_watch *watch, const char *key)
{
	const struct turn *turn = api->turns.asked;
	const struct turn_queue *queue;

	if (turn && turn->watch == watch && same_namespace(turn->key, key))
		return true;
	queue = *find_queue((struct api_turns *)&api->turns, key);
	for (turn = queue ? queue->first : NULL; turn; turn = turn->next)
		if (turn->watch == watch)
			return true;
	return false;
}

void api_turns_forget(struct api *api, const struct api_watch *watch, const char *key)
{
	struct api_turns *turns = &api->turns;

	if (is_about(turns->asked, watch, key))
		turns->overtaken = true;
	drop(turns, find(turns, watch, key));
	drop_missed(turns, watch, key);
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
	for (const struct turn_queue *queue = turns->first; queue; queue = queue->next)
		each_of(queue->first, each, data);
	each_of(turns->missed, each, data);
}

/* Frees the turns of a watch in a queue, which ends with its last turn. */
static void close_queue(struct api_turns *turns, struct turn_queue *queue,
			const struct api_watch *watch)
{
	struct turn *turn, *next;

	for (turn = queue->first; turn; turn = next) {
		next = turn->next;
		if (turn->watch != watch)
			continue;
		take_out(turns, turn);
		free(turn);
	}
	free_empty(turns, queue);
}

static void close_missed(struct api_turns *turns, const struct api_watch *watch)
{
	struct turn **at = &turns->missed, *turn;

	while ((turn = *at)) {
		if (turn->watch != watch) {
			at = &turn->next;
			continue;
		}
		*at = turn->next;
		free(turn);
	}
}

void api_turns_close(struct api *api, const struct api_watch *watch)
{
	struct api_turns *turns = &api->turns;
	struct turn_queue *queue, *next;

	for (queue = turns->first; queue; queue = next) {
		next = queue->next;
		close_queue(turns, queue, watch);
	}
	close_missed(turns, watch);
	if (turns->asked && turns->asked->watch == watch) {
		api_transfer_end(turns->transfer);
		free(turns->asked);
		turns->asked = NULL;
		next_turn(api, 0);
	}
	if (!turns->first)
		api_timer_stop(api, &turns->timer);
}

void api_turns_end(struct api *api)
{
	if (api->turns.table)
		lh_table_free(api->turns.table);
}
