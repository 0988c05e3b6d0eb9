/* SPDX-License-Identifier: GPL-2.0-only */
/* Events that are like one before, to be told of as a number: a line for each flow, not each
 * packet. */
#ifndef BULKHEAD_CMD_REPEATS_H
#define BULKHEAD_CMD_REPEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maps/event.h"

#define REPEATS_FLOWS 512

/* What makes events alike: who sent to whom, to which port, and what became of it. Whoever calls
 * again has another port each time. */
struct repeat_key {
	struct bh_addr source, destination;
	uint32_t ifindex;
	__be16 port; /* that was asked for */
	uint8_t protocol, hook, reason, flags;
};

struct repeat {
	struct repeat_key key;
	struct bh_event last;
	uint64_t until; /* CLOCK_MONOTONIC_COARSE, ns: the next one is told of after that */
	uint64_t more; /* that were not told of */
};

struct repeats {
	struct repeat at[REPEATS_FLOWS];
	size_t n;
};

/* Whether @event is to be told of now: it is the first of its flow for a while. */
bool repeats_is_first(struct repeats *repeats, const struct bh_event *event, uint64_t now);

/* Calls @tell for each flow of which others came within the last second; with @all, of any that
 * came. */
void repeats_tell(struct repeats *repeats, uint64_t now, bool all,
		  void (*tell)(void *data, const struct bh_event *last, uint64_t more), void *data);

#endif
