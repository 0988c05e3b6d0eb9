// SPDX-License-Identifier: GPL-2.0-only
#include "cluster/listing.h"

#include <errno.h>
#include <string.h>

#include "api/served.h"
#include "cluster/objects_state.h"

#define SECONDS 120 /* for a list: all pods of a large cluster */

struct listing {
	struct api *api;
	const char *const *paths;
	size_t n;
	struct diag *diag;
	size_t waiting;
	int error;
};

struct document {
	struct listing *listing;
	const char *path;
	struct json_object **to;
	struct api_served *served; /* NULL: nothing is asked */
};

static void end_one(struct listing *listing)
{
	if (!--listing->waiting)
		api_stop(listing->api);
}

static bool is_asked(void *data, const char *path)
{
	const struct document *document = data;

	for (size_t i = 0; i < document->listing->n; i++)
		if (!strcmp(document->listing->paths[i], path))
			return true;
	return false;
}

static void served_known(void *data, const char *fault, const char *unread)
{
	struct document *document = data;
	struct listing *listing = document->listing;

	if (unread)
		diag_error(listing->diag, NULL, NULL,
			   "%s%s: the server has this collection in %s alone, which this version "
			   "of Bulkhead does not read",
			   api_server(listing->api), document->path, unread);
	else if (fault)
		diag_error(listing->diag, NULL, NULL,
			   "%s%s: is not there (404), and the server does not say in which "
			   "versions it is: %s",
			   api_server(listing->api), document->path, fault);
	if (unread || fault)
		listing->error = -EIO;
	api_served_close(document->served);
	document->served = NULL;
	end_one(listing);
}

/* The server may have the objects in a version that is not asked for. Returns true if that is asked
 * now. */
static bool ask_versions(struct document *document)
{
	const struct api_served_ops ops = {is_asked, served_known, document};

	if (!api_served_has_versions(document->path))
		return false;
	document->served = api_served_ask(document->listing->api, document->path, &ops);
	if (!document->served)
		document->listing->error = -ENOMEM;
	return document->served;
}

static void got(void *data, const struct api_answer *answer)
{
	struct document *document = data;
	struct listing *listing = document->listing;

	if (answer->status == 404 && ask_versions(document))
		return;
	if (!answer->error)
		*document->to = json_object_get(answer->body);
	else if (answer->status != 404) {
		diag_error(listing->diag, NULL, NULL, "%s%s: %s", api_server(listing->api),
			   document->path, answer->error);
		listing->error = answer->status == 401 || answer->status == 403 ? -EACCES : -EIO;
	}
	end_one(listing);
}

int listing_get(const char *kubeconfig, const char *const *paths, size_t n, struct diag *diag,
		struct json_object **documents)
{
	struct document asked[LISTING_MAX];
	struct listing listing = {.paths = paths, .n = n, .diag = diag};
	int error = api_open(kubeconfig, diag, &listing.api);

	memset(documents, 0, n * sizeof(*documents));
	for (size_t i = 0; !error && i < n; i++) {
		asked[i] = (struct document){&listing, paths[i], &documents[i], NULL};
		error = api_send(listing.api, &(struct api_request){.method = "GET",
								    .path = paths[i],
								    .seconds = SECONDS,
								    .done = got,
								    .data = &asked[i]});
		listing.waiting += !error;
	}
	if (!error && n)
		api_run(listing.api, -1);
	api_close(listing.api);
	error = error ? error : listing.error;
	for (size_t i = 0; error && i < n; i++) {
		json_object_put(documents[i]);
		documents[i] = NULL;
	}
	return error;
}

/* Writes the objects of a list. The server leaves kind and version of a list's objects out. */
static void write_items(struct json_object *list, const struct object_kind *kind,
			const char **comma, FILE *to)
{
	struct json_object *items = api_get(list, "items");

	for (size_t i = 0; items && i < json_object_array_length(items); i++) {
		struct json_object *item = json_object_array_get_idx(items, i);

		json_object_object_add(item, "kind", json_object_new_string(kind->name));
		json_object_object_add(item, "apiVersion", json_object_new_string(kind->version));
		fprintf(to, "%s%s", *comma,
			json_object_to_json_string_ext(item, JSON_C_TO_STRING_PLAIN));
		*comma = ",\n";
	}
}

int listing_write(const char *kubeconfig, struct diag *diag, FILE *to)
{
	struct json_object *lists[N_KINDS];
	const char *paths[N_KINDS], *comma = "";
	int error;

	for (size_t i = 0; i < N_KINDS; i++)
		paths[i] = object_kinds[i].path;
	error = listing_get(kubeconfig, paths, N_KINDS, diag, lists);
	if (error)
		return error;
	fputs("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[", to);
	for (size_t i = 0; i < N_KINDS; i++) {
		/* A server that has two versions of a kind has each object in both. */
		const bool twice = i && lists[i - 1] &&
				   !strcmp(object_kinds[i].name, object_kinds[i - 1].name);

		if (!twice)
			write_items(lists[i], &object_kinds[i], &comma, to);
	}
	for (size_t i = 0; i < N_KINDS; i++)
		json_object_put(lists[i]);
	fputs("]}\n", to);
	return ferror(to) ? -EIO : 0;
}
