// SPDX-License-Identifier: GPL-2.0-only
/* Room for the objects of a namespace in the engine's memory, and objects that wait for room. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/objects_state.h"
#include "model/arrays.h"
#include "model/cluster_bytes.h"

#define LOOK_MS 1000 /* between objects that are asked for again */
#define LOOK_MAX 30000 /* ms: between requests without an answer */

/* The bytes of a namespace are the value of its entry. */

static struct lh_entry *entry_of(const struct room *room, const char *key)
{
	char ns[256];

	snprintf(ns, sizeof(ns), "%.*s", (int)strcspn(key, "/"), key);
	return lh_table_lookup_entry(room->namespaces, ns);
}

static size_t bytes_in(const struct room *room, const char *key)
{
	struct lh_entry *entry = entry_of(room, key);

	return entry ? (uintptr_t)lh_entry_v(entry) : 0;
}

static void set_bytes(struct room *room, const char *key, size_t bytes)
{
	struct lh_entry *entry = entry_of(room, key);

	if (entry && !bytes)
		lh_table_delete_entry(room->namespaces, entry);
	else if (entry)
		lh_entry_set_val(entry, (void *)(uintptr_t)bytes);
	else
		lh_table_insert(room->namespaces, check_memory(strndup(key, strcspn(key, "/"))),
				(void *)(uintptr_t)bytes);
}

/* Returns true if the object finds room. */
static bool fits(const struct room *room, const char *key, const struct object_state *kept,
		 size_t bytes)
{
	const size_t sum = bytes_in(room, key) - kept->bytes + bytes;

	if (bytes < SMALL_BYTES || bytes <= kept->bytes)
		return true;
	return sum <= NAMESPACE_BYTES &&
	       (sum <= PART_BYTES || room->bytes - kept->bytes + bytes <= ROOM_BYTES);
}

static void look_soon(struct objects *objects, unsigned int ms)
{
	struct room *room = &objects->room;

	if (objects->api && room->waiting && !room->asked && !room->look.due)
		api_timer_set(objects->api, &room->look, ms);
}

void room_set(struct objects *objects, const char *key, struct object_state *kept, size_t bytes)
{
	struct room *room = &objects->room;
	const size_t before = kept->bytes;

	if (bytes == before || !strchr(key, '/'))
		return;
	set_bytes(room, key, bytes_in(room, key) - before + bytes);
	room->bytes += bytes - before;
	kept->bytes = bytes;
	if (bytes < before)
		look_soon(objects, LOOK_MS);
}

void room_want(struct objects *objects, struct object_state *kept, size_t bytes)
{
	objects->room.waiting += !!bytes - !!kept->wants;
	kept->wants = bytes;
}

char *room_lacks(const struct objects *objects, const char *key, const char *name,
		 const struct object_state *kept, size_t bytes)
{
	const struct room *room = &objects->room;
	const size_t beside = bytes_in(room, key) - kept->bytes;
	char all[160] = "", *why = NULL;

	if (!strchr(key, '/') || fits(room, key, kept, bytes))
		return NULL;
	if (beside + bytes <= NAMESPACE_BYTES)
		snprintf(all, sizeof(all),
			 ", and %u KiB while those of all namespaces take more than %u",
			 PART_BYTES >> 10, ROOM_BYTES >> 10);
	if (asprintf(&why,
		     "%s: it takes %zu KiB of the engine's memory, and the other objects of its "
		     "namespace %zu; the limit of a namespace is %u KiB%s: delete some, or make "
		     "them "
		     "smaller",
		     name, bytes >> 10, beside >> 10, NAMESPACE_BYTES >> 10, all) < 0)
		why = check_memory(NULL);
	return why;
}

/* Objects that wait */

/* Finds an object that waits and finds room now. */
static bool find_waiting(struct objects *objects)
{
	struct room *room = &objects->room;

	for (size_t i = 0; i < N_KINDS; i++) {
		struct collection *collection = &objects->collections[i];
		struct lh_entry *entry = collection->kept->head;

		for (; entry; entry = entry->next) {
			struct object_state *kept = lh_entry_v(entry);

			if (!kept->wants || !fits(room, lh_entry_k(entry), kept, kept->wants))
				continue;
			room->asked = strdup(lh_entry_k(entry));
			room->asked_of = collection;
			kept->asked = true;
			return room->asked;
		}
	}
	return false;
}

/* The watch may have told of a newer version since the object was asked for, or of its end: then
 * the answer does not count. */
static void on_answer(void *data, const struct api_answer *answer)
{
	struct objects *objects = data;
	struct room *room = &objects->room;
	struct lh_entry *entry = lh_table_lookup_entry(room->asked_of->kept, room->asked);
	struct json_object *object = json_object_array_get_idx(api_get(answer->body, "items"), 0);
	struct object_state *kept = entry ? lh_entry_v(entry) : NULL;
	const char *uid = api_text(object, "metadata.uid");
	unsigned int pause = LOOK_MS;

	if (!answer->status || answer->status >= 500 || answer->status == 429)
		pause = api_backoff(&room->backoff, LOOK_MS, LOOK_MAX);
	else
		room->backoff = 0;
	/* refused: it waits until it is written again */
	if (kept && kept->asked && answer->status && answer->status < 500 && answer->status != 429)
		room_want(objects, kept, 0);
	if (kept && kept->asked && object && uid && kept->uid && !strcmp(uid, kept->uid))
		room->take(room->asked_of, room->asked, object);
	free(room->asked);
	room->asked = NULL;
	look_soon(objects, pause);
}

/* Asks for the object by a list of one: the engine may list, and not get. */
static void look(void *data)
{
	struct objects *objects = data;
	struct room *room = &objects->room;
	struct api_request request = {.method = "GET", .done = on_answer, .data = objects};
	const char *path, *slash, *name;
	char *text;

	if (room->asked || !find_waiting(objects))
		return;
	path = room->asked_of->kind->path;
	slash = strrchr(path, '/');
	name = strchr(room->asked, '/') + 1;
	if (asprintf(&text, "%.*s/namespaces/%.*s%s?fieldSelector=metadata.name%%3D%s",
		     (int)(slash - path), path, (int)(name - 1 - room->asked), room->asked, slash,
		     name) < 0)
		text = NULL;
	request.path = text;
	if (!text || api_send(objects->api, &request)) {
		free(room->asked);
		room->asked = NULL;
		look_soon(objects, LOOK_MAX);
	}
	free(text);
}

int room_open(struct objects *objects,
	      void (*take)(void *data, const char *key, struct json_object *object))
{
	objects->room.take = take;
	objects->room.look = (struct api_timer){.run = look, .data = objects};
	objects->room.namespaces = lh_kchar_table_new(64, objects_free_key);
	return objects->room.namespaces ? 0 : -ENOMEM;
}

void room_close(struct objects *objects)
{
	if (objects->api)
		api_timer_stop(objects->api, &objects->room.look);
	if (objects->room.namespaces)
		lh_table_free(objects->room.namespaces);
	free(objects->room.asked);
}
