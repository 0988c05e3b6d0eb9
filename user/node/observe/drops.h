/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts the drops that the kernel keeps without a reader (maps/past.h), as they come: what is new
 * since the last look. A look takes no reader's place and costs the programs nothing. An endpoint
 * with more than BH_PAST_DROPS kinds of drops between two looks loses the oldest of these.
 */
#ifndef BULKHEAD_NODE_DROPS_H
#define BULKHEAD_NODE_DROPS_H

#include "maps/event.h"
#include "node/node.h"

struct drops;

/* Drops from before the first look are not counted. @pin must outlive the drops. NULL: no memory,
 * or no socket. */
struct drops *drops_open(const char *pin, struct diag *diag);
void drops_close(struct drops *drops); /* NULL is fine */

/* Calls @visit for each record that is new or has counted more, with the number of packets since
 * the last look. Nothing is loaded: calls nothing. Returns 0 or -errno, not reported. */
int drops_look(struct drops *drops,
	       void (*visit)(void *data, const struct bh_event *event, uint64_t packets),
	       void *data);

#endif
