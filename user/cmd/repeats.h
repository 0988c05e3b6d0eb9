/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts events that repeat an earlier one, so that `monitor` prints a line a flow, not a line a
 * packet. */
#ifndef BULKHEAD_CMD_REPEATS_H
#define BULKHEAD_CMD_REPEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maps/event.h"

#define REPEATS_FLOWS 512

/* Events with equal keys are alike: same source, destination, destination port and verdict. The
 * source's port does not count, since each new connection has another source port. */
struct repeat_key {
	struct bh_addr source, destination;
	uint32_t ifindex;
	__be16 port; /* the port that the client asked for */
	uint8_t protocol, hook, reason, flags;
};

struct repeat {
	struct repeat_key key;
	struct bh_event last;
	/* ns of CLOCK_MONOTONIC_COARSE: like events before this moment are only counted */
	uint64_t until;
	uint64_t more; /* like events since the last one printed */
};

struct repeats {
	struct repeat at[REPEATS_FLOWS];
	size_t n;
};

/* Returns true if to print @event: no like event was printed for a second. Counts it otherwise. */
bool repeats_is_first(struct repeats *repeats, const struct bh_event *event, uint64_t now);

/* Calls @tell for each flow with events that were only counted for a second; with @all, for each
 * flow with any. */
void repeats_tell(struct repeats *repeats, uint64_t now, bool all,
		  void (*tell)(void *data, const struct bh_event *last, uint64_t more), void *data);

#endif
