// SPDX-License-Identifier: GPL-2.0-only
/* Notices that the server's store was put back to an older time, and that a watch is silent. */
#include <stdlib.h>

#include "api/api.h"

/* A watch is compared with a list after so long, and up to half as long more. */
#define LOOK_MS 40000
/* If the list differs, and the watch does not tell of it for so long, the watch is silent. The list
 * comes from the store, and the watch from a cache, which a server under load may keep some seconds
 * behind: a client that listed all objects then would load the server more. */
#define DOUBT_MS 30000

struct api_look_back {
	struct api *api;
	struct diag *diag;
	struct api_watch *const *watch;
	struct api_timer timer;
	struct api_mark mark; /* when the list was asked for */
	bool asks; /* a list is on its way */
	bool doubts; /* the last list differed */
	uint64_t doubted; /* what the watch had told then */
	uint64_t since; /* ms: when a list differed first, with no more told */
};

static void go_back(struct api_look_back *look, const char *why)
{
	diag_warn(look->diag, NULL, NULL, "%s: %s: all objects are listed anew",
		  api_server(look->api), why);
	look->doubts = false;
	api_watches_list_anew(look->api);
}

static void looked(void *data, const struct api_answer *answer)
{
	struct api_look_back *look = data;
	const enum api_compared compared =
		answer->error ? API_SAME
			      : api_watch_compare(*look->watch, &look->mark, answer->body);
	const bool same = look->doubts && look->doubted == look->mark.told;

	look->asks = false;
	if (!same)
		look->since = api_now();
	look->doubts = compared == API_DIFFERS;
	look->doubted = look->mark.told;
	if (compared == API_OLDER)
		go_back(look, "the store was put back to an older time");
	else if (look->doubts && look->since + DOUBT_MS <= api_now())
		go_back(look, "a watch tells nothing");
	api_timer_set(look->api, &look->timer, look->doubts ? DOUBT_MS : api_jitter(LOOK_MS));
}

static void ask(void *data)
{
	struct api_look_back *look = data;
	char *path = api_watch_path(*look->watch);
	const struct api_request request = {
		.method = "GET", .path = path, .metadata_only = true, .done = looked, .data = look};

	if (look->asks) {
		free(path);
		return;
	}
	look->mark = api_watch_mark(*look->watch);
	look->asks = path && look->mark.version && !api_send(look->api, &request);
	if (!look->asks)
		api_timer_set(look->api, &look->timer, api_jitter(LOOK_MS));
	free(path);
}

struct api_look_back *api_look_back_open(struct api *api, struct diag *diag,
					 struct api_watch *const *watch)
{
	struct api_look_back *look = calloc(1, sizeof(*look));

	if (!look)
		return NULL;
	*look = (struct api_look_back){.api = api, .diag = diag, .watch = watch};
	look->timer = (struct api_timer){.run = ask, .data = look};
	api_timer_set(api, &look->timer, api_jitter(LOOK_MS));
	return look;
}

void api_look_back_soon(struct api_look_back *look)
{
	api_timer_set(look->api, &look->timer, 0);
}

void api_look_back_close(struct api_look_back *look)
{
	free(look);
}
