// SPDX-License-Identifier: GPL-2.0-only
/* Writes a policy into the store: as a delta, and now and then as a whole. */
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "cluster/store.h"
#include "policy/blob_file.h"
#include "policy/delta.h"

#define ZSTD_LEVEL 3

/* A whole policy is written after so many deltas, or once the deltas together are larger than the
 * last whole policy and than DELTAS_SMALL. */
#define DELTAS_MAX 100
#define DELTAS_SMALL 16384 /* bytes */
/* Bytes of the largest delta that PolicyStatus has, too: etcd keeps each version of PolicyStatus
 * for a while. */
#define STATUS_DELTA 32768

struct store_publish {
	struct api *api;
	/* the whole policy, if one is written, and the delta that leads to it */
	struct store_item items[2];
	size_t n, at;
	unsigned int part; /* the part that is being written; parts_of() for the head */
	char whole[STORE_NAME];
	store_done *done;
	void *data;
};

static void publish_free(struct store_publish *publish)
{
	for (size_t i = 0; i < publish->n; i++)
		free(publish->items[i].bytes);
	free(publish);
}

static void publish_end(struct store_publish *publish, int error, const char *why)
{
	store_done *done = publish->done;
	void *data = publish->data;

	publish_free(publish);
	done(data, error, why);
}

static unsigned int parts_of(const struct store_item *item)
{
	return item->size <= STORE_PART ? 0 : (item->size + STORE_PART - 1) / STORE_PART;
}

static int publish_next(struct store_publish *publish);

/* A part, or a whole policy, that exists already is right: its name has the checksum. */
static void publish_answered(void *data, const struct api_answer *answer)
{
	struct store_publish *publish = data;
	const struct store_item *item = &publish->items[publish->at];
	bool head = publish->part == parts_of(item);
	int error;

	if (answer->status == 409 && head && publish->at + 1 == publish->n)
		return publish_end(publish, -EEXIST, answer->error);
	if (answer->error && answer->status != 409)
		return publish_end(publish, answer->status ? -EPROTO : -ECOMM, answer->error);
	publish->part = head ? 0 : publish->part + 1;
	publish->at += head;
	if (publish->at == publish->n)
		return publish_end(publish, 0, NULL);
	error = publish_next(publish);
	if (error)
		publish_end(publish, error, strerror(-error));
}

/* Returns @n bytes in base64, to free; NULL: no memory. */
static char *encode(const void *bytes, size_t n)
{
	size_t capacity = sodium_base64_encoded_len(n, sodium_base64_VARIANT_ORIGINAL);
	char *text = malloc(capacity);

	return text ? sodium_bin2base64(text, capacity, bytes, n, sodium_base64_VARIANT_ORIGINAL)
		    : NULL;
}

static int add_data(struct json_object *spec, const struct store_item *item, unsigned int part)
{
	size_t at = (size_t)part * STORE_PART, n = item->size - at;
	char *text = encode((unsigned char *)item->bytes + at, n > STORE_PART ? STORE_PART : n);

	if (!text)
		return -ENOMEM;
	json_object_object_add(spec, "data", json_object_new_string(text));
	free(text);
	return 0;
}

static int add_head(const struct store_publish *publish, struct json_object *spec)
{
	const struct store_item *item = &publish->items[publish->at];

	store_add_checksum(spec, "checksum", item->checksum);
	if (item->parent)
		store_add_checksum(spec, "parent", item->parent);
	if (publish->at + 1 == publish->n)
		json_object_object_add(spec, "whole", json_object_new_string(publish->whole));
	else
		store_add_number(spec, "size", item->blob);
	if (!parts_of(item))
		return item->size ? add_data(spec, item, 0) : 0;
	store_add_number(spec, "parts", parts_of(item));
	return 0;
}

static int publish_next(struct store_publish *publish)
{
	const struct store_item *item = &publish->items[publish->at];
	char name[STORE_NAME + 32];
	struct json_object *spec = json_object_new_object(), *object;
	struct api_request request = {
		.method = "POST",
		.path = STORE_GENERATIONS,
		.done = publish_answered,
		.data = publish,
	};
	int error;

	snprintf(name, sizeof(name), "%s", item->name);
	if (publish->part < parts_of(item)) {
		store_part_name(item, publish->part, name, sizeof(name));
		error = add_data(spec, item, publish->part);
	} else {
		error = add_head(publish, spec);
	}
	object = store_object("PolicyGeneration", name, NULL);
	json_object_object_add(object, "spec", spec);
	request.body = object;
	if (!error)
		error = api_send(publish->api, &request);
	json_object_put(object);
	return error;
}

/* Adds the policy as a whole. */
static int add_whole(struct store_publish *publish, struct policy *policy, const void *blob,
		     size_t size)
{
	struct store_item *item = &publish->items[publish->n];
	size_t capacity = ZSTD_compressBound(size);

	*item = (struct store_item){.generation = policy->generation,
				    .checksum = policy->checksum,
				    .blob = size,
				    .bytes = malloc(capacity)};
	publish->n++;
	if (!item->bytes)
		return -ENOMEM;
	item->size = ZSTD_compress(item->bytes, capacity, blob, size, ZSTD_LEVEL);
	if (ZSTD_isError(item->size))
		return -ENOMEM;
	snprintf(item->name, sizeof(item->name), "w%u-%016" PRIx64, policy->generation,
		 policy->checksum);
	return 0;
}

static int make_delta(const struct policy *base, const struct policy *policy,
		      struct store_item *item)
{
	struct delta *delta;
	int error;

	*item = (struct store_item){.generation = policy->generation, .checksum = policy->checksum};
	snprintf(item->name, sizeof(item->name), "g%u", policy->generation);
	if (!base || base->lineage != policy->lineage)
		return 0;
	error = delta_make(base, policy, &delta);
	if (error)
		return error;
	item->parent = base->checksum;
	error = delta_write(delta, &item->bytes, &item->size);
	delta_free(delta);
	return error;
}

static bool wants_whole(const struct store_since *since, const struct store_item *delta)
{
	size_t limit = since->whole_size > DELTAS_SMALL ? since->whole_size : DELTAS_SMALL;

	return !delta->parent || !*since->whole || since->deltas >= DELTAS_MAX ||
	       since->size + delta->size > limit;
}

/* Makes the bytes of the objects to write. */
static int prepare(struct store_publish *publish, const struct policy *base, struct policy *policy,
		   struct store_since *since)
{
	struct store_item delta = {0};
	void *blob = NULL;
	size_t size;
	int error = blob_write(policy, &blob, &size); /* sets the checksum */

	if (!error)
		error = make_delta(base, policy, &delta);
	if (!error && wants_whole(since, &delta)) {
		error = add_whole(publish, policy, blob, size);
		*since = (struct store_since){.whole_size = publish->items[0].size};
		memcpy(since->whole, publish->items[0].name, STORE_NAME);
	} else if (!error) {
		since->deltas++;
		since->size += delta.size;
	}
	free(blob);
	publish->items[publish->n++] = delta;
	memcpy(publish->whole, since->whole, STORE_NAME);
	return error;
}

int store_publish(struct api *api, const struct policy *base, struct policy *policy,
		  struct store_since *since, char **delta, store_done *done, void *data)
{
	struct store_publish *publish;
	const struct store_item *last;

	*delta = NULL;
	if (blob_length(policy) > STORE_BLOB_MAX)
		return -E2BIG;
	publish = calloc(1, sizeof(*publish));
	if (!publish)
		return -ENOMEM;
	publish->api = api;
	publish->done = done;
	publish->data = data;
	if (prepare(publish, base, policy, since) || publish_next(publish)) {
		publish_free(publish);
		return -ENOMEM;
	}
	last = &publish->items[publish->n - 1];
	if (last->parent && last->size <= STATUS_DELTA)
		*delta = encode(last->bytes, last->size);
	return 0;
}
