// SPDX-License-Identifier: GPL-2.0-only
/* Reads and writes the custom resources: PolicyStatus, and policies in parts. */
#include "cluster/store.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "compile/blob.h"

#define BLOB_MAX (1u << 30) /* bytes, uncompressed */
#define PARTS_MAX 2000

/* PolicyStatus */

void store_status_free(struct store_status *status)
{
	free(status->version);
	*status = (struct store_status){0};
}

int store_status_read(struct json_object *object, struct store_status *status)
{
	const char *version = api_text(object, "metadata.resourceVersion");
	const char *checksum = api_text(object, "spec.checksum");
	char *copy = version ? strdup(version) : NULL;

	if (!copy)
		return -ENOMEM;
	store_status_free(status);
	status->version = copy;
	status->policy = api_number(object, "spec.desiredPolicyGeneration");
	status->endpoint = api_number(object, "spec.desiredEndpointGeneration");
	status->checksum = checksum ? strtoull(checksum, NULL, 16) : 0;
	return 0;
}

static struct json_object *object_of(const char *kind, const char *name, const char *version)
{
	struct json_object *object = json_object_new_object();
	struct json_object *metadata = json_object_new_object();

	json_object_object_add(object, "apiVersion", json_object_new_string(STORE_GROUP));
	json_object_object_add(object, "kind", json_object_new_string(kind));
	json_object_object_add(object, "metadata", metadata);
	json_object_object_add(metadata, "name", json_object_new_string(name));
	if (version)
		json_object_object_add(metadata, "resourceVersion",
				       json_object_new_string(version));
	return object;
}

static void add_number(struct json_object *object, const char *key, int64_t value)
{
	json_object_object_add(object, key, json_object_new_int64(value));
}

static void add_checksum(struct json_object *object, uint64_t checksum)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, checksum);
	json_object_object_add(object, "checksum", json_object_new_string(text));
}

struct json_object *store_status_object(const struct store_status *status)
{
	struct json_object *object = object_of("PolicyStatus", "global", status->version);
	struct json_object *spec = json_object_new_object();

	json_object_object_add(object, "spec", spec);
	add_number(spec, "desiredPolicyGeneration", status->policy);
	add_number(spec, "desiredEndpointGeneration", status->endpoint);
	add_checksum(spec, status->checksum);
	return object;
}

uint32_t store_generation_of(const char *name)
{
	char *end;
	unsigned long number = *name == 'g' ? strtoul(name + 1, &end, 10) : 0;

	return number && (!*end || *end == '-') ? number : 0;
}

/* Writing */

struct store_publish {
	struct api *api;
	void *compressed;
	size_t size, whole; /* bytes of the blob, compressed and uncompressed */
	uint32_t generation;
	uint64_t checksum, parent;
	unsigned int part, parts; /* number of the part that is being written; == parts: the head */
	store_published *done;
	void *data;
};

static void publish_end(struct store_publish *publish, int error, const char *why)
{
	store_published *done = publish->done;
	void *data = publish->data;

	free(publish->compressed);
	free(publish);
	done(data, error, why);
}

static int publish_next(struct store_publish *publish);

/* A part that exists already is right: its name has the checksum. So is a head with this
 * checksum. */
static void publish_answered(void *data, const struct api_answer *answer)
{
	struct store_publish *publish = data;
	int error = 0;

	if (answer->status == 409 && publish->part == publish->parts)
		return publish_end(publish, -EEXIST, answer->error);
	if (answer->error && answer->status != 409)
		return publish_end(publish, answer->status ? -EPROTO : -ECOMM, answer->error);
	if (publish->part++ == publish->parts)
		return publish_end(publish, 0, NULL);
	error = publish_next(publish);
	if (error)
		publish_end(publish, error, strerror(-error));
}

static char *part_name(uint32_t generation, uint64_t checksum, unsigned int part)
{
	char *name;

	return asprintf(&name, "g%u-%016" PRIx64 "-%u", generation, checksum, part) < 0 ? NULL
											: name;
}

static int publish_part(struct store_publish *publish, struct json_object *spec)
{
	size_t at = (size_t)publish->part * STORE_PART, n = publish->size - at, room;
	char *text;

	if (n > STORE_PART)
		n = STORE_PART;
	room = sodium_base64_encoded_len(n, sodium_base64_VARIANT_ORIGINAL);
	text = malloc(room);
	if (!text)
		return -ENOMEM;
	sodium_bin2base64(text, room, (unsigned char *)publish->compressed + at, n,
			  sodium_base64_VARIANT_ORIGINAL);
	json_object_object_add(spec, "data", json_object_new_string(text));
	free(text);
	return 0;
}

static void publish_head(const struct store_publish *publish, struct json_object *spec)
{
	char parent[17];

	snprintf(parent, sizeof(parent), "%016" PRIx64, publish->parent);
	json_object_object_add(spec, "parent", json_object_new_string(parent));
	add_number(spec, "parts", publish->parts);
	add_number(spec, "size", publish->whole);
}

static int publish_next(struct store_publish *publish)
{
	bool head = publish->part == publish->parts;
	char *name = part_name(publish->generation, publish->checksum, publish->part);
	struct json_object *object, *spec = json_object_new_object();
	struct api_request request = {
		.method = "POST",
		.path = STORE_GENERATIONS,
		.done = publish_answered,
		.data = publish,
	};
	int error = 0;

	if (name && head)
		*strchr(name, '-') = '\0';
	object = object_of("PolicyGeneration", name ? name : "", NULL);
	json_object_object_add(object, "spec", spec);
	add_number(spec, "generation", publish->generation);
	add_checksum(spec, publish->checksum);
	if (head)
		publish_head(publish, spec);
	else
		error = publish_part(publish, spec);
	request.body = object;
	if (!error)
		error = name ? api_send(publish->api, &request) : -ENOMEM;
	json_object_put(object);
	free(name);
	return error;
}

struct store_publish *store_publish(struct api *api, struct policy *policy, store_published *done,
				    void *data)
{
	struct store_publish *publish = calloc(1, sizeof(*publish));
	void *bytes = NULL;
	size_t room;

	if (!publish || blob_write(policy, &bytes, &publish->whole)) {
		free(publish);
		return NULL;
	}
	room = ZSTD_compressBound(publish->whole);
	publish->compressed = malloc(room);
	if (publish->compressed)
		publish->size = ZSTD_compress(publish->compressed, room, bytes, publish->whole, 3);
	free(bytes);
	publish->api = api;
	publish->generation = policy->generation;
	publish->checksum = policy->checksum;
	publish->parent = policy->parent;
	publish->parts = (publish->size + STORE_PART - 1) / STORE_PART;
	publish->done = done;
	publish->data = data;
	if (!publish->compressed || ZSTD_isError(publish->size) || publish_next(publish)) {
		free(publish->compressed);
		free(publish);
		return NULL;
	}
	return publish;
}

/* Reading */

struct store_fetch {
	struct api *api;
	uint32_t generation;
	uint64_t checksum;
	unsigned int part, parts;
	unsigned char *compressed;
	size_t size, whole;
	bool head; /* the head was read */
	store_fetched *done;
	void *data;
};

static void fetch_end(struct store_fetch *fetch, int error, const char *why, struct policy *policy)
{
	store_fetched *done = fetch->done;
	void *data = fetch->data;

	free(fetch->compressed);
	free(fetch);
	done(data, error, why, policy);
}

static int fetch_head(struct store_fetch *fetch, struct json_object *body)
{
	const char *checksum = api_text(body, "spec.checksum");
	int64_t parts = api_number(body, "spec.parts"), size = api_number(body, "spec.size");

	if (!checksum || parts < 1 || parts > PARTS_MAX || size < 1 || size > BLOB_MAX)
		return -EBADMSG;
	fetch->head = true;
	fetch->checksum = strtoull(checksum, NULL, 16);
	fetch->parts = parts;
	fetch->whole = size;
	fetch->compressed = malloc((size_t)parts * STORE_PART);
	return fetch->compressed ? 0 : -ENOMEM;
}

static int fetch_part(struct store_fetch *fetch, struct json_object *body)
{
	const char *text = api_text(body, "spec.data");
	size_t n;

	if (!text ||
	    sodium_base642bin(fetch->compressed + fetch->size, STORE_PART, text, strlen(text), NULL,
			      &n, NULL, sodium_base64_VARIANT_ORIGINAL))
		return -EBADMSG;
	fetch->size += n;
	fetch->part++;
	return 0;
}

/* Joins the parts, uncompresses them and checks the policy. */
static int fetch_whole(struct store_fetch *fetch, struct policy **policy)
{
	struct where where = {"PolicyGeneration", 0};
	struct diag quiet = {0};
	void *bytes = malloc(fetch->whole);
	int error;

	if (!bytes)
		return -ENOMEM;
	if (ZSTD_decompress(bytes, fetch->whole, fetch->compressed, fetch->size) != fetch->whole)
		error = -EBADMSG;
	else
		error = blob_read(bytes, fetch->whole, &where, &quiet, policy);
	if (error) {
		free(bytes);
		return error == -ENOMEM ? error : -EBADMSG;
	}
	if ((*policy)->generation == fetch->generation && (*policy)->checksum == fetch->checksum)
		return 0;
	policy_free(*policy);
	*policy = NULL;
	return -EBADMSG;
}

static int fetch_next(struct store_fetch *fetch);

static void fetch_answered(void *data, const struct api_answer *answer)
{
	struct store_fetch *fetch = data;
	struct policy *policy = NULL;
	int error;

	if (answer->error)
		return fetch_end(fetch,
				 answer->status == 404 ? -ENOENT
				 : answer->status      ? -EPROTO
						       : -ECOMM,
				 answer->error, NULL);
	error = fetch->head ? fetch_part(fetch, answer->body) : fetch_head(fetch, answer->body);
	if (!error && fetch->part < fetch->parts) {
		error = fetch_next(fetch);
		if (!error)
			return;
	}
	if (!error)
		error = fetch_whole(fetch, &policy);
	fetch_end(fetch, error, error ? "the stored policy is damaged" : NULL, policy);
}

static int fetch_next(struct store_fetch *fetch)
{
	char *path;
	struct api_request request = {.method = "GET", .done = fetch_answered, .data = fetch};
	int error, n = fetch->head ? asprintf(&path, STORE_GENERATIONS "/g%u-%016" PRIx64 "-%u",
					      fetch->generation, fetch->checksum, fetch->part)
				   : asprintf(&path, STORE_GENERATIONS "/g%u", fetch->generation);

	if (n < 0)
		return -ENOMEM;
	request.path = path;
	error = api_send(fetch->api, &request);
	free(path);
	return error;
}

struct store_fetch *store_fetch(struct api *api, uint32_t generation, store_fetched *done,
				void *data)
{
	struct store_fetch *fetch = calloc(1, sizeof(*fetch));

	if (!fetch)
		return NULL;
	*fetch = (struct store_fetch){
		.api = api, .generation = generation, .done = done, .data = data};
	if (fetch_next(fetch)) {
		free(fetch);
		return NULL;
	}
	return fetch;
}
