// SPDX-License-Identifier: GPL-2.0-only
/* PolicyStatus, and the functions that all objects of the store share. */
#include "cluster/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const store_status_columns[] = {"Desired",	"Endpoints", "Nodes",  "Limit",
					    "Checksum", "Delta",     "Oldest", NULL};

void store_status_free(struct store_status *status)
{
	free(status->version);
	free(status->delta);
	*status = (struct store_status){0};
}

/* Returns where the members of @object are: in a whole object, or in printer columns. */
struct paths {
	const char *policy, *endpoint, *checksum, *delta, *nodes, *limit, *oldest;
};

static const struct paths *paths_of(struct json_object *object)
{
	static const struct paths whole = {"spec.desiredPolicyGeneration",
					   "spec.desiredEndpointGeneration",
					   "spec.checksum",
					   "spec.delta",
					   "status.nodes",
					   "spec.nodeLimitSeconds",
					   "status.oldestEndpointGeneration"};
	static const struct paths cells = {"cells.Desired", "cells.Endpoints", "cells.Checksum",
					   "cells.Delta",   "cells.Nodes",     "cells.Limit",
					   "cells.Oldest"};

	return api_get(object, "cells") ? &cells : &whole;
}

int store_status_read(struct json_object *object, struct store_status *status)
{
	const struct paths *paths = paths_of(object);
	const char *version = api_text(object, "metadata.resourceVersion");
	const char *checksum = api_text(object, paths->checksum);
	const char *delta = api_text(object, paths->delta);
	struct store_status read = {
		.version = version ? strdup(version) : NULL,
		.delta = delta ? strdup(delta) : NULL,
		.observed = api_number(object, "metadata.generation"),
		.policy = api_number(object, paths->policy),
		.endpoint = api_number(object, paths->endpoint),
		.checksum = checksum ? strtoull(checksum, NULL, 16) : 0,
		.nodes = api_number(object, paths->nodes),
		.limit = api_number(object, paths->limit),
		.oldest = api_number(object, paths->oldest),
	};

	if (!read.version || !read.delta != !delta) {
		store_status_free(&read);
		return -ENOMEM;
	}
	store_status_free(status);
	*status = read;
	return 0;
}

struct json_object *store_object(const char *kind, const char *name, const char *version)
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

void store_add_number(struct json_object *object, const char *key, int64_t value)
{
	json_object_object_add(object, key, json_object_new_int64(value));
}

void store_add_checksum(struct json_object *object, const char *key, uint64_t checksum)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, checksum);
	json_object_object_add(object, key, json_object_new_string(text));
}

struct json_object *store_status_object(const struct store_status *status)
{
	struct json_object *object = store_object("PolicyStatus", "global", status->version);
	struct json_object *spec = json_object_new_object();

	if (status->version)
		api_forget_managers(object);
	json_object_object_add(object, "spec", spec);
	store_add_number(spec, "desiredPolicyGeneration", status->policy);
	store_add_number(spec, "desiredEndpointGeneration", status->endpoint);
	store_add_checksum(spec, "checksum", status->checksum);
	if (status->limit)
		store_add_number(spec, "nodeLimitSeconds", status->limit);
	if (status->delta)
		json_object_object_add(spec, "delta", json_object_new_string(status->delta));
	return object;
}

uint32_t store_generation_of(const char *name)
{
	char *end;
	unsigned long number = *name == 'g' || *name == 'w' ? strtoul(name + 1, &end, 10) : 0;

	return number && (!*end || *end == '-') ? number : 0;
}

void store_part_name(const struct store_item *item, unsigned int part, char *name, size_t size)
{
	snprintf(name, size, "%c%u-%016" PRIx64 "-%u", *item->name, item->generation,
		 item->checksum, part);
}
