/* SPDX-License-Identifier: GPL-2.0-only */
/* The client's state, for the files of api/. Lowest first: transfer.c, loop.c, turns.c, served.c,
 * watch.c, request.c. */
#ifndef BULKHEAD_API_LOOP_H
#define BULKHEAD_API_LOOP_H

#include "api/internal.h"
#include "api/turns.h"

struct api {
	struct api_config config;
	struct diag *diag;
	CURLM *multi;
	struct api_transfer *transfers;
	struct api_timer *timers;
	struct api_watch *watches;
	struct api_turns turns;
	struct api_counts counts;
	bool stopped;
	int fd; /* -1: none */
	void (*ready)(void *data);
	void *ready_data;
	struct api_reader *readers;
};

/* Takes a transfer out of the loop. */
void api_transfer_remove(struct api_transfer *transfer);
void api_transfer_free(struct api_transfer *transfer);

#endif
