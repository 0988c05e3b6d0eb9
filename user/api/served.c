// SPDX-License-Identifier: GPL-2.0-only
#include "api/served.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/large.h"
#include "api/loop.h"

#define APIS "/apis/"
#define SECONDS 30

struct api_served {
	struct api *api;
	struct api_served_ops ops;
	char *group; /* "/apis/GROUP" */
	char *version; /* the one that the server lacks */
	char *rest; /* what follows it: "/clusternetworkpolicies" */
	struct json_object *versions; /* of the group; NULL: not known yet */
	size_t next; /* of these the next to ask */
	char *unread; /* for known() */
	bool read;
	struct api_transfer *transfer;
};

/* Returns the slash behind the group. */
static const char *group_end(const char *path)
{
	return strchr(path + strlen(APIS), '/');
}

bool api_served_has_versions(const char *path)
{
	const char *end = strncmp(path, APIS, strlen(APIS)) ? NULL : group_end(path);

	return end && strchr(end + 1, '/');
}

static void tell(struct api_served *served, const char *fault)
{
	served->ops.known(served->ops.data, fault, fault || served->read ? NULL : served->unread);
}

static const char *version_at(const struct api_served *served, size_t i)
{
	return api_text(json_object_array_get_idx(served->versions, i), "version");
}

/* Returns true if a version's list of resources has the collection. */
static bool has_collection(const struct api_served *served, struct json_object *body)
{
	struct json_object *resources = api_get(body, "resources");
	const char *plural = strrchr(served->rest, '/') + 1;

	for (size_t i = 0; i < json_object_array_length(resources); i++) {
		const char *name = api_text(json_object_array_get_idx(resources, i), "name");

		if (name && !strcmp(name, plural))
			return true;
	}
	return false;
}

/* Notes that the version has the collection. Returns 0; -EAGAIN: it is the one that the server
 * lacked, which it may be about to have; or -ENOMEM. */
static int note_version(struct api_served *served, const char *version)
{
	const char *before = served->unread ? served->unread : "";
	char *path, *unread;

	if (!strcmp(version, served->version))
		return -EAGAIN;
	if (asprintf(&path, "%s/%s%s", served->group, version, served->rest) < 0)
		return -ENOMEM;
	served->read |= served->ops.reads(served->ops.data, path);
	free(path);
	if (asprintf(&unread, "%s%s%s", before, *before ? ", " : "", version) < 0)
		return -ENOMEM;
	free(served->unread);
	served->unread = unread;
	return 0;
}

static int take_group(struct api_served *served, struct json_object *body)
{
	struct json_object *versions = api_get(body, "versions");

	if (!json_object_is_type(versions, json_type_array) || !json_object_array_length(versions))
		return -EPROTO;
	served->versions = json_object_get(versions);
	return 0;
}

static int take_version(struct api_served *served, struct json_object *body)
{
	const char *version = version_at(served, served->next++);

	if (!json_object_is_type(api_get(body, "resources"), json_type_array))
		return -EPROTO;
	return has_collection(served, body) ? note_version(served, version) : 0;
}

static void ask_next(struct api_served *served);

/* A group that the server lacks (404) has no version. That a version of the group is missing tells
 * nothing: the server is about to change. */
static void answered(void *data, struct api_transfer *transfer, long status)
{
	struct api_served *served = data;
	struct json_object *body = transfer->received.n
					   ? api_parse(transfer->received.at, transfer->received.n)
					   : NULL;
	const bool known = status == 200 || (status == 404 && !served->versions);
	const char *fault = known ? NULL : api_transfer_error(transfer, status, body);
	int error = 0;

	served->transfer = NULL;
	if (status == 200)
		error = served->versions ? take_version(served, body) : take_group(served, body);
	if (error)
		fault = error == -ENOMEM   ? "no memory"
			: error == -EAGAIN ? "it names the collection, too"
					   : "an answer without versions";
	if (fault || !served->versions)
		tell(served, fault);
	else
		ask_next(served);
	json_object_put(body);
}

static int ask(struct api_served *served, const char *version)
{
	struct api_transfer_options options = {
		.method = "GET", .seconds = SECONDS, .ended = answered, .data = served};
	char *path;

	if (asprintf(&path, "%s%s%s", served->group, *version ? "/" : "", version) < 0)
		return -ENOMEM;
	options.path = path;
	served->transfer = api_transfer_begin(served->api, &options);
	free(path);
	return served->transfer ? 0 : -ENOMEM;
}

static void ask_next(struct api_served *served)
{
	const size_t n = json_object_array_length(served->versions);

	while (served->next < n && !version_at(served, served->next))
		served->next++;
	if (served->next == n)
		tell(served, NULL);
	else if (ask(served, version_at(served, served->next)))
		tell(served, "no memory");
}

struct api_served *api_served_ask(struct api *api, const char *path,
				  const struct api_served_ops *ops)
{
	struct api_served *served = calloc(1, sizeof(*served));
	const char *end = group_end(path), *rest = strchr(end + 1, '/');

	if (!served)
		return NULL;
	*served = (struct api_served){
		.api = api,
		.ops = *ops,
		.group = strndup(path, end - path),
		.version = strndup(end + 1, rest - end - 1),
		.rest = strdup(rest),
	};
	if (served->group && served->version && served->rest && !ask(served, ""))
		return served;
	api_served_close(served);
	return NULL;
}

void api_served_close(struct api_served *served)
{
	if (!served)
		return;
	if (served->transfer)
		api_transfer_end(served->transfer);
	json_object_put(served->versions);
	free(served->group);
	free(served->version);
	free(served->rest);
	free(served->unread);
	free(served);
}
