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

static void look_soon(struct objects *objects)
{
	struct room *room = &objects->room;

	if (objects->api && room->waiting && !room->look.due)
		api_timer_set(objects->api, &room->look, LOOK_MS);
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
		look_soon(objects);
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

/* Returns an object that waits and finds room now. *@of: its collection. */
static struct lh_entry *find_waiting(struct objects *objects, struct collection **of)
{
	for (size_t i = 0; i < N_KINDS; i++) {
		struct lh_entry *entry = objects->collections[i].kept->head;

		*of = &objects->collections[i];
		for (; entry; entry = entry->next) {
			const struct object_state *kept = lh_entry_v(entry);

			if (kept->wants &&
			    fits(&objects->room, lh_entry_k(entry), kept, kept->wants))
				return entry;
		}
	}
	return NULL;
}

/* Asks for one object: when it comes, it finds room, or waits again. */
static void look(void *data)
{
	struct objects *objects = data;
	struct collection *collection;
	struct lh_entry *entry = find_waiting(objects, &collection);

	if (!entry)
		return;
	if (!api_watch_again(collection->watch, lh_entry_k(entry)))
		room_want(objects, lh_entry_v(entry), 0);
	look_soon(objects);
}

int room_open(struct objects *objects)
{
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
}
