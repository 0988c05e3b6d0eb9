/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints events as text or as lines of JSON. */
#ifndef BULKHEAD_CMD_EVENT_PRINT_H
#define BULKHEAD_CMD_EVENT_PRINT_H

#include <stdio.h>

#include "node/observe/event_monitor.h"

struct event_printer {
	FILE *to;
	bool json, pretty;
	/* columns of a terminal: a line is names, port and cause; 0: also addresses, hook and both
	 * decisions, of any length */
	size_t brief;
	struct monitor *monitor;
	const char *node; /* JSON names this node and the count; NULL: neither */
	uint64_t count; /* valid with `node`: like packets so far */
};

/* @more is the number of like events before this one that were not printed. JSON leaves the
 * number out. */
void event_print(const struct event_printer *printer, const struct bh_event *event, uint64_t more);

/* Prints how many events were held back, and how many the kernel had no room for (@left->lost). */
void event_print_left_out(const struct event_printer *printer, const struct monitor_left_out *left);
void event_print_lost(const struct event_printer *printer, uint64_t lost);

#endif
