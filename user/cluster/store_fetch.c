// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads a policy from the store, backwards: the delta that leads to the wanted generation, the
 * delta that leads to its parent, and so on, until a policy that the caller has, or a whole policy.
 */
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/store.h"

#define PARTS_MAX 2000

struct store_fetch {
	struct api *api;
	uint64_t have[2];
	struct store_chain chain; /* the last item first */
	struct store_item item; /* the item that is being read */
	unsigned int part, parts;
	bool head; /* the item's head was read */
	bool newest; /* the server's cache did not have the object: ask the store */
	char whole[STORE_NAME]; /* spec.whole of the wanted generation */
	char why[2 * STORE_NAME + 100];
	store_fetched *done;
	void *data;
};

static void fetch_free(struct store_fetch *fetch)
{
	free(fetch->item.bytes);
	store_chain_free(&fetch->chain);
	free(fetch);
}

static void fetch_end(struct store_fetch *fetch, int error, const char *why)
{
	store_fetched *done = fetch->done;
	struct store_chain chain = fetch->chain;
	char text[sizeof(fetch->why)];
	void *data = fetch->data;

	snprintf(text, sizeof(text), "%s", why ? why : "");
	for (size_t i = 0; i < chain.n / 2; i++) {
		struct store_item last = chain.items[chain.n - 1 - i];

		chain.items[chain.n - 1 - i] = chain.items[i];
		chain.items[i] = last;
	}
	fetch->chain = (struct store_chain){0};
	fetch_free(fetch);
	if (error)
		store_chain_free(&chain);
	done(data, error, error ? text : NULL, &chain);
}

static int damaged(struct store_fetch *fetch, const char *what)
{
	snprintf(fetch->why, sizeof(fetch->why), "PolicyGeneration %s %s", fetch->item.name, what);
	return -EBADMSG;
}

static int read_checksum(struct json_object *body, const char *path, uint64_t *checksum)
{
	const char *text = api_text(body, path);
	char *end;

	*checksum = text ? strtoull(text, &end, 16) : 0;
	return !text || (strlen(text) == 16 && !*end) ? 0 : -EBADMSG;
}

/* Returns true if the item is the parent of the item that was read before. */
static int check_place(struct store_fetch *fetch)
{
	const struct store_chain *chain = &fetch->chain;
	const struct store_item *child = chain->n ? &chain->items[chain->n - 1] : NULL;

	if (!child || child->parent == fetch->item.checksum)
		return 0;
	snprintf(fetch->why, sizeof(fetch->why), "PolicyGeneration %s is no delta of %s",
		 child->name, fetch->item.name);
	return -EBADMSG;
}

static bool is_had(const struct store_fetch *fetch, uint64_t checksum)
{
	return checksum && (checksum == fetch->have[0] || checksum == fetch->have[1]);
}

static bool is_whole(const struct store_item *item)
{
	return *item->name == 'w';
}

static int read_head(struct store_fetch *fetch, struct json_object *body)
{
	struct store_item *item = &fetch->item;
	const char *whole = api_text(body, "spec.whole");
	int64_t parts = api_number(body, "spec.parts"), size = api_number(body, "spec.size");

	if (read_checksum(body, "spec.checksum", &item->checksum) || !item->checksum ||
	    read_checksum(body, "spec.parent", &item->parent) || parts < 0 || parts > PARTS_MAX)
		return damaged(fetch, "is damaged");
	if (is_whole(item) ? size < 1 || size > STORE_BLOB_MAX || item->parent
			   : !whole || strlen(whole) >= STORE_NAME || *whole != 'w' ||
				     !store_generation_of(whole) ||
				     store_generation_of(whole) > item->generation)
		return damaged(fetch, "is damaged");
	if (!fetch->chain.n && !is_whole(item) && !*fetch->whole)
		snprintf(fetch->whole, sizeof(fetch->whole), "%s", whole);
	fetch->head = true;
	fetch->part = 0;
	fetch->parts = parts;
	item->blob = size;
	item->bytes = malloc(parts ? (size_t)parts * STORE_PART : STORE_PART);
	return item->bytes ? check_place(fetch) : -ENOMEM;
}

static int read_data(struct store_fetch *fetch, struct json_object *body)
{
	struct store_item *item = &fetch->item;
	const char *text = api_text(body, "spec.data");
	size_t n;

	if (!text ||
	    sodium_base642bin((unsigned char *)item->bytes + item->size, STORE_PART, text,
			      strlen(text), NULL, &n, NULL, sodium_base64_VARIANT_ORIGINAL))
		return damaged(fetch, "is damaged");
	item->size += n;
	return 0;
}

static int send_get(struct store_fetch *fetch);

static int begin_item(struct store_fetch *fetch, const char *name)
{
	free(fetch->item.bytes);
	fetch->item = (struct store_item){.generation = store_generation_of(name)};
	snprintf(fetch->item.name, sizeof(fetch->item.name), "%s", name);
	fetch->head = fetch->newest = false;
	return send_get(fetch);
}

static int keep_item(struct store_fetch *fetch)
{
	struct store_item *items =
		realloc(fetch->chain.items, (fetch->chain.n + 1) * sizeof(*items));

	if (!items)
		return -ENOMEM;
	fetch->chain.items = items;
	items[fetch->chain.n++] = fetch->item;
	fetch->item.bytes = NULL;
	return 0;
}

/* Adds the item, which is complete, to the chain. Returns 1: the chain is complete; 0: another item
 * is being read; or -errno. */
static int next_item(struct store_fetch *fetch)
{
	const uint32_t generation = fetch->item.generation;
	const uint32_t whole = store_generation_of(fetch->whole);
	const bool had = is_had(fetch, fetch->item.parent);
	char name[STORE_NAME];
	int error;

	if (!is_whole(&fetch->item) && !had && generation == whole)
		return begin_item(fetch, fetch->whole);
	if (!is_whole(&fetch->item) && !fetch->item.parent)
		return damaged(fetch, "has no parent, and no whole policy");
	error = keep_item(fetch);
	if (error || is_whole(&fetch->item) || had)
		return error ? error : 1;
	snprintf(name, sizeof(name), "g%u", generation - 1);
	return begin_item(fetch, generation - 1 == whole ? fetch->whole : name);
}

/* Returns as next_item(). */
static int take(struct store_fetch *fetch, struct json_object *body)
{
	bool first = !fetch->head;
	int error = first ? read_head(fetch, body) : 0;

	if (!error && (!first || (!fetch->parts && api_get(body, "spec.data")))) {
		error = read_data(fetch, body);
		fetch->part++;
	}
	if (error)
		return error;
	if (fetch->part < fetch->parts)
		return send_get(fetch);
	return next_item(fetch);
}

static void fetch_answered(void *data, const struct api_answer *answer)
{
	struct store_fetch *fetch = data;
	int error;

	if (answer->status == 404 && !fetch->newest) {
		fetch->newest = true;
		error = send_get(fetch);
	} else if (answer->error) {
		return fetch_end(fetch,
				 answer->status == 404 ? -ENOENT
				 : answer->status      ? -EPROTO
						       : -ECOMM,
				 answer->error);
	} else {
		error = take(fetch, answer->body);
	}
	if (error)
		fetch_end(fetch, error > 0 ? 0 : error,
			  *fetch->why ? fetch->why : strerror(-error));
}

/* Asks the server's cache, and the store only if the cache does not have the object. The cache is
 * never out of date: no object ever changes. */
static int send_get(struct store_fetch *fetch)
{
	char name[STORE_NAME + 32], path[256];
	struct api_request request = {
		.method = "GET", .path = path, .done = fetch_answered, .data = fetch};

	snprintf(name, sizeof(name), "%s", fetch->item.name);
	if (fetch->head)
		store_part_name(&fetch->item, fetch->part, name, sizeof(name));
	snprintf(path, sizeof(path), STORE_GENERATIONS "/%s%s", name,
		 fetch->newest ? "" : "?resourceVersion=0");
	return api_send(fetch->api, &request);
}

struct store_fetch *store_fetch(struct api *api, uint32_t generation, const uint64_t have[2],
				store_fetched *done, void *data)
{
	struct store_fetch *fetch = calloc(1, sizeof(*fetch));
	char name[STORE_NAME];

	if (!fetch)
		return NULL;
	*fetch = (struct store_fetch){
		.api = api, .have = {have[0], have[1]}, .done = done, .data = data};
	snprintf(name, sizeof(name), "g%u", generation);
	if (begin_item(fetch, name)) {
		fetch_free(fetch);
		return NULL;
	}
	return fetch;
}
