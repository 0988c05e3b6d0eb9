/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bh_past: the last drops of each endpoint, kept without any reader. Pin name `past`. ARRAY, index
 * the place of the interface in bh_tally_keys (maps/tally.h); an interface without a place keeps
 * nothing. 584 bytes a place, overwritten in place: the oldest record first.
 *
 * A record is an event (maps/event.h) of a packet that was dropped, or would be but for audit. A
 * packet like the last recorded one (addresses, destination port, protocol, reason) makes no
 * record of its own: it counts in `more`, and renews the time. A writer clears the time first and
 * stores it last, so a reader leaves out records whose time is 0. Two CPUs that count in one record
 * at once may lose a count.
 *
 * An endpoint whose packets drop fills its own place only, and loses its own oldest records.
 *
 * The command clears a place before it frees that in bh_tally_keys.
 *
 *   bpftool map lookup pinned /sys/fs/bpf/bulkhead/past key 1 0 0 0
 */
#ifndef BULKHEAD_MAPS_PAST_H
#define BULKHEAD_MAPS_PAST_H

#include "maps/event.h"

#define BH_PAST_DROPS 8 /* a power of two */

struct bh_past {
	__u32 next; /* records made so far; the next one is at `next` modulo BH_PAST_DROPS */
	__u32 pad;
	struct bh_event drops[BH_PAST_DROPS];
};
_Static_assert(sizeof(struct bh_past) == 8 + 72 * BH_PAST_DROPS, "struct bh_past");

#endif
