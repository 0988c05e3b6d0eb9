// SPDX-License-Identifier: GPL-2.0-only
/* The loop that runs transfers and timers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/loop.h"

#define POLL_MAX 3600000 /* ms: the wait where no timer is set */

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

static void end_transfer(struct api_transfer *transfer, long status)
{
	api_transfer_remove(transfer);
	transfer->ended(transfer->data, transfer, status);
	api_transfer_free(transfer);
}

/* Gives the received bytes to a stream's part(). Returns true if the stream goes on. */
static bool deliver(struct api_transfer *transfer)
{
	struct api_buffer part = transfer->received;
	int error;

	if (!transfer->streams || !part.n)
		return true;
	transfer->received = (struct api_buffer){0};
	error = transfer->part(transfer->data, part.at, part.n);
	api_buffer_free(&part);
	if (error)
		end_transfer(transfer, 0);
	return !error;
}

static void transfer_done(CURL *easy, CURLcode code)
{
	struct api_transfer *transfer = NULL;
	long status = 0;
	curl_off_t after = 0;

	curl.easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&transfer);
	curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	curl.easy_getinfo(easy, CURLINFO_RETRY_AFTER, &after);
	transfer->retry_after = after > 0 && after < UINT16_MAX ? after : 0;
	transfer->timed_out = code == CURLE_OPERATION_TIMEDOUT;
	transfer->absent = code == CURLE_COULDNT_CONNECT;
	if (deliver(transfer))
		end_transfer(transfer, code == CURLE_OK ? status : 0);
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
		deliver(transfer);
	while (!api->stopped && (message = curl.multi_info_read(api->multi, &left)))
		if (message->msg == CURLMSG_DONE)
			transfer_done(message->easy_handle, message->data.result);
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
