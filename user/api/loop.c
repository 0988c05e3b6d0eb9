// SPDX-License-Identifier: GPL-2.0-only
/* The loop that runs transfers and timers, and single requests. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/loop.h"

#define REQUEST_SECONDS 30
#define POLL_MAX 3600000 /* ms: the wait where no timer is set */

struct api {
	struct api_config config;
	struct diag *diag;
	CURLM *multi;
	struct api_transfer *transfers;
	struct api_timer *timers;
	struct api_watch *watches;
	struct api_counts counts;
	bool stopped;
	int fd; /* -1: none */
	void (*ready)(void *data);
	void *ready_data;
	struct api_reader *readers;
};

uint64_t api_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

static void request_ended(void *data, struct api_transfer *transfer, long status);

int api_open(const char *kubeconfig, struct diag *diag, struct api **opened)
{
	struct api *api = calloc(1, sizeof(*api));
	int error = api ? api_config_read(kubeconfig, diag, &api->config) : -ENOMEM;

	if (!error)
		error = curl_open(diag);
	if (!error && curl.global_init(CURL_GLOBAL_DEFAULT))
		error = -ENOMEM;
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
	api_config_free(&api->config);
	free(api);
}

const char *api_server(const struct api *api)
{
	return api->config.server;
}

const struct api_config *loop_config(const struct api *api)
{
	return &api->config;
}

struct api_counts *api_counting(struct api *api)
{
	return &api->counts;
}

const struct api_counts *api_counts(const struct api *api)
{
	return &api->counts;
}

struct diag *api_diag(struct api *api)
{
	return api->diag;
}

struct api_watch **api_watches(struct api *api)
{
	return &api->watches;
}

int loop_add(struct api *api, struct api_transfer *transfer)
{
	if (curl.multi_add_handle(api->multi, transfer->easy))
		return -ENOMEM;
	transfer->next = api->transfers;
	api->transfers = transfer;
	return 0;
}

void loop_remove(struct api *api, struct api_transfer *transfer)
{
	struct api_transfer **at = &api->transfers;

	while (*at && *at != transfer)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = transfer->next;
	curl.multi_remove_handle(api->multi, transfer->easy);
}

/* Requests */

struct pending {
	struct api *api;
	api_done *done;
	void *data;
	uint64_t received; /* bytes that the server had sent when the request began */
};

/* Restarts all watches on a new connection: the server accepted a connection and then sent nothing
 * at all, so watches on that connection would wait for long. */
static void restart_watches(struct api *api)
{
	struct api_watch *next;

	for (struct api_watch *watch = api->watches; watch; watch = next) {
		next = *api_watch_next(watch);
		api_watch_restart(watch);
	}
}

void api_answered(struct api *api)
{
	for (struct api_watch *watch = api->watches; watch; watch = *api_watch_next(watch))
		api_watch_hurry(watch);
}

static void request_ended(void *data, struct api_transfer *transfer, long status)
{
	struct pending *pending = data;
	struct json_object *body =
		transfer->received.n ? json_tokener_parse(transfer->received.at) : NULL;
	struct api_answer answer = {
		.status = status,
		.error = api_transfer_error(transfer, status, body),
		.body = body,
		.absent = transfer->absent,
	};

	pending->api->counts.failed += !status || status >= 500;
	if (transfer->timed_out && pending->received == pending->api->counts.received)
		restart_watches(pending->api);
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
		.accept = request->brief ? API_BRIEF : NULL,
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

/* Timers, in an unsorted list, since they are few */

void api_timer_stop(struct api *api, struct api_timer *timer)
{
	struct api_timer **at = &api->timers;

	while (*at && *at != timer)
		at = &(*at)->next;
	if (*at)
		*at = timer->next;
	timer->due = 0;
}

void api_timer_set(struct api *api, struct api_timer *timer, unsigned int ms)
{
	api_timer_stop(api, timer);
	timer->due = api_now() + ms;
	timer->next = api->timers;
	api->timers = timer;
}

static void run_timers(struct api *api)
{
	uint64_t now = api_now();
	struct api_timer *timer = api->timers;

	while (timer && !api->stopped) {
		if (timer->due > now) {
			timer = timer->next;
			continue;
		}
		api_timer_stop(api, timer);
		timer->run(timer->data);
		timer = api->timers; /* run() may have changed the list */
	}
}

static int until_next(const struct api *api)
{
	uint64_t now = api_now(), wait = POLL_MAX;

	for (const struct api_timer *timer = api->timers; timer; timer = timer->next) {
		uint64_t left = timer->due > now ? timer->due - now : 0;

		if (left < wait)
			wait = left;
	}
	return wait;
}

static void end_transfer(struct api *api, struct api_transfer *transfer, long status)
{
	loop_remove(api, transfer);
	transfer->ended(transfer->data, transfer, status);
	api_transfer_free(transfer);
}

/* Gives the received bytes to a stream's part(). Returns whether the stream goes on. */
static bool deliver(struct api *api, struct api_transfer *transfer)
{
	struct api_buffer part = transfer->received;
	int error;

	if (!transfer->streams || !part.n)
		return true;
	transfer->received = (struct api_buffer){0};
	error = transfer->part(transfer->data, part.at, part.n);
	api_buffer_free(&part);
	if (error)
		end_transfer(api, transfer, 0);
	return !error;
}

static void transfer_done(struct api *api, CURL *easy, CURLcode code)
{
	struct api_transfer *transfer = NULL;
	long status = 0;

	curl.easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&transfer);
	curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	transfer->timed_out = code == CURLE_OPERATION_TIMEDOUT;
	transfer->absent = code == CURLE_COULDNT_CONNECT;
	if (deliver(api, transfer))
		end_transfer(api, transfer, code == CURLE_OK ? status : 0);
}

/* Tells the owners of the streams that the server has begun to answer. */
static void begin_streams(struct api *api)
{
	struct api_transfer *transfer = api->transfers;

	while (transfer && !api->stopped) {
		if (!transfer->begins) {
			transfer = transfer->next;
			continue;
		}
		transfer->begins = false;
		transfer->began(transfer->data);
		transfer = api->transfers; /* began() may have changed the list */
	}
}

/* Returns a stream that has received bytes; NULL: no stream has. */
static struct api_transfer *next_part(const struct api *api)
{
	struct api_transfer *transfer = api->transfers;

	while (transfer && !(transfer->streams && transfer->received.n))
		transfer = transfer->next;
	return transfer;
}

/* Runs libcurl, then the callbacks for the bytes received: libcurl must not be called from its own
 * callbacks. */
static void run_transfers(struct api *api)
{
	struct api_transfer *transfer;
	int running, left;
	CURLMsg *message;

	curl.multi_perform(api->multi, &running);
	begin_streams(api);
	while (!api->stopped && (transfer = next_part(api)))
		deliver(api, transfer);
	while (!api->stopped && (message = curl.multi_info_read(api->multi, &left)))
		if (message->msg == CURLMSG_DONE)
			transfer_done(api, message->easy_handle, message->data.result);
}

void api_listen(struct api *api, int fd, void (*ready)(void *data), void *data)
{
	api->fd = fd;
	api->ready = ready;
	api->ready_data = data;
}

void api_reader_add(struct api *api, struct api_reader *reader)
{
	reader->next = api->readers;
	api->readers = reader;
}

/* Waits until a timer runs out, the server sends something, or a file descriptor can be read. A
 * descriptor that is not there, -1, is never ready. */
static void wait_for_more(struct api *api, int stop)
{
	struct curl_waitfd fds[2 + API_READERS_MAX] = {{.fd = stop, .events = CURL_WAIT_POLLIN},
						       {.fd = api->fd, .events = CURL_WAIT_POLLIN}};
	struct api_reader *reader;
	unsigned int n = 2;

	for (reader = api->readers; reader && n < 2 + API_READERS_MAX; reader = reader->next)
		fds[n++] = (struct curl_waitfd){.fd = reader->fd, .events = CURL_WAIT_POLLIN};
	curl.multi_poll(api->multi, fds, n, until_next(api), NULL);
	if (fds[0].revents)
		api->stopped = true;
	else if (fds[1].revents)
		api->ready(api->ready_data);
	reader = api->readers;
	for (unsigned int i = 2; i < n && !api->stopped; i++, reader = reader->next)
		if (fds[i].revents)
			reader->ready(reader->data);
}

void api_run(struct api *api, int stop)
{
	api->stopped = false;
	while (!api->stopped) {
		run_timers(api);
		run_transfers(api);
		if (!api->stopped)
			wait_for_more(api, stop);
	}
}

void api_stop(struct api *api)
{
	api->stopped = true;
}
