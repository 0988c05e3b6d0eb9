// SPDX-License-Identifier: GPL-2.0-only
/* Single requests; and the client, from its open to its close. */
#include <errno.h>
#include <stdlib.h>

#include "api/large.h"
#include "api/loop.h"

#define REQUEST_SECONDS 30

struct pending {
	struct api *api;
	api_done *done;
	void *data;
	uint64_t received; /* bytes that the server had sent when the request began */
};

static void request_ended(void *data, struct api_transfer *transfer, long status)
{
	struct pending *pending = data;
	struct json_object *body = transfer->received.n
					   ? api_parse(transfer->received.at, transfer->received.n)
					   : NULL;
	struct api_answer answer = {
		.status = status,
		.error = api_transfer_error(transfer, status, body),
		.body = body,
		.absent = transfer->absent,
	};

	pending->api->counts.failed += !status || status >= 500;
	if (transfer->timed_out && pending->received == pending->api->counts.received)
		api_watches_restart(pending->api);
	else if (!answer.error)
		api_answered(pending->api);
	pending->done(pending->data, &answer);
	json_object_put(body);
	free(pending);
}

int api_send(struct api *api, const struct api_request *request)
{
	struct pending *pending = malloc(sizeof(*pending));
	struct api_transfer_options options = {
		.method = request->method,
		.path = request->path,
		.body = request->body ? json_object_to_json_string_ext(request->body,
								       JSON_C_TO_STRING_PLAIN)
				      : NULL,
		.accept = request->brief	   ? API_BRIEF
			  : request->metadata_only ? API_METADATA_LIST
						   : NULL,
		.seconds = request->seconds ? request->seconds : REQUEST_SECONDS,
		.ended = request_ended,
		.data = pending,
	};

	if (!pending)
		return -ENOMEM;
	*pending = (struct pending){api, request->done, request->data, api->counts.received};
	if (!api_transfer_begin(api, &options)) {
		free(pending);
		return -ENOMEM;
	}
	api->counts.requests++;
	return 0;
}

int api_open(const char *kubeconfig, struct diag *diag, struct api **opened)
{
	struct api *api = calloc(1, sizeof(*api));
	int error = api ? api_config_read(kubeconfig, diag, &api->config) : -ENOMEM;

	if (!error)
		error = curl_open(diag);
	if (!error && curl.global_init(CURL_GLOBAL_DEFAULT))
		error = -ENOMEM;
	if (!error)
		error = api_turns_open(api);
	if (!error) {
		api->diag = diag;
		api->fd = -1;
		api->multi = curl.multi_init();
		error = api->multi ? 0 : -ENOMEM;
	}
	if (error) {
		api_close(api);
		return error;
	}
	curl.multi_setopt(api->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	*opened = api;
	return 0;
}

void api_close(struct api *api)
{
	if (!api)
		return;
	while (api->watches)
		api_unwatch(api->watches);
	while (api->transfers) {
		if (api->transfers->ended == request_ended)
			free(api->transfers->data);
		api_transfer_end(api->transfers);
	}
	if (api->multi)
		curl.multi_cleanup(api->multi);
	api_turns_end(api);
	api_config_free(&api->config);
	free(api);
}

const char *api_server(const struct api *api)
{
	return api->config.server;
}

const struct api_counts *api_counts(const struct api *api)
{
	return &api->counts;
}
