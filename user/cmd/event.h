/* SPDX-License-Identifier: GPL-2.0-only */
/* Events as text, and as lines of JSON. */
#ifndef BULKHEAD_CMD_EVENT_H
#define BULKHEAD_CMD_EVENT_H

#include <stdio.h>

#include "node/observe/monitor.h"

struct event_printer {
	FILE *to;
	bool json, pretty;
	struct monitor *monitor;
};

/* @more: so many like it came before it and were not printed; JSON does not have them. */
void event_print(const struct event_printer *printer, const struct bh_event *event, uint64_t more);

/* Events that were kept back, and @lost ones for which there was no room. */
void event_print_left_out(const struct event_printer *printer, const struct monitor_left_out *left);
void event_print_lost(const struct event_printer *printer, uint64_t lost);

#endif
