// SPDX-License-Identifier: GPL-2.0-only
/*
 * A watch: lists a collection in pages, then streams its events from the list's version on. It
 * keeps the key and version of each object, so that a list after a gap reports the difference
 * only.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/faults.h"
#include "api/known.h"
#include "api/large.h"
#include "api/loop.h"
#include "api/served.h"

/* Objects of a page. A page of more bytes than PAGE_BYTES is asked for again with an eighth of
 * them. */
#define PAGE 500
#define PAGE_BYTES (32u << 20)
/* s: the server ends a stream after this, plus a random part of up to half of it. */
#define STREAM_SECONDS 300
#define LIST_SECONDS 60
#define BACKOFF_FIRST 100 /* ms */
#define BACKOFF_MAX 30000
#define HURRY_MS 500 /* between attempts of a watch that other requests' answers cause */
/* So many such attempts may follow a fault if the server then refuses: a server that starts does
 * not know all roles at once. */
#define HURRIES_MAX 10
#define OUTAGE_MS 10000 /* a watch without an answer for so long lists, and resumes no stream */
#define SHORT_MS 1000 /* a stream that ends sooner counts as a failure */
/* A stream whose answer does not begin, or whose event does not end, for so long, hangs. A server
 * has a bookmark to send each minute: so a proxy that keeps the head of an answer until there is
 * more does not hang. */
#define STALL_MS 90000
/* After so many streams in a row that end with an error or nonsense before an event, list anew:
 * else the watch would ask from the version of one event that the server cannot tell of for ever.
 */
#define STUCK_MAX 5
/* A list with so many pages in a row without an object that is new in it does not end. */
#define REPEATS_MAX 100
#define UNUSUAL_MS 800 /* such a pause is reported where no server that works makes it as long */
#define NO_MEMORY "no memory for its objects"
#define EVENT_MAX (16u << 20) /* bytes of an event; etcd takes objects of up to 1.5 MB */

struct api_watch {
	struct api *api;
	char *path, *query;
	struct api_watch_ops ops;
	void *data;
	struct api_known known;
	char *version; /* version from which to watch; NULL: list first */
	char *page; /* `continue` of the current list; NULL: none */
	unsigned int limit; /* objects of a page */
	struct api_transfer *transfer;
	struct api_buffer line;
	struct api_timer again;
	unsigned int backoff; /* ms; 0: the last attempt succeeded */
	uint64_t began; /* ms: when the transfer began */
	uint64_t since; /* ms: when the first list ended, or when the last fault ended */
	bool failed; /* there is a fault, which was reported */
	struct api_faults faults; /* since it began */
	char said[160]; /* what is wrong with the stream; "": nothing */
	bool unanswered; /* the fault is no answer, or a status of 500 and above; or began so */
	/* ms: since when there was no answer, or a status of 500 and above; 0: not so */
	uint64_t silent;
	unsigned int hurries; /* attempts since then that other requests' answers caused */
	bool there; /* the server has had the collection */
	bool missing; /* it does not exist, as the last list showed */
	struct api_served *served; /* asks in which versions it exists; NULL: nothing is asked */
	char *unread; /* for api_watch_unread(); NULL: it is not so */
	bool ready; /* the server has said that it is ready, since the last list */
	bool too_old; /* the server has forgotten events: list again */
	/* ms: as `backoff`, between lists that no event has followed */
	unsigned int forgets;
	unsigned int stuck; /* streams in a row that ended with an error or nonsense */
	unsigned int repeats; /* pages in a row without an object that is new in the list */
	bool stale; /* the server's cache may be older than the last event: list from the store */
	bool anew; /* use a new connection next */
	/* column definitions of a stream of Tables; NULL: not received yet */
	struct json_object *columns;
	/* events have whole objects until the next list: the server lacks a column, or the API
	 * version that has the columns */
	bool whole;
	bool in_turn; /* what is reported is the answer to a turn's request */
	uint64_t told; /* lists and events that have come */
	bool streamed; /* a stream has begun since the last list */
	struct api_watch *next;
};

static void go(void *data);

uint64_t api_watch_since(const struct api_watch *watch)
{
	return watch->failed ? 0 : watch->since;
}

const char *api_watch_unread(const struct api_watch *watch)
{
	return watch->unread;
}

bool api_watch_lists(const struct api_watch *watch)
{
	return !watch->version;
}

/* Lets a watch that waits since the server gave no answer try again. */
static void hurry(struct api_watch *watch)
{
	const uint64_t now = api_now(), earliest = watch->began + HURRY_MS;
	const uint64_t due = earliest > now ? earliest : now;

	if (!watch->unanswered || watch->transfer || watch->again.due <= due ||
	    watch->hurries >= HURRIES_MAX)
		return;
	watch->hurries++;
	api_timer_set(watch->api, &watch->again, due - now);
	if (watch->backoff > HURRY_MS)
		watch->backoff = HURRY_MS;
}

void api_answered(struct api *api)
{
	for (struct api_watch *watch = api->watches; watch; watch = watch->next)
		hurry(watch);
}

/* Reports each kind of fault once, until the next success. @status: of the answer; 0: it says
 * nothing more. */
static void complain(struct api_watch *watch, long status, const char *what)
{
	struct where where = {watch->api->config.server, 0};
	char code[16] = "";

	if (status)
		snprintf(code, sizeof(code), " (%ld)", status);
	if (api_faults_add(&watch->faults, status, what))
		diag_warn(watch->api->diag, &where, watch->path, "%s%s", what, code);
	watch->failed = true;
}

/* Ends a fault: the server answers this watch. Does not end the backoff, since a stream alone is no
 * success. */
static void answers(struct api_watch *watch)
{
	struct where where = {watch->api->config.server, 0};

	if (watch->failed)
		diag_note(watch->api->diag, &where, watch->path, "answers again");
	if (watch->failed && watch->since)
		watch->since = api_now();
	watch->failed = watch->unanswered = watch->anew = false;
	watch->faults.n = 0;
	watch->silent = 0;
	api_answered(watch->api);
}

/* The server answers a stream. Until it tells of an event, it may end the next stream as it ended
 * the last ones. */
static void stream_began(void *data)
{
	struct api_watch *watch = data;

	api_timer_stop(watch->api, &watch->again);
	if (!watch->stuck)
		answers(watch);
}

static void good(struct api_watch *watch)
{
	answers(watch);
	watch->backoff = 0;
}

static void later(struct api_watch *watch)
{
	api_timer_set(watch->api, &watch->again,
		      api_backoff(&watch->backoff, BACKOFF_FIRST, BACKOFF_MAX));
}

/* Waits after a transfer that ended with this status. */
static void later_than(struct api_watch *watch, const struct api_transfer *transfer, long status)
{
	/* what the server says in a stream is an answer */
	const bool none = (!status && !*watch->said) || status >= 500;
	const unsigned int most = transfer->absent ? API_ABSENT_MS : BACKOFF_MAX;
	unsigned int wait = api_backoff(&watch->backoff, BACKOFF_FIRST, most);
	unsigned int asked = transfer->retry_after * 1000;

	/* a server under load says how long to stay away, so that many clients do not come back at
	 * once */
	asked = asked < BACKOFF_MAX ? asked : BACKOFF_MAX;
	if (wait < asked)
		wait = api_jitter(asked);
	watch->anew = !status;
	if (none)
		watch->hurries = 0;
	if (none && !watch->silent)
		watch->silent = api_now();
	watch->unanswered = none || (watch->unanswered && status != 429);
	if (status == 410)
		watch->forgets = watch->backoff;
	api_timer_set(watch->api, &watch->again, wait);
}

static void set_unread(struct api_watch *watch, const char *versions)
{
	char *unread = versions ? strdup(versions) : NULL;

	free(watch->unread);
	watch->unread = unread;
}

static void list_anew(struct api_watch *watch)
{
	free(watch->version);
	free(watch->page);
	watch->version = watch->page = NULL;
	watch->repeats = 0;
	watch->whole = watch->streamed = false;
}

/* Returns "namespace/name" or "name", to free; NULL: the object has no name, or memory is short. */
static char *key_of(struct json_object *object)
{
	const char *name = api_text(object, "metadata.name");
	const char *ns = api_text(object, "metadata.namespace");
	char *key = NULL;

	if (!name || asprintf(&key, "%s%s%s", ns ? ns : "", ns ? "/" : "", name) < 0)
		return NULL;
	return key;
}

static void report(struct api_watch *watch, const char *key, struct json_object *object)
{
	if (!watch->in_turn)
		api_turns_forget(watch->api, watch, key);
	watch->ops.changed(watch->data, key, object);
}

/* Returns 0 or -ENOMEM. */
static int report_changed(struct api_watch *watch, struct json_object *object)
{
	char *key = key_of(object);
	int is_new;

	if (!key)
		return api_text(object, "metadata.name") ? -ENOMEM : 0;
	is_new = api_known_put(&watch->known, key, api_text(object, "metadata.resourceVersion"));
	if (is_new > 0)
		report(watch, key, object);
	free(key);
	return is_new < 0 ? is_new : 0;
}

/* The object is gone, which the watch may not have known. */
static void object_gone(struct api_watch *watch, const char *key)
{
	api_turns_forget(watch->api, watch, key);
	if (api_known_delete(&watch->known, key))
		watch->ops.deleted(watch->data, key);
}

static void report_missed(void *data, const char *key)
{
	struct api_watch *watch = data;

	api_turns_forget(watch->api, watch, key);
	watch->ops.deleted(watch->data, key);
}

/* Reports the objects that were missing in the list that has just ended: they are gone. */
static void report_difference(struct api_watch *watch)
{
	api_known_end(&watch->known, report_missed, watch);
	watch->told++;
	if (!watch->since)
		watch->since = api_now();
	watch->ops.synced(watch->data);
}

static int take_version(struct api_watch *watch, struct json_object *object)
{
	const char *version = api_text(object, "metadata.resourceVersion");
	char *copy = version && *version ? strdup(version) : NULL;

	/* a stream from the version "" tells of no deletion before it began */
	if (version && !*version)
		return -EPROTO;
	if (!copy)
		return version ? -ENOMEM : -EPROTO;
	free(watch->version);
	watch->version = copy;
	return 0;
}

/* Turns */

static char *object_path(const struct api_watch *watch, const char *key)
{
	const char *slash = strrchr(watch->path, '/'), *name = strchr(key, '/') + 1;
	char *path;

	if (asprintf(&path, "%.*s/namespaces/%.*s%s?fieldSelector=metadata.name%%3D%s",
		     (int)(slash - watch->path), watch->path, (int)(name - 1 - key), key, slash,
		     name) < 0)
		return NULL;
	return path;
}

/* Reports the items of a list. Returns 0 or -errno. */
static int take_items(struct api_watch *watch, struct api_items *items)
{
	int error = 0;

	while (!error) {
		struct json_object *item = NULL;

		error = api_items_next(items, watch->ops.lists, &item);
		if (!error)
			error = report_changed(watch, item);
		json_object_put(item);
	}
	return error == -ENOENT ? 0 : error;
}

/* Returns true if the text is a list without items, which may be null. */
static bool is_empty_list(struct api_buffer *text)
{
	struct json_object *list = text->n ? api_parse(text->at, text->n) : NULL;
	const bool empty = api_get(list, "metadata") && !api_get(list, "items");

	json_object_put(list);
	return empty;
}

/* The object may be gone: then the stream tells so. */
static int take_answer(struct api_watch *watch, const char *key, const char *version,
		       struct api_buffer *answer)
{
	struct api_items items = api_items_of(answer->at, answer->n);
	char has[API_VERSION_MAX];
	int error;

	if (!items.at)
		return is_empty_list(answer) ? 0 : -EPROTO;
	if (*version && api_version_of(items.at, items.end, has) && strcmp(has, version) != 0)
		return -ESTALE;
	api_known_doubt(&watch->known, key);
	watch->in_turn = true;
	error = take_items(watch, &items);
	watch->in_turn = false;
	return error;
}

static int let_wait(struct api_watch *watch, const struct api_turn *turn)
{
	static const struct api_turn_ops turn_ops = {
		.path = object_path, .take = take_answer, .gone = object_gone};

	return api_turns_add(watch->api, watch, &turn_ops, turn);
}

int api_watch_again(struct api_watch *watch, const char *key)
{
	return let_wait(watch, &(struct api_turn){.key = key, .version = ""});
}

/* Streams */

/* Returns true if the change of an object has to wait, since an earlier one of its namespace does.
 */
static bool is_behind(const struct api_watch *watch, const char *key)
{
	return watch->ops.ordered && strchr(key, '/') && api_turns_wait(watch->api, watch, key);
}

static int take_object(struct api_watch *watch, const char *type, struct json_object *object)
{
	const bool gone = !strcmp(type, "DELETED");
	char *key;
	int error = take_version(watch, object);

	watch->told++;
	if (error || !strcmp(type, "BOOKMARK"))
		return error;
	watch->api->counts.events++;
	key = key_of(object);
	if (key && is_behind(watch, key))
		error = let_wait(watch, &(struct api_turn){key, watch->version,
							   api_text(object, "metadata.uid"), gone});
	else if (!gone)
		error = report_changed(watch, object);
	else if (key)
		object_gone(watch, key);
	free(key);
	return error;
}

static bool is_table(struct json_object *object)
{
	const char *kind = api_text(object, "kind");

	return kind && !strcmp(kind, "Table");
}

static int take_table(struct api_watch *watch, const char *type, struct json_object *table)
{
	struct json_object *row = NULL;
	int error = api_table_row(table, watch->ops.columns, &watch->columns, &row);

	if (error == -ENOENT)
		watch->whole = true;
	if (!error)
		error = take_object(watch, type, row);
	json_object_put(row);
	return error;
}

static int take_event(struct api_watch *watch, struct json_object *event)
{
	const char *type = api_text(event, "type");
	struct json_object *object = api_get(event, "object");

	if (!type || !object)
		return -EPROTO;
	if (!strcmp(type, "ERROR")) {
		watch->too_old = api_number(object, "code") == 410;
		snprintf(watch->said, sizeof(watch->said), "the stream ends with an error: %.100s",
			 api_text(object, "message") ? api_text(object, "message") : "");
		return -EPROTO;
	}
	return watch->ops.columns && is_table(object) ? take_table(watch, type, object)
						      : take_object(watch, type, object);
}

/* Parses an event. */
static int take_line(struct api_watch *watch)
{
	struct json_object *event =
		api_parse_event(watch->line.at, watch->line.n, watch->ops.lists);
	int error = event ? take_event(watch, event) : -EPROTO;

	json_object_put(event);
	return error;
}

/* Takes a large event, or lets its object wait for a turn. The watch's version stays then: a stream
 * that begins anew may tell of the object again, which changes nothing. */
static int take_large(struct api_watch *watch)
{
	const uint64_t began = api_now();
	struct api_event about;
	bool gone;
	int error;

	if (!api_event_about(watch->line.at, watch->line.n, &about))
		return take_line(watch);
	gone = !strcmp(about.type, "DELETED");
	if (is_behind(watch, about.key) || (!gone && !api_turns_free(watch->api)))
		return let_wait(watch,
				&(struct api_turn){about.key, about.version, about.uid, gone});
	if (gone) {
		watch->api->counts.events++;
		object_gone(watch, about.key);
		return 0;
	}
	error = take_line(watch);
	api_turns_took(watch->api, began);
	return error;
}

/* Splits a stream into events: each event is a line. A line may come in several parts, and a part
 * may hold several lines. */
static int take_part(void *data, const char *bytes, size_t n)
{
	struct api_watch *watch = data;
	const char *end = bytes + n, *newline;
	int error = 0;

	while (!error && (newline = memchr(bytes, '\n', end - bytes))) {
		api_timer_stop(watch->api, &watch->again);
		error = api_buffer_add(&watch->line, bytes, newline - bytes);
		bytes = newline + 1;
		if (!error)
			error = watch->ops.turns && watch->line.n >= TURN_BYTES ? take_large(watch)
										: take_line(watch);
		watch->line.n = 0;
		if (!error)
			watch->forgets = watch->stuck = 0;
		if (!error)
			good(watch);
	}
	if (!error && watch->line.n + (end - bytes) > EVENT_MAX)
		error = -EPROTO;
	if (error && !*watch->said)
		snprintf(watch->said, sizeof(watch->said), "%s",
			 error == -ENOMEM ? NO_MEMORY
					  : "streams something else than events, or a larger one "
					    "than there are");
	if (!error)
		error = api_buffer_add(&watch->line, bytes, end - bytes);
	if (!error && watch->line.n && !watch->again.due)
		api_timer_set(watch->api, &watch->again, STALL_MS);
	return error;
}

static bool wants_table(const struct api_watch *watch)
{
	return watch->version && watch->ops.columns && !watch->whole;
}

/* The server ends each stream after a while. */
static void end_stream(struct api_watch *watch)
{
	struct where where = {watch->api->config.server, 0};

	if (api_now() - watch->began >= SHORT_MS) {
		watch->forgets = 0;
		api_timer_set(watch->api, &watch->again, api_jitter(BACKOFF_FIRST / 4));
		return;
	}
	later(watch);
	if (watch->backoff == UNUSUAL_MS)
		diag_warn(watch->api->diag, &where, watch->path,
			  "the server ends each stream at once");
}

/* The server has forgotten events, or cannot tell of one, and works: earlier failures are over. A
 * server that forgets what it has just listed is asked for ever fewer lists. */
static void forgets(struct api_watch *watch)
{
	watch->too_old = false;
	watch->stuck = 0;
	watch->backoff = watch->forgets;
	if (watch->forgets == UNUSUAL_MS)
		complain(watch, 410, "forgets at once what it has listed");
	list_anew(watch);
}

static void stream_ended(void *data, struct api_transfer *transfer, long status)
{
	struct api_watch *watch = data;

	watch->transfer = NULL;
	watch->line.n = 0;
	if (status == 200) {
		end_stream(watch);
		return;
	}
	watch->stuck += !!*watch->said;
	if (status == 410 || watch->too_old || watch->stuck == STUCK_MAX) {
		status = 410;
		forgets(watch);
		/* the server's cache may be as old */
		watch->stale = true;
	} else if (status == 404 && wants_table(watch) && watch->ops.columns_path) {
		watch->whole = true;
	} else {
		struct json_object *body = transfer->received.n ? api_parse(transfer->received.at,
									    transfer->received.n)
								: NULL;

		complain(watch, status,
			 *watch->said ? watch->said : api_transfer_error(transfer, status, body));
		json_object_put(body);
		/* the collection was deleted while the watch was cut off, or the server starts */
		if (status == 404)
			list_anew(watch);
	}
	later_than(watch, transfer, status);
}

/* Lists */

/* Returns 0 or -errno; *more: there is another page. */
static int take_rest(struct api_watch *watch, struct json_object *page, bool *more)
{
	struct json_object *items = api_get(page, "items");
	const char *next = api_text(page, "metadata.continue");

	/* The items of an empty list may be null. */
	if (items ? !json_object_is_type(items, json_type_array) : !api_get(page, "metadata"))
		return -EPROTO;
	free(watch->page);
	*more = next && *next;
	watch->page = *more ? strdup(next) : NULL;
	if (*more && !watch->page)
		return -ENOMEM;
	return *more ? 0 : take_version(watch, page);
}

/* Parses a page item by item. Returns 0 or -errno; *more: there is another page. */
static int take_page(struct api_watch *watch, struct api_buffer *text, bool *more)
{
	struct api_items items = api_items_of(text->at, text->n);
	const size_t met = watch->known.met;
	struct json_object *page;
	int error = items.at ? take_items(watch, &items) : 0;

	if (error)
		return error;
	watch->repeats = watch->known.met == met ? watch->repeats + 1 : 0;
	if (items.at)
		api_items_cut(&items);
	page = api_parse(text->at, strlen(text->at));
	error = take_rest(watch, page, more);
	json_object_put(page);
	return !error && *more && watch->repeats == REPEATS_MAX ? -ELOOP : error;
}

static void take_list(struct api_watch *watch, struct api_buffer *page)
{
	bool more = false;
	int error = page->n ? take_page(watch, page, &more) : -EPROTO;

	if (error) {
		complain(watch, 0,
			 error == -ENOMEM  ? NO_MEMORY
			 : error == -ELOOP ? "lists the same objects again and again"
					   : "answers with something else than a list");
		list_anew(watch);
		later(watch);
		return;
	}
	good(watch);
	set_unread(watch, NULL);
	watch->there = true;
	watch->missing = false;
	if (!more)
		report_difference(watch);
	go(watch);
}

/* Lists anew in smaller pages after one of too many bytes. Returns false if a page has one object.
 */
static bool ask_for_less(struct api_watch *watch)
{
	const bool paged = !watch->ops.cached || watch->page || watch->stale;

	if (paged && watch->limit == 1)
		return false;
	if (paged)
		watch->limit = watch->limit > 8 ? watch->limit / 8 : 1;
	/* the server's cache answers with the whole list */
	watch->stale = true;
	list_anew(watch);
	go(watch);
	return true;
}

/* Reports that the collection does not exist, and so is empty. */
static void report_missing(struct api_watch *watch)
{
	answers(watch);
	set_unread(watch, NULL);
	if (!watch->missing)
		report_difference(watch);
	watch->missing = true;
	/* it may be back soon, where it was there before */
	if (!watch->there)
		watch->backoff = BACKOFF_MAX / 2;
	list_anew(watch);
	later(watch);
}

/* Reports once that the server has the objects in other versions. */
static void report_unread(struct api_watch *watch, const char *versions)
{
	struct where where = {watch->api->config.server, 0};

	if (!watch->unread || strcmp(watch->unread, versions) != 0)
		diag_error(watch->api->diag, &where, watch->path,
			   "the server has this collection in %s alone, which this version of "
			   "Bulkhead does not read: what it had before counts",
			   versions);
	set_unread(watch, versions);
	watch->failed = true;
	watch->missing = false;
	later(watch);
}

/* Returns true if a watch of this client follows the path. */
static bool is_watched(void *data, const char *path)
{
	const struct api_watch *watch = data;

	for (const struct api_watch *each = watch->api->watches; each; each = each->next)
		if (!strcmp(each->path, path))
			return true;
	return false;
}

static void served_known(void *data, const char *fault, const char *unread)
{
	struct api_watch *watch = data;
	char text[400];

	if (fault) {
		snprintf(text, sizeof(text),
			 "is not there (404), and the server does not say in which versions it "
			 "is: %.200s; what it had before counts",
			 fault);
		complain(watch, 0, text);
		later(watch);
	} else if (unread) {
		report_unread(watch, unread);
	} else {
		report_missing(watch);
	}
	api_served_close(watch->served);
	watch->served = NULL;
}

/* The server is ready, and lacks the collection in this version. */
static void ask_versions(struct api_watch *watch)
{
	const struct api_served_ops served_ops = {is_watched, served_known, watch};

	if (!api_served_has_versions(watch->path))
		return report_missing(watch);
	watch->served = api_served_ask(watch->api, watch->path, &served_ops);
	if (!watch->served)
		later(watch);
}

static void ready_ended(void *data, struct api_transfer *transfer, long status)
{
	struct api_watch *watch = data;

	watch->transfer = NULL;
	if (status == 200) {
		watch->ready = true;
		go(watch);
		return;
	}
	complain(watch, 0,
		 "is not there (404), and the server does not say at /readyz that it is "
		 "ready: what it had before counts");
	later_than(watch, transfer, status == 404 ? 503 : status);
}

/* A list of 404 says that the collection does not exist if a server says so that is ready. One that
 * starts does not know all collections yet, and a proxy without a server may know none: whoever
 * took that for a deletion would drop each policy. */
static void ask_ready(struct api_watch *watch)
{
	const struct api_transfer_options options = {.method = "GET",
						     .path = "/readyz",
						     .accept = "*/*",
						     .seconds = LIST_SECONDS,
						     .ended = ready_ended,
						     .data = watch};

	list_anew(watch);
	watch->transfer = api_transfer_begin(watch->api, &options);
	if (!watch->transfer)
		later(watch);
}

static void list_ended(void *data, struct api_transfer *transfer, long status)
{
	struct api_watch *watch = data;
	const bool ready = watch->ready;
	struct json_object *body;

	watch->transfer = NULL;
	watch->ready = false;
	if (transfer->excess && ask_for_less(watch))
		return;
	if (status == 200) {
		take_list(watch, &transfer->received);
	} else if (status == 404 && (ready || watch->missing)) {
		ask_versions(watch);
	} else if (status == 404) {
		ask_ready(watch);
	} else {
		/* the server has forgotten the page's version: list from the first page again */
		body = transfer->received.n ? api_parse(transfer->received.at, transfer->received.n)
					    : NULL;
		if (status == 410)
			forgets(watch);
		else
			complain(watch, status, api_transfer_error(transfer, status, body));
		later_than(watch, transfer, status);
		json_object_put(body);
	}
}

static const char *stream_path(const struct api_watch *watch)
{
	return wants_table(watch) && watch->ops.columns_path ? watch->ops.columns_path
							     : watch->path;
}

/* Returns the path of the next request: a page of the list, or the stream. */
static char *next_path(const struct api_watch *watch)
{
	const char *query = watch->query ? watch->query : "", *and = *query ? "&" : "";
	char *path = NULL, *page = NULL;
	int n;

	if (watch->version) {
		n = asprintf(
			&path,
			"%s?watch=1&allowWatchBookmarks=true&timeoutSeconds=%u&resourceVersion="
			"%s%s%s%s",
			stream_path(watch), api_jitter(STREAM_SECONDS), watch->version,
			wants_table(watch) ? "&includeObject=None" : "", and, query);
	} else if (watch->ops.cached && !watch->page && !watch->stale) {
		n = asprintf(&path, "%s?resourceVersion=0%s%s", watch->path, and, query);
	} else {
		page = watch->page ? curl.easy_escape(NULL, watch->page, 0) : NULL;
		n = watch->page && !page
			    ? -1
			    : asprintf(&path, "%s?limit=%u%s%s%s%s", watch->path, watch->limit, and,
				       query, page ? "&continue=" : "", page ? page : "");
		curl.free(page);
	}
	return n < 0 ? NULL : path;
}

static const char *accepts(const struct api_watch *watch)
{
	if (wants_table(watch))
		return "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";
	if (!watch->ops.metadata_only)
		return NULL;
	return watch->version ? API_METADATA : API_METADATA_LIST;
}

/* Makes the next request a list that reports each object again. */
static void begin_again(struct api_watch *watch)
{
	api_known_doubt_all(&watch->known);
	list_anew(watch);
}

/* Returns true if the store may have been put back to an older time meanwhile, and have gone on
 * from there. What comes from the server's cache is left to a look back: all nodes would list at
 * once. */
static bool was_away(const struct api_watch *watch)
{
	return watch->version && watch->silent && watch->silent + OUTAGE_MS <= api_now() &&
	       !watch->ops.cached;
}

static char *begin_path(struct api_watch *watch)
{
	api_served_close(watch->served);
	watch->served = NULL;
	if (was_away(watch))
		begin_again(watch);
	return next_path(watch);
}

/* Ends a request that hangs. */
static void restart(struct api_watch *watch)
{
	if (!watch->transfer)
		return;
	api_transfer_end(watch->transfer);
	watch->transfer = NULL;
	watch->line.n = 0;
	watch->anew = watch->unanswered = true;
	if (!watch->silent)
		watch->silent = api_now();
	complain(watch, 0, "the server hangs");
	later(watch);
}

/* Begins the next request, of a watch that is between two. */
static void begin(struct api_watch *watch)
{
	char *path = begin_path(watch);
	struct api_transfer_options options = {
		.method = "GET",
		.path = path,
		.accept = accepts(watch),
		.most = watch->version ? 0 : PAGE_BYTES,
		.seconds = watch->version ? STREAM_SECONDS * 2 : LIST_SECONDS,
		.anew = watch->anew,
		.part = watch->version ? take_part : NULL,
		.ended = watch->version ? stream_ended : list_ended,
		.began = watch->version ? stream_began : NULL,
		.data = watch,
	};

	if (!watch->version && !watch->page) {
		api_known_begin(&watch->known);
		watch->api->counts.lists++;
	}
	if (watch->streamed && watch->ops.resumed)
		watch->ops.resumed(watch->data);
	watch->streamed = watch->version;
	json_object_put(watch->columns);
	watch->columns = NULL;
	*watch->said = '\0';
	watch->began = api_now();
	watch->transfer = path ? api_transfer_begin(watch->api, &options) : NULL;
	free(path);
	if (!watch->transfer)
		later(watch);
	else if (watch->version)
		api_timer_set(watch->api, &watch->again, STALL_MS);
}

static void go(void *data)
{
	struct api_watch *watch = data;

	if (watch->transfer)
		restart(watch);
	else
		begin(watch);
}

void api_watches_restart(struct api *api)
{
	struct api_watch *next;

	for (struct api_watch *watch = api->watches; watch; watch = next) {
		next = watch->next;
		restart(watch);
	}
}

/* Comparing a watch with a list */

static uint64_t number_of(const char *version)
{
	return version ? strtoull(version, NULL, 10) : 0;
}

char *api_watch_path(const struct api_watch *watch)
{
	const bool query = watch->query && *watch->query;
	char *path;

	if (asprintf(&path, "%s%s%s", watch->path, query ? "?" : "", query ? watch->query : "") < 0)
		return NULL;
	return path;
}

struct api_mark api_watch_mark(const struct api_watch *watch)
{
	return (struct api_mark){number_of(watch->version), watch->told};
}

/* Returns true if the watch has reported this version of the object. */
static bool is_known(const struct api_watch *watch, struct json_object *object)
{
	char *key = key_of(object);
	const bool known = key && api_known_has(&watch->known, key,
						api_text(object, "metadata.resourceVersion"));

	free(key);
	return known;
}

enum api_compared api_watch_compare(const struct api_watch *watch, const struct api_mark *mark,
				    struct json_object *list)
{
	struct json_object *items = api_get(list, "items");
	const uint64_t version = number_of(api_text(list, "metadata.resourceVersion"));
	const size_t n =
		json_object_is_type(items, json_type_array) ? json_object_array_length(items) : 0;
	bool same = n == api_known_count(&watch->known);

	if (!watch->version || !mark->version || !version)
		return API_SAME;
	if (version < mark->version)
		return API_OLDER;
	if (watch->told != mark->told)
		return API_SAME;
	for (size_t i = 0; i < n; i++) {
		struct json_object *item = json_object_array_get_idx(items, i);

		if (is_known(watch, item))
			continue;
		same = false;
		/* the watch went past that version, and did not tell of it */
		if (number_of(api_text(item, "metadata.resourceVersion")) <= mark->version)
			return API_OLDER;
	}
	return same ? API_SAME : API_DIFFERS;
}

void api_watches_list_anew(struct api *api)
{
	for (struct api_watch *watch = api->watches; watch; watch = watch->next) {
		if (watch->transfer)
			api_transfer_end(watch->transfer);
		watch->transfer = NULL;
		watch->line.n = 0;
		watch->too_old = watch->missing = false;
		begin_again(watch);
		api_timer_set(api, &watch->again, api_jitter(BACKOFF_FIRST));
	}
}

struct api_watch *api_watch(struct api *api, const char *path, const char *query,
			    const struct api_watch_ops *ops, void *data)
{
	struct api_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	*watch = (struct api_watch){
		.api = api,
		.limit = PAGE,
		.path = strdup(path),
		.query = query ? strdup(query) : NULL,
		.ops = *ops,
		.data = data,
		.again = {.run = go, .data = watch},
		.next = api->watches,
	};
	api->watches = watch;
	if (!watch->path || !watch->query != !query || api_known_open(&watch->known)) {
		api_unwatch(watch);
		return NULL;
	}
	api_timer_set(api, &watch->again, 0);
	return watch;
}

void api_unwatch(struct api_watch *watch)
{
	struct api_watch **at;

	if (!watch)
		return;
	at = &watch->api->watches;
	while (*at != watch)
		at = &(*at)->next;
	*at = watch->next;
	api_timer_stop(watch->api, &watch->again);
	api_turns_close(watch->api, watch);
	if (watch->transfer)
		api_transfer_end(watch->transfer);
	api_served_close(watch->served);
	set_unread(watch, NULL);
	api_known_close(&watch->known);
	api_buffer_free(&watch->line);
	json_object_put(watch->columns);
	list_anew(watch);
	free(watch->path);
	free(watch->query);
	free(watch);
}
